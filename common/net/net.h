// Loopback TCP for tools: listen, dial, reserve a port.
// Not for labs: these calls are the labs' answers.
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace net {

// Sizes of a socket's buffers as given to setsockopt (the kernel doubles them, socket(7)); 0 leaves the kernel's choice.
struct Buffers {
  int receive = 0;
  int send = 0;
};

struct Listener {
  base::UniqueFd fd;
  std::uint16_t port = 0;
};

// A blocking listening socket on 127.0.0.1, on a port of the kernel's choice. Throws std::system_error.
Listener listen_on_loopback();

// Connects to 127.0.0.1:port; the result is in non-blocking mode, with TCP_NODELAY. The buffers are set before connecting, so
// that the window never was larger. Throws std::system_error (ECONNREFUSED: nobody listens).
base::UniqueFd dial(std::uint16_t port, Buffers buffers = {});

// Sets SO_RCVBUF / SO_SNDBUF on any socket; on a listening socket, for the connections that it takes from now on.
void set_buffers(int fd, Buffers buffers);

std::uint16_t local_port(int fd);

// Whether a socket is bound to 127.0.0.1:port, by whomever. Connections that linger there (TIME_WAIT) do not count.
bool in_use(std::uint16_t port);

// close() that sends RST instead of FIN (SO_LINGER of 0, socket(7)).
void reset(base::UniqueFd& fd);

// A port that nobody uses and that no other process gets from this function while the reservation lives (a lock file a port,
// below the temporary directory; removed with the reservation). For programs that bind a port themselves; another program may
// still take it: then draw another.
class PortReservation {
 public:
  PortReservation();  // throws std::runtime_error when none can be had
  ~PortReservation();
  PortReservation(const PortReservation&) = delete;
  PortReservation& operator=(const PortReservation&) = delete;
  std::uint16_t port() const { return port_; }

 private:
  std::string path_;
  base::UniqueFd lock_;
  std::uint16_t port_ = 0;
};

}  // namespace net
