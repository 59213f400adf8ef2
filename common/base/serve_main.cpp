// The given main: finds the listening socket, reads the limits, calls the student's serve().
// Two ways to start: an inherited listening socket (LISTEN_FDS=1, LISTEN_PID, descriptor 3: sd_listen_fds(3)), or --port N.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "base/errno_text.h"
#include "base/serve.h"

namespace {

constexpr int kFirstInheritedFd = 3;  // SD_LISTEN_FDS_START
constexpr int kUsedWrongly = 2;

bool inherits_listening_socket() {
  const char* count = std::getenv("LISTEN_FDS");
  const char* pid = std::getenv("LISTEN_PID");
  return count != nullptr && pid != nullptr && std::string_view(count) == "1" &&
         std::string_view(pid) == std::to_string(getpid());
}

int listen_on(unsigned short port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) base::throw_errno("socket");
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0)
    base::throw_errno("bind to port " + std::to_string(port));
  if (listen(fd, SOMAXCONN) < 0) base::throw_errno("listen on port " + std::to_string(port));
  return fd;
}

// Returns -1 for anything but 1..65535.
int port_number(std::string_view text) {
  int port = -1;
  auto [stopped_at, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && stopped_at == text.data() + text.size() && port >= 1 && port <= 65535 ? port : -1;
}

void on_window_change(int) {}

// A handler without SA_RESTART: from now on a change of the terminal's size interrupts blocking calls (EINTR, signal(7)),
// which a server has to survive anyway.
void let_window_changes_interrupt() {
  struct sigaction action {};
  action.sa_handler = on_window_change;
  sigaction(SIGWINCH, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const base::Limits limits = base::limits_from_environment();
    int listen_fd = -1;
    if (argc == 3 && std::string_view(argv[1]) == "--port" && port_number(argv[2]) > 0) {
      listen_fd = listen_on(static_cast<unsigned short>(port_number(argv[2])));
    } else if (argc == 1 && inherits_listening_socket()) {
      listen_fd = kFirstInheritedFd;
    } else {
      std::cerr << "usage: " << argv[0] << " --port N (1 to 65535), or with an inherited socket (LISTEN_FDS=1)\n";
      return kUsedWrongly;
    }
    let_window_changes_interrupt();
    serve(listen_fd, limits);
    std::cerr << "serve() returned, and with it the program ends; a server goes on serving\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << "\n";
    return 1;
  }
}
