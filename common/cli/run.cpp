#include <arpa/inet.h>
#include <fmt/format.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <memory>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "grade/build.h"
#include "net/net.h"

namespace cli {
namespace {

struct RunWords {
  std::optional<int> lab;
  int port = 0;  // 0: one that is free
  bool gdb = false;
  bool strace = false;
};

// Said here, because a port in use is a slip and not a fault of the server.
void refuse_taken_port(int port) {
  base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 || listen(fd.get(), 1) < 0)
    throw UserError(fmt::format("port {} cannot be had: {}; give another, or leave --port out", port, base::errno_text(errno)));
}

int chosen_port(const RunWords& options) {
  if (options.port == 0) return net::PortReservation().port();
  refuse_taken_port(options.port);
  return options.port;
}

bool is_installed(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

std::vector<std::string> command_in_front(const RunWords& options) {
  if (!options.gdb && !options.strace) return {};
  const std::string program = options.gdb ? "gdb" : "strace";
  if (!is_installed(program))
    throw UserError(fmt::format("{0} is not installed; the package is {0}: sudo apt install {0}", program));
  return options.gdb ? std::vector<std::string>{"gdb", "-q", "--args"} : std::vector<std::string>{"strace", "-f"};
}

// Takes our place, so that Ctrl-C and the debugger find the server itself. Returns only to throw.
int become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  base::throw_errno("run " + command[0]);
}

int run_server(const RunWords& options) {
  const auto lab = chosen_lab(options.lab);
  auto command = command_in_front(options);
  if (make_server_file(lab)) fmt::print("{} was missing; it was copied from the starter.\n", grade::shown_path(server_file(lab)));
  note_lab(lab.lab);
  // A debugger shows variables and lines only as far as the compiler did not move them.
  const auto build = options.gdb ? grade::build_server(server_file(lab), lab.name + "-gdb", {"-O0", "-g"})
                                 : grade::build_server(server_file(lab), lab.name);
  if (!build.ok) {
    fmt::print(stderr, "{}\n\n{}", build.first_error, build.output);
    return 1;
  }
  fmt::print(stderr, "{}", build.output);
  const int port = chosen_port(options);
  command.insert(command.end(), {build.binary, "--port", std::to_string(port)});
  const std::string file = grade::shown_path(server_file(lab));
  if (options.gdb)
    fmt::print("gdb waits for you: type run, and 127.0.0.1:{0} is served by {1}; talk to it with: nc 127.0.0.1 {0}\n", port,
               file);
  else
    fmt::print("127.0.0.1:{0} is served by {1}; talk to it with: nc 127.0.0.1 {0}  (Ctrl-C ends it)\n", port, file);
  std::fflush(stdout);
  return become(command);
}

}  // namespace

void set_up_run(Words& words) {
  auto options = std::make_shared<RunWords>();
  words.optional("N", options->lab, "The lab's number; without it, the lab last worked on");
  words.positive("--port", options->port, 65535, "The port; without it, one that is free");
  words.flag("--gdb", options->gdb, "In the debugger, compiled without optimisation");
  words.flag("--strace", options->strace, "Show its system calls");
  words.exclude_each_other({"--gdb", "--strace"});
  words.then([options] { return run_server(*options); });
}

}  // namespace cli
