// What the injector's tests are about: a program that makes one call and says what came of it, "3" or "EAGAIN", one line each.
// Also linked statically, where nothing can be preloaded.
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int kSocket = 3;  // a listening socket or one end of a pair, as the test likes

void say(long result) {
  if (result < 0)
    std::printf("%s\n", strerrorname_np(errno));
  else
    std::printf("%ld\n", result);
  std::fflush(stdout);
}

void* nothing(void*) { return nullptr; }

// A pthread, joined. Without a C library's help (raw), by the old call and by the new one: neither shares more than memory.
void create_thread() {
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, nothing, nullptr);
  if (error == 0) pthread_join(thread, nullptr);
  errno = error;
  say(error == 0 ? 0 : -1);
}

// A thread that ends at once: the child of a raw call has a stack of its own and returns nowhere.
constexpr unsigned long kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

void raw_clone() {
#if defined(__x86_64__)
  static char stack[64 << 10];
  long result;
  asm volatile("syscall\n test %%rax, %%rax\n jnz 1f\n mov %[exit], %%eax\n xor %%edi, %%edi\n syscall\n 1:"
               : "=a"(result)
               : "a"(SYS_clone), "D"(kThread), "S"(stack + sizeof stack - 64), "d"(0), [exit] "i"(SYS_exit)
               : "rcx", "r11", "memory");
  errno = result < 0 ? static_cast<int>(-result) : 0;
  say(result < 0 ? -1 : 0);
#else
  errno = static_cast<int>(ENOTSUP);
  say(-1);
#endif
}

void fork_child() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  say(child < 0 ? -1 : 0);
}

// Each thread receives its byte from the pair; how many bytes came to all of them.
std::atomic<int> g_received{0};
void* receive_one(void*) {
  char byte;
  for (int i = 0; i < 50; ++i)
    if (recv(kSocket, &byte, 1, 0) == 1) ++g_received;
  return nullptr;
}
void many_threads() {
  std::vector<pthread_t> threads(20);
  for (auto& thread : threads) pthread_create(&thread, nullptr, receive_one, nullptr);
  for (auto& thread : threads) pthread_join(thread, nullptr);
  say(g_received);
}

void on_signal(int) {}

}  // namespace

int main(int, char** argv) {
  const std::string mode = argv[1];
  char bytes[100] = "";
  signal(SIGUSR1, on_signal);
  if (mode == "accept") say(accept(kSocket, nullptr, nullptr) >= 0 ? 0 : -1);
  if (mode == "accept twice") {
    say(accept4(kSocket, nullptr, nullptr, SOCK_CLOEXEC) >= 0 ? 0 : -1);
    say(accept4(kSocket, nullptr, nullptr, SOCK_CLOEXEC) >= 0 ? 0 : -1);
  }
  if (mode == "raw accept") say(syscall(SYS_accept4, kSocket, nullptr, nullptr, 0) >= 0 ? 0 : -1);
  if (mode == "send") say(send(kSocket, "0123456789", 10, 0));
  if (mode == "write") say(write(kSocket, "0123456789", 10));
  if (mode == "recv") say(recv(kSocket, bytes, sizeof bytes, 0));
  if (mode == "read") say(read(kSocket, bytes, sizeof bytes));
  if (mode == "recv" || mode == "read") std::puts(bytes);
  if (mode == "thread") create_thread();
  if (mode == "raw clone") raw_clone();
  if (mode == "fork") fork_child();
  if (mode == "many threads") many_threads();
}
