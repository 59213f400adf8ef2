// One client at a time: what it sends comes back, and its end is answered.
#include <sys/epoll.h>

#include <netinet/tcp.h>
#include <algorithm>

#include "fixture/client.h"
#include "fixture/slow.h"
#include "fixture/spin.h"

namespace {

using fixture::Check;
using fixture::Client;
using fixture::grouped;
using fixture::Server;
using fixture::Stall;
using fixture::Wait;

// Where two texts part, in words: "byte 4,097 is 'x' instead of 'y'".
std::string first_difference(const std::string& got, const std::string& wanted) {
  const auto place = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end());
  const std::string number = grouped(static_cast<std::uint64_t>(place.first - got.begin()) + 1);
  if (place.first == got.end()) return "it ended before byte " + number + " of " + grouped(wanted.size());
  const auto value = [](char c) { return std::to_string(static_cast<unsigned char>(c)); };
  if (place.second == wanted.end()) return "it went on after the " + grouped(wanted.size()) + " bytes that were sent";
  return "byte " + number + " has the value " + value(*place.first) + " instead of " + value(*place.second);
}

// "; fd 5 is registered for EPOLLIN", where epoll is used and can be seen.
std::string registered(Server& server, const Client& client) {
  const auto entry = fixture::seen_registration(server, client.server_side().value_or(probe::SocketState{}).inode);
  if (entry) return "; fd " + std::to_string(entry->fd) + " is registered for " + fixture::mask_text(entry->events);
  const bool uses_epoll = !probe::epoll_instances(server.pid()).empty();
  return uses_epoll && client.server_fd() ? "; fd " + std::to_string(*client.server_fd()) + " is in no interest list" : "";
}

// How a connection stands that its client has finished and the server has not ended. The FIN came alone: once it is no longer
// unread, a read has returned 0 for it.
std::string not_ended(const Client& client) {
  const auto side = client.server_side().value_or(probe::SocketState{});
  const bool end_was_read = side.inode != 0 && side.tcp_state == TCP_CLOSE_WAIT && side.unread == 0 && !side.end_unread;
  return end_was_read ? "A read has told your server of the end, and the connection is still open"
                      : "The connection was not ended; " + client.unread_text();
}

LAB_CHECK("echo-small") {
  Server server(check);
  Client client(server);
  const std::string line = check.text(check.draw(3, 60));
  check.measured("bytes_sent", static_cast<double>(line.size()));
  const std::string did = "connected and sent " + grouped(line.size()) + " bytes";

  if (const Wait wait = fixture::echo(client, line); !wait || client.received().size() < line.size()) {
    const std::size_t got = client.received().size();
    const std::string back = (got == 0 ? "none" : grouped(got)) + " of the " + grouped(line.size()) + " bytes came back";
    report::Story story{"One client " + did + ".",
                        wait ? "The server ended the connection " + client.ending() + " after " + back + "."
                             : "So far " + back + "; " + client.unread_text() + registered(server, client) + ".",
                        "The same bytes come back."};
    if (wait) check.fail("no-answer", std::move(story));
    check.stalled(wait, client.accepted() || !check.lists("not-accepted") ? "no-answer" : "not-accepted", std::move(story));
  }
  if (client.received() != line)
    check.fail("wrong-bytes", {"One client " + did + ".",
                               grouped(client.received().size()) + " bytes came back, and they are not the same: " +
                                   first_difference(client.received(), line) + ".",
                               "The same bytes come back, in order."});

  client.finish();
  const Wait wait = client.receive_end();
  report::Story story{"The client " + did + ", got them back, and then said that it had finished (FIN).",
                      client.received().size() > line.size()
                          ? grouped(client.received().size() - line.size()) + " bytes came that nobody had sent."
                      : wait ? "The connection ended " + client.ending() + "."
                             : not_ended(client) + registered(server, client) + ".",
                      "recv returns 0 at the client's end; the server then closes the connection."};
  if (client.received().size() > line.size()) check.fail("wrong-bytes", std::move(story));
  if (wait.stall == Stall::spinning) {  // it was asked for nothing else: the end is what it goes round with
    story.server_did =
        "It keeps a processor busy since then and does not close the connection: recv returns 0 each time it is called.";
    check.fail("eof-ignored", std::move(story));
  }
  if (!wait) check.stalled(wait, "eof-ignored", std::move(story));
  if (!client.ended()) check.fail("eof-ignored", std::move(story));
}

