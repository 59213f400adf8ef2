#include "probe/sockets.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"

namespace probe {
namespace {

// Asks the kernel for one socket. The answer may be a listening socket when no connection fits.
std::optional<inet_diag_msg> ask(std::uint16_t local_port, std::uint16_t remote_port) {
  static const base::UniqueFd netlink(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink) base::throw_errno("sock_diag socket");
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_INET;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.id.idiag_sport = htons(local_port);
  question.request.id.idiag_dport = htons(remote_port);
  question.request.id.idiag_src[0] = htonl(INADDR_LOOPBACK);
  question.request.id.idiag_dst[0] = remote_port == 0 ? 0 : htonl(INADDR_LOOPBACK);
  question.request.id.idiag_cookie[0] = question.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (send(netlink.get(), &question, sizeof question, 0) < 0) base::throw_errno("sock_diag request");

  alignas(nlmsghdr) char answer[4096];
  const ssize_t length = recv(netlink.get(), answer, sizeof answer, 0);
  if (length < 0) base::throw_errno("sock_diag answer");
  const auto* header = reinterpret_cast<const nlmsghdr*>(answer);
  if (header->nlmsg_type == NLMSG_ERROR) {
    const auto* error = static_cast<const nlmsgerr*>(NLMSG_DATA(header));
    if (error->error == -ENOENT) return std::nullopt;
    errno = -error->error;
    base::throw_errno("sock_diag");
  }
  inet_diag_msg message;
  std::memcpy(&message, NLMSG_DATA(header), sizeof message);
  return message;
}

}  // namespace

bool SocketState::closed_by_process() const {
  const bool waits = tcp_state == TCP_ESTABLISHED || tcp_state == TCP_SYN_RECV || tcp_state == TCP_CLOSE_WAIT;
  return inode == 0 && !waits;
}

std::optional<SocketState> connection(std::uint16_t local_port, std::uint16_t remote_port) {
  const auto message = ask(local_port, remote_port);
  if (!message || message->idiag_state == TCP_LISTEN || message->id.idiag_dport != htons(remote_port)) return std::nullopt;
  SocketState state;
  state.tcp_state = message->idiag_state;
  state.inode = message->idiag_inode;
  state.unread = message->idiag_rqueue;
  state.unsent = message->idiag_wqueue;
  // A FIN takes a place in the sequence and is counted like an unread byte until a read has returned 0 (tcp_diag: rcv_nxt -
  // copied_seq).
  const bool fin_came = state.tcp_state == TCP_CLOSE_WAIT || state.tcp_state == TCP_LAST_ACK || state.tcp_state == TCP_CLOSING;
  if (fin_came && state.unread > 0) {
    state.end_unread = true;
    --state.unread;
  }
  return state;
}

std::optional<std::uint64_t> listening_inode(std::uint16_t port) {
  const auto message = ask(port, 0);
  if (!message || message->idiag_state != TCP_LISTEN) return std::nullopt;
  return message->idiag_inode;
}

std::uint32_t unread(int fd) {
  int count = 0;
  return ioctl(fd, SIOCINQ, &count) == 0 ? static_cast<std::uint32_t>(count) : 0;
}

std::uint32_t unsent(int fd) {
  int count = 0;
  return ioctl(fd, SIOCOUTQ, &count) == 0 ? static_cast<std::uint32_t>(count) : 0;
}

int accept_queue_length(int listen_fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  return getsockopt(listen_fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? static_cast<int>(info.tcpi_unacked) : 0;
}

base::UniqueFd duplicate_of(pid_t pid, int fd) {
  base::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return {};
  return base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
}

bool limits_waiting(pid_t pid, int fd, bool in_write) {
  const base::UniqueFd socket = duplicate_of(pid, fd);
  timeval limit{};
  socklen_t size = sizeof limit;
  return socket && getsockopt(socket.get(), SOL_SOCKET, in_write ? SO_SNDTIMEO : SO_RCVTIMEO, &limit, &size) == 0 &&
         (limit.tv_sec > 0 || limit.tv_usec > 0);
}

}  // namespace probe
