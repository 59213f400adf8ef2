#include "grade/machine.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "inject/injector.h"
#include "net/net.h"
#include "probe/process.h"
#include "probe/sockets.h"

namespace grade {
namespace {

constexpr long kUnlimited = 1L << 30;

// A child that sleeps, for trying things on. It holds whatever we hold.
class Sleeper {
 public:
  Sleeper() : pid_(fork()) {
    if (pid_ < 0) base::throw_errno("fork");
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// Runs `attempt`, which says what it found wrong, or nothing.
template <typename Attempt>
Ability tried(std::string id, std::string what, bool needed_by_all, Attempt attempt) {
  Ability ability{std::move(id), std::move(what), "", true, needed_by_all, 0};
  try {
    ability.found = attempt();
  } catch (const std::exception& error) {
    ability.found = error.what();
  }
  ability.ok = ability.found.empty();
  if (ability.ok) ability.found = "works";
  return ability;
}

std::string try_duplicate(pid_t pid, int fd) { return probe::duplicate_of(pid, fd) ? std::string() : base::errno_text(errno); }

std::string try_call(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/syscall", pid));
  std::string line;
  return std::getline(file, line) ? std::string() : "it cannot be read";
}

std::string try_registrations(pid_t pid, int epoll_fd) {
  return probe::registrations(pid, epoll_fd).size() == 1 ? std::string() : "the registration is not shown";
}

std::string try_schedstat(pid_t pid) {
  unsigned long ran = 0;
  unsigned long waited = 0;
  unsigned long slices = 0;
  if (!(std::ifstream(fmt::format("/proc/{0}/task/{0}/schedstat", pid)) >> ran)) return "it cannot be read";
  // The child may not have run yet, but we were given a processor at least once; the time on it is booked only now and then.
  std::ifstream("/proc/thread-self/schedstat") >> ran >> waited >> slices;
  return slices > 0 ? std::string() : "it counts nothing";
}

std::string try_sock_diag() {
  const net::Listener listener = net::listen_on_loopback();
  return probe::listening_inode(listener.port) ? std::string() : "it does not show a listening socket";
}

long read_number(const std::string& path, long otherwise) {
  std::ifstream file(path);
  long number = 0;
  return file >> number ? number : otherwise;  // "max" is no number
}

// Tasks that the control group of this process, or one above it, still allows.
long tasks_left_in_control_group() {
  std::ifstream file("/proc/self/cgroup");
  long left = kUnlimited;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    for (std::string path = line.substr(3);; path = std::filesystem::path(path).parent_path().string()) {
      const std::string folder = "/sys/fs/cgroup" + path;
      left = std::min(left, read_number(folder + "/pids.max", kUnlimited) - read_number(folder + "/pids.current", 0));
      if (path.size() <= 1) break;
    }
  }
  return left;
}

long tasks_of_this_user_left() {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  // Root is not held to it (getrlimit(2), RLIMIT_NPROC); for others the tasks that they have already count too, which nobody
  // tells cheaply.
  return geteuid() == 0 || limit.rlim_cur == RLIM_INFINITY ? kUnlimited : static_cast<long>(limit.rlim_cur);
}

Ability threads_left() {
  const long left =
      std::min({tasks_left_in_control_group(), tasks_of_this_user_left(), read_number("/proc/sys/kernel/threads-max", kUnlimited),
                read_number("/proc/sys/kernel/pid_max", kUnlimited)});
  return {"threads", "threads for a server", fmt::format("{} can be had", left), true, false, left};
}

Ability descriptors_left() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const long hard = limit.rlim_max == RLIM_INFINITY ? kUnlimited : static_cast<long>(limit.rlim_max);
  return {"descriptors", "descriptors for a process", fmt::format("hard limit {} (ulimit -Hn)", hard), true, false, hard};
}

long needed(const Ability& ability, const report::CheckSpec& check) {
  return ability.id == "descriptors" ? check.descriptors : ability.id == "threads" ? check.threads : 0;
}

}  // namespace

std::vector<Ability> look_at_machine() {
  const base::UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  const net::Listener listener = net::listen_on_loopback();
  epoll_event event{};
  epoll_ctl(epoll.get(), EPOLL_CTL_ADD, listener.fd.get(), &event);
  const Sleeper child;
  const pid_t pid = child.pid();
  return {
      tried("pidfd_getfd", "duplicates of a server's descriptors (pidfd_getfd)", false,
            [&] { return try_duplicate(pid, listener.fd.get()); }),
      tried("syscall", "the call that a server sleeps in (/proc/PID/syscall)", true, [&] { return try_call(pid); }),
      tried("fdinfo", "a server's interest list (/proc/PID/fdinfo)", false, [&] { return try_registrations(pid, epoll.get()); }),
      tried("schedstat", "a server's time on a processor (/proc/PID/schedstat)", true, [&] { return try_schedstat(pid); }),
      tried("sock_diag", "the kernel's side of a connection (sock_diag)", true, try_sock_diag),
      {"inject", "a server's calls held and failed", inject::ability().found, inject::ability().method.has_value(), false, 0},
      descriptors_left(),
      threads_left()};
}

bool denies(const Ability& ability, const report::CheckSpec& check) {
  const bool named = std::find(check.evidence.begin(), check.evidence.end(), ability.id) != check.evidence.end();
  return ((named || ability.needed_by_all) && !ability.ok) || needed(ability, check) > ability.available;
}

std::string obstacle(const std::vector<Ability>& abilities, const report::CheckSpec& check) {
  for (const auto& ability : abilities) {
    if (!denies(ability, check)) continue;
    const long count = needed(ability, check);
    return count > 0 ? fmt::format("needs {} {}: {}", count, ability.what, ability.found)
                     : fmt::format("needs {}: {}", ability.what, ability.found);
  }
  return "";
}

}  // namespace grade
