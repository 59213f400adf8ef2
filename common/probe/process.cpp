#include "probe/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/unique_fd.h"

namespace probe {
namespace {

std::string proc_path(pid_t pid, std::string_view rest) { return "/proc/" + std::to_string(pid) + "/" + std::string(rest); }

// The whole file; empty when the process or thread has ended. Throws Refused.
std::string read_file(const std::string& path) {
  base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char block[8192];
  ssize_t count = fd ? read(fd.get(), block, sizeof block) : -1;
  for (; count > 0; count = read(fd.get(), block, sizeof block)) text.append(block, static_cast<std::size_t>(count));
  if (count < 0 && (errno == EACCES || errno == EPERM)) throw Refused("the kernel refused to read " + path);
  return text;
}

std::string read_link(const std::string& path) {
  char target[4096];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  if (length < 0 && (errno == EACCES || errno == EPERM)) throw Refused("the kernel refused to read " + path);
  return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
}

// The numbers that name the entries of a folder of /proc.
std::vector<int> numbered_entries(const std::string& path) {
  std::vector<int> numbers;
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder && (errno == EACCES || errno == EPERM)) throw Refused("the kernel refused to list " + path);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    int number = -1;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, number).ptr == end) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The field behind the command's name, which may itself hold blanks and brackets.
char state_of(const std::string& stat) {
  const std::size_t bracket = stat.rfind(')');
  return bracket != std::string::npos && bracket + 2 < stat.size() ? stat[bracket + 2] : 'Z';
}

void read_call(const std::string& line, ThreadState& thread) {
  // "202 0x7f.. 0x80 0x0 0x0 0x0 0x0 sp pc", "running", or "-1 sp pc" when it sleeps outside a call (a page fault)
  std::istringstream fields(line);
  if (!(fields >> thread.call)) {
    thread.call = ThreadState::kNone;
    return;
  }
  for (auto& argument : thread.args) {
    std::string text;
    if (fields >> text) argument = std::strtoull(text.c_str(), nullptr, 16);
  }
}

struct CallFact {
  CallKind kind;
  const char* name;
  int limit_argument;  // index of the argument that limits the sleep; -1: none
  bool limit_is_pointer;
};

// What is known of the calls in which servers sleep. Missing ones are printed by number and taken to have no limit.
const std::map<long, CallFact>& call_facts() {
  static const std::map<long, CallFact> facts = {
      {SYS_accept, {CallKind::accept, "accept", -1, false}},
      {SYS_accept4, {CallKind::accept, "accept", -1, false}},
      {SYS_read, {CallKind::read, "read", -1, false}},
      {SYS_readv, {CallKind::read, "readv", -1, false}},
      {SYS_recvfrom, {CallKind::read, "recv", -1, false}},
      {SYS_recvmsg, {CallKind::read, "recvmsg", -1, false}},
      {SYS_recvmmsg, {CallKind::read, "recvmmsg", 4, true}},
      {SYS_preadv2, {CallKind::read, "preadv2", -1, false}},
      {SYS_splice, {CallKind::read, "splice", -1, false}},
      {SYS_write, {CallKind::write, "write", -1, false}},
      {SYS_writev, {CallKind::write, "writev", -1, false}},
      {SYS_sendto, {CallKind::write, "send", -1, false}},
      {SYS_sendmsg, {CallKind::write, "sendmsg", -1, false}},
      {SYS_sendmmsg, {CallKind::write, "sendmmsg", -1, false}},
      {SYS_pwritev2, {CallKind::write, "pwritev2", -1, false}},
      {SYS_sendfile, {CallKind::write, "sendfile", -1, false}},
      {SYS_pselect6, {CallKind::select, "select", 4, true}},
      {SYS_ppoll, {CallKind::poll, "poll", 2, true}},
      {SYS_epoll_pwait, {CallKind::epoll, "epoll_wait", 3, false}},
      {SYS_epoll_pwait2, {CallKind::epoll, "epoll_wait", 3, true}},
#ifdef SYS_select  // arm64 has the p-forms only
      {SYS_select, {CallKind::select, "select", 4, true}},
      {SYS_poll, {CallKind::poll, "poll", 2, false}},
      {SYS_epoll_wait, {CallKind::epoll, "epoll_wait", 3, false}},
#endif
      {SYS_futex, {CallKind::other, "futex", 3, true}},
      {SYS_nanosleep, {CallKind::sleep, "nanosleep (sleep)", 0, true}},
      {SYS_clock_nanosleep, {CallKind::sleep, "nanosleep (sleep)", 2, true}},
      {SYS_rt_sigtimedwait, {CallKind::other, "sigwait", 2, true}},
      {SYS_io_uring_enter, {CallKind::other, "io_uring_enter", -1, false}},
  };
  return facts;
}

