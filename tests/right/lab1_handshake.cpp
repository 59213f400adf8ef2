// right: lab 1, threads are given the address of the accept loop's variable, which waits until they have said that they read it
// blamed without waits-for-its-thread: fd-by-address fd-by-address
// blamed without serves-later: thread-creation-fails thread-failure-forgets-client
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <semaphore>

#include "base/serve.h"

namespace {

std::binary_semaphore g_taken{0};

void echo(int client) {
  std::array<char, 16 << 10> bytes;
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

void* serve_client(void* address) {
  const int client = *static_cast<int*>(address);
  g_taken.release();
  echo(client);
  close(client);
  return nullptr;
}

}  // namespace

void serve(int listen_fd, const base::Limits&) {
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (;;) {
    int client = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      if (errno != EINTR && errno != ECONNABORTED) usleep(50'000);  // sleep allowed: out of descriptors
      continue;
    }
    pthread_t thread;
    while (pthread_create(&thread, &detached, serve_client, &client) != 0)
      usleep(20'000);  // sleep allowed: this client is served later
    g_taken.acquire();
  }
}
