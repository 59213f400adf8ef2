// The preloaded library: asks before some functions of the C library do their work. Runs inside programs nobody knows: no
// iostream, no locks, nothing that allocates but for a new thread's start. Everything goes on unasked when the page cannot be
// opened.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "inject/injector.h"
#include "inject/page.h"

namespace {

using inject::Answer;
using inject::Kind;
using inject::Page;
using inject::Slot;

Page* g_page = nullptr;

// The C library's function behind ours. Found without a lock of its own, hence no static variable with an initialiser.
template <auto Function>
auto real(const char* name) {
  static std::atomic<void*> found{nullptr};
  if (found.load() == nullptr) found = dlsym(RTLD_NEXT, name);
  return reinterpret_cast<decltype(Function)>(found.load());
}

__attribute__((constructor)) void open_page() {
  const char* path = std::getenv(inject::kPageVariable);
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return;
  g_page = static_cast<Page*>(memory);
  ++g_page->programs;
}

Slot* take_slot(std::uint32_t first) {
  for (std::uint32_t i = 0; i < Page::kSlots; ++i) {
    Slot& slot = g_page->slots[(first + i) % Page::kSlots];
    std::uint32_t free = Slot::free;
    if (slot.state.compare_exchange_strong(free, Slot::writing)) return &slot;
  }
  return nullptr;
}

// errno is as before.
Answer ask(Kind kind, long number, std::uint64_t first = 0, std::uint64_t second = 0, std::uint64_t third = 0) {
  if (g_page == nullptr || (g_page->kinds >> static_cast<int>(kind) & 1u) == 0) return {};
  const int error_before = errno;
  const auto tid = static_cast<std::int32_t>(syscall(SYS_gettid));
  Slot* slot = take_slot(static_cast<std::uint32_t>(tid));
  if (slot == nullptr) return {};
  slot->tid = tid;
  slot->pid = getpid();
  slot->kind = static_cast<std::int32_t>(kind);
  slot->number = number;
  const std::uint64_t args[6] = {first, second, third, 0, 0, 0};
  std::copy(std::begin(args), std::end(args), slot->args);
  slot->state = Slot::asked;
  ++g_page->bell;
  syscall(SYS_futex, &g_page->bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  for (std::uint32_t state; (state = slot->state) != Slot::answered;)
    syscall(SYS_futex, &slot->state, FUTEX_WAIT, state, nullptr, nullptr, 0);
  const Answer answer{static_cast<Answer::Action>(slot->action), slot->error, slot->bytes};
  slot->state = Slot::free;
  errno = error_before;
  return answer;
}

std::uint64_t word(int number) { return static_cast<std::uint32_t>(number); }
std::uint64_t word(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

// What an answer makes of a call that returns -1 on failure.
template <typename Work>
auto answered(const Answer& answer, std::size_t size, Work work) -> decltype(work(size)) {
  if (answer.action == Answer::Action::fail) {
    errno = answer.error;
    return -1;
  }
  return work(answer.action == Answer::Action::shorten ? std::min(size, answer.bytes) : size);
}

struct Start {
  void* (*routine)(void*);
  void* argument;
};

void* ask_and_run(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  std::free(argument);
  ask(Kind::thread_start, SYS_set_robust_list);
  return start.routine(start.argument);
}

}  // namespace

extern "C" {

int accept(int fd, sockaddr* address, socklen_t* length) {
  return answered(ask(Kind::accept, SYS_accept, word(fd)), 0,
                  [&](std::size_t) { return real<&accept>("accept")(fd, address, length); });
}

int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  return answered(ask(Kind::accept, SYS_accept4, word(fd)), 0,
                  [&](std::size_t) { return real<&accept4>("accept4")(fd, address, length, flags); });
}

ssize_t read(int fd, void* to, size_t size) {
  return answered(ask(Kind::read, SYS_read, word(fd), word(to), size), size,
                  [&](std::size_t n) { return real<&read>("read")(fd, to, n); });
}

ssize_t recv(int fd, void* to, size_t size, int flags) {
  return answered(ask(Kind::read, SYS_recvfrom, word(fd), word(to), size), size,
                  [&](std::size_t n) { return real<&recv>("recv")(fd, to, n, flags); });
}

ssize_t write(int fd, const void* from, size_t size) {
  return answered(ask(Kind::write, SYS_write, word(fd), word(from), size), size,
                  [&](std::size_t n) { return real<&write>("write")(fd, from, n); });
}

ssize_t send(int fd, const void* from, size_t size, int flags) {
  return answered(ask(Kind::write, SYS_sendto, word(fd), word(from), size), size,
                  [&](std::size_t n) { return real<&send>("send")(fd, from, n, flags); });
}

int epoll_ctl(int instance, int operation, int fd, epoll_event* event) noexcept {
  return answered(ask(Kind::epoll_control, SYS_epoll_ctl, word(instance), word(operation), word(fd)), 0,
                  [&](std::size_t) { return real<&epoll_ctl>("epoll_ctl")(instance, operation, fd, event); });
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument) noexcept {
  const Answer answer = ask(Kind::thread_creation, SYS_clone3);
  if (answer.action == Answer::Action::fail) return answer.error;
  auto* start = static_cast<Start*>(std::malloc(sizeof(Start)));
  if (start == nullptr) return EAGAIN;
  *start = {routine, argument};
  const int error = real<&pthread_create>("pthread_create")(thread, attributes, ask_and_run, start);
  if (error != 0) std::free(start);
  return error;
}

}  // extern "C"
