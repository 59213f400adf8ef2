// right: lab 4, blocking connections with MSG_DONTWAIT, drain loops, 4 KiB reads, EPOLLRDHUP registered, evicts at EMFILE
// blamed without evicts-at-the-limit: accept-emfile emfile-drops-clients
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/errno_text.h"
#include "base/serve.h"

namespace {

constexpr std::size_t kMost = 1 << 20;

struct Connection {
  int fd;
  std::string out;
  std::size_t sent = 0;
  bool ended = false;
  bool broken = false;
  std::uint32_t interest = EPOLLIN | EPOLLRDHUP;
  std::list<std::unique_ptr<Connection>>::iterator place;
};

int g_epoll;
std::list<std::unique_ptr<Connection>> g_by_idleness;  // idle longest first
std::vector<std::unique_ptr<Connection>> g_graveyard;  // the rest of the batch may still point to them

void bury(Connection& client) {
  epoll_ctl(g_epoll, EPOLL_CTL_DEL, client.fd, nullptr);
  close(client.fd);
  client.fd = -1;
  g_graveyard.push_back(std::move(*client.place));
  g_by_idleness.erase(client.place);
}

bool somebody_waits(int listen_fd) {
  pollfd waiting{listen_fd, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

void accept_all(int listen_fd) {
  while (somebody_waits(listen_fd)) {
    const int fd = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && !g_by_idleness.empty()) bury(*g_by_idleness.front());
    if (fd < 0) continue;
    g_by_idleness.push_back(std::make_unique<Connection>(Connection{fd, {}, 0, false, false, EPOLLIN | EPOLLRDHUP, {}}));
    Connection& client = *g_by_idleness.back();
    client.place = std::prev(g_by_idleness.end());
    epoll_event event{client.interest, {&client}};
    epoll_ctl(g_epoll, EPOLL_CTL_ADD, fd, &event);
  }
}

void progress(Connection& client) { g_by_idleness.splice(g_by_idleness.end(), g_by_idleness, client.place); }

void read_all(Connection& client) {
  char bytes[4096];
  while (!client.ended && client.out.size() - client.sent + sizeof bytes <= kMost) {
    const ssize_t count = recv(client.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) client.broken = true;
    if (count <= 0) client.ended = true;
    if (count > 0) client.out.append(bytes, static_cast<std::size_t>(count));
    if (count > 0) progress(client);
  }
}

void write_all(Connection& client) {
  while (!client.broken && client.sent < client.out.size()) {
    const ssize_t count =
        send(client.fd, client.out.data() + client.sent, client.out.size() - client.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    client.broken = count < 0;
    client.sent += count > 0 ? static_cast<std::size_t>(count) : 0;
    if (count > 0) progress(client);
  }
  client.out.erase(0, client.sent);
  client.sent = 0;
}

void handle(Connection& client) {
  if (client.fd < 0) return;
  read_all(client);
  write_all(client);
  if (client.broken || (client.ended && client.out.empty())) return bury(client);
  std::uint32_t interest = client.out.empty() ? 0u : EPOLLOUT;
  if (!client.ended && client.out.size() + 4096 <= kMost) interest |= EPOLLIN | EPOLLRDHUP;
  if (interest == client.interest) return;
  client.interest = interest;
  epoll_event event{interest, {&client}};
  epoll_ctl(g_epoll, EPOLL_CTL_MOD, client.fd, &event);
}

}  // namespace

void serve(int listen_fd, const base::Limits& limits) {
  g_epoll = epoll_create1(EPOLL_CLOEXEC);
  fcntl(listen_fd, F_SETFL, O_NONBLOCK);
  epoll_event listener{EPOLLIN, {nullptr}};
  epoll_ctl(g_epoll, EPOLL_CTL_ADD, listen_fd, &listener);
  for (epoll_event batch[16];;) {
    const int count = epoll_wait(g_epoll, batch, 16, -1);
    for (int i = 0; i < count; ++i) {
      if (batch[i].data.ptr == nullptr)
        accept_all(listen_fd);
      else
        handle(*static_cast<Connection*>(batch[i].data.ptr));
    }
    while (g_by_idleness.size() > static_cast<std::size_t>(limits.max_connections)) bury(*g_by_idleness.front());
    g_graveyard.clear();
  }
}
