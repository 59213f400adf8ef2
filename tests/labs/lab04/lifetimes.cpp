// Lab 4, group "lifetimes": registrations that outlive the descriptor they were made for.
#include <sys/epoll.h>

#include "base/errno_text.h"
#include "fixture/orders.h"
#include "fixture/slow.h"
#include "fixture/spin.h"

namespace {

using fixture::Client;
using fixture::Server;
using fixture::Wait;

// A duplicate of the server's connection, as a forked child or a library would have it: it keeps the socket open, and with it
// every registration that was not taken back.
base::UniqueFd hold_duplicate(Server& server, int fd) {
  base::UniqueFd duplicate = probe::duplicate_of(server.pid(), fd);
  if (!duplicate) throw probe::Refused("pidfd_getfd on fd " + std::to_string(fd) + ": " + base::errno_text(errno));
  return duplicate;
}

// One client comes, is served and leaves, with a FIN or with a reset alone: servers have a path for each.
void come_and_leave(Server& server, bool by_reset) {
  fixture::Check& check = server.check();
  Client leaver(server);
  fixture::warm_up(leaver);
  const auto before = leaver.server_side().value_or(probe::SocketState{});
  const auto held_as = leaver.server_fd();
  if (!held_as) check.unsure("the process that listens does not hold the connection (see model-epoll-level)");
  const int number = *held_as;
  const std::string fd = "fd " + std::to_string(number);
  check.measured("fd", number);
  const base::UniqueFd duplicate = hold_duplicate(server, number);
  const fixture::LateRemoval late(server, number);

  // First the FIN, so that the server closes; then the reset, which makes a registration that is left report EPOLLHUP as well.
  by_reset ? leaver.reset() : leaver.finish();
  report::Story story{"A client was served as " + fd + (by_reset ? " and reset its connection" : " and left") +
                          ", while another process held a duplicate of that socket.",
                      "",
                      "On every path (end, reset, eviction) epoll_ctl(EPOLL_CTL_DEL) comes before close: a registration lives as "
                      "long as the socket, not as its number."};
  const Wait closed = fixture::until_closed(server, [&] { return !probe::descriptor_of_socket(server.pid(), before.inode); });
  if (!closed) {
    story.server_did = "It did not close " + fd + ".";
    check.stalled(closed, "stale-registration", std::move(story));
  }
  if (!by_reset) leaver.reset();
  const auto left = server.registration(before.inode);
  if (!left) return;

  const fixture::Spin spin = fixture::spins(server);
  check.measured("spin_percent", spin.share * 100);
  story.server_did = "It closed " + fd + (late.seen() ? " and called EPOLL_CTL_DEL on that number only then (EBADF)" : "") +
                     ", but the registration is still there, for " + fixture::mask_text(left->events);
  Client newcomer(server);
  const std::string line = check.text(check.draw(5, 40));
  const Wait served = fixture::echo(newcomer, line);
  if (server.gone()) {
    story.server_did += ". It " + server.ending() + " when that socket was reported or a new client came.";
    check.fail("stale-registration", std::move(story));
  }
  if (!served || newcomer.received() != line) {
    story.did += " Then a new client came.";
    story.server_did += ". The new client " + (newcomer.over() ? "was cut off " + newcomer.ending() : "got no answer") +
                        ": reports about the old socket still arrive, and yours takes them for the new client.";
    check.fail("stale-registration-hits-newcomer", std::move(story));
  }
  story.server_did +=
      spin.spinning ? ", and reports a socket that you no longer have: your server used " + spin.percent() + " of a processor."
                    : ", reporting a socket that you no longer have.";
  check.fail("stale-registration", std::move(story));
}

// That a DEL came too late (E5) is told where it can be seen without asking more of the server than the check needs.
LAB_CHECK("stale-registration") {
  Server server(check, {.environment = {}, .injected = inject::ability().method == inject::Method::seccomp});
  come_and_leave(server, false);
  come_and_leave(server, true);
}

}  // namespace
