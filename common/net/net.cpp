#include "net/net.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "base/errno_text.h"

namespace net {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

base::UniqueFd tcp_socket() {
  base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) base::throw_errno("socket");
  return fd;
}

// Whether the path still names the open file: whoever had it locked before may have removed it since it was opened.
bool still_there(const std::string& path, int fd) {
  struct stat now {};
  struct stat opened {};
  return stat(path.c_str(), &now) == 0 && fstat(fd, &opened) == 0 && now.st_dev == opened.st_dev && now.st_ino == opened.st_ino;
}

}  // namespace

Listener listen_on_loopback() {
  Listener listener{tcp_socket(), 0};
  const sockaddr_in address = loopback(0);
  if (bind(listener.fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) base::throw_errno("bind");
  if (listen(listener.fd.get(), SOMAXCONN) < 0) base::throw_errno("listen");
  listener.port = local_port(listener.fd.get());
  return listener;
}

base::UniqueFd dial(std::uint16_t port, Buffers buffers) {
  base::UniqueFd fd = tcp_socket();
  set_buffers(fd.get(), buffers);
  const sockaddr_in address = loopback(port);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    base::throw_errno("connect to port " + std::to_string(port));
  int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return fd;
}

void set_buffers(int fd, Buffers buffers) {
  if (buffers.receive > 0) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffers.receive, sizeof buffers.receive);
  if (buffers.send > 0) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffers.send, sizeof buffers.send);
}

std::uint16_t local_port(int fd) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) < 0) base::throw_errno("getsockname");
  return ntohs(address.sin_port);
}

bool in_use(std::uint16_t port) {
  base::UniqueFd fd = tcp_socket();
  int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback(port);
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 && errno == EADDRINUSE;
}

void reset(base::UniqueFd& fd) {
  const linger at_once{1, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  fd.reset();
}

PortReservation::PortReservation() {
  const char* folder = std::getenv("TMPDIR");
  const std::string prefix = std::string(folder != nullptr ? folder : "/tmp") + "/readylist-port-";
  for (int attempt = 0; attempt < 200; ++attempt) {
    const std::uint16_t port = listen_on_loopback().port;  // free now; the probing socket is closed again at once
    std::string path = prefix + std::to_string(port);
    base::UniqueFd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) < 0 || !still_there(path, lock.get())) continue;
    path_ = std::move(path);
    lock_ = std::move(lock);
    port_ = port;
    return;
  }
  throw std::runtime_error("no port could be reserved below " + prefix);
}

// Removed while it is locked: whoever opened it before finds, once it has the lock, that the path names another file or none.
PortReservation::~PortReservation() {
  if (still_there(path_, lock_.get())) unlink(path_.c_str());
}

}  // namespace net
