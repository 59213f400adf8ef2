// Lab 4, group "slow clients": what an epoll loop must do while output waits, and what it must not ask for meanwhile.
#include <sys/epoll.h>

#include "fixture/slow.h"
#include "fixture/spin.h"

namespace {

using fixture::Check;
using fixture::Client;
using fixture::grouped;
using fixture::kSmallBuffer;
using fixture::Server;
using fixture::Spin;
using fixture::Stall;
using fixture::Stream;
using fixture::Wait;

// "fd 7 is registered for EPOLLIN"
std::string registered_for(Server& server, Client& client) {
  const auto side = client.server_side();
  const auto entry = side ? server.registration(side->inode) : std::nullopt;
  if (!entry) return "its connection is in no epoll set";
  return "fd " + std::to_string(entry->fd) + " is registered for " + fixture::mask_text(entry->events);
}

// Level-triggered interest, not switched off by a one-shot report.
bool asks_for(Server& server, Client& client, std::uint32_t events) {
  const auto side = client.server_side();
  const auto entry = side ? server.registration(side->inode) : std::nullopt;
  return entry && (entry->events & events) && !(entry->events & EPOLLET);
}

// A spin proves something about what came after this only when there was none before.
void require_rest(Server& server, const std::string& situation) {
  const Spin spin = fixture::spins(server);
  if (!spin.spinning) return;
  server.check().stalled({Stall::spinning, spin.doing}, "",
                         {situation, "It used " + spin.percent() + " of a processor.", "The server sleeps in its wait."});
}

// Ends the check when the server spins: under `diagnosis` when the mask explains it, else as a server that spins.
// The mask is read while it spins: what is armed before may be taken back when the server next looks.
void require_sleep(Server& server, Client& client, std::uint32_t not_to_ask_for, std::string_view diagnosis,
                   report::Story story) {
  const Spin spin = fixture::spins(server);
  const bool mask_explains = asks_for(server, client, not_to_ask_for);
  story.server_did = registered_for(server, client) + ", " + story.server_did;
  if (server.gone()) server.check().stalled({Stall::gone, server.doing()}, diagnosis, std::move(story));
  if (!spin.spinning) return;
  server.check().measured("spin_percent", spin.share * 100);
  story.server_did = "It used " + spin.percent() + " of a processor with nothing to do: " + story.server_did + ".";
  if (mask_explains) server.check().fail(diagnosis, std::move(story));
  server.check().stalled({Stall::spinning, spin.doing}, diagnosis, std::move(story));
}

// Output of two clients waits at the same time: each has its own.
void two_at_once(Server& server) {
  Check& check = server.check();
  std::vector<Client> clients;
  std::vector<Stream> streams;
  Wait wait;
  while (wait && clients.size() < 2)
    wait = fixture::fill(server, clients.emplace_back(fixture::slow_client(server)), streams.emplace_back(check),
                         check.draw(40'000, 60'000));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    Client& client = clients[i];
    if (wait) wait = fixture::read_back(client);
    const std::size_t back = client.received().size();
    const std::size_t right = streams[i].agrees(client.received());
    if (wait && right == client.sent()) continue;
    report::Story story{"Two clients sent " + grouped(clients.front().sent()) + " and " + grouped(clients.back().sent()) +
                            " bytes. Only when both had output waiting in your server did they read.",
                        (i == 0 ? "The first one got " : "The second one got ") + grouped(back) + " bytes, and only the first " +
                            grouped(right) + " are its own" +
                            (client.over() ? "; then its connection ended " + client.ending() : "") + ".",
                        "What waits for one client is kept apart from what waits for another."};
    const char* diagnosis =
        fixture::is_somebody_elses(client.received(), streams[i], streams) ? "output-mixed-up" : "short-write-loses-rest";
    if (!wait) check.stalled(wait, diagnosis, std::move(story));
    check.fail(diagnosis, std::move(story));
  }
}

