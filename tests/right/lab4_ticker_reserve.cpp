// right: lab 4, wakes every 10 ms, a reserve descriptor for EMFILE, one accept a report, 256 KiB reads, helper threads in
// select, poll and nanosleep
// blamed without hangs-up-at-the-limit: accept-emfile emfile-never-retries
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/errno_text.h"
#include "base/serve.h"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMost = 512 << 10;

struct Connection {
  std::string out;
  bool ended = false;
  unsigned long used = 0;
};

int g_epoll;
int g_reserve;
unsigned long g_clock;
std::map<int, Connection> g_clients;

void hang_up(int fd) {
  epoll_ctl(g_epoll, EPOLL_CTL_DEL, fd, nullptr);
  close(fd);
  g_clients.erase(fd);
}

void accept_one(int listen_fd) {
  const int fd = accept4(listen_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {  // the reserve is there to hang up on whoever waits
    close(g_reserve);
    close(accept(listen_fd, nullptr, nullptr));
    g_reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  if (fd < 0) return;
  g_clients[fd].used = ++g_clock;
  epoll_event event{EPOLLIN, {}};
  event.data.fd = fd;
  epoll_ctl(g_epoll, EPOLL_CTL_ADD, fd, &event);
}

// Whether the connection goes on.
bool serve_client(int fd, Connection& client, std::uint32_t events) {
  static std::vector<char> bytes(256 << 10);
  if (!client.ended && client.out.size() < kMost && (events & ~EPOLLOUT)) {
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    client.ended = count == 0;
    if (count > 0) client.out.append(bytes.data(), static_cast<std::size_t>(count));
    if (count > 0) client.used = ++g_clock;
  }
  if (!client.out.empty()) {
    const ssize_t count = send(fd, client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count > 0) client.out.erase(0, static_cast<std::size_t>(count));
    if (count > 0) client.used = ++g_clock;
  }
  epoll_event event{(client.ended || client.out.size() >= kMost ? 0u : EPOLLIN) | (client.out.empty() ? 0u : EPOLLOUT), {}};
  event.data.fd = fd;
  epoll_ctl(g_epoll, EPOLL_CTL_MOD, fd, &event);
  return !client.ended || !client.out.empty();
}

void evict_one() {
  auto idle = g_clients.begin();
  for (auto it = g_clients.begin(); it != g_clients.end(); ++it)
    if (it->second.used < idle->second.used) idle = it;
  hang_up(idle->first);
}

// What a program may have beside its loop: a signal pipe, somebody who waits for the terminal, a heartbeat.
void start_helpers() {
  static int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) base::throw_errno("pipe2");
  std::thread([] {
    pollfd quit{ends[0], POLLIN, 0};
    while (poll(&quit, 1, -1) < 0) continue;
  }).detach();
  std::thread([] {
    for (;;) {
      fd_set set;
      FD_ZERO(&set);
      FD_SET(ends[0], &set);
      select(200, &set, nullptr, nullptr, nullptr);  // generous nfds: clients have numbers below it
    }
  }).detach();
  std::thread([] {
    for (;;) std::this_thread::sleep_for(50ms);
  }).detach();
}

}  // namespace

void serve(int listen_fd, const base::Limits& limits) {
  start_helpers();
  g_epoll = epoll_create1(EPOLL_CLOEXEC);
  g_reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
  fcntl(listen_fd, F_SETFL, O_NONBLOCK);
  epoll_event listener{EPOLLIN, {}};
  listener.data.fd = listen_fd;
  epoll_ctl(g_epoll, EPOLL_CTL_ADD, listen_fd, &listener);
  for (epoll_event report;;) {
    const int count = epoll_wait(g_epoll, &report, 1, 10);
    if (count == 1 && report.data.fd == listen_fd)
      accept_one(listen_fd);
    else if (count == 1 && !serve_client(report.data.fd, g_clients[report.data.fd], report.events))
      hang_up(report.data.fd);
    while (g_clients.size() > static_cast<std::size_t>(limits.max_connections)) evict_one();
  }
}
