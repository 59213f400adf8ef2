// Lab 1: what only a server with a thread for each client has to hold.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <semaphore>
#include <system_error>
#include <thread>

#include "fixture/environment.h"
#include "fixture/orders.h"
#include "fixture/slow.h"

namespace {

using fixture::Check;
using fixture::Client;
using fixture::grouped;
using fixture::Server;
using fixture::Stall;
using fixture::Wait;

std::string thread_count(Server& server) {
  const std::size_t count = server.threads().size();
  return grouped(count) + (count == 1 ? " thread" : " threads");
}

// More threads than connections are fine, and so is any descriptor of the connection, and any call of the family.
LAB_CHECK("model-thread") {
  Server server(check);
  const std::size_t count = check.draw(3, 7);
  std::vector<Client> clients = fixture::crowd(server, count, fixture::kNotServed);
  for (std::size_t i = 0; i < count; ++i) {
    const Client& client = clients[i];
    const Wait wait = server.until([&] { return client.sleeper(probe::CallKind::read).has_value(); });
    if (wait) continue;
    const auto fd = client.server_fd();
    report::Story story{grouped(count) + " clients connected, were served, and stayed without a word.",
                        "No thread sleeps in a read of client " + std::to_string(i + 1) + "'s connection" +
                            (fd ? " (fd " + std::to_string(*fd) + ")" : ", which the process that listens does not even hold") +
                            "; the server has " + thread_count(server) + ".",
                        "In this lab each connection has a thread of its own, asleep in recv or read on that connection."};
    check.stalled(wait, "wrong-model", std::move(story));
  }
}

// Sends until the server's thread sleeps in its send; a server that keeps what it cannot send sleeps elsewhere.
void send_until_blocked(Server& server, Client& client, const fixture::Stream& stream, std::size_t most) {
  const auto blocked = [&] {
    client.push(stream.from(client.sent()).substr(0, most - client.sent()));
    return client.sleeper(probe::CallKind::write) || client.over();
  };
  const Wait wait = server.until(blocked, {}, [&] { return client.in_flight(); });
  if (!wait && wait.stall != Stall::asleep)
    server.check().stalled(wait, "deaf-client-delays-all",
                           {"A client sent " + grouped(client.sent()) + " bytes and read nothing.", client.unread_text() + ".",
                            "Its thread waits until it reads."});
}

// Their threads all slept in send at once, each with a part of its client's bytes still to go.
void require_own_bytes(Client& client, const fixture::Stream& own, const std::vector<fixture::Stream>& streams,
                       const std::string& did) {
  const Wait wait = fixture::read_back(client);
  const std::size_t right = own.agrees(client.received());
  report::Story story{did + " Then they read.",
                      "One of them got " + grouped(client.received().size()) + " of its " + grouped(client.sent()) +
                          " bytes back, and only the first " + grouped(right) + " are its own.",
                      "What one thread still has to send stays its own, whatever the others receive meanwhile."};
  if (fixture::is_somebody_elses(client.received(), own, streams))
    Server::current()->check().fail("output-mixed-up", std::move(story));
  if (!wait && wait.stall != Stall::asleep) Server::current()->check().stalled(wait, "output-mixed-up", std::move(story));
  // Bytes that are missing are the business of later checks.
}

LAB_CHECK("deaf-client") {
  constexpr const char* kDiagnosis = "deaf-client-delays-all";
  Server server(check);
  Client earlier(server);
  fixture::warm_up(earlier);
  const std::size_t count = check.draw(2, 4);
  const std::size_t most = check.draw(200, 400) << 10;
  std::vector<Client> deaf;
  std::vector<fixture::Stream> streams;
  while (deaf.size() < count)
    send_until_blocked(server, deaf.emplace_back(fixture::slow_client(server)), streams.emplace_back(check), most);
  check.measured("deaf_clients", static_cast<double>(count));
  check.measured("bytes_sent_by_one", static_cast<double>(deaf.back().sent()));
  const std::string did =
      grouped(count) + " clients sent up to " + grouped(deaf.back().sent()) + " bytes each and read nothing of what came back.";
  const fixture::Others others{deaf, "a client that does not read",
                               "A client that does not read blocks only the thread that writes to it."};
  fixture::require_service(earlier, kDiagnosis, did, &others);
  Client late(server);
  fixture::require_service(late, kDiagnosis, did, &others);
  for (std::size_t i = 0; i < count; ++i) require_own_bytes(deaf[i], streams[i], streams, did);
}

// How many threads of `wanted` the kernel gives us now. The limits of a user and of a control group are ours as well as the
// server's, so this tells whether a server that could not start another thread had a chance.
std::size_t threads_to_be_had(std::size_t wanted) {
  std::counting_semaphore<> end(0);
  std::vector<std::jthread> threads;
  try {
    while (threads.size() < wanted) threads.emplace_back([&] { end.acquire(); });
  } catch (const std::system_error&) {
    // EAGAIN: that was all
  }
  end.release(static_cast<std::ptrdiff_t>(threads.size()));
  return threads.size();
}

LAB_CHECK("clients-1200") {
  constexpr std::size_t kClients = 1200;
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  if (descriptors.rlim_max < static_cast<rlim_t>(check.spec().descriptors))
    check.unsure("this machine allows " + grouped(descriptors.rlim_max) +
                 " descriptors a process (hard limit); the check needs " +
                 grouped(static_cast<std::uint64_t>(check.spec().descriptors)));
  Server server(check);
  try {
    std::vector<Client> clients = fixture::crowd(server, kClients, "clients-not-served");
    check.measured("clients", kClients);
    for (Client& client : clients) client.reset();  // a FIN would leave 1,200 ports in TIME_WAIT
  } catch (const fixture::CheckEnded&) {
    const std::size_t threads = server.threads().size() + threads_to_be_had(kClients);
    if (threads > kClients) throw;
    check.outcome().diagnosis.clear();
    check.outcome().story = {};
    check.measured("threads", static_cast<double>(threads));
    check.unsure("this machine gives a server " + grouped(threads) + " threads; the check needs " +
                 grouped(static_cast<std::uint64_t>(check.spec().threads)));
  }
}

// --- short-write ---

// Interrupts the thread that sleeps in send to the client. Returns whether that woke it up: where the signal is ignored it does
// not.
bool interrupt_send(Server& server, const Client& client) {
  const auto sleeping = client.sleeper(probe::CallKind::write);
  if (!sleeping) return false;
  syscall(SYS_tgkill, server.pid(), sleeping->tid, SIGWINCH);
  const Wait woken = server.until([&] {
    const auto threads = server.threads();
    return std::none_of(threads.begin(), threads.end(),
                        [&](const auto& thread) { return thread.tid == sleeping->tid && thread.slices == sleeping->slices; });
  });
  return static_cast<bool>(woken);
}

// Waits until the server's thread sleeps in send, having been given room since it was last seen there: part of what it sends has
// been taken. Returns false when it will not.
bool asleep_in_send(Server& server, Client& client, const std::string& stream, std::uint64_t slices) {
  bool asleep = false;
  const auto settled = [&] {
    client.push(std::string_view(stream).substr(client.sent()));
    const auto thread = client.sleeper(probe::CallKind::write);
    asleep = thread && thread->slices != slices;
    const bool all_sent = client.received().size() + probe::unread(client.fd()) == stream.size();
    return asleep || all_sent || client.over();
  };
  return server.until(settled, {}, [&] { return client.in_flight(); }) && asleep;
}

// The buffers are small, so that the server's thread sleeps in send with part of its piece taken. A signal then makes send return
// that part: less than it was given, and no error.
LAB_CHECK("short-write") {
  constexpr int kSignals = 8;
  constexpr std::size_t kRoom = 8 << 10;  // bytes that the client reads between two signals
  Server server(check);
  Client client = fixture::slow_client(server);
  const std::string stream = check.text(check.draw(100, 160) << 10);
  check.measured("bytes_sent", static_cast<double>(stream.size()));

  int signals = 0;
  std::string where;
  for (std::uint64_t slices = 0; signals < kSignals && asleep_in_send(server, client, stream, slices); ++signals) {
    if (const auto thread = client.sleeper(probe::CallKind::write)) where = probe::describe(*thread);
    if (!interrupt_send(server, client)) break;
    const auto again = client.sleeper(probe::CallKind::write);
    slices = again ? again->slices : 0;
    client.take(kRoom);
  }
  check.measured("signals", signals);

  Wait wait;
  while (wait && !client.over() && client.received().size() < stream.size()) {
    client.push(std::string_view(stream).substr(client.sent()));
    wait = client.receive(client.received().size() + 1);
    client.take();
  }
  if (client.received() == stream) return;
  const std::size_t right = static_cast<std::size_t>(
      std::mismatch(client.received().begin(), client.received().end(), stream.begin(), stream.end()).first -
      client.received().begin());
  report::Story story{"One client sent " + grouped(client.sent()) + " bytes and did not read. " + std::to_string(signals) +
                          " times a signal (SIGWINCH) interrupted the thread that was " + where +
                          "; after each the client read a little, and in the end everything.",
                      grouped(client.received().size()) + " bytes came back, the first " + grouped(right) +
                          " of them right: what an interrupted send had not taken is missing" +
                          (client.over() ? "; the connection ended " + client.ending() : "") + ".",
                      "Every byte comes back, in order: send says how much it took, and the rest is sent again."};
  if (!wait) check.stalled(wait, "short-write-loses-rest", std::move(story));
  check.fail("short-write-loses-rest", std::move(story));
}

// --- thread-leak ---

// Clients one at a time, each of which comes only when the thread of the one before has left the task list, or never will. A
// server whose threads wait for the next client for a while is not waited for again and again.
void come_and_go(Server& server, std::size_t count, bool by_reset) {
  constexpr auto kLong = std::chrono::milliseconds(300);
  Check& check = server.check();
  bool patient = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t before = server.threads().size();
    Client client(server);
    fixture::require_service(client, "threads-not-released", "Clients came one after another and left.");
    Wait wait;
    if (by_reset) {
      client.reset();
    } else {
      client.finish();
      wait = client.receive_end();
    }
    const auto start = fixture::Clock::now();
    if (wait && patient) wait = server.until([&] { return server.threads().size() <= before; });
    if (wait && !patient) server.until_idle();
    patient = patient && (wait.stall == Stall::asleep || fixture::Clock::now() - start < kLong);
    if (!wait && wait.stall != Stall::asleep)
      check.stalled(wait, "threads-not-released",
                    {"Clients came one after another and left.", "The last connection ended " + client.ending() + ".",
                     "The thread of a client that has left ends."});
  }
}

