// Lab 1, thread per connection: every client has a thread of its own that sleeps in recv or send until its client is ready.
//
//   wait       each thread sleeps in its own blocking call; the kernel wakes the one whose client is ready
//   accept     the main thread sleeps in accept
//   read       blocking: returns when something has come
//   write      blocking: returns when the kernel has taken it, or part of it
//   close      the thread closes its descriptor and ends
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/errno_text.h"
#include "base/serve.h"
#include "base/unique_fd.h"

namespace {

constexpr std::size_t kReadSize = 16 << 10;             // bytes read at most at once; lives on the thread's stack
constexpr std::chrono::milliseconds kAcceptRetry{100};  // how long accepting pauses when there is no descriptor left

class EchoServer {
 public:
  explicit EchoServer(int listen_fd) : listen_fd_(listen_fd) {}
  void run();

 private:
  base::UniqueFd accept_client();
  void start_thread(base::UniqueFd client);
  void wait_for_descriptor();
  void serve_client(base::UniqueFd client);
  static bool echo_once(int client);
  static bool write_all(int client, std::string_view bytes);

  int listen_fd_;
  std::mutex mutex_;  // guards closed_
  std::condition_variable client_closed_;
  unsigned long closed_ = 0;  // clients closed so far
};

void EchoServer::run() {
  for (;;) {
    base::UniqueFd client = accept_client();
    if (client) start_thread(std::move(client));
  }
}

// Main thread. Returns an empty descriptor when there is nobody to serve this time.
base::UniqueFd EchoServer::accept_client() {
  base::UniqueFd client(accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC));
  if (client) return client;
  switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      wait_for_descriptor();  // the client stays in the queue; asking again at once would burn a whole core
      break;
    case EBADF:
    case EINVAL:
    case ENOTSOCK: base::throw_errno("accept");  // our own mistake
    default: break;  // EINTR: a signal came while we slept; ECONNABORTED and network errors: that client has gone already
  }
  return client;
}

// The descriptor moves into the thread by value: the main thread's variable is about to hold the next client's.
// Detached: nobody waits for this thread, so its stack must be released when it ends.
void EchoServer::start_thread(base::UniqueFd client) {
  try {
    std::thread([this, client = std::move(client)]() mutable { serve_client(std::move(client)); }).detach();
  } catch (const std::exception&) {
    // No thread to be had: this client is hung up on (its descriptor went with the closure), the others are served.
  }
}

void EchoServer::wait_for_descriptor() {
  std::unique_lock lock(mutex_);
  client_closed_.wait_for(lock, kAcceptRetry, [this, before = closed_] { return closed_ != before; });
}

// The client's own thread.
void EchoServer::serve_client(base::UniqueFd client) {
  while (echo_once(client.get())) {
  }
  client.reset();
  std::lock_guard lock(mutex_);
  ++closed_;
  client_closed_.notify_one();
}

// Returns false at the client's end (recv returned 0) or when the connection is broken.
bool EchoServer::echo_once(int client) {
  std::array<char, kReadSize> bytes;
  ssize_t count = recv(client, bytes.data(), bytes.size(), 0);
  if (count < 0) return errno == EINTR;
  return count > 0 && write_all(client, {bytes.data(), static_cast<std::size_t>(count)});
}

// A blocking send may still take less than it was given, when a signal interrupts it half way.
// MSG_NOSIGNAL: a client that has gone must cost EPIPE, not the process (SIGPIPE).
bool EchoServer::write_all(int client, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

void serve(int listen_fd, const base::Limits&) {
  // Never destroyed: the detached threads use it until the process ends.
  static EchoServer& server = *new EchoServer(listen_fd);
  server.run();
}
