// Lab 4, epoll level-triggered: your file. The handout (README.md beside it) says what must hold; `./lab grade 4` says what does.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/errno_text.h"
#include "base/serve.h"

void serve(int listen_fd, const base::Limits& limits) {
  int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) base::throw_errno("epoll_create1");

  // TODO: register listen_fd, so that epoll reports it when a client is waiting. Nothing is reported that is not registered.
  (void)listen_fd;
  (void)limits;

  for (;;) {
    epoll_event events[64];
    int count = epoll_wait(epoll_fd, events, 64, -1);
    // TODO: what does a negative count mean? Not always an error.
    for (int i = 0; i < count; ++i) {
      // TODO: the listening socket: accept the client and register it.
      // TODO: a client: read what it sent, send it back, and notice when it has finished.
    }
  }
}
