// Stands between another process and the kernel: chosen calls of it are asked about first, and go on, fail, wait, or do less.
// By seccomp user notification (seccomp_unotify(2)), which sees static programs and raw system calls as well; where that cannot
// be installed, by a preloaded library (libinject_preload.so), which sees what goes through the C library. Not for: watching all
// that a process does, nor for keeping it from anything (an answer may come too late to be safe).
//
//   inject::Line line(*inject::ability().method, {inject::Kind::accept});
//   fork; in the child line.install() and exec with line.environment(); in the parent
//   inject::Injector injector(std::move(line));
//   injector.orders([](const inject::Call& call) { return inject::fail_with(ECONNABORTED); });
//
// All processes below the child are asked about too. With no orders every call goes on at once. When the injector goes away
// before its targets the kernel fails their calls with ENOSYS: end them first.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace inject {

// What can be asked about. Calls of these kinds that are not listed (sendmsg, recvmsg, io_uring) go on unasked.
enum class Kind {
  other,
  accept,           // accept, accept4
  read,             // read, recv (recvfrom)
  write,            // write, send (sendto)
  thread_creation,  // clone and clone3 with CLONE_THREAD; preloaded: pthread_create
  thread_start,     // a thread's first steps, before the C library runs its routine (glibc: set_robust_list)
  epoll_control,    // epoll_ctl
};

struct Call {
  Kind kind = Kind::other;
  pid_t tid = 0;
  pid_t pid = 0;     // the process of that thread
  long number = -1;  // of the system call; preloaded: of the one that the function stands for
  std::array<std::uint64_t, 6> args{};
  int fd() const { return static_cast<int>(args[0]); }
};

struct Answer {
  enum class Action { go_on, fail, hold, shorten } action = Action::go_on;
  int error = 0;          // for fail: errno
  std::size_t bytes = 0;  // for shorten: at most so many, at least 1
};
inline Answer go_on() { return {}; }
inline Answer fail_with(int error) { return {Answer::Action::fail, error, 0}; }
inline Answer hold() { return {Answer::Action::hold, 0, 0}; }
// A read or write of a stream socket. One that cannot be done at once goes on as it is.
inline Answer shorten_to(std::size_t bytes) { return {Answer::Action::shorten, 0, bytes}; }

// Called on the injector's thread for every call that is asked about; must not wait for anything. When it throws the call goes
// on.
using Orders = std::function<Answer(const Call&)>;

enum class Method { seccomp, preload };

// What this machine can do, tried once on a child. LAB_INJECT_METHOD=preload leaves seccomp out.
struct Ability {
  std::optional<Method> method;
  std::string found;  // "seccomp user notification"; what both methods said when there is none
};
const Ability& ability();

class Exchange;  // exchange.h: how calls are asked about and answered

// Between the process that will be asked about and its injector: made before fork.
class Line {
 public:
  Line(Method method, const std::vector<Kind>& kinds);
  Line(Line&&) noexcept;
  ~Line();
  // In the child, as late before exec as possible: what it does afterwards is asked about. Only calls that are safe after fork.
  void install() const noexcept;
  // Variables that the program needs ("LD_PRELOAD=..."); replaces those of the same names.
  std::vector<std::string> environment() const;

 private:
  friend class Injector;
  std::unique_ptr<Exchange> exchange_;
};

class Injector {
 public:
  // In the parent, after fork. Throws std::system_error with the child's errno when it could not install.
  explicit Injector(Line line, Orders orders = {});
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // For the calls from now on; empty: all go on. After it returns the old ones run no more. Held calls stay held.
  void orders(Orders orders);

  std::vector<Call> held() const;  // those whose thread is still waiting in them
  bool holds(pid_t tid) const;
  void release(const Answer& answer = {});  // all that are held

  // Whether a call waits for an answer that is on its way: its thread is asleep, but not for long.
  bool busy() const;
  // Whether the process is asked about at all: a static program is not by a preloaded library.
  bool sees(pid_t pid) const;
  bool was_seen() const;  // whether any process has come so far that can be asked about

 private:
  struct Held {
    std::uint64_t id;
    Call call;
  };
  void run();
  Answer ask(const Call& call) noexcept;

  std::unique_ptr<Exchange> exchange_;
  mutable std::mutex mutex_;  // guards orders_ and held_
  Orders orders_;
  mutable std::vector<Held> held_;
  std::thread thread_;
};

}  // namespace inject
