// The runner against tiny suites: shell scripts that answer as a suite does, or do not.
#include "grade/runner.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "support/files.h"

namespace {

using report::Verdict;
using namespace std::chrono_literals;

report::CheckSpec check(const char* id, std::vector<std::string> needs = {}, const char* group = "serve") {
  report::CheckSpec spec;
  spec.id = id;
  spec.group = group;
  spec.points = 1;
  spec.needs = std::move(needs);
  spec.deadline_s = 1;
  return spec;
}

// A suite: a shell script in which `answer VERDICT` writes the outcome of $id. `body` chooses by $id.
struct Suite {
  explicit Suite(const std::string& body) {
    options.suite = folder / "suite";
    files::write(
        options.suite,
        "#!/bin/sh\nid=${1#--test-case=}\n"
        "answer() { printf "
        "'{\"check\":\"%s\",\"verdict\":\"%s\",\"diagnosis\":\"\",\"cause\":\"\",\"story\":{\"did\":\"\",\"server_did\":\"\","
        "\"expected\":\"\"},\"measured\":{},\"server_stderr\":[],\"wall_ms\":5}' \"$id\" \"$1\" >\"$LAB_SUITE_DIR/$id.json\"; "
        "}\n" +
            body);
    std::filesystem::permissions(options.suite, std::filesystem::perms::owner_all);
    options.jobs = 4;
    lab.folder = folder.path();
  }
  grade::RunResult run() { return grade::run_checks(lab, options, watcher); }

