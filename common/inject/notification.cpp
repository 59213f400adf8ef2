// Asking by seccomp user notification: a filter in the target, a listener here. Source: seccomp_unotify(2), seccomp(2).
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "inject/exchange.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV  // Linux 5.19
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

namespace inject {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;  // x32 calls have it too, and numbers of their own, which match none
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "not ported: add the architecture's AUDIT_ARCH"
#endif

// sendmsg must not be among them: by it the child hands over the listener, when nobody could answer yet.
struct Row {
  long number;
  Kind kind;
};
constexpr Row kCalls[] = {
    {SYS_accept, Kind::accept},
    {SYS_accept4, Kind::accept},
    {SYS_read, Kind::read},
    {SYS_recvfrom, Kind::read},
    {SYS_write, Kind::write},
    {SYS_sendto, Kind::write},
    {SYS_clone, Kind::thread_creation},
    {SYS_clone3, Kind::thread_creation},
    {SYS_epoll_ctl, Kind::epoll_control},
    {SYS_set_robust_list, Kind::thread_start},
};

Kind kind_of(long number) {
  for (const Row& row : kCalls)
    if (row.number == number) return row.kind;
  return Kind::other;
}

std::vector<sock_filter> filter_for(const std::vector<Kind>& kinds) {
  std::vector<sock_filter> filter{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const Row& row : kCalls) {
    if (std::find(kinds.begin(), kinds.end(), row.kind) == kinds.end()) continue;
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(row.number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

bool read_memory(pid_t pid, std::uint64_t address, void* to, std::size_t size) {
  const iovec here{to, size};
  const iovec there{reinterpret_cast<void*>(address), size};
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

bool write_memory(pid_t pid, std::uint64_t address, const void* from, std::size_t size) {
  const iovec here{const_cast<void*>(from), size};
  const iovec there{reinterpret_cast<void*>(address), size};
  return process_vm_writev(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

// The flags are the first argument of clone, and the first member of clone3's.
bool creates_thread(const Call& call) {
  std::uint64_t flags = call.args[0];
  if (call.number == SYS_clone3 && !read_memory(call.pid, call.args[0], &flags, sizeof flags)) return false;
  return (flags & CLONE_THREAD) != 0;
}

// The two ends of the channel; a listener, or the errno of the attempt, goes through it. Safe after fork.
void send_descriptor(int channel, int fd, int error) noexcept {
  iovec payload{&error, sizeof error};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  sendmsg(channel, &message, MSG_NOSIGNAL);
}

base::UniqueFd receive_descriptor(int channel, int& error) {
  iovec payload{&error, sizeof error};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = 0;
  while ((count = recvmsg(channel, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (count < static_cast<ssize_t>(sizeof error)) error = ECHILD;  // it ended before it could say anything
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  int fd = -1;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return base::UniqueFd(fd);
}

class Notifications : public Exchange {
 public:
  explicit Notifications(const std::vector<Kind>& kinds) : filter_(filter_for(kinds)), wake_(eventfd(0, EFD_CLOEXEC)) {
    int ends[2];
    if (!wake_ || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) base::throw_errno("socketpair for a listener");
    ours_.reset(ends[0]);
    theirs_.reset(ends[1]);
    // Larger than the kernel's own when this program is newer, and the other way round.
    seccomp_notif_sizes sizes{};
    syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
    request_.resize(std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)));
    response_size_ = std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp));
  }

  void install() const noexcept override {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const sock_fprog program{static_cast<unsigned short>(filter_.size()), const_cast<sock_filter*>(filter_.data())};
    // Once received, a call waits on although signals come: else clone would fail with EINTR, which it never does.
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
    if (listener < 0 && errno == EINVAL)
      listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    send_descriptor(theirs_.get(), static_cast<int>(listener), listener < 0 ? errno : 0);
    if (listener >= 0) close(static_cast<int>(listener));
  }

  std::vector<std::string> environment() const override { return {}; }

  void open() override {
    theirs_.reset();  // so that a child that ends is noticed
    int error = 0;
    listener_ = receive_descriptor(ours_.get(), error);
    ours_.reset();
    if (!listener_) throw std::system_error(error, std::generic_category(), "seccomp user notification");
  }

  std::optional<Question> next() override {
    for (;;) {
      pollfd ready[] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      if (poll(ready, 2, -1) < 0 && errno != EINTR) return std::nullopt;
      if (ready[1].revents != 0) return std::nullopt;
      if (ready[0].revents & POLLIN) {
        handling_ = true;  // before it is received: busy() must not find neither
        if (auto question = receive()) return question;
        handling_ = false;
      } else if (ready[0].revents != 0) {
        return std::nullopt;  // POLLHUP: nobody with this filter is left
      }
    }
  }

  void complete(Call& call) const override {
    call.kind = kind_of(call.number);
    call.pid = process_of(call.tid);
    if (call.kind == Kind::thread_creation && !creates_thread(call)) call.kind = Kind::other;  // fork
    if (call.kind == Kind::thread_start && call.tid == call.pid) call.kind = Kind::other;      // a program's start
  }

  void handled() override { handling_ = false; }

  void answer(std::uint64_t id, const Call& call, const Answer& answer) override {
    if (answer.action == Answer::Action::fail) return respond(id, -answer.error, 0, 0);
    if (answer.action == Answer::Action::shorten && waiting(id, call))
      if (const ssize_t count = done_by_us(call, answer.bytes); count > 0) return respond(id, 0, count, 0);
    respond(id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
  }

  bool waiting(std::uint64_t id, const Call&) const override {
    return ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
  }

  bool busy() const override {
    pollfd ready{listener_.get(), POLLIN, 0};
    const bool asked = poll(&ready, 1, 0) == 1 && (ready.revents & POLLIN);
    return asked || handling_;
  }

  bool sees(pid_t) const override { return true; }
  bool was_seen() const override { return true; }

  void stop() override { eventfd_write(wake_.get(), 1); }

 private:
  std::optional<Question> receive() {
    std::fill(request_.begin(), request_.end(), '\0');
    if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, request_.data()) < 0) return std::nullopt;  // ENOENT: gone meanwhile
    seccomp_notif request{};
    std::memcpy(&request, request_.data(), sizeof request);
    Question question;
    question.id = request.id;
    question.call.tid = static_cast<pid_t>(request.pid);
    question.call.number = request.data.nr;
    std::copy(std::begin(request.data.args), std::end(request.data.args), question.call.args.begin());
    return question;
  }

  // ENOENT is no error: the thread was killed, or a signal took it out of the call.
  void respond(std::uint64_t id, int error, std::int64_t value, std::uint32_t flags) {
    const seccomp_notif_resp response{id, value, error, flags};
    std::vector<char> padded(response_size_);
    std::memcpy(padded.data(), &response, sizeof response);
    ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, padded.data());
  }

  // A read or write of a socket, done here for fewer bytes and never waiting. 0 or less: it could not be.
  static ssize_t done_by_us(const Call& call, std::size_t bytes) {
    const bool with_flags = call.number == SYS_sendto || call.number == SYS_recvfrom;
    if (with_flags && call.args[4] != 0) return 0;  // an address: not a stream's
    const base::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, call.pid, 0)));
    const base::UniqueFd socket(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), call.fd(), 0)));
    std::vector<char> buffer(std::min<std::size_t>(bytes, call.args[2]));
    const int flags = (with_flags ? static_cast<int>(call.args[3]) : 0) | MSG_DONTWAIT | MSG_NOSIGNAL;
    if (call.kind == Kind::write)
      return read_memory(call.pid, call.args[1], buffer.data(), buffer.size())
                 ? send(socket.get(), buffer.data(), buffer.size(), flags)
                 : 0;
    if (call.kind != Kind::read) return 0;
    const ssize_t count = recv(socket.get(), buffer.data(), buffer.size(), flags);
    if (count > 0) write_memory(call.pid, call.args[1], buffer.data(), static_cast<std::size_t>(count));
    return count;
  }

  std::vector<sock_filter> filter_;
  base::UniqueFd wake_;
  base::UniqueFd ours_;
  base::UniqueFd theirs_;
  base::UniqueFd listener_;
  std::vector<char> request_;
  std::size_t response_size_ = 0;
  std::atomic<bool> handling_{false};
};

}  // namespace

std::unique_ptr<Exchange> make_notifications(const std::vector<Kind>& kinds) { return std::make_unique<Notifications>(kinds); }

}  // namespace inject
