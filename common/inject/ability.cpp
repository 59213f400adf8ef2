// What this machine can do, tried on a child; and what both methods need.
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "base/errno_text.h"
#include "inject/exchange.h"

namespace inject {
namespace {

int exit_status(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Both return nothing when it works, and otherwise what went wrong.

// The child makes one call, which must fail as ordered.
std::string try_seccomp() {
  Line line(Method::seccomp, {Kind::accept});
  const pid_t child = fork();
  if (child < 0) return base::errno_text(errno);
  if (child == 0) {
    line.install();
    syscall(SYS_accept, -1, nullptr, nullptr);
    _exit(errno == ECONNABORTED ? 0 : 1);
  }
  std::string wrong;
  try {
    const Injector injector(std::move(line), [](const Call&) { return fail_with(ECONNABORTED); });
    if (exit_status(child) != 0) wrong = "a call was not answered as ordered";
  } catch (const std::system_error& error) {
    wrong = base::errno_text(error.code().value());
    exit_status(child);
  }
  return wrong;
}

// Any program that is linked dynamically opens the page.
std::string try_preload() {
  Line line(Method::preload, {});
  std::vector<std::string> variables = line.environment();
  std::vector<char*> environment;
  for (auto& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  const Injector injector(std::move(line));
  char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  pid_t child = -1;
  const int error = posix_spawn(&child, program, nullptr, nullptr, arguments, environment.data());
  if (error != 0) return base::errno_text(error);
  exit_status(child);
  return injector.was_seen() ? "" : "no program takes the library";
}

Ability find() {
  const char* forced = std::getenv("LAB_INJECT_METHOD");
  const std::string seccomp = forced != nullptr && forced == std::string("preload") ? "left out" : try_seccomp();
  if (seccomp.empty()) return {Method::seccomp, "by seccomp notification"};
  const std::string preload = try_preload();
  if (preload.empty()) return {Method::preload, "by a preloaded library only; seccomp notification: " + seccomp};
  return {std::nullopt, "seccomp notification: " + seccomp + "; preloaded library: " + preload};
}

}  // namespace

const Ability& ability() {
  static const Ability found = find();
  return found;
}

pid_t process_of(pid_t tid) {
  std::ifstream status("/proc/" + std::to_string(tid) + "/status");
  pid_t process = 0;
  for (std::string word; status >> word;)
    if (word == "Tgid:") {
      status >> process;
      break;
    }
  return process;
}

}  // namespace inject