// Whoever releases threads now and then gets the occasion: every thread that sleeps for a time has woken up once.
void let_clocks_tick(Server& server) {
  server.until_idle();
  const auto before = server.threads();
  server.until([&] {
    const auto now = server.threads();
    return std::all_of(before.begin(), before.end(), [&](const auto& old) {
      const auto same = [&](const auto& thread) { return thread.tid == old.tid && thread.slices == old.slices; };
      return server.sleeps_for_ever(old) || std::none_of(now.begin(), now.end(), same);
    });
  });
  server.until_idle();
}

// A thread that ended but was neither joined nor detached keeps two mappings: its stack and the guard below it. Joining late, or
// many at once, is right, and leaves as many stacks in the C library's cache; but then the next clients' threads use those. So
// only a server that grows in every round leaks.
void must_not_leak_threads(Server& server, bool by_reset) {
  Check& check = server.check();
  constexpr int kRounds = 3;
  constexpr std::size_t kClients = 40;               // a round
  constexpr std::size_t kSuspects = 30;              // as many of them left two mappings
  come_and_go(server, check.draw(8, 12), by_reset);  // until stack cache and allocator have what they will keep
  std::size_t left = 0;
  for (int round = 0; round < (fixture::care("joins-many-at-once") ? kRounds : 1); ++round) {
    const std::size_t before = probe::mappings(server.pid());
    const auto suspicious = [&] { return probe::mappings(server.pid()) >= before + 2 * kSuspects; };
    come_and_go(server, kClients, by_reset);
    if (!suspicious()) return;
    let_clocks_tick(server);
    if (!suspicious()) return;
    left += probe::mappings(server.pid()) - before;
  }
  check.measured("clients", kRounds * kClients);
  check.measured("mappings_left", static_cast<double>(left));
  check.fail("threads-not-released",
             {grouped(kRounds * kClients) + " clients came one after another, were served and left" +
                  (by_reset ? " with a reset." : "."),
              grouped(left) +
                  " memory mappings stayed behind, two for each client: a thread's stack and its guard page. The server has " +
                  thread_count(server) + " left.",
              "Each thread is detached, or joined when it has ended; then its stack is released."});
}

