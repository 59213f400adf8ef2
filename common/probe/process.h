// What /proc shows of another process: what each thread sleeps in, its descriptors, its interest lists, its memory.
// Not for: stopping, changing or judging it. Source of the fields: proc(5).
// Needs the right to trace the process where said so (a parent of the same user has it unless yama forbids): `Refused` is thrown
// otherwise.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace probe {

// The kernel refused a look at a process (EACCES or EPERM).
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ThreadState {
  pid_t tid = 0;
  char state = '?';   // R running, S asleep, D in the kernel, T stopped, Z ended (proc(5), stat)
  long call = kNone;  // number of the system call it is blocked in; kNone when it runs
  std::array<std::uint64_t, 6> args{};
  std::chrono::nanoseconds ran{};     // on a processor (schedstat, first field)
  std::chrono::nanoseconds waited{};  // runnable, but without a processor (second field)
  std::uint64_t slices = 0;           // times it was given a processor (third field): unchanged means that it slept throughout

  static constexpr long kNone = -1;
  bool asleep() const { return state == 'S' && call != kNone; }
};

// All threads of a process, in the order of their ids; empty when it has ended. May throw Refused.
std::vector<ThreadState> threads(pid_t pid);

// Whether the call that the thread sleeps in has no time limit of its own. A null pointer or a negative number means for ever.
bool sleeps_without_limit(const ThreadState& thread);

// Calls of one purpose: glibc's select is pselect6, recv is recvfrom, and arm64 has the newer forms only.
enum class CallKind { other, accept, read, write, select, poll, epoll, sleep };
CallKind kind_of(long call);

// The descriptors in the sets with which a thread sleeps in select or poll, read out of its memory; none for other calls. May
// throw Refused.
std::vector<int> waited_for(pid_t pid, const ThreadState& thread);

// "asleep in recv(fd 6)", "running", "asleep in epoll_wait(epoll fd 4)".
std::string describe(const ThreadState& thread);

std::string executable(pid_t pid);        // path of the program it runs; empty when it has ended. May throw Refused.
std::vector<int> descriptors(pid_t pid);  // open descriptor numbers; empty when the process has ended
// What /proc/PID/fd/N points to ("socket:[1234]"); empty when the number is not open.
std::string descriptor_target(pid_t pid, int fd);
// The number under which the process holds the socket with that inode; nothing when it does not.
std::optional<int> descriptor_of_socket(pid_t pid, std::uint64_t inode);

// One line of an epoll instance's fdinfo.
struct Registration {
  int fd = -1;
  std::uint32_t events = 0;
  std::uint64_t data = 0;
  std::uint64_t inode = 0;  // of the open file that was registered; differs from the number's present file when that was closed
};
std::vector<int> epoll_instances(pid_t pid);
std::vector<Registration> registrations(pid_t pid, int epoll_fd);

// How often the thread gave up its processor because it had to wait for something (proc(5), status). Unchanged means that it
// never slept, only ran or waited for a processor. 0 when the thread has ended.
std::uint64_t voluntary_switches(pid_t pid, pid_t tid);

// Whether one of its timerfds will expire: a process whose threads all sleep without a limit may still wake up by the clock.
bool timer_armed(pid_t pid);

std::size_t resident_bytes(pid_t pid);
std::size_t mappings(pid_t pid);  // lines of /proc/PID/maps; may throw Refused

// `pid` and all its descendants.
std::vector<pid_t> process_tree(pid_t pid);

// Whether the kernel hides the process from others of its own user (not dumpable: prctl(2), PR_SET_DUMPABLE).
bool hides(pid_t pid);

}  // namespace probe
