// right: lab 4, an epoll instance inside another, waits without a limit and accepts again by a timerfd, EPOLLONESHOT re-armed
// blamed without nested-epoll: model-epoll-level wrong-model
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>

#include "base/errno_text.h"
#include "base/serve.h"

namespace {

constexpr std::size_t kMost = 1 << 20;
constexpr itimerspec kPause{{0, 0}, {0, 250'000'000}};

struct Connection {
  std::string out;
  bool ended = false;
};

int g_outer;  // the listening socket, the timer, and g_inner
int g_inner;  // the clients
int g_timer;
std::map<int, Connection> g_clients;

bool control(int instance, int operation, int fd, std::uint32_t events) {
  epoll_event event{events, {}};
  event.data.fd = fd;
  return epoll_ctl(instance, operation, fd, &event) == 0;
}

void accept_until_empty(int listen_fd) {
  for (;;) {
    const int fd = accept4(listen_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0 && errno != EAGAIN) {
      control(g_outer, EPOLL_CTL_DEL, listen_fd, 0);
      timerfd_settime(g_timer, 0, &kPause, nullptr);
    }
    if (fd < 0) return;
    g_clients[fd];
    control(g_inner, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLONESHOT);
  }
}

void accept_again(int listen_fd) {
  std::uint64_t expirations = 0;
  if (read(g_timer, &expirations, sizeof expirations) > 0) control(g_outer, EPOLL_CTL_ADD, listen_fd, EPOLLIN);
}

bool retriable() { return errno == EAGAIN || errno == EINTR; }

// Whether the connection goes on.
bool serve_client(int fd, Connection& client) {
  char bytes[32 << 10];
  if (!client.ended && client.out.size() + sizeof bytes <= kMost) {
    const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
    if (count < 0 && !retriable()) return false;
    client.ended = count == 0;
    if (count > 0) client.out.append(bytes, static_cast<std::size_t>(count));
  }
  const ssize_t count = client.out.empty() ? 0 : send(fd, client.out.data(), client.out.size(), MSG_NOSIGNAL);
  if (count < 0 && !retriable()) return false;
  if (count > 0) client.out.erase(0, static_cast<std::size_t>(count));
  const std::uint32_t in = !client.ended && client.out.size() + sizeof bytes <= kMost ? EPOLLIN : 0u;
  control(g_inner, EPOLL_CTL_MOD, fd, in | (client.out.empty() ? 0u : EPOLLOUT) | EPOLLONESHOT);
  return !client.ended || !client.out.empty();
}

void serve_clients() {
  epoll_event batch[32];
  const int count = epoll_wait(g_inner, batch, 32, 0);
  for (int i = 0; i < count; ++i) {
    const int fd = batch[i].data.fd;
    if (serve_client(fd, g_clients[fd])) continue;
    control(g_inner, EPOLL_CTL_DEL, fd, 0);
    close(fd);
    g_clients.erase(fd);
  }
}

}  // namespace

void serve(int listen_fd, const base::Limits&) {
  g_outer = epoll_create1(EPOLL_CLOEXEC);
  g_inner = epoll_create1(EPOLL_CLOEXEC);
  g_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  fcntl(listen_fd, F_SETFL, O_NONBLOCK);
  for (int fd : {listen_fd, g_inner, g_timer}) control(g_outer, EPOLL_CTL_ADD, fd, EPOLLIN);
  for (epoll_event batch[3];;) {
    const int count = epoll_wait(g_outer, batch, 3, -1);
    for (int i = 0; i < count; ++i) {
      if (batch[i].data.fd == listen_fd)
        accept_until_empty(listen_fd);
      else if (batch[i].data.fd == g_timer)
        accept_again(listen_fd);
      else
        serve_clients();
    }
  }
}
