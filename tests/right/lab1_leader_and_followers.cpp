// right: lab 1, every thread accepts for itself and serves its client; threads are kept and serve again
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

#include "base/serve.h"
#include "base/unique_fd.h"

namespace {

std::atomic<int> g_accepting{0};

void serve_client(int client) {
  std::array<char, 32 << 10> bytes;
  for (;;) {
    const ssize_t count = recv(client, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    for (std::size_t done = 0; done < static_cast<std::size_t>(count);) {
      const ssize_t sent = send(client, bytes.data() + done, static_cast<std::size_t>(count) - done, MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) return;
      if (sent > 0) done += static_cast<std::size_t>(sent);
    }
  }
}

// Whoever got a client sees to it that somebody else accepts, before serving.
void accept_and_serve(int listen_fd) {
  ++g_accepting;
  for (;;) {
    base::UniqueFd client(accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) {
      if (errno != EINTR && errno != ECONNABORTED) usleep(100'000);  // sleep allowed: out of descriptors
      continue;
    }
    if (--g_accepting == 0) try {
        std::thread(accept_and_serve, listen_fd).detach();
      } catch (const std::system_error&) {
        ++g_accepting;
        continue;  // alone: hangs up and goes on accepting
      }
    serve_client(client.get());
    client.reset();
    ++g_accepting;
  }
}

}  // namespace

void serve(int listen_fd, const base::Limits&) { accept_and_serve(listen_fd); }
