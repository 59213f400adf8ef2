#include "grade/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>

#include "base/errno_text.h"
#include "grade/child.h"

namespace grade {
namespace {

using Clock = std::chrono::steady_clock;
using report::CheckSpec;
using report::Outcome;
using report::Verdict;

constexpr std::size_t kQuotedLines = 5;  // of what a lost suite wrote

// While it lives, the signals that end a run and those of children arrive at fd() and nowhere else.
class SignalQueue {
 public:
  SignalQueue() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&wanted, number);
    sigprocmask(SIG_BLOCK, &wanted, &before_);
    fd_.reset(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_) base::throw_errno("signalfd");
  }
  ~SignalQueue() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  int fd() const { return fd_.get(); }

  // The next one that asks us to end; 0 when there is none.
  int next_ending() {
    signalfd_siginfo info;
    while (read(fd_.get(), &info, sizeof info) == sizeof info)
      if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
    return 0;
  }

 private:
  sigset_t before_;
  base::UniqueFd fd_;
};

struct Running {
  pid_t pid = -1;
  Clock::time_point started;
  std::optional<Clock::time_point> deadline;
  bool attached = false;
};

// The last lines of a file, in one line.
std::string last_words(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) lines.push_back(line);
  if (lines.size() > kQuotedLines) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kQuotedLines));
  return lines.empty() ? "it wrote nothing" : fmt::format("it wrote last: {}", fmt::join(lines, " | "));
}

Outcome outcome_of(const CheckSpec& check, Verdict verdict, std::string cause) {
  Outcome outcome;
  outcome.check = check.id;
  outcome.verdict = verdict;
  outcome.cause = std::move(cause);
  return outcome;
}