// Empty when the process has ended or nothing is mapped there. Throws Refused.
std::vector<char> memory(pid_t pid, std::uint64_t address, std::size_t size) {
  std::vector<char> bytes(size);
  const iovec here{bytes.data(), size};
  const iovec there{reinterpret_cast<void*>(address), size};
  const ssize_t count = process_vm_readv(pid, &here, 1, &there, 1, 0);
  if (count < 0 && errno == EPERM) throw Refused("the kernel refused to read the memory of process " + std::to_string(pid));
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

std::vector<int> polled(pid_t pid, const ThreadState& thread) {
  std::vector<int> found;
  const std::vector<char> bytes = memory(pid, thread.args[0], thread.args[1] * sizeof(pollfd));
  for (std::size_t at = 0; at + sizeof(pollfd) <= bytes.size(); at += sizeof(pollfd)) {
    pollfd entry{};
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.fd >= 0) found.push_back(entry.fd);
  }
  return found;
}

// A set is an array of longs, and only those that hold the first `args[0]` bits exist.
std::vector<int> selected(pid_t pid, const ThreadState& thread) {
  std::vector<int> found;
  const auto count = static_cast<std::size_t>(thread.args[0]);
  for (std::size_t set = 1; set <= 3; ++set) {
    if (thread.args[set] == 0) continue;
    const std::vector<char> bytes = memory(pid, thread.args[set], (count + NFDBITS - 1) / NFDBITS * sizeof(fd_mask));
    for (std::size_t fd = 0; fd < count && fd / 8 < bytes.size(); ++fd)
      if (static_cast<unsigned char>(bytes[fd / 8]) >> fd % 8 & 1u) found.push_back(static_cast<int>(fd));
  }
  return found;
}

const CallFact* fact_of(long call) {
  auto found = call_facts().find(call);
  return found == call_facts().end() ? nullptr : &found->second;
}

}  // namespace

std::vector<ThreadState> threads(pid_t pid) {
  std::vector<ThreadState> result;
  for (int tid : numbered_entries(proc_path(pid, "task"))) {
    const std::string folder = proc_path(pid, "task/" + std::to_string(tid) + "/");
    ThreadState thread;
    thread.tid = tid;
    thread.state = state_of(read_file(folder + "stat"));
    if (thread.state == 'Z' || thread.state == 'X') continue;
    read_call(read_file(folder + "syscall"), thread);
    std::uint64_t ran = 0;
    std::uint64_t waited = 0;
    std::istringstream(read_file(folder + "schedstat")) >> ran >> waited >> thread.slices;
    thread.ran = std::chrono::nanoseconds(ran);
    thread.waited = std::chrono::nanoseconds(waited);
    result.push_back(thread);
  }
  return result;
}

bool sleeps_without_limit(const ThreadState& thread) {
  if (thread.call == SYS_restart_syscall) return false;  // a sleep with a limit goes on as this call after a stop
  const CallFact* fact = fact_of(thread.call);
  if (fact == nullptr || fact->limit_argument < 0) return true;
  const std::uint64_t limit = thread.args[static_cast<std::size_t>(fact->limit_argument)];
  return fact->limit_is_pointer ? limit == 0 : static_cast<std::int32_t>(limit) < 0;
}

CallKind kind_of(long call) {
  const CallFact* fact = fact_of(call);
  return fact == nullptr ? CallKind::other : fact->kind;
}

std::vector<int> waited_for(pid_t pid, const ThreadState& thread) {
  if (!thread.asleep()) return {};
  if (kind_of(thread.call) == CallKind::poll) return polled(pid, thread);
  if (kind_of(thread.call) == CallKind::select) return selected(pid, thread);
  return {};
}

