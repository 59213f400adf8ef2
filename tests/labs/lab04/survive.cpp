// Lab 4, group "survive": what only a loop that waits for the listening socket has to hold.
#include <poll.h>
#include <sys/socket.h>

#include "fixture/client.h"
#include "fixture/orders.h"

namespace {

using fixture::Client;
using fixture::grouped;
using fixture::Server;
using fixture::Wait;

// Takes the connection that waits, by our duplicate of the listening socket, as any other owner of it might. Our descriptor is
// blocking when the server's is (O_NONBLOCK belongs to the socket, and is never set here), so accept is called only while nobody
// else can: the server's threads are stopped or held.
base::UniqueFd steal(Server& server) {
  server.stop();
  pollfd waiting{server.listener(), POLLIN, 0};
  base::UniqueFd taken;
  if (poll(&waiting, 1, 0) == 1) taken.reset(accept4(server.listener(), nullptr, nullptr, SOCK_CLOEXEC));
  server.resume();
  return taken;
}

// E1 by theft: also finds the loop that accepts once for each report. A thread of its own that sleeps in accept is right: only
// what becomes of a client that is there counts.
LAB_CHECK("stolen-connection") {
  constexpr const char* kDiagnosis = "sleeps-in-accept";
  Server server(check, {.environment = {}, .injected = true});
  Client before(server);
  fixture::warm_up(before);
  server.until_idle();

  fixture::HoldAll hold(server, inject::Kind::accept);
  const Client late(server);
  const Wait called = server.until([&] { return !hold.held().empty(); });
  const base::UniqueFd taken = called ? steal(server) : base::UniqueFd();
  hold.release();
  if (!taken)
    return fixture::require_service(before, kDiagnosis, "Another client connected.");  // nobody calls accept on a report

  const std::string line = check.text(check.draw(3, 60));
  const std::size_t got = before.received().size();
  const Wait wait = fixture::echo(before, line);
  if (wait && before.received().substr(got) == line) return;
  report::Story story{
      "A second client connected. Your loop was told of it and called accept; before that call looked into the queue, another "
      "owner "
      "of the listening socket took the connection. Then the first client, which had been served before, sent " +
          grouped(line.size()) + " bytes.",
      before.over() ? "The first client's connection ended " + before.ending() + "."
                    : "The first client got no answer: " + before.unread_text() + ".",
      "On a non-blocking socket accept fails with EAGAIN when the queue is empty, and the loop goes back to its wait."};
  if (!wait) check.stalled(wait, kDiagnosis, std::move(story));
  check.fail(kDiagnosis, std::move(story));
}

}  // namespace