// One run: which checks are settled, which run, and what may start next. The main thread only.
class Run {
 public:
  Run(const report::LabSpec& lab, const RunOptions& options, const Watcher& watcher)
      : lab_(lab), options_(options), watcher_(watcher) {}
  ~Run() { kill_all(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RunResult run();

 private:
  bool waiting(const CheckSpec& check) const { return !settled_.contains(check.id) && !running_.contains(check.id); }
  bool needs_settled(const CheckSpec& check) const;
  std::optional<Outcome> verdict_without_running(const CheckSpec& check) const;
  std::optional<Outcome> verdict_from_needs(const CheckSpec& check) const;
  void settle(const CheckSpec& check, Outcome outcome);
  bool settle_one_without_running();
  void start_what_may();
  bool room_for_another() const;
  void start(const CheckSpec& check);
  void wait_for_news(const std::optional<Clock::time_point>& until);
  void pass_on_input();
  std::optional<Clock::time_point> next_deadline() const;
  void collect_ended();
  void kill_overdue();
  Outcome outcome_of_ended(const CheckSpec& check, const siginfo_t& end) const;
  void end(const std::string& id);
  void kill_all();
  void tell_change() const;
  std::string file_of(const std::string& id, const char* extension) const { return folder_.path() + "/" + id + extension; }

  const report::LabSpec& lab_;
  const RunOptions& options_;
  const Watcher& watcher_;
  TemporaryFolder folder_;
  SignalQueue signals_;
  std::map<std::string, report::CheckResult> settled_;
  std::map<std::string, Running> running_;
  std::map<std::string, std::string> timed_out_;  // group -> the check that timed out first
  std::size_t delivered_ = 0;
  bool attach_next_ = options_.attach;
  base::UniqueFd attached_input_;  // what is typed to us goes on to the suite that was attached to
  int interrupted_by_ = 0;
};

RunResult Run::run() {
  while (settled_.size() < lab_.checks.size() && interrupted_by_ == 0) {
    while (settle_one_without_running()) {
    }
    start_what_may();
    if (running_.empty() && settled_.size() < lab_.checks.size())
      throw std::runtime_error(lab_.folder + "/lab.json: some checks need what never runs (./lab check)");
    if (running_.empty()) break;
    wait_for_news(next_deadline());
    interrupted_by_ = signals_.next_ending();
    collect_ended();
    kill_overdue();
  }
  RunResult result;
  result.interrupted_by = interrupted_by_;
  if (interrupted_by_ == 0)
    for (const auto& check : lab_.checks) result.checks.push_back(settled_.at(check.id));
  return result;
}

bool Run::needs_settled(const CheckSpec& check) const {
  return std::all_of(check.needs.begin(), check.needs.end(), [this](const std::string& id) { return settled_.contains(id); });
}

// What is wrong with the needs of a check, all of them settled. One that failed outweighs one that is undecided.
// A check left out on request is taken to be right.
std::optional<Outcome> Run::verdict_from_needs(const CheckSpec& check) const {
  std::optional<Outcome> undecided;
  for (const auto& id : check.needs) {
    const report::CheckResult& need = settled_.at(id);
    if (report::lost(need)) return outcome_of(check, Verdict::skipped, fmt::format("needs {}", id));
    if (report::undecided(need) && !undecided)
      undecided = outcome_of(check, Verdict::unsure, fmt::format("needs {}, which is undecided", id));
  }
  return undecided;
}

std::optional<Outcome> Run::verdict_without_running(const CheckSpec& check) const {
  if (!asked(options_, check.id)) return outcome_of(check, Verdict::skipped, kNotAskedFor);
  if (!needs_settled(check)) return std::nullopt;
  if (auto outcome = verdict_from_needs(check)) return outcome;
  auto late = timed_out_.find(check.group);
  if (late != timed_out_.end()) return outcome_of(check, Verdict::skipped, fmt::format("after the time-out of {}", late->second));
  const std::string obstacle = options_.obstacle(check);
  if (!obstacle.empty()) return outcome_of(check, Verdict::unsure, obstacle);
  return std::nullopt;
}

bool Run::settle_one_without_running() {
  for (const auto& check : lab_.checks) {
    if (!waiting(check)) continue;
    if (auto outcome = verdict_without_running(check)) {
      settle(check, *outcome);
      return true;
    }
  }
  return false;
}

void Run::settle(const CheckSpec& check, Outcome outcome) {
  if (outcome.verdict == Verdict::timeout) timed_out_.emplace(check.group, check.id);
  settled_.emplace(check.id, report::result_of(check, std::move(outcome), asked(options_, check.id)));
  for (; delivered_ < lab_.checks.size(); ++delivered_) {
    auto next = settled_.find(lab_.checks[delivered_].id);
    if (next == settled_.end()) break;
    watcher_.on_result(next->second);
  }
}

// A check that somebody attaches to runs alone: whatever ran beside it would meet its deadline meanwhile.
bool Run::room_for_another() const {
  const bool attached = std::any_of(running_.begin(), running_.end(), [](const auto& entry) { return entry.second.attached; });
  return !attached && static_cast<int>(running_.size()) < std::max(options_.jobs, 1);
}

void Run::start_what_may() {
  for (const auto& check : lab_.checks) {
    if (!room_for_another()) return;
    if (waiting(check) && needs_settled(check)) start(check);
  }
}

void Run::start(const CheckSpec& check) {
  base::UniqueFd log(open(file_of(check.id, ".log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  if (!log) base::throw_errno("write " + file_of(check.id, ".log"));
  Running suite;
  suite.attached = std::exchange(attach_next_, false);
  ChildSpec child;
  child.argv = {options_.suite, "--test-case=" + check.id};
  child.environment = {{"LAB_SUITE_SERVER", options_.server},
                       {"LAB_SUITE_SEED", std::to_string(options_.seed)},
                       {"LAB_SUITE_DIR", folder_.path()},
                       {"LAB_SUITE_SPEC", lab_.folder}};
  child.out = log.get();
  child.err = log.get();
  child.own_group = true;
  base::UniqueFd input;
  if (suite.attached) {
    // Its group is not the terminal's, so that reading from the terminal would stop it: it reads from us.
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) base::throw_errno("pipe");
    input.reset(ends[0]);
    attached_input_.reset(ends[1]);
    child.in = input.get();
    child.err = -1;
    child.environment["LAB_SUITE_ATTACH"] = "1";
  }
  suite.started = Clock::now();
  if (!suite.attached) suite.deadline = suite.started + options_.deadline(check);
  suite.pid = spawn(child);
  running_.emplace(check.id, suite);
  tell_change();
}

std::optional<Clock::time_point> Run::next_deadline() const {
  std::optional<Clock::time_point> next;
  for (const auto& [id, suite] : running_)
    if (suite.deadline && (!next || *suite.deadline < *next)) next = suite.deadline;
  return next;
}

void Run::wait_for_news(const std::optional<Clock::time_point>& until) {
  int limit_ms = -1;
  if (until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now());
    limit_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  pollfd news[] = {{signals_.fd(), POLLIN, 0}, {attached_input_ ? STDIN_FILENO : -1, POLLIN, 0}};
  poll(news, 2, limit_ms);  // whatever it returns, the caller looks at everything
  if (news[1].revents != 0) pass_on_input();
}

void Run::pass_on_input() {
  char typed[256];
  const ssize_t count = read(STDIN_FILENO, typed, sizeof typed);
  if (count <= 0 || write(attached_input_.get(), typed, static_cast<std::size_t>(count)) != count) attached_input_.reset();
}

void Run::collect_ended() {
  for (const auto& check : lab_.checks) {
    auto entry = running_.find(check.id);
    if (entry == running_.end()) continue;
    siginfo_t ended{};
    // WNOWAIT: its number stays taken until the rest of its group is dead, so that nobody else's group is hit.
    if (waitid(P_PID, static_cast<id_t>(entry->second.pid), &ended, WEXITED | WNOHANG | WNOWAIT) < 0 || ended.si_pid == 0)
      continue;
    Outcome outcome = outcome_of_ended(check, ended);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - entry->second.started);
    if (outcome.wall_ms == 0) outcome.wall_ms = static_cast<int>(took.count());
    end(check.id);
    settle(check, std::move(outcome));
    tell_change();
  }
}

Outcome Run::outcome_of_ended(const CheckSpec& check, const siginfo_t& suite_end) const {
  auto outcome = report::read_outcome(file_of(check.id, ".json"));
  if (outcome && outcome->check == check.id) return *outcome;
  return outcome_of(check, Verdict::infra,
                    fmt::format("the suite ended with {} and gave no verdict; {}",
                                how_it_ended(suite_end.si_code, suite_end.si_status), last_words(file_of(check.id, ".log"))));
}

void Run::kill_overdue() {
  const auto now = Clock::now();
  for (const auto& check : lab_.checks) {
    auto entry = running_.find(check.id);
    if (entry == running_.end() || !entry->second.deadline || *entry->second.deadline > now) continue;
    const auto allowed = options_.deadline(check);
    end(check.id);
    settle(check, outcome_of(check, Verdict::infra,
                             fmt::format("the suite did not finish within {:.3g} s; {}",
                                         static_cast<double>(allowed.count()) / 1000, last_words(file_of(check.id, ".log")))));
    tell_change();
  }
}

// Ends the suite and everything in its group.
void Run::end(const std::string& id) {
  const pid_t pid = running_.at(id).pid;
  kill(-pid, SIGKILL);
  if (running_.at(id).attached) attached_input_.reset();
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  running_.erase(id);
}

void Run::kill_all() {
  while (!running_.empty()) end(std::string(running_.begin()->first));
}

void Run::tell_change() const {
  std::vector<std::string> ids;
  for (const auto& check : lab_.checks)
    if (running_.contains(check.id)) ids.push_back(check.id);
  watcher_.on_change(lab_.checks.size() - settled_.size(), ids);
}

}  // namespace

std::chrono::milliseconds hard_deadline(const report::CheckSpec& check) {
  return 3 * std::chrono::seconds(check.deadline_s) + std::chrono::seconds(10);
}

bool asked(const RunOptions& options, const std::string& check) {
  return (options.only.empty() || options.only.contains(check)) && !options.skip.contains(check);
}

RunResult run_checks(const report::LabSpec& lab, const RunOptions& options, const Watcher& watcher) {
  return Run(lab, options, watcher).run();
}

}  // namespace grade
