// right: lab 1, two threads accept while the main thread sleeps; a descriptor in reserve answers a full table by hanging up
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/serve.h"
#include "base/unique_fd.h"

namespace {

class Reserve {
 public:
  // With the table full: takes the client off the queue by the number kept for this, and hangs up.
  void hang_up_on_one(int listen_fd) {
    std::lock_guard lock(mutex_);
    kept_.reset();
    const int flags = fcntl(listen_fd, F_GETFL);
    fcntl(listen_fd, F_SETFL, flags | O_NONBLOCK);  // the other acceptor may have been quicker
    kept_.reset(accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC));
    fcntl(listen_fd, F_SETFL, flags);
    const bool somebody = static_cast<bool>(kept_);
    kept_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!somebody) usleep(10'000);  // sleep allowed: out of descriptors
  }

 private:
  std::mutex mutex_;
  base::UniqueFd kept_{open("/dev/null", O_RDONLY | O_CLOEXEC)};
};

void serve_client(const std::shared_ptr<base::UniqueFd>& client) {
  std::array<char, 512> bytes;
  for (;;) {
    msghdr message{};
    iovec place{bytes.data(), bytes.size()};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    const ssize_t count = recvmsg(client->get(), &message, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    for (std::size_t done = 0; done < static_cast<std::size_t>(count);) {
      const ssize_t sent = send(client->get(), bytes.data() + done, static_cast<std::size_t>(count) - done, MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) return;
      if (sent > 0) done += static_cast<std::size_t>(sent);
    }
  }
}

void accept_clients(int listen_fd, Reserve& reserve) {
  for (;;) {
    base::UniqueFd fd(accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EMFILE || errno == ENFILE) reserve.hang_up_on_one(listen_fd);
      continue;
    }
    auto client = std::make_shared<base::UniqueFd>(std::move(fd));
    try {
      std::thread(serve_client, client).detach();
    } catch (const std::system_error&) {
      // hung up on
    }
  }
}

}  // namespace

void serve(int listen_fd, const base::Limits&) {
  static Reserve reserve;
  std::thread(accept_clients, listen_fd, std::ref(reserve)).detach();
  std::thread(accept_clients, listen_fd, std::ref(reserve)).detach();
  for (;;) pause();
}
