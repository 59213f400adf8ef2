// right: lab 4, a thread that blocks in accept and registers from outside; EPOLLONESHOT, armed again after every report
// blamed without blocking-acceptor: blocking-listener blocking-listener
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "base/serve.h"
#include "base/unique_fd.h"

namespace {

constexpr std::size_t kLimit = 1 << 20;

struct Client {
  base::UniqueFd fd;
  std::string out;
  bool ended = false;
  std::uint64_t used = 0;
};

class Server {
 public:
  explicit Server(const base::Limits& limits)
      : most_(static_cast<std::size_t>(limits.max_connections)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  // Runs in a thread of its own; the listening socket stays blocking.
  void accept_for_ever(int listen_fd) {
    for (;;) {
      base::UniqueFd fd(accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC));
      const int error = errno;
      std::unique_lock lock(mutex_);
      if (fd) {
        add(std::move(fd));
      } else if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
        const std::uint64_t before = closed_;
        somebody_left_.wait_for(lock, std::chrono::milliseconds(50), [&] { return closed_ != before; });
      }
    }
  }

  void loop() {
    std::array<epoll_event, 32> batch;
    for (;;) {
      const int count = epoll_wait(epoll_.get(), batch.data(), batch.size(), -1);
      std::lock_guard lock(mutex_);
      for (int i = 0; i < count; ++i) handle(batch[static_cast<std::size_t>(i)].data.u64);
      while (clients_.size() > most_) evict();
    }
  }

 private:
  void add(base::UniqueFd fd) {
    const std::uint64_t id = ++next_id_;
    Client& client = clients_[id];
    client.fd = std::move(fd);
    client.used = ++now_;
    if (!arm(EPOLL_CTL_ADD, id, client)) remove(id);
    while (clients_.size() > most_) evict();
  }

  // Connections are blocking; MSG_DONTWAIT makes the single call return at once.
  void handle(std::uint64_t id) {
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    Client& client = found->second;
    bool alive = true;
    if (!client.ended && client.out.size() < kLimit) {
      std::array<char, 32 << 10> bytes;
      const std::size_t room = std::min(bytes.size(), kLimit - client.out.size());
      const ssize_t count = recv(client.fd.get(), bytes.data(), room, MSG_DONTWAIT);
      if (count >= 0) client.out.append(bytes.data(), static_cast<std::size_t>(count));
      client.ended = count == 0;
      alive = count >= 0 || errno == EAGAIN || errno == EINTR;
      if (count >= 0) client.used = ++now_;
    }
    if (alive && !client.out.empty()) {
      const ssize_t count = send(client.fd.get(), client.out.data(), client.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) client.out.erase(0, static_cast<std::size_t>(count));
      alive = count >= 0 || errno == EAGAIN || errno == EINTR;
      if (count >= 0) client.used = ++now_;
    }
    if (!alive || (client.ended && client.out.empty()))
      remove(id);
    else
      arm(EPOLL_CTL_MOD, id, client);
  }

  bool arm(int operation, std::uint64_t id, const Client& client) {
    epoll_event event{.events = EPOLLONESHOT, .data = {.u64 = id}};
    if (!client.ended && client.out.size() < kLimit) event.events |= EPOLLIN;
    if (!client.out.empty()) event.events |= EPOLLOUT;
    return epoll_ctl(epoll_.get(), operation, client.fd.get(), &event) == 0;
  }

  void evict() {
    auto oldest = clients_.begin();
    for (auto it = clients_.begin(); it != clients_.end(); ++it)
      if (it->second.used < oldest->second.used) oldest = it;
    remove(oldest->first);
  }

  void remove(std::uint64_t id) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, clients_.at(id).fd.get(), nullptr);
    clients_.erase(id);
    ++closed_;
    somebody_left_.notify_one();
  }

  const std::size_t most_;
  const base::UniqueFd epoll_;
  std::mutex mutex_;  // guards everything below; not held while waiting for anybody
  std::condition_variable somebody_left_;
  std::map<std::uint64_t, Client> clients_;
  std::uint64_t next_id_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t closed_ = 0;
};

}  // namespace

void serve(int listen_fd, const base::Limits& limits) {
  Server server(limits);
  std::thread acceptor(&Server::accept_for_ever, &server, listen_fd);
  server.loop();
}