// Servers have a path for each way to leave.
LAB_CHECK("thread-leak") {
  Server server(check);
  must_not_leak_threads(server, false);
  must_not_leak_threads(server, true);
}

// --- fd-by-address ---

// "2 threads are asleep in recv(fd 6)": how many wait for one connection, which may be one too many.
std::string readers_of(Server& server, const Client& client) {
  const auto fd = client.server_fd();
  if (!fd) return "the server does not hold it";
  const auto threads = server.threads();
  const auto count = std::count_if(threads.begin(), threads.end(), [&](const auto& thread) {
    return thread.asleep() && probe::kind_of(thread.call) == probe::CallKind::read && static_cast<int>(thread.args[0]) == *fd;
  });
  return (count == 0   ? "no thread reads"
          : count == 1 ? "one thread reads"
                       : grouped(static_cast<std::uint64_t>(count)) + " threads read") +
         (" fd " + std::to_string(*fd));
}

void require_both(Client& first, Client& second, const std::string& did) {
  Server& server = *Server::current();
  Check& check = server.check();
  for (Client* client : {&first, &second}) {
    const std::string line = check.text(check.draw(5, 40));
    const Wait wait = fixture::echo(*client, line);
    if (wait && client->received() == line) continue;
    const std::string name = client == &first ? "client 1" : "client 2";
    report::Story story{
        did + " Then both ran, and " + name + " sent " + grouped(line.size()) + " bytes.",
        client->over() ? "The connection of " + name + " ended " + client->ending()
                       : name + " got no answer: " + client->unread_text(),
        "Each thread is given its descriptor by value, or in memory that nobody changes: it reads its own client."};
    story.server_did[0] = static_cast<char>(std::toupper(story.server_did[0]));
    story.server_did += ". Of client 1, " + readers_of(server, first) + "; of client 2, " + readers_of(server, second) + ".";
    if (!wait) check.stalled(wait, "fd-by-address", std::move(story));
    check.fail("fd-by-address", std::move(story));
  }
}