LAB_CHECK("echo-binary") {
  Server server(check);
  Client client(server);
  std::string bytes = check.text(check.draw(300, 1500));
  for (std::size_t i = 0; i < 256; ++i) bytes[bytes.size() / 3 + i % (bytes.size() / 2)] = static_cast<char>(i);
  bytes.insert(check.draw(1, 40), 1, '\0');
  check.measured("bytes_sent", static_cast<double>(bytes.size()));

  const Wait wait = fixture::echo(client, bytes);
  if (wait && client.received() == bytes) return;
  report::Story story{"One client sent " + grouped(bytes.size()) +
                          " bytes with every value from 0 to 255 among them, the first NUL at byte " +
                          grouped(bytes.find('\0') + 1) + ".",
                      grouped(client.received().size()) + " bytes came back: " + first_difference(client.received(), bytes) + ".",
                      "A socket carries bytes; a NUL is one of them."};
  if (!wait) check.stalled(wait, "binary-truncated", std::move(story));
  check.fail("binary-truncated", std::move(story));
}

// At most kOnTheWay bytes are not back yet at any time, so that no send of a server ever comes up short: short writes have their
// own check.
LAB_CHECK("echo-large") {
  constexpr std::size_t kOnTheWay = 16 << 10;
  Server server(check);
  Client client(server);
  const std::string stream = check.text(check.draw(700, 1000) << 10);
  check.measured("bytes_sent", static_cast<double>(stream.size()));
  Wait wait;
  while (wait && !client.over() && client.received().size() < stream.size()) {
    const std::size_t until = std::min(stream.size(), client.received().size() + kOnTheWay);
    client.push(std::string_view(stream).substr(client.sent(), until - client.sent()));
    wait = client.receive(std::min(client.received().size() + 1, stream.size()));
    client.take();
  }
  if (client.received() == stream) return;
  report::Story story{"One client sent " + grouped(client.sent()) + " bytes of a stream of " + grouped(stream.size()) +
                          ", never more than " + grouped(kOnTheWay) + " of them unanswered.",
                      grouped(client.received().size()) +
                          " bytes came back: " + first_difference(client.received(), stream.substr(0, client.sent())) +
                          (client.over() ? "; the connection ended " + client.ending() : "") + ".",
                      "The whole stream comes back, in order, however long it is."};
  if (!wait) check.stalled(wait, "stream-broken", std::move(story));
  check.fail("stream-broken", std::move(story));
}

// Idle clients, one of which has been served, and nothing to do.
LAB_CHECK("idle-cpu") {
  constexpr double kEnough = 0.02;  // of one core
  Server server(check);
  Client served(server);
  Client idle(server);
  fixture::warm_up(served);
  const double share = fixture::idle_share(server, kEnough);
  check.measured("idle_cpu_percent", share * 100);
  if (server.gone())
    check.stalled({fixture::Stall::gone, server.doing()}, "busy-when-idle",
                  {"Two clients were connected and idle.", "", "The server waits."});
  if (share < kEnough) return;
  const std::string used = "It used processor time in each of three windows, at least " +
                           std::to_string(static_cast<int>(share * 100)) +
                           " % of a core (less than it wants when the machine is busy); ";
  const auto state = served.server_side().value_or(probe::SocketState{});
  const auto registration = server.registration(state.inode);
  if (registration && (registration->events & EPOLLOUT) && !(registration->events & EPOLLET) && check.lists("epollout-when-idle"))
    check.fail("epollout-when-idle",
               {"Two clients were connected and did nothing.",
                used + "fd " + std::to_string(registration->fd) + " is registered for EPOLLOUT (mask " +
                    fixture::hex(registration->events) + ") with " + grouped(state.unsent) + " bytes to send.",
                "EPOLLOUT is asked for only while output waits: a socket with room is always writable."});
  report::Story story{"Two clients were connected and did nothing.", used + "it was " + server.doing() + ".",
                      "With nothing to do a server sleeps in its wait and uses no processor time."};
  check.fail("busy-when-idle", std::move(story));
}

}  // namespace
