#include "grade/child.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "base/errno_text.h"

namespace grade {
namespace {

constexpr int kCannotRun = 127;  // as shells say it

void take_over(int from, int to) {
  if (from >= 0 && from != to) dup2(from, to);
}

void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_DFL);
}

[[noreturn]] void become(const ChildSpec& spec, pid_t parent) {
  if (spec.own_group) setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotRun);  // it died before the line above
  reset_signals();
  take_over(spec.in >= 0 ? spec.in : open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  take_over(spec.out, STDOUT_FILENO);
  take_over(spec.err, STDERR_FILENO);
  for (const auto& [name, value] : spec.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const auto& word : spec.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  if (spec.folder.empty() || chdir(spec.folder.c_str()) == 0) execvp(argv[0], argv.data());
  dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], strerror(errno));
  _exit(kCannotRun);
}

std::string read_all(int fd) {
  std::string text;
  char block[16384];
  for (ssize_t count; (count = read(fd, block, sizeof block)) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) text.append(block, static_cast<std::size_t>(count));
  }
  return text;
}

constexpr off_t kRoom = 8 << 20;  // bytes that a compilation or a run may leave there for a while

// Whether there is room for kRoom bytes: 0 or an errno.
int error_of_writing(const std::string& path) {
  const base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return errno;
  const int error = posix_fallocate(file.get(), 0, kRoom);
  unlink(path.c_str());
  return error;
}

}  // namespace

pid_t spawn(const ChildSpec& spec) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) base::throw_errno("start " + spec.argv[0]);
  if (pid == 0) become(spec, parent);
  // Both sides set the group: whichever runs first, a kill of the group that follows finds it.
  if (spec.own_group) setpgid(pid, pid);
  return pid;
}

std::string how_it_ended(int code, int status) {
  if (code == CLD_EXITED) return "exit status " + std::to_string(status);
  return "signal " + std::to_string(status) + " (" + strsignal(status) + ")";
}

Captured capture(ChildSpec spec) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) base::throw_errno("pipe");
  base::UniqueFd reader(ends[0]);
  base::UniqueFd writer(ends[1]);
  spec.out = spec.err = writer.get();
  const pid_t pid = spawn(spec);
  writer.reset();
  Captured result;
  result.output = read_all(reader.get());
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

TemporaryFolder::TemporaryFolder() {
  const char* given = getenv("TMPDIR");
  const std::string folder = given != nullptr && *given != '\0' ? given : "/tmp";
  path_ = folder + "/lab-XXXXXX";
  const bool made = mkdtemp(path_.data()) != nullptr;
  const int error = made ? error_of_writing(path_ + "/room") : errno;
  if (error == 0) return;
  if (made) rmdir(path_.c_str());
  throw std::runtime_error("cannot write in the temporary folder " + folder + ": " + base::errno_text(error) +
                           "; set TMPDIR to a folder that has room");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace grade
