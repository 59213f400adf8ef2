// right: lab 1, joinable threads with small stacks that a reaper joins twice a second; recv wakes up by a timeout; another
// process name
// blamed without joins-many-at-once: thread-leak threads-not-released
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/serve.h"

namespace {

constexpr std::size_t kStack = 64 << 10;

std::mutex g_mutex;  // guards g_ended
std::vector<pthread_t> g_ended;

bool write_all(int client, const char* bytes, std::size_t left) {
  while (left > 0) {
    iovec piece{const_cast<char*>(bytes), left};
    const ssize_t count = writev(client, &piece, 1);
    if (count < 0 && errno != EINTR) return false;
    if (count <= 0) continue;
    bytes += count;
    left -= static_cast<std::size_t>(count);
  }
  return true;
}

void* serve_client(void* argument) {
  const int client = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  char bytes[2000];
  for (;;) {
    const ssize_t count = read(client, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;  // EAGAIN: the timeout, a moment to look around
    if (count <= 0 || !write_all(client, bytes, static_cast<std::size_t>(count))) break;
  }
  close(client);
  std::lock_guard lock(g_mutex);
  g_ended.push_back(pthread_self());
  return nullptr;
}

void reap() {
  for (;;) {
    usleep(500'000);  // sleep allowed: this is the design
    std::vector<pthread_t> ended;
    {
      std::lock_guard lock(g_mutex);
      ended.swap(g_ended);
    }
    for (pthread_t thread : ended) pthread_join(thread, nullptr);
  }
}

void start(int client) {
  const timeval tick{0, 200'000};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof tick);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, serve_client, reinterpret_cast<void*>(static_cast<std::intptr_t>(client))) != 0)
    close(client);
  pthread_attr_destroy(&attributes);
}

}  // namespace

void serve(int listen_fd, const base::Limits&) {
  std::signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_NAME, "my (odd) name");
  std::thread(reap).detach();
  for (;;) {
    const int client = accept(listen_fd, nullptr, nullptr);
    if (client >= 0)
      start(client);
    else if (errno != EINTR && errno != ECONNABORTED)
      usleep(20'000);  // sleep allowed: out of descriptors
  }
}