std::string describe(const ThreadState& thread) {
  if (thread.state == 'T' || thread.state == 't') return "stopped";
  if (!thread.asleep()) return "running";
  const CallFact* fact = fact_of(thread.call);
  if (fact == nullptr) return "asleep in system call " + std::to_string(thread.call);
  std::string text = std::string("asleep in ") + fact->name;
  switch (fact->kind) {
    case CallKind::accept:
    case CallKind::read:
    case CallKind::write: return text + "(fd " + std::to_string(thread.args[0]) + ")";
    case CallKind::epoll: return text + "(epoll fd " + std::to_string(thread.args[0]) + ")";
    case CallKind::select: return text + "(nfds " + std::to_string(thread.args[0]) + ")";
    case CallKind::poll: return text + "(" + std::to_string(thread.args[1]) + " descriptors)";
    default: return text;
  }
}

std::string executable(pid_t pid) { return read_link(proc_path(pid, "exe")); }

std::vector<int> descriptors(pid_t pid) { return numbered_entries(proc_path(pid, "fd")); }

std::string descriptor_target(pid_t pid, int fd) { return read_link(proc_path(pid, "fd/" + std::to_string(fd))); }

std::optional<int> descriptor_of_socket(pid_t pid, std::uint64_t inode) {
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  for (int fd : descriptors(pid))
    if (descriptor_target(pid, fd) == wanted) return fd;
  return std::nullopt;
}

std::vector<int> epoll_instances(pid_t pid) {
  std::vector<int> found;
  for (int fd : descriptors(pid))
    if (descriptor_target(pid, fd) == "anon_inode:[eventpoll]") found.push_back(fd);
  return found;
}

std::vector<Registration> registrations(pid_t pid, int epoll_fd) {
  std::vector<Registration> found;
  std::istringstream lines(read_file(proc_path(pid, "fdinfo/" + std::to_string(epoll_fd))));
  for (std::string line; std::getline(lines, line);) {
    Registration entry;
    if (std::sscanf(line.c_str(), "tfd: %d events: %" SCNx32 " data: %" SCNx64 " pos:%*d ino:%" SCNx64, &entry.fd, &entry.events,
                    &entry.data, &entry.inode) == 4)
      found.push_back(entry);
  }
  return found;
}

std::uint64_t voluntary_switches(pid_t pid, pid_t tid) {
  static constexpr std::string_view kField = "voluntary_ctxt_switches:";
  std::istringstream lines(read_file(proc_path(pid, "task/" + std::to_string(tid) + "/status")));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(kField)) return std::stoull(line.substr(kField.size()));
  return 0;
}

bool timer_armed(pid_t pid) {
  for (int fd : descriptors(pid)) {
    if (descriptor_target(pid, fd) != "anon_inode:[timerfd]") continue;
    const std::string info = read_file(proc_path(pid, "fdinfo/" + std::to_string(fd)));
    if (info.find("it_value: (") != std::string::npos && info.find("it_value: (0, 0)") == std::string::npos) return true;
  }
  return false;
}

std::size_t resident_bytes(pid_t pid) {
  std::size_t size = 0;
  std::size_t resident = 0;
  std::istringstream(read_file(proc_path(pid, "statm"))) >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t mappings(pid_t pid) {
  const std::string maps = read_file(proc_path(pid, "maps"));
  return static_cast<std::size_t>(std::count(maps.begin(), maps.end(), '\n'));
}

std::vector<pid_t> process_tree(pid_t pid) {
  std::vector<pid_t> tree{pid};
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (int tid : numbered_entries(proc_path(tree[i], "task"))) {
      std::istringstream children(read_file(proc_path(tree[i], "task/" + std::to_string(tid) + "/children")));
      for (pid_t child = 0; children >> child;) tree.push_back(child);
    }
  return tree;
}

bool hides(pid_t pid) {
  // The files of a process that is not dumpable belong to root, whoever it runs as.
  struct stat status {};
  if (stat(proc_path(pid, "").c_str(), &status) < 0) return false;
  std::istringstream lines(read_file(proc_path(pid, "status")));
  for (std::string word; lines >> word;)
    if (word == "Uid:") {
      uid_t real = 0;
      uid_t effective = 0;
      lines >> real >> effective;
      return status.st_uid != effective;
    }
  return false;
}

}  // namespace probe