// Stopped: the bytes are there when the server looks for the first time, and its send takes a part. Then a few more come while
// the rest waits: a server that tries to send gets EAGAIN, at the latest when the kernel has taken the last that it has room for.
LAB_CHECK("short-write") {
  constexpr std::size_t kMore = 6;
  Server server(check);
  Client client = fixture::slow_client(server);
  const Stream stream(check);
  const std::size_t first = check.draw(40'000, 60'000);
  const std::size_t more = check.draw(800, 1'600);
  server.stop();
  client.push(stream.from(0).substr(0, first));
  Wait wait = client.deliver();
  server.resume();
  if (wait) wait = fixture::come_to_rest(server, client);
  for (std::size_t i = 0; wait && i < kMore; ++i) wait = fixture::fill(server, client, stream, more);
  const std::size_t size = client.sent();
  check.measured("bytes_sent", static_cast<double>(size));
  const std::size_t piece = check.draw(1'500, 6'000);
  if (wait) wait = fixture::read_back(client, piece);
  const std::size_t back = client.received().size();
  const std::size_t right = stream.agrees(client.received());
  check.measured("bytes_back", static_cast<double>(back));
  if (wait && back == size && right == size) return two_at_once(server);

  report::Story story{"A client sent " + grouped(size) + " bytes and then read slowly, " + grouped(piece) + " at a time.",
                      grouped(back) + " came back",
                      "Every byte comes back, in order: send takes a part and says how much; EAGAIN means not now."};
  if (client.over()) {
    story.server_did += ", then the connection ended " + client.ending() + ".";
  } else {
    const auto side = client.server_side().value_or(probe::SocketState{});
    story.server_did += "; " + grouped(size - back) + " never did: " + grouped(side.unread) + " lie unread, " +
                        grouped(side.unsent) + " are in its send queue, and " + registered_for(server, client) + ".";
  }
  if (right < back) story.server_did += " The first byte that is missing is number " + grouped(right + 1) + ".";
  if (!wait) check.stalled(wait, "short-write-loses-rest", std::move(story));
  check.fail("short-write-loses-rest", std::move(story));
}

LAB_CHECK("epollout-always-armed") {
  Server server(check);
  Client slow = fixture::slow_client(server);
  const Stream stream(check);
  Wait wait = fixture::fill(server, slow, stream, check.draw(40'000, 60'000));
  const std::size_t size = slow.sent();
  check.measured("bytes_sent", static_cast<double>(size));
  report::Story story{"A client sent " + grouped(size) + " bytes, read all of them late, and then did nothing.", "",
                      "Once the output has gone, take EPOLLOUT out of the interest: a socket with room is always writable."};
  if (wait) wait = fixture::read_back(slow);
  if (wait) wait = server.until([&] { return slow.over() || slow.server_side().value_or(probe::SocketState{}).unsent == 0; });
  if (!wait || slow.over()) {
    story.server_did = grouped(slow.received().size()) + " bytes came back; the connection ended " + slow.ending() + ".";
    if (wait) check.fail("epollout-always-armed", std::move(story));
    check.stalled(wait, "epollout-always-armed", std::move(story));
  }
  story.server_did = "and all its output has gone";
  require_sleep(server, slow, EPOLLOUT, "epollout-always-armed", std::move(story));
}

// The FIN lies behind the data when the server looks for the first time: one report says EPOLLIN and EPOLLRDHUP.
LAB_CHECK("rdhup-with-data") {
  Server server(check);
  server.connections_get({400 << 10, 400 << 10});  // all of it fits on both sides: short writes have their own check
  Client client(server);
  const Stream stream(check);
  const std::size_t size = check.draw(100'000, 150'000);  // more than many read at once
  check.measured("bytes_sent", static_cast<double>(size));
  server.stop();
  client.push(stream.from(0).substr(0, size));
  client.finish();
  Wait wait = client.deliver();
  server.resume();
  if (wait) wait = client.receive_end();
  const std::size_t back = client.received().size();
  check.measured("bytes_back", static_cast<double>(back));
  if (wait && client.ended() && back == size && stream.agrees(client.received()) == size) return;
  report::Story story{"A client sent " + grouped(size) + " bytes and its FIN; both were there when your server looked.",
                      grouped(back) + " of the bytes came back; the connection ended " + client.ending() +
                          (client.was_reset() ? ", as it does when a socket is closed with unread bytes in it." : "."),
                      "What came before the FIN is read and answered first: the end is where a read returns 0."};
  if (!wait) story.server_did += " Now " + client.unread_text() + ".";
  if (!wait) check.stalled(wait, "rdhup-closes-unread", std::move(story));
  check.fail("rdhup-closes-unread", std::move(story));
}

LAB_CHECK("eof-spin") {
  Server server(check);
  Client client = fixture::slow_client(server);
  const Stream stream(check);
  Wait wait = fixture::fill(server, client, stream, check.draw(40'000, 60'000));
  const std::size_t size = client.sent();
  check.measured("bytes_sent", static_cast<double>(size));
  report::Story story{"A client sent " + grouped(size) + " bytes and then its FIN, and read nothing.", "",
                      "Until the client reads there is nothing to do. After its end ask for EPOLLOUT only."};
  if (!wait) check.stalled(wait, "eof-spin", std::move(story));
  require_rest(server, "A client sent " + grouped(size) + " bytes and read nothing.");
  client.finish();
  wait = fixture::come_to_rest(server, client);
  if (!wait) check.stalled(wait, "eof-spin", std::move(story));
  story.server_did = "the client's end has come, and its output waits";
  require_sleep(server, client, EPOLLIN | EPOLLRDHUP, "eof-spin", std::move(story));
}

LAB_CHECK("paused-read-spin") {
  constexpr std::size_t kMost = 40 << 20;
  Server server(check);
  require_rest(server, "Nobody was connected.");
  server.connections_get({64 << 10, 64 << 10});
  Client client(server, {64 << 10, 64 << 10});
  const Stream stream(check);
  const Wait wait = fixture::press(server, client, stream, kMost);
  const auto side = client.server_side().value_or(probe::SocketState{});
  check.measured("bytes_taken", static_cast<double>(client.sent()));
  report::Story story{"A client sent as much as it could, " + grouped(client.sent()) + " bytes, and read nothing.", "",
                      "While you do not read from a client, do not ask for EPOLLIN: unread bytes would be reported for ever."};
  if (!wait) check.stalled(wait, "paused-read-spin", std::move(story));
  story.server_did = "and " + grouped(side.unread) + " bytes lie unread";
  require_sleep(server, client, EPOLLIN | EPOLLRDHUP, "paused-read-spin", std::move(story));
}

}  // namespace
