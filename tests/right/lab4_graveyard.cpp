// right: lab 4, connections are shut down at once and their descriptors closed after the next wait; accepts again by setitimer
// blamed without closes-later: fd-leak descriptor-leak
// blamed without burst-of-work: accept-emfile emfile-spin
// blamed without accepts-again-by-the-clock: accept-emfile emfile-never-retries
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/serve.h"
#include "base/unique_fd.h"

namespace {

constexpr std::size_t kMost = 512 << 10;
constexpr int kListener = -1;

struct Connection {
  base::UniqueFd fd;
  std::string out;
  bool ended = false;
  std::list<int>::iterator place;
};

int g_epoll = -1;
std::map<int, Connection> g_clients;  // by a number of our own that counts on
std::list<int> g_idle;                // idle longest first
std::vector<base::UniqueFd> g_graveyard;
volatile std::sig_atomic_t g_alarm = 0;

void control(int operation, int fd, std::uint32_t events, int id) {
  epoll_event event{events, {}};
  event.data.fd = id;
  epoll_ctl(g_epoll, operation, fd, &event);
}

void bury(int id) {
  Connection& client = g_clients.at(id);
  control(EPOLL_CTL_DEL, client.fd.get(), 0, id);
  shutdown(client.fd.get(), SHUT_RDWR);
  g_graveyard.push_back(std::move(client.fd));
  g_idle.erase(client.place);
  g_clients.erase(id);
}

// Returns whether there may be more.
bool accept_one(int listen_fd) {
  static int next = 0;
  base::UniqueFd fd(accept4(listen_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd && (errno == EMFILE || errno == ENFILE) && !g_graveyard.empty()) {
    g_graveyard.clear();
    return true;
  }
  if (!fd) return errno == ECONNABORTED || errno == EINTR;
  const int id = next++;
  control(EPOLL_CTL_ADD, fd.get(), EPOLLIN, id);
  g_clients[id] = {std::move(fd), "", false, g_idle.insert(g_idle.end(), id)};
  return true;
}

bool go_on() { return errno == EAGAIN || errno == EINTR; }

// Whether the connection lives.
bool serve_client(Connection& client, std::uint32_t events) {
  static char bytes[20'000];
  if ((events & ~EPOLLOUT) && !client.ended && client.out.size() < kMost) {
    const ssize_t count = recv(client.fd.get(), bytes, sizeof bytes, 0);
    if (count < 0 && !go_on()) return false;
    if (count == 0) client.ended = true;
    if (count > 0) client.out.append(bytes, static_cast<std::size_t>(count));
  }
  if ((events & ~EPOLLIN) && !client.out.empty()) {
    const ssize_t count = send(client.fd.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (count < 0 && !go_on()) return false;
    if (count > 0) client.out.erase(0, static_cast<std::size_t>(count));
  }
  g_idle.splice(g_idle.end(), g_idle, client.place);
  return !client.ended || !client.out.empty();
}

void on_report(int id, std::uint32_t events) {
  const auto found = g_clients.find(id);
  if (found == g_clients.end()) return;
  Connection& client = found->second;
  if (!serve_client(client, events)) return bury(id);
  std::uint32_t interest = client.out.empty() ? 0u : EPOLLOUT;
  if (!client.ended && client.out.size() < kMost) interest |= EPOLLIN;
  control(EPOLL_CTL_MOD, client.fd.get(), interest, id);
}

// SIGALRM is let in only while we wait, so that none comes between a look at g_alarm and the wait.
sigset_t catch_alarms() {
  std::signal(SIGALRM, [](int) { g_alarm = 1; });
  sigset_t alarm;
  sigset_t before;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  sigprocmask(SIG_BLOCK, &alarm, &before);
  return before;
}

// As asyncio logs a hundred failures at such a moment: half a second of work, then rest.
void write_report() {
  const std::clock_t begin = std::clock();  // processor time
  while (std::clock() - begin < CLOCKS_PER_SEC * 45 / 100) {
  }
}

void look_away(int listen_fd) {
  constexpr itimerval kOnce{{0, 0}, {1, 0}};
  control(EPOLL_CTL_MOD, listen_fd, 0, kListener);
  write_report();
  setitimer(ITIMER_REAL, &kOnce, nullptr);
}

}  // namespace

void serve(int listen_fd, const base::Limits& limits) {
  fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK);
  g_epoll = epoll_create1(EPOLL_CLOEXEC);
  control(EPOLL_CTL_ADD, listen_fd, EPOLLIN, kListener);
  const sigset_t while_waiting = catch_alarms();
  std::vector<epoll_event> batch(64);
  for (;;) {
    const int count = epoll_pwait(g_epoll, batch.data(), static_cast<int>(batch.size()), -1, &while_waiting);
    g_graveyard.clear();
    if (std::exchange(g_alarm, 0) != 0) control(EPOLL_CTL_MOD, listen_fd, EPOLLIN, kListener);
    for (int i = 0; i < count; ++i) {
      if (batch[i].data.fd != kListener) {
        on_report(batch[i].data.fd, batch[i].events);
        continue;
      }
      while (accept_one(listen_fd)) {
      }
      if (errno == EMFILE || errno == ENFILE) look_away(listen_fd);
    }
    while (static_cast<int>(g_clients.size()) > limits.max_connections) bury(g_idle.front());
  }
}
