// The kernel's side of a TCP connection: found by its two ports, without a duplicate of the socket.
// Not for: traffic. Source: sock_diag(7), tcp(7), pidfd_getfd(2). IPv4 loopback only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/unique_fd.h"

namespace probe {

struct SocketState {
  int tcp_state = 0;         // TCP_ESTABLISHED, TCP_CLOSE_WAIT, ... (netinet/tcp.h)
  std::uint64_t inode = 0;   // 0 while the connection waits to be accepted
  std::uint32_t unread = 0;  // bytes that have come and were not read
  std::uint32_t unsent = 0;  // bytes written and not yet acknowledged by the peer's kernel
  // Without an inode a socket has no process: it waits to be accepted, or it was closed and has entered one of the states of
  // closing.
  bool closed_by_process() const;
  bool end_unread = false;  // the peer's FIN has come and no read has returned 0 for it yet
};

// The socket on `local_port` whose peer has `remote_port`; nothing when there is none (any more). Throws std::system_error when
// the machine has no sock_diag.
std::optional<SocketState> connection(std::uint16_t local_port, std::uint16_t remote_port);

// Inode of the listening socket on that port of 127.0.0.1; nothing when nobody listens. Throws as above.
std::optional<std::uint64_t> listening_inode(std::uint16_t port);

std::uint32_t unread(int fd);            // SIOCINQ
std::uint32_t unsent(int fd);            // SIOCOUTQ
int accept_queue_length(int listen_fd);  // completed connections that wait for accept (TCP_INFO, tcpi_unacked)

// Whether the socket limits how long a call on it may wait (SO_RCVTIMEO, SO_SNDTIMEO): in accept and the reads, or in the writes.
// False when it cannot be asked.
bool limits_waiting(pid_t pid, int fd, bool in_write);

// A duplicate of another process's descriptor (pidfd_getfd, Linux 5.6). Empty, with errno, when refused (EPERM) or not open
// (EBADF).
base::UniqueFd duplicate_of(pid_t pid, int fd);

}  // namespace probe