  files::Folder folder;
  report::LabSpec lab;
  grade::RunOptions options;
  grade::Watcher watcher;
};

const report::Outcome& outcome(const grade::RunResult& result, std::size_t place) { return result.checks.at(place).outcome; }

// Whether the process ends. A signal that was sent takes its time to arrive; ten seconds are a guard against hanging.
bool ends(pid_t pid) {
  const base::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd news{process.get(), POLLIN, 0};
  return !process || poll(&news, 1, 10'000) == 1;
}

TEST_CASE("verdicts come from the outcome file, not from the suite's exit status") {
  Suite suite("case $id in good) answer PASS; exit 1;; bad) answer FAIL;; esac\n");
  suite.lab.checks = {check("good"), check("bad")};
  const auto result = suite.run();
  CHECK(outcome(result, 0).verdict == Verdict::pass);
  CHECK(result.checks[0].points == 1);
  CHECK(outcome(result, 0).wall_ms == 5);
  CHECK(outcome(result, 1).verdict == Verdict::fail);
}

TEST_CASE("the suite is told what to run on what") {
  Suite suite("echo \"$1|$LAB_SUITE_SERVER|$LAB_SUITE_SEED|$LAB_SUITE_SPEC|$LAB_SUITE_ATTACH\"; exit 7\n");
  suite.lab.checks = {check("a")};
  suite.options.server = "./mine {port}";
  suite.options.seed = 18446744073709551615u;
  const auto cause = outcome(suite.run(), 0).cause;
  CHECK(
      cause ==
      "the suite ended with exit status 7 and gave no verdict; it wrote last: --test-case=a|./mine {port}|18446744073709551615|" +
          suite.folder.path() + "|");
}

TEST_CASE("a suite that is lost is the grader's fault") {
  Suite suite(
      "case $id in crash) kill -SEGV $$;; silent) ;; other) id=crash; answer PASS; mv \"$LAB_SUITE_DIR/crash.json\" "
      "\"$LAB_SUITE_DIR/other.json\";;"
      " half) echo '{' >\"$LAB_SUITE_DIR/half.json\";; esac\n");
  suite.options.jobs = 1;
  suite.lab.checks = {check("crash"), check("silent"), check("other"), check("half")};
  const auto result = suite.run();
  for (const auto& one : result.checks) CHECK(one.outcome.verdict == Verdict::infra);
  CHECK(outcome(result, 0).cause == "the suite ended with signal 11 (Segmentation fault) and gave no verdict; it wrote nothing");
  suite.options.suite = "/nonexistent/suite";
  CHECK(outcome(suite.run(), 0).cause.find("cannot run /nonexistent/suite: No such file or directory") != std::string::npos);
}

// It writes its child's number before both stop, so the deadline only has to be longer than starting two shells takes.
TEST_CASE("a suite that does not finish is killed with all that it started") {
  Suite suite("echo begun; sh -c 'echo $$ >\"$LAB_SUITE_SPEC/child\"; kill -STOP $$' & wait\n");
  suite.lab.checks = {check("hang")};
  suite.options.deadline = [](const auto&) { return 2s; };
  const auto result = suite.run();
  CHECK(outcome(result, 0).verdict == Verdict::infra);
  CHECK(outcome(result, 0).cause == "the suite did not finish within 2 s; it wrote last: begun");
  CHECK(ends(std::stoi(files::read(suite.folder / "child"))));
  CHECK(grade::hard_deadline(check("x")) == 13s);
}

TEST_CASE("what needs a check that did not pass is not run") {
  Suite suite("case $id in fails) answer FAIL;; doubtful) answer UNSURE;; *) answer PASS;; esac\n");
  suite.lab.checks = {check("good"),
                      check("fails"),
                      check("doubtful"),
                      check("a", {"good"}),
                      check("b", {"fails"}),
                      check("c", {"b"}),
                      check("d", {"doubtful"}),
                      check("e", {"d"}),
                      check("f", {"doubtful", "fails"})};
  const auto result = suite.run();
  CHECK(outcome(result, 3).verdict == Verdict::pass);
  CHECK(outcome(result, 4).verdict == Verdict::skipped);
  CHECK(outcome(result, 4).cause == "needs fails");
  CHECK(outcome(result, 5).cause == "needs b");
  CHECK(outcome(result, 6).verdict == Verdict::unsure);
  CHECK(outcome(result, 6).cause == "needs doubtful, which is undecided");
  CHECK(outcome(result, 7).cause == "needs d, which is undecided");
  CHECK(outcome(result, 8).cause == "needs fails");  // what failed outweighs what is undecided
}

TEST_CASE("what is left out on request counts as passed for others and as lost for nobody") {
  Suite suite("answer PASS\n");
  suite.lab.checks = {check("a"), check("b", {"a"}), check("c")};
  suite.options.skip = {"a"};
  auto result = suite.run();
  CHECK(outcome(result, 0).verdict == Verdict::skipped);
  CHECK(outcome(result, 0).cause == "not asked for");
  CHECK_FALSE(result.checks[0].asked);
  CHECK(outcome(result, 1).verdict == Verdict::pass);
  suite.options.skip = {};
  suite.options.only = {"b"};
  result = suite.run();
  CHECK(outcome(result, 1).verdict == Verdict::pass);
  CHECK_FALSE(result.checks[2].asked);
}

TEST_CASE("after a time-out nothing starts any more in that group") {
  Suite suite("case $id in late) answer TIMEOUT;; *) answer PASS;; esac\n");
  suite.options.jobs = 1;
  suite.lab.checks = {check("early"), check("late"), check("next"), check("follows", {"late"}),
                      check("elsewhere", {}, "survive")};
  const auto result = suite.run();
  CHECK(outcome(result, 0).verdict == Verdict::pass);
  CHECK(outcome(result, 2).verdict == Verdict::skipped);
  CHECK(outcome(result, 2).cause == "after the time-out of late");
  CHECK(outcome(result, 3).cause == "needs late");
  CHECK(outcome(result, 4).verdict == Verdict::pass);
}

TEST_CASE("what the machine cannot prove is undecided and not run") {
  Suite suite("answer PASS\n");
  suite.lab.checks = {check("many"), check("follows", {"many"})};
  suite.options.obstacle = [](const auto& spec) {
    return spec.id == "many" ? std::string("too few descriptors") : std::string();
  };
  const auto result = suite.run();
  CHECK(outcome(result, 0).verdict == Verdict::unsure);
  CHECK(outcome(result, 0).cause == "too few descriptors");
  CHECK(outcome(result, 1).cause == "needs many, which is undecided");
}

// "first" ends only after "second" has begun, so the two run at the same time; a fifo carries the word.
TEST_CASE("checks run side by side, and results come in the lab's order") {
  Suite suite(
      "case $id in first) read word <\"$LAB_SUITE_SPEC/fifo\";; second) echo go >\"$LAB_SUITE_SPEC/fifo\";; esac; answer PASS\n");
  REQUIRE(mkfifo((suite.folder / "fifo").c_str(), 0600) == 0);
  suite.lab.checks = {check("first"), check("second")};
  std::vector<std::string> seen;
  std::size_t most_running = 0;
  suite.watcher.on_result = [&](const report::CheckResult& result) { seen.push_back(result.outcome.check); };
  suite.watcher.on_change = [&](std::size_t, const std::vector<std::string>& running) {
    most_running = std::max(most_running, running.size());
  };
  const auto result = suite.run();
  CHECK(seen == std::vector<std::string>{"first", "second"});
  CHECK(most_running == 2);
  CHECK(outcome(result, 0).verdict == Verdict::pass);
}

TEST_CASE("a signal ends the run and everything it started") {
  Suite suite("echo $$ >\"$LAB_SUITE_SPEC/pid\"; kill -TERM $PPID; kill -STOP $$\n");
  suite.lab.checks = {check("a"), check("b", {"a"})};
  const auto result = suite.run();
  CHECK(result.interrupted_by == SIGTERM);
  CHECK(result.checks.empty());
  CHECK(ends(std::stoi(files::read(suite.folder / "pid"))));
}

TEST_CASE("nothing is left in the temporary folder") {
  const files::Folder temporary;
  setenv("TMPDIR", temporary.path().c_str(), 1);
  Suite suite("answer PASS\n");
  suite.lab.checks = {check("a")};
  suite.run();
  unsetenv("TMPDIR");
  for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) CHECK(entry.path() == suite.folder.path());
}

TEST_CASE("needs that nothing can settle are told, not waited for") {
  Suite suite("answer PASS\n");
  suite.lab.checks = {check("a", {"b"}), check("b", {"a"})};
  CHECK_THROWS_WITH(suite.run(), doctest::Contains("need what never runs"));
}

}  // namespace
