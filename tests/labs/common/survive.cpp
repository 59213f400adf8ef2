// What must not take the server down or wear it out: signals, clients that go away, an exhausted descriptor table.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "fixture/client.h"
#include "fixture/environment.h"
#include "fixture/orders.h"
#include "fixture/slow.h"
#include "fixture/spin.h"

namespace {

using fixture::Check;
using fixture::Client;
using fixture::grouped;
using fixture::require_service;
using fixture::Server;
using fixture::Stall;
using fixture::Wait;
using report::Story;

// Ends the check when the server is gone: with the check's own diagnosis, since what has just happened ended it.
void must_be_alive(Server& server, std::string_view diagnosis, const std::string& did, const std::string& expected) {
  if (server.gone()) server.check().fail(diagnosis, {did, "Your server " + server.ending() + ".", expected});
}

// Interrupts every call that a thread of the server sleeps in: stop and continue for epoll_wait, which the kernel never restarts,
// and SIGWINCH for the rest. To a program without a handler for it (a server that is not ours) SIGWINCH is nothing.
int interrupt_waits(Server& server) {
  const auto before = server.threads();
  server.stop();
  server.resume();
  server.until_idle();
  int interrupted = 0;
  for (const auto& thread : before) interrupted += syscall(SYS_tgkill, server.pid(), thread.tid, SIGWINCH) == 0 ? 1 : 0;
  server.until_idle();
  return interrupted;
}

LAB_CHECK("eintr") {
  constexpr int kRounds = 3;
  const std::string expected = "EINTR says that nothing happened yet: wait again.";
  Server server(check);
  Client client(server);
  fixture::warm_up(client);
  int signals = 0;
  int rounds = 0;
  for (; rounds < kRounds && server.until_idle(); ++rounds) signals += interrupt_waits(server);  // a busy one does not sleep
  check.measured("signals_sent", signals);
  const std::string did = "While the server had nothing to do it was stopped and continued, as by Ctrl-Z and fg" +
                          (signals > 0 ? ", and each of its threads was sent a signal (SIGWINCH): " + std::to_string(signals) +
                                             (signals == 1 ? " signal in " : " signals in ") + std::to_string(rounds) +
                                             (rounds == 1 ? " round." : " rounds.")
                                       : std::string("."));
  must_be_alive(server, "eintr-is-fatal", did, expected);
  client.take();
  if (client.over())
    check.fail("eintr-drops-client",
               {did, "The connection of a client that was idle meanwhile ended " + client.ending() + ".", expected});
  require_service(client, "eintr-drops-client", did);
  must_be_alive(server, "eintr-is-fatal", did, expected);
  client.close();  // that two are served at once is a check of its own
  Client newcomer(server);
  require_service(newcomer, "eintr-is-fatal", did);
}

// Nothing when it does not come to that: a check of its own.
std::optional<Client> client_with_output_waiting(Server& server) {
  Client client = fixture::slow_client(server);
  const fixture::Stream stream(server.check());
  if (!fixture::fill(server, client, stream, server.check().draw(40'000, 60'000))) return std::nullopt;
  return client;
}

std::string reset_while_output_waited(const Client& leaver) {
  return "A client sent " + grouped(leaver.sent()) + " bytes, read nothing, and reset its connection while output waited for it.";
}

// The write that fails is the one that sends what had to wait.
void leave_with_output_waiting(Server& server, Client& bystander) {
  Check& check = server.check();
  auto leaver = client_with_output_waiting(server);
  if (!leaver) return;
  server.stop();
  leaver->finish();
  leaver->deliver();
  leaver->reset();
  server.resume();
  server.until_idle();
  const std::string did = "A client sent " + grouped(leaver->sent()) +
                          " bytes, read nothing, finished, and was gone (reset) while output waited for it.";
  const std::string expected = "The write fails with EPIPE or ECONNRESET, and only that connection ends.";
  if (server.gone() && server.killed_by(SIGPIPE))
    check.fail("killed-by-sigpipe", {did, "Your server " + server.ending() + ".", expected});
  if (server.gone())
    check.stalled({Stall::gone, server.doing()}, "killed-by-sigpipe", {did, "It could not send the rest.", expected});
  require_service(bystander, "killed-by-sigpipe", did);
  Client newcomer(server);  // it gets the number of the one that has left
  require_service(newcomer, "killed-by-sigpipe", did);
}

// The FIN first, then the reset: with a reset alone the first write gets ECONNRESET, and only the second one would raise the
// signal.
LAB_CHECK("sigpipe") {
  Server server(check);
  Client bystander(server);
  Client leaver(server);
  fixture::warm_up(bystander);
  fixture::warm_up(leaver);
  server.until_idle();
  const auto inode = leaver.server_side().value_or(probe::SocketState{}).inode;
  const std::string last_words = check.text(check.draw(200, 2000));

  server.stop();
  leaver.push(last_words);
  leaver.finish();
  leaver.deliver();
  leaver.reset();
  server.resume();
  const Wait closed = server.until([&] {
    return !server.gone() && !probe::descriptors(server.pid()).empty() && !probe::descriptor_of_socket(server.pid(), inode);
  });
  const std::string did =
      "A client sent " + grouped(last_words.size()) + " bytes, finished, and was gone (reset) before the server had read them.";
  if (server.gone() && server.killed_by(SIGPIPE))
    check.fail("killed-by-sigpipe",
               {did, "It read them and answered a connection that no longer exists: your server " + server.ending() + ".",
                "The write fails with EPIPE, and only that connection ends."});
  if (closed.stall == Stall::gone)
    check.stalled(
        closed, "killed-by-sigpipe",
        {did, "It answered a connection that no longer exists.", "The write fails with EPIPE, and only that connection ends."});
  require_service(bystander, "killed-by-sigpipe", did);
  leave_with_output_waiting(server, bystander);
}

// A path of its own in many servers: the one that sends what had to wait.
void reset_with_output_waiting(Server& server, Client& bystander, const std::string& expected, bool span_before) {
  auto leaver = client_with_output_waiting(server);
  if (!leaver) return;
  leaver->reset();
  server.until_idle();
  const std::string did = reset_while_output_waited(*leaver);
  must_be_alive(server, "reset-is-fatal", did, expected);
  if (const fixture::Spin spin = fixture::spins(server); spin.spinning && !span_before)
    server.check().fail("reset-spin", {did, "A thread is runnable " + spin.percent() + " of the time since then.", expected});
  require_service(bystander, "reset-is-fatal", did);
  Client newcomer(server);  // it gets the number of the one that has left
  require_service(newcomer, "reset-is-fatal", did);
}

LAB_CHECK("reset") {
  Server server(check);
  Client bystander(server);
  std::vector<Client> clients = fixture::crowd(server, check.draw(3, 6), fixture::kNotServed);
  fixture::warm_up(bystander);
  server.until_idle();
  const std::string expected = "recv fails with ECONNRESET: that connection is closed, and nothing else happens.";
  const bool span_before = fixture::spins(server).spinning;  // then a spin says nothing about resets
  for (auto& client : clients) client.reset();
  const std::string did = grouped(clients.size()) + " idle clients reset their connections.";
  server.until_idle();
  must_be_alive(server, "reset-is-fatal", did, expected);
  if (const fixture::Spin spin = fixture::spins(server); spin.spinning && !span_before)
    check.fail("reset-spin", {did,
                              "A thread is runnable " + spin.percent() +
                                  " of the time since then, with nothing to do: it is told about a reset "
                                  "connection again and again and does not close it.",
                              expected});
  must_be_alive(server, "reset-is-fatal", did, expected);
  require_service(bystander, "reset-is-fatal", did);
  reset_with_output_waiting(server, bystander, expected, span_before);
}

void must_be_closed(Server& server, std::uint64_t inode, const std::string& did) {
  const Wait wait = fixture::until_closed(server, [&] { return !probe::descriptor_of_socket(server.pid(), inode); });
  if (!wait)
    server.check().stalled(
        wait, "descriptor-leak",
        {did, "The answer could not be written, and the connection is still open.", "A connection whose write fails is closed."});
}

// The rarest path of all: the connection whose answer cannot be written, at once or when it has waited.
void those_that_cannot_be_answered(Server& server) {
  Check& check = server.check();
  Client leaver(server);
  require_service(leaver, "descriptor-leak", "Others had left.");
  const auto inode = leaver.server_side().value_or(probe::SocketState{}).inode;
  server.until_idle();
  server.stop();
  leaver.push(check.text(check.draw(200, 2000)));
  leaver.finish();
  leaver.deliver();
  leaver.reset();
  server.resume();
  must_be_closed(
      server, inode,
      "A client sent " + grouped(leaver.sent()) + " bytes, finished, and was gone (reset) before the server had read them.");

  auto late = client_with_output_waiting(server);
  if (!late) return;
  const auto late_inode = late->server_side().value_or(probe::SocketState{}).inode;
  late->reset();
  must_be_closed(server, late_inode, reset_while_output_waited(*late));
}

// Descriptors that a server opens for each client beside the connection: timers, pipes, duplicates. What it opens once, or keeps
// for the next client, is there after the first round already.
void other_descriptors_come_back(Server& server, std::size_t count) {
  Check& check = server.check();
  server.until_idle();
  const std::size_t before = probe::descriptors(server.pid()).size();
  for (auto& client : fixture::crowd(server, count, fixture::kNotServed)) client.close();
  const auto come_back = [&] { return probe::descriptors(server.pid()).size() <= before + count / 2; };
  const Wait wait = fixture::until_closed(server, come_back);
  if (wait) return those_that_cannot_be_answered(server);
  const std::size_t more = probe::descriptors(server.pid()).size() - before;
  check.measured("descriptors_leaked", static_cast<double>(more));
  check.stalled(
      wait, "descriptor-leak",
      {grouped(count) + " clients came, were served and left; as many had done so before.",
       "Their connections are closed, but " + std::to_string(more) + " descriptors more are open than before they came.",
       "What is opened for a client (a timer, a pipe, a duplicate) is closed with it."});
}

// Clients leave in both ways, since the rare path is where descriptors are forgotten.
LAB_CHECK("fd-leak") {
  Server server(check);
  std::vector<Client> clients = fixture::crowd(server, check.draw(20, 30), fixture::kNotServed);
  std::vector<std::uint64_t> inodes;
  for (const auto& client : clients) inodes.push_back(client.server_side().value_or(probe::SocketState{}).inode);
  const std::size_t half = clients.size() / 2;
  for (std::size_t i = 0; i < clients.size(); ++i) i < half ? clients[i].close() : clients[i].reset();

  const auto held = [&](std::size_t first, std::size_t last) {
    return std::count_if(inodes.begin() + static_cast<std::ptrdiff_t>(first), inodes.begin() + static_cast<std::ptrdiff_t>(last),
                         [&](std::uint64_t inode) { return probe::descriptor_of_socket(server.pid(), inode).has_value(); });
  };
  const Wait wait = fixture::until_closed(server, [&] { return held(0, inodes.size()) == 0; });
  if (wait) return other_descriptors_come_back(server, clients.size());
  const auto after_close = held(0, half);
  const auto after_reset = held(half, inodes.size());
  if (wait.stall == Stall::asleep && after_close + after_reset <= 1) return;  // one that is closed a little later is no leak
  check.measured("descriptors_leaked", static_cast<double>(after_close + after_reset));
  check.stalled(
      wait, "descriptor-leak",
      {grouped(clients.size()) + " clients came, were served and left: " + grouped(half) + " closed, " +
           grouped(clients.size() - half) + " reset.",
       std::to_string(after_close + after_reset) + " of their descriptors are still open: " + std::to_string(after_close) +
           " of those that closed, " + std::to_string(after_reset) + " of those that reset.",
       "Every connection that has ended is closed, on every path."});
}

// What other systems say of such a client, and Linux of some network errors: accept itself fails.
void one_accept_fails(Server& server, Client& bystander) {
  fixture::FailOnce failing(server, inject::Kind::accept, ECONNABORTED);
  const Client client(server);
  server.until([&] { return failing.done(); });
  if (!failing.done()) return;  // it was accepted by a call that slept already, and no other has come
  server.until_idle();
  const std::string did = "One call of accept failed with ECONNABORTED: a connection that had waited was gone.";
  must_be_alive(server, "dead-client-is-fatal", did, "That says something about one client: accept the next.");
  require_service(bystander, "dead-client-is-fatal", did);
  Client newcomer(server);
  require_service(newcomer, "dead-client-is-fatal", did);
}

LAB_CHECK("dead-before-accept") {
  Server server(check, {.environment = {}, .injected = true});
  Client bystander(server);
  fixture::warm_up(bystander);
  server.until_idle();
  const std::size_t dead = check.draw(4, 9);

  server.stop();
  for (std::size_t i = 0; i < dead; ++i) Client(server).reset();
  Client alive(server);
  server.resume();
  const std::string did = grouped(dead) + " clients connected and reset before the server could accept them; one more stayed.";
  server.until_idle();
  must_be_alive(server, "dead-client-is-fatal", did, "Each of them costs one failed read, no more.");
  require_service(alive, "dead-client-is-fatal", did);
  require_service(bystander, "dead-client-is-fatal", did);
  one_accept_fails(server, bystander);
}

// Whoever sleeps through a report delays everybody. Bytes make the thread that waits for them runnable at once: so when they lie
// unread, and no thread has run since, nobody waits for them. A short sleep may escape us.
void must_not_sleep_meanwhile(Server& server, Client& client, const std::string& did) {
  constexpr auto kLong = std::chrono::milliseconds(200);
  constexpr int kTimes = 2;  // the first answer comes at the end of a sleep: then the next one has just begun
  for (int i = 0; i < kTimes; ++i) {
    const std::size_t before = client.received().size();
    client.push("sleeping");
    std::uint64_t slices = 0;
    auto since = fixture::Clock::now();
    bool slept = false;
    server.until(
        [&] {
          client.take();
          std::uint64_t now = 0;
          bool asleep = client.server_side().value_or(probe::SocketState{}).unread > 0;
          for (const auto& thread : server.threads_of_all()) {
            asleep = asleep && thread.asleep();
            now += thread.slices;
          }
          if (!asleep || std::exchange(slices, now) != now) since = fixture::Clock::now();
          slept = fixture::Clock::now() - since >= kLong;
          return slept || client.over() || client.received().size() > before;
        },
        {client.fd()});
    if (slept)
      server.check().fail("emfile-sleeps",
                          {did + " Then one that was connected before sent 8 bytes.",
                           "The 8 bytes lie unread, and no thread waits for them: the server is " + server.doing() + ".",
                           "The loop goes back to its wait, which has a timeout for accepting again."});
    if (!client.receive(before + 8) || client.over()) return;
  }
}

// The first client that answers is enough: those that the server hangs up on meanwhile made room.
void serve_on(Server& server, std::vector<Client>& clients, const std::string& did) {
  Check& check = server.check();
  const std::size_t may_be_lost = fixture::care("evicts-at-the-limit") ? 1 : 0;
  for (std::size_t lost = 0; !clients.empty() && lost <= may_be_lost; ++lost) {
    Client& client = clients.front();
    const Wait wait = fixture::echo(client, check.text(8));
    if (!wait)
      check.stalled(wait, "emfile-drops-clients",
                    {did + " Then one that was connected before sent 8 bytes.", "It got no answer: " + client.unread_text() + ".",
                     "It is served as if nothing had happened."});
    if (!client.over()) return;
    clients.erase(clients.begin());
  }
  check.fail("emfile-drops-clients",
             {did, "It hung up on more than one of the clients it had.", "One may make room; the others are served on."});
}

// Once descriptors are free again, the one who waited and a newcomer must be served (the one who waited may have been hung up
// on).
void serve_again(Server& server, Client& waiting, const std::string& did) {
  Check& check = server.check();
  const std::string free_again = did + " Then the limit was lifted and one client left.";
  Wait wait;
  // Some seconds: a server may also look again by a clock, and not every clock can be seen from outside (setitimer).
  const auto patience = fixture::Clock::now() + std::chrono::seconds(fixture::care("accepts-again-by-the-clock") ? 3 : 0);
  for (int tries = 0; tries == 0 || (wait.stall == Stall::asleep &&
                                     (fixture::Clock::now() < patience || (tries < 3 && server.wakes_by_clock())));
       ++tries)
    wait = server.until([&] {
      waiting.take();
      return !waiting.received().empty() || (waiting.over() && fixture::care("hangs-up-at-the-limit"));
    });
  if (!wait) {
    const auto queued = probe::accept_queue_length(server.listener());
    Story story{free_again, "The client that waited is still not served; the accept queue holds " + std::to_string(queued) + ".",
                "As soon as a descriptor is free the server accepts again."};
    if (wait.stall == Stall::spinning) check.fail("emfile-spin", std::move(story));
    check.stalled(wait, "emfile-never-retries", std::move(story));
  }
  Client newcomer(server);
  require_service(newcomer, "emfile-never-retries", free_again);
}

// At the limit, with a thread that calls accept again and again: in vain for a client that stays in the queue, or although nobody
// is left there.
Story calls_accept_in_vain(Server& server, Client& waiting, const std::string& did, const std::string& share) {
  const std::string runnable = " A thread is runnable " + share + " of the time.";
  if (probe::accept_queue_length(server.listener()) > 0)
    return {did, "accept fails with EMFILE, leaves the client in the queue, and is called again at once." + runnable,
            "The server looks away from the listening socket until a descriptor is free or some time has passed."};
  waiting.take();
  return {did,
          std::string("Your server ") + (waiting.over() ? "hung up on" : "took") +
              " the newcomer and calls accept again, although nobody waits. At the limit accept does not look at the queue: it "
              "fails with EMFILE at once." +
              runnable,
          "It goes back to its wait after one accept: if more clients wait, it is told so again."};
}

// Right designs at the limit: wait (a timer, a pause until somebody leaves, a sleeping acceptor), hang up on the newcomer (a
// descriptor kept in reserve), make room by hanging up on the one idle longest.
LAB_CHECK("accept-emfile") {
  Server server(check);
  std::vector<Client> clients = fixture::crowd(server, check.draw(2, 5), fixture::kNotServed);
  server.until_idle();
  if (fixture::spins(server).spinning) check.unsure("the server was spinning before it ran out of descriptors");
  const int limit = server.lowest_free_descriptor();
  check.measured("descriptor_limit", limit);

  server.limit_descriptors(static_cast<rlim_t>(limit));
  Client waiting(server);
  waiting.push("w");
  const std::string did = grouped(clients.size()) + " clients were connected when the server ran out of descriptors (limit " +
                          std::to_string(limit) + "); one more connected.";
  server.until_idle();
  const std::string expected = "accept fails with EMFILE. The clients that are there are served on, without a busy loop.";
  must_be_alive(server, "emfile-is-fatal", did, expected);
  if (const fixture::Spin spin = fixture::spins(server); spin.spinning)
    check.fail("emfile-spin", calls_accept_in_vain(server, waiting, did, spin.percent()));
  must_be_alive(server, "emfile-is-fatal", did, expected);
  if (check.lists("emfile-sleeps")) must_not_sleep_meanwhile(server, clients.front(), did);
  serve_on(server, clients, did);

  for (auto& client : clients) client.take();
  std::erase_if(clients, [](const Client& client) { return client.over(); });
  server.restore_descriptors();
  clients.pop_back();
  serve_again(server, waiting, did);
}

}  // namespace
