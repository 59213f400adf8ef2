// Lab 4, group "serve": the checks that only an epoll loop needs.
#include <sys/epoll.h>

#include "fixture/client.h"

namespace {

using fixture::Client;
using fixture::grouped;
using fixture::Server;
using fixture::Wait;

// E1 by drain loop: a loop that accepts until the queue is empty sleeps in accept when the listening socket is blocking.
// A thread of its own that sleeps in accept is right: so it counts only while a client that was accepted gets no answer.
LAB_CHECK("blocking-listener") {
  Server server(check);
  Client client(server);
  const std::string line = check.text(check.draw(3, 60));
  const Wait wait = fixture::echo(client, line);
  if (wait) return;
  report::Story story{"One client connected and sent " + grouped(line.size()) + " bytes.", "",
                      "The loop accepts the client and goes back to its wait."};
  if (!client.accepted()) {
    story.server_did =
        "It never accepted the client: " + grouped(static_cast<std::uint64_t>(probe::accept_queue_length(server.listener()))) +
        " connection waits in the accept queue.";
    check.stalled(wait, "not-accepted", std::move(story));
  }
  if (wait.stall != fixture::Stall::asleep) check.stalled(wait, "not-accepted", std::move(story));
  for (const auto& thread : server.threads())
    if (probe::kind_of(thread.call) == probe::CallKind::accept && probe::accept_queue_length(server.listener()) == 0) {
      story.server_did = "It accepted the client and called accept again: with nobody in the queue the thread is " +
                         probe::describe(thread) + ", and " + client.unread_text() + ".";
      check.fail("blocking-listener", std::move(story));
    }
  // Accepted, and not asleep in accept: what else is missing is the next check's business.
}

}  // namespace
