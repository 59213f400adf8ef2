// Lab 1, thread per connection: your file. The handout (README.md beside it) says what must hold; `./lab grade 1` says what does.
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/errno_text.h"
#include "base/serve.h"

namespace {

// Runs in a thread of its own for each client.
void serve_client(int client_fd) {
  // TODO: read what the client sent and send it back, until the client has finished.
  (void)client_fd;
}

}  // namespace

void serve(int listen_fd, const base::Limits&) {
  for (;;) {
    int client_fd = accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC);
    // TODO: what if accept failed?
    // TODO: give the client a thread that runs serve_client, and make sure that the thread's memory is released when it ends.
    serve_client(client_fd);
  }
}
