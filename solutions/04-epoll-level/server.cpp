// Lab 4, epoll level-triggered: one thread waits for all clients at once and never sleeps anywhere else.
//
//   wait       epoll_wait reports every registered descriptor that is ready NOW, and reports it again while it stays ready
//   accept     the listening socket is registered like a client
//   read       once for each report; what is left is reported again
//   write      at once; what the kernel does not take is kept, and only then is EPOLLOUT asked for
//   close      take the descriptor out of the interest list, then close it
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "base/byte_buffer.h"
#include "base/errno_text.h"
#include "base/serve.h"
#include "base/unique_fd.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxBuffered = 1 << 20;  // bytes kept for one client; beyond it we stop reading from that client
constexpr std::size_t kReadSize = 64 << 10;    // bytes read at most for one report
constexpr int kMaxEvents = 256;                // reports taken in one batch
constexpr int kAcceptRetryMs = 100;            // how long accepting pauses when there is no descriptor left
constexpr std::uint64_t kListener = 0;         // the id of the listening socket; clients count from 1

struct Connection {
  base::UniqueFd fd;
  base::ByteBuffer out;        // read, but not taken back by the kernel yet
  bool ended = false;          // the client's FIN has come: nothing more to read, the rest of `out` still to send
  std::uint32_t interest = 0;  // what epoll is asked to report
  std::list<std::uint64_t>::iterator idle_place;
};

class EchoServer {
 public:
  EchoServer(int listen_fd, const base::Limits& limits);
  void run();

 private:
  void accept_client();
  void set_accepting(bool on);
  void on_report(std::uint64_t id, std::uint32_t events);
  bool read_once(Connection& client);
  bool write_pending(Connection& client);
  void watch(std::uint64_t id, Connection& client);
  void touch(Connection& client) { idle_.splice(idle_.end(), idle_, client.idle_place); }
  void close_client(std::uint64_t id);
  bool control(int operation, int fd, std::uint32_t interest, std::uint64_t id);

  int listen_fd_;
  std::size_t max_connections_;
  base::UniqueFd epoll_;
  bool accepting_ = false;
  Clock::time_point accept_again_;  // when to look at the listening socket again, if no client leaves before
  // Reports carry an id that is never used twice, not the descriptor's number, which the kernel gives to the next client: a
  // report for a client that was closed earlier in the same batch then finds nobody.
  std::unordered_map<std::uint64_t, Connection> clients_;
  std::uint64_t next_id_ = kListener + 1;
  std::list<std::uint64_t> idle_;  // ids, idle longest first
};

EchoServer::EchoServer(int listen_fd, const base::Limits& limits)
    : listen_fd_(listen_fd), max_connections_(limits.max_connections), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) base::throw_errno("epoll_create1");
  // A report says that a client WAS waiting. Somebody else who holds this socket may take it first; accept must then not sleep.
  if (fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK) < 0) base::throw_errno("set O_NONBLOCK");
  control(EPOLL_CTL_ADD, listen_fd_, 0, kListener);
  set_accepting(true);
}

void EchoServer::run() {
  std::array<epoll_event, kMaxEvents> batch;
  for (;;) {
    int count = epoll_wait(epoll_.get(), batch.data(), kMaxEvents, accepting_ ? -1 : kAcceptRetryMs);
    if (count < 0 && errno != EINTR) base::throw_errno("epoll_wait");
    // The clock, not count == 0: the timeout starts afresh at each call, so busy clients would put it off for ever.
    if (!accepting_ && Clock::now() >= accept_again_) set_accepting(true);
    for (int i = 0; i < count; ++i) {
      if (batch[i].data.u64 == kListener)
        accept_client();
      else
        on_report(batch[i].data.u64, batch[i].events);
    }
    while (clients_.size() > max_connections_) close_client(idle_.front());
  }
}

// One client for each report: if more are waiting, the listening socket is reported again.
void EchoServer::accept_client() {
  base::UniqueFd fd(accept4(listen_fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    // Without a free descriptor the client stays in the queue and would be reported for ever: look away for a while.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) set_accepting(false);
    if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) base::throw_errno("accept");  // no listening socket (any more)
    return;  // EAGAIN, EINTR, ECONNABORTED: whoever is still there is reported again
  }
  const std::uint64_t id = next_id_++;
  if (!control(EPOLL_CTL_ADD, fd.get(), EPOLLIN, id)) return;  // this client is hung up on, the others are served on
  Connection& client = clients_[id];
  client.fd = std::move(fd);
  client.idle_place = idle_.insert(idle_.end(), id);
  client.interest = EPOLLIN;
}

void EchoServer::set_accepting(bool on) {
  if (on == accepting_) return;
  control(EPOLL_CTL_MOD, listen_fd_, on ? EPOLLIN : 0u, kListener);
  accepting_ = on;
  accept_again_ = Clock::now() + std::chrono::milliseconds(kAcceptRetryMs);
}

void EchoServer::on_report(std::uint64_t id, std::uint32_t events) {
  auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Connection& client = found->second;
  bool alive = true;
  // EPOLLHUP and EPOLLERR come unasked; the next read or write says what they mean.
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) alive = read_once(client);
  if (alive && !client.out.empty()) alive = write_pending(client);
  if (!alive || (client.ended && client.out.empty()))
    close_client(id);
  else
    watch(id, client);
}

// Returns false when the connection is broken.
bool EchoServer::read_once(Connection& client) {
  std::array<char, kReadSize> bytes;
  const std::size_t room = std::min(kReadSize, kMaxBuffered - client.out.size());
  if (client.ended || room == 0) return true;  // a read of 0 bytes would return 0, which means the end
  ssize_t count = recv(client.fd.get(), bytes.data(), room, 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  client.ended = count == 0;
  client.out.append({bytes.data(), static_cast<std::size_t>(count)});
  touch(client);
  return true;
}

// Returns false when the connection is broken. MSG_NOSIGNAL: a client that has gone must cost EPIPE, not the process (SIGPIPE).
bool EchoServer::write_pending(Connection& client) {
  ssize_t count = send(client.fd.get(), client.out.view().data(), client.out.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  client.out.consume(static_cast<std::size_t>(count));
  touch(client);
  return true;
}

// Asks for reports only of what we can act on; anything else would be reported again and again.
void EchoServer::watch(std::uint64_t id, Connection& client) {
  std::uint32_t interest = 0;
  if (!client.ended && client.out.size() < kMaxBuffered) interest |= EPOLLIN;
  if (!client.out.empty()) interest |= EPOLLOUT;
  if (interest == client.interest) return;
  control(EPOLL_CTL_MOD, client.fd.get(), interest, id);
  client.interest = interest;
}

// close() ends a registration only if no other process or descriptor shares the socket: take it out ourselves first.
void EchoServer::close_client(std::uint64_t id) {
  Connection& client = clients_.at(id);
  control(EPOLL_CTL_DEL, client.fd.get(), 0, id);
  idle_.erase(client.idle_place);
  clients_.erase(id);
  set_accepting(true);  // a descriptor is free again
}

// Returns false when the kernel has no room for another registration (ADD only).
bool EchoServer::control(int operation, int fd, std::uint32_t interest, std::uint64_t id) {
  epoll_event event{};
  event.events = interest;
  event.data.u64 = id;
  if (epoll_ctl(epoll_.get(), operation, fd, &event) == 0) return true;
  if (errno == ENOSPC || errno == ENOMEM) return false;
  base::throw_errno("epoll_ctl on fd " + std::to_string(fd));
}

}  // namespace

void serve(int listen_fd, const base::Limits& limits) { EchoServer(listen_fd, limits).run(); }
