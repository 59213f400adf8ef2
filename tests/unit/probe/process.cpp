// What can be seen of a process from outside, looked at on this process itself.
#include "probe/process.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <thread>

#include "base/unique_fd.h"

namespace {

// A thread that sleeps in `call` until something lies in the pipe.
class Sleeper {
 public:
  explicit Sleeper(void (*call)(int fd)) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
    thread_ = std::thread(call, ends[0]);
  }
  ~Sleeper() {
    CHECK(write(write_.get(), "x", 1) == 1);
    thread_.join();
  }

  int fd() const { return read_.get(); }

  // The descriptors it waits for, once it sleeps in a call of that kind.
  std::vector<int> waits_for(probe::CallKind kind) const {
    for (;;)
      for (const auto& thread : probe::threads(getpid()))
        if (thread.asleep() && probe::kind_of(thread.call) == kind) return probe::waited_for(getpid(), thread);
  }

 private:
  base::UniqueFd read_;
  base::UniqueFd write_;
  std::thread thread_;
};

TEST_CASE("the array with which a thread sleeps in poll is read, without its empty places") {
  const Sleeper sleeper([](int fd) {
    pollfd waited[] = {{-1, POLLIN, 0}, {fd, POLLIN, 0}};
    poll(waited, 2, -1);
  });
  CHECK(sleeper.waits_for(probe::CallKind::poll) == std::vector<int>{sleeper.fd()});
}

TEST_CASE("the sets with which a thread sleeps in select are read, however large nfds is") {
  const Sleeper sleeper([](int fd) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    select(FD_SETSIZE, &set, nullptr, nullptr, nullptr);
  });
  CHECK(sleeper.waits_for(probe::CallKind::select) == std::vector<int>{sleeper.fd()});
}

TEST_CASE("a timerfd counts only while it is armed") {
  const base::UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  CHECK_FALSE(probe::timer_armed(getpid()));
  const itimerspec in_an_hour{{0, 0}, {3600, 0}};
  timerfd_settime(timer.get(), 0, &in_an_hour, nullptr);
  CHECK(probe::timer_armed(getpid()));
}

}  // namespace
