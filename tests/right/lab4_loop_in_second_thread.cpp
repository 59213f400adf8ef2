// right: lab 4, the loop in a second thread while main sleeps in sigwait; data.ptr with objects that are freed after the batch
// blamed without loop-in-another-thread: model-epoll-level wrong-model
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "base/serve.h"

namespace {

constexpr std::size_t kLimit = 1 << 20;

struct Client {
  int fd = -1;
  std::string out;
  std::size_t sent = 0;  // of out
  bool ended = false;
  bool dead = false;
  std::uint32_t interest = EPOLLIN;
  std::list<Client*>::iterator place;
};

int g_epoll;
int g_listener;
std::list<Client*> g_clients;  // idle longest first
std::vector<Client*> g_graveyard;

void used(Client* client) { g_clients.splice(g_clients.end(), g_clients, client->place); }

void bury(Client* client) {
  epoll_ctl(g_epoll, EPOLL_CTL_DEL, client->fd, nullptr);
  close(client->fd);
  client->dead = true;
  g_clients.erase(client->place);
  g_graveyard.push_back(client);  // a later event of this batch may still point to it
}

// Returns false when accepting must pause.
bool accept_all() {
  for (;;) {
    const int fd = accept4(g_listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
    auto* client = new Client;
    client->fd = fd;
    client->place = g_clients.insert(g_clients.end(), client);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = client}};
    if (epoll_ctl(g_epoll, EPOLL_CTL_ADD, fd, &event) < 0) bury(client);
  }
}

bool read_some(Client* client) {
  while (!client->ended && client->out.size() - client->sent < kLimit) {
    char bytes[10'000];
    const std::size_t room = std::min(sizeof bytes, kLimit - (client->out.size() - client->sent));
    const ssize_t count = recv(client->fd, bytes, room, 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    client->ended = count == 0;
    client->out.append(bytes, static_cast<std::size_t>(count));
    used(client);
  }
  return true;
}

bool write_some(Client* client) {
  while (client->sent < client->out.size()) {
    const ssize_t count = send(client->fd, client->out.data() + client->sent, client->out.size() - client->sent, MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    client->sent += static_cast<std::size_t>(count);
    used(client);
  }
  client->out.clear();
  client->sent = 0;
  return true;
}

void handle(Client* client) {
  if (client->dead) return;
  const bool fine = read_some(client) && write_some(client);
  const std::size_t waiting = client->out.size() - client->sent;
  if (!fine || (client->ended && waiting == 0)) return bury(client);
  std::uint32_t interest = waiting > 0 ? EPOLLOUT : 0u;
  if (!client->ended && waiting < kLimit) interest |= EPOLLIN;
  epoll_event event{.events = interest, .data = {.ptr = client}};
  if (interest != client->interest) epoll_ctl(g_epoll, EPOLL_CTL_MOD, client->fd, &event);
  client->interest = interest;
}

void loop(std::size_t most) {
  epoll_event batch[64];
  bool accepting = true;
  for (;;) {
    const int count = epoll_wait(g_epoll, batch, 64, accepting ? -1 : 50);
    const bool before = accepting;
    if (!accepting) accepting = true;
    for (int i = 0; i < count; ++i) {
      if (batch[i].data.ptr != nullptr)
        handle(static_cast<Client*>(batch[i].data.ptr));
      else
        accepting = accept_all();
    }
    while (g_clients.size() > most) bury(g_clients.front());
    for (Client* client : g_graveyard) delete client;
    g_graveyard.clear();
    if (accepting == before) continue;
    epoll_event event{.events = accepting ? EPOLLIN : 0u, .data = {.ptr = nullptr}};
    epoll_ctl(g_epoll, EPOLL_CTL_MOD, g_listener, &event);
  }
}

}  // namespace

void serve(int listen_fd, const base::Limits& limits) {
  g_listener = listen_fd;
  g_epoll = epoll_create1(EPOLL_CLOEXEC);
  fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK);
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  epoll_ctl(g_epoll, EPOLL_CTL_ADD, listen_fd, &event);
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGINT);
  sigaddset(&stops, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  std::thread(loop, static_cast<std::size_t>(limits.max_connections)).detach();
  int signal = 0;
  sigwait(&stops, &signal);
  std::exit(0);
}