// T1: threads are held before they come to the student's first line. When the second client's thread is started, whatever its
// creator still had to write about it is written. A server that waits for its thread before it accepts again sleeps until we
// release it, and one whose threads were there before has nothing to hold: both are right.
LAB_CHECK("fd-by-address") {
  Server server(check, {.environment = {}, .injected = true});
  Client earlier(server);
  fixture::warm_up(earlier);
  server.until_idle();

  fixture::HoldAll hold(server, inject::Kind::thread_start);
  Client first(server);
  server.until([&] { return !hold.held().empty(); });
  const std::size_t held = hold.held().size();
  Client second(server);
  server.until([&] { return hold.held().size() > held; });
  check.measured("threads_held", static_cast<double>(hold.held().size()));
  if (fixture::care("waits-for-its-thread")) hold.release();
  require_both(
      first, second,
      "Client 1 connected; before its thread came to its first line, client 2 connected and was given a thread as well.");
}

// --- thread-creation-fails ---

// It was not to be served at once. Later, or hung up on, is as right.
void require_an_end(Server& server, Client& unlucky, std::size_t size, const std::string& did) {
  const auto patience = fixture::Clock::now() + std::chrono::seconds(3);
  const auto settled = [&] {
    unlucky.take();
    return unlucky.over() || (unlucky.received().size() >= size && fixture::care("serves-later"));
  };
  Wait wait = server.until(settled);
  while (wait.stall == Stall::asleep && server.wakes_by_clock() && fixture::Clock::now() < patience) wait = server.until(settled);
  if (wait) return;
  const auto fd = unlucky.server_fd();
  server.check().stalled(wait, "thread-failure-forgets-client",
                         {did + " Others were served on.",
                          "Its connection is still open" + (fd ? " as fd " + std::to_string(*fd) : std::string()) + ": " +
                              unlucky.unread_text() + ".",
                          "A client that gets no thread is hung up on (its descriptor is closed), or served later."});
}

// Returns false when so many threads are not created for one client.
bool fail_creation(Server& server, Client& bystander, int which) {
  constexpr const char* kFatal = "thread-failure-is-fatal";
  Check& check = server.check();
  server.until_idle();
  const std::string line = check.text(check.draw(5, 40));
  fixture::FailOnce failing(server, inject::Kind::thread_creation, EAGAIN, which);
  Client unlucky(server);
  unlucky.push(line);
  const auto served = [&] {
    unlucky.take();
    return unlucky.over() || unlucky.received().size() >= line.size();
  };
  server.until([&] { return failing.done() || served(); });
  if (!failing.done()) return false;
  const std::string did = "A client connected and sent " + grouped(line.size()) + " bytes; the creation of " +
                          (which == 1 ? "its thread" : "a further thread for it") + " failed with EAGAIN.";
  server.until_idle();
  if (server.gone())
    check.fail(kFatal, {did, "Your server " + server.ending() + ".", "That client gets no thread; all others are served on."});
  fixture::require_service(bystander, kFatal, did);
  Client newcomer(server);
  fixture::require_service(newcomer, kFatal, did);
  require_an_end(server, unlucky, line.size(), did);
  return true;
}

// T3. Some create more than one thread for a client: each of them fails in turn. Those that were created beforehand never do.
LAB_CHECK("thread-creation-fails") {
  constexpr int kMost = 4;
  Server server(check, {.environment = {}, .injected = true});
  Client bystander(server);
  fixture::warm_up(bystander);
  int failed = 0;
  while (failed < kMost && fail_creation(server, bystander, failed + 1)) ++failed;
  check.measured("creations_failed", failed);
}

}  // namespace
