// Lab 4, group "serve": the checks that only an epoll loop needs.
#include <sys/epoll.h>

#include <algorithm>

#include "fixture/client.h"
#include "fixture/environment.h"
#include "fixture/slow.h"

namespace {

using fixture::Client;
using fixture::grouped;
using fixture::Server;
using fixture::Stall;
using fixture::Wait;

// E1 by drain loop: a loop that accepts until the queue is empty sleeps in accept when the listening socket is blocking.
// A thread of its own that sleeps in accept is right: so it counts only while a client that was accepted gets no answer, and
// nobody else waits for it.
LAB_CHECK("blocking-listener") {
  Server server(check);
  Client client(server);
  const std::string line = check.text(check.draw(3, 60));
  const Wait wait = fixture::echo(client, line);
  const bool acceptor_may_sleep = fixture::care("blocking-acceptor");
  if (wait && acceptor_may_sleep) return;
  report::Story story{"One client connected and sent " + grouped(line.size()) + " bytes.", "",
                      "The loop accepts the client and goes back to its wait."};
  if (!client.accepted()) {
    const auto entry = fixture::seen_registration(server, probe::listening_inode(server.port()).value_or(0));
    story.server_did =
        "It never accepted the client: " + grouped(static_cast<std::uint64_t>(probe::accept_queue_length(server.listener()))) +
        " connection waits in the accept queue" +
        (entry ? ", and the listening socket is registered for " + fixture::mask_text(entry->events) : "") + ".";
    check.stalled(wait, "not-accepted", std::move(story));
  }
  if (!wait && wait.stall != Stall::asleep) check.stalled(wait, "not-accepted", std::move(story));
  const auto threads = server.threads();
  const auto in = [&](probe::CallKind kind) {
    return std::find_if(threads.begin(), threads.end(), [&](const auto& thread) { return probe::kind_of(thread.call) == kind; });
  };
  if (in(probe::CallKind::accept) != threads.end() && (in(probe::CallKind::epoll) == threads.end() || !acceptor_may_sleep)) {
    story.server_did = "It accepted the client and called accept again: with nobody in the queue the thread is " +
                       probe::describe(*in(probe::CallKind::accept)) + ", and " + client.unread_text() + ".";
    check.fail("blocking-listener", std::move(story));
  }
  // Accepted, and not asleep in accept: what else is missing is the next check's business.
}

// A13: a drain loop ends with EAGAIN, which is the normal end of a batch and not of the connection.
LAB_CHECK("eagain-is-not-the-end") {
  Server server(check);
  Client client(server);
  fixture::require_service(client, "eagain-taken-for-end", "The server was started.");
  server.until_idle();
  client.take();
  const std::string did =
      "A client sent a few bytes and got them back (" + grouped(client.received().size()) + " bytes); it kept the connection.";
  if (client.over())
    check.fail("eagain-taken-for-end", {did, "The connection ended " + client.ending() + " right after the answer.",
                                        "EAGAIN says that nothing is there now. The end is a recv that returns 0."});
  // What is kept from one message to the next (a length, an offset) shows in the second one.
  const std::size_t first = client.received().size();
  const std::string line = check.text(check.draw(5, 40));
  const Wait wait = fixture::echo(client, line);
  const std::string got = client.received().substr(first);
  if (wait && got == line) return;
  const bool its_end = got.size() < line.size() && line.ends_with(got);
  report::Story story{did + " Then the same client sent " + grouped(line.size()) + " bytes more.",
                      (got.empty() ? "None" : (its_end ? "Only the last " : "") + grouped(got.size())) + " of them came back; " +
                          (client.over() ? "the connection ended " + client.ending() : client.unread_text()) + ".",
                      "The second message is answered like the first: nothing of that one is left, no length and no offset."};
  if (!wait) check.stalled(wait, "second-answer-missing", std::move(story));
  check.fail("second-answer-missing", std::move(story));
}

std::string mask_of(const probe::Registration& entry) {
  return "registered with EPOLLET (mask " + fixture::hex(entry.events) + ")";
}

// Some change the mode when they first ask for EPOLLOUT. What becomes of the bytes is the business of later checks.
void stays_level_triggered(Server& server, const std::string& expected) {
  Client slow = fixture::slow_client(server);
  const fixture::Stream stream(server.check());
  const auto must_be_level = [&](const char* when) {
    const auto entry = server.registration(slow.server_side().value_or(probe::SocketState{}).inode);
    if (entry && (entry->events & EPOLLET))
      server.check().fail("edge-triggered",
                          {"A client sent " + grouped(slow.sent()) + " bytes and read nothing at first.",
                           when + ("fd " + std::to_string(entry->fd)) + " is " + mask_of(*entry) + ".", expected});
  };
  if (!fixture::fill(server, slow, stream, server.check().draw(40'000, 60'000))) return;
  must_be_level("While its output waits, ");
  if (!fixture::read_back(slow)) return;
  server.until_idle();
  must_be_level("After its output has gone, ");
}

// The rule, by what the kernel shows: the connection stands in an interest list without EPOLLET, and a thread sleeps in
// epoll_wait on it.
LAB_CHECK("model-epoll-level") {
  const std::string expected = "The connection is registered with epoll, level-triggered, and the loop sleeps in epoll_wait.";
  Server server(check);
  std::vector<Client> clients;
  for (std::size_t count = check.draw(2, 4); clients.size() < count;) {
    const Wait wait = fixture::echo(clients.emplace_back(server), check.text(8));
    if (!wait && clients.size() == 1)
      check.stalled(wait, "wrong-model", {"A client connected and sent 8 bytes.", "It got no answer.", expected});
    if (!wait) break;  // that others are served beside it is a check of its own
  }
  server.until_idle();
  for (const auto& client : clients) {
    const auto fd = client.server_fd();
    if (!fd)
      check.fail("wrong-model",
                 {grouped(clients.size()) + " clients are connected and idle.",
                  "The process that listens does not hold the connection of one that was served; it is " + server.doing() + ".",
                  expected});
    const std::string name = "fd " + std::to_string(*fd);
    const std::string did = grouped(clients.size()) + " clients are connected and idle; one that was served is " + name + ".";
    const auto registration = server.registration(client.server_side().value_or(probe::SocketState{}).inode);
    if (!registration)
      check.fail("wrong-model", {did, name + " is in no interest list; the server is " + server.doing() + ".", expected});
    if (registration->events & EPOLLET)
      check.fail("edge-triggered", {did, name + " is " + mask_of(*registration) + ".", expected});
    std::optional<probe::ThreadState> thread;
    const Wait seen = server.until([&] { return (thread = server.thread_waiting_for(*fd)).has_value(); });
    if (!thread && seen.stall == Stall::asleep)
      check.fail("wrong-model",
                 {did, "No thread was seen asleep in a wait for it; the server is " + server.doing() + ".", expected});
    if (!thread || probe::kind_of(thread->call) == probe::CallKind::epoll) continue;
    const bool in_read = probe::kind_of(thread->call) == probe::CallKind::read;  // after a report: the connection is blocking
    check.fail(in_read ? "blocking-connection" : "wrong-model",
               {did,
                name + " is registered, but the thread that waits for it is " + probe::describe(*thread) +
                    (in_read ? ": it was called again although nothing more was reported." : "."),
                in_read ? "One recv for each report, on a socket that does not block; then back to epoll_wait." : expected});
  }
  stays_level_triggered(server, expected);
}

// On the way back, where each bounds what the kernel holds for a client that does not read: some 100 KiB together.
constexpr int kBackBuffer = 16 << 10;

// A12: what a fixed buffer does when it is full. The kernel's own buffers are kept small, so that the server's must hold the
// bytes.
LAB_CHECK("full-buffer") {
  Server server(check);
  server.connections_get({0, kBackBuffer});
  Client client(server, {kBackBuffer, 0});
  const std::string bytes = check.text(check.draw(700, 1000) << 10);
  const std::string_view all = bytes;
  while (client.sent() < bytes.size() && !client.over()) {
    const std::size_t before = client.sent();
    const Wait wait = server.until([&] { return client.push(all.substr(client.sent())) > 0 || client.over(); }, {},
                                   [&] { return client.in_flight(); });
    // It stopped reading: right, if it goes on later. That it spins meanwhile is a check of its own.
    if (wait.stall == Stall::asleep || wait.stall == Stall::spinning) break;
    if (!wait)
      check.stalled(wait, "full-buffer-taken-for-end",
                    {"A client sent " + grouped(before) + " bytes without reading.", "It took no more of them.",
                     "It keeps up to 1 MiB, or stops reading."});
  }
  const std::size_t unread_until = client.sent();
  check.measured("sent_before_reading", static_cast<double>(unread_until));
  const bool reads = !client.over();
  Wait wait;
  while (wait && !client.over() && client.received().size() < bytes.size()) {
    client.push(all.substr(client.sent()));
    wait = client.receive(client.received().size() + 1);
  }
  if (client.received() == bytes) return;
  report::Story story{"A client sent " + grouped(unread_until) + " of " + grouped(bytes.size()) + " bytes without reading any" +
                          (reads ? "; then it read" : "") + (client.sent() > unread_until ? ", and went on sending." : "."),
                      grouped(client.received().size()) + " of " + grouped(bytes.size()) + " bytes came back" +
                          (client.over() ? ", then the connection ended " + client.ending() : "; " + client.unread_text()) + ".",
                      "Whatever does not fit is left unread until there is room; a read is never given 0 bytes of room."};
  if (client.over()) check.fail("full-buffer-taken-for-end", std::move(story));
  // Still open, and bytes are missing: short-write's business, which comes later.
  if (!wait && wait.stall != Stall::asleep) check.stalled(wait, "full-buffer-taken-for-end", std::move(story));
}

// E11: with a blocking connection the loop sleeps in send until that client reads.
LAB_CHECK("blocking-write") {
  Server server(check);
  Client other(server);
  fixture::warm_up(other);
  Client deaf = fixture::slow_client(server);
  const fixture::Stream stream(check);
  const Wait wait = fixture::fill(server, deaf, stream, check.draw(300, 500) << 10);  // and let it get as far as it goes
  if (!wait)
    check.stalled(wait, "blocking-connection",
                  {"A client sent " + grouped(deaf.sent()) + " bytes and read nothing.", deaf.unread_text() + ".",
                   "Its output is kept, and the loop goes on."});
  const auto fd = deaf.server_fd();
  const std::string name = fd ? " (fd " + std::to_string(*fd) + ")" : "";
  check.measured("sent_without_reading", static_cast<double>(deaf.sent()));
  fixture::require_service(other, "blocking-connection",
                           "A client" + name + " sent " + grouped(deaf.sent()) + " bytes and read nothing.");
}

LAB_CHECK("clients-5000") {
  constexpr std::size_t kClients = 5000;
  Server server(check);
  server.needs_descriptors(kClients + 100);
  std::vector<Client> clients = fixture::crowd(server, kClients, "clients-not-served");
  fixture::require_service(clients.front(), "clients-not-served", grouped(kClients) + " clients are connected.");
  fixture::require_service(clients.back(), "clients-not-served", grouped(kClients) + " clients are connected.");
  for (auto& client : clients) client.reset();  // 5,000 closes would leave 5,000 connections in TIME_WAIT
}

}  // namespace
