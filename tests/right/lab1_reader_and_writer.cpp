// right: lab 1, two threads a connection: one sleeps in recv, the other in send, a bounded queue between them
// blamed without hangs-up-at-the-limit: accept-emfile emfile-never-retries
// blamed without duplicated-connection: model-thread wrong-model
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "base/serve.h"
#include "base/unique_fd.h"

namespace {

constexpr std::size_t kPiece = 4 << 10;
constexpr std::size_t kMostWaiting = 64 << 10;

class Connection {
 public:
  // The reader has a number of its own for the same socket.
  explicit Connection(int fd) : in_(dup(fd)), out_(fd) {}

  void run() try {
    if (!in_) return;  // no number left: hung up on
    std::thread writer([this] { write_all(); });
    read_all();
    writer.join();
  } catch (const std::system_error&) {
    // no second thread to be had: hung up on
  }

 private:
  void read_all() {
    std::array<char, kPiece> bytes;
    for (;;) {
      const ssize_t count = recv(in_.get(), bytes.data(), bytes.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      std::unique_lock lock(mutex_);
      if (count <= 0) break;
      changed_.wait(lock, [this] { return waiting_.size() < kMostWaiting || broken_; });
      waiting_.append(bytes.data(), static_cast<std::size_t>(count));
      changed_.notify_all();
    }
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  void write_all() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
      if (waiting_.empty() || broken_) return;
      const std::string piece = waiting_.substr(0, kPiece);
      lock.unlock();
      const ssize_t count = send(out_.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
      const bool failed = count < 0 && errno != EINTR;
      if (failed) shutdown(out_.get(), SHUT_RD);  // wakes the reader
      lock.lock();
      broken_ = failed;
      if (count > 0) waiting_.erase(0, static_cast<std::size_t>(count));
      changed_.notify_all();
      if (broken_) return;
    }
  }

  base::UniqueFd in_;
  base::UniqueFd out_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::string waiting_;
  bool ended_ = false;
  bool broken_ = false;
};

}  // namespace

void serve(int listen_fd, const base::Limits&) {
  for (;;) {
    const int client = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      if (errno == EMFILE || errno == ENFILE) usleep(50'000);  // sleep allowed: out of descriptors
      continue;
    }
    try {
      std::thread([client] { Connection(client).run(); }).detach();
    } catch (const std::system_error&) {
      close(client);
    }
  }
}
