// Running the checks of a lab: each as a suite process of its own, several at once, with the order that their needs demand.
// Not for: judging a server (the suite does) or counting points (report/record.h).
//
// How a suite is called, and how it answers:
//   SUITE --test-case=ID     in a process group of its own, with the environment
//     LAB_SUITE_SERVER       command line of the server under test
//     LAB_SUITE_SEED         decimal number from which sizes and contents are drawn
//     LAB_SUITE_DIR          folder of this run; the answer is LAB_SUITE_DIR/ID.json (report/outcome.h)
//     LAB_SUITE_SPEC         folder labs/NN-model
//     LAB_SUITE_ATTACH=1     only for --attach: say the server's pid and wait for Enter before the first action
// The exit status is no verdict. A suite that leaves no answer is INFRA.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "report/lab_spec.h"
#include "report/record.h"

namespace grade {

// When a suite that does not come to its end is killed. Far beyond the check's own deadline, which the suite keeps itself
// and at most doubles, on a machine that is too busy.
std::chrono::milliseconds hard_deadline(const report::CheckSpec& check);

// What others see of a run while it goes on.
struct Watcher {
  // In lab.json's order, as soon as all earlier ones were given.
  std::function<void(const report::CheckResult&)> on_result = [](const report::CheckResult&) {};
  // Something started or ended: how many checks have no verdict yet, and the ids of those that run.
  std::function<void(std::size_t left, const std::vector<std::string>& running)> on_change = [](std::size_t, const auto&) {};
};

struct RunOptions {
  std::string suite;   // path of the suite program
  std::string server;  // command line of the server under test
  std::uint64_t seed = 0;
  std::set<std::string> only;  // empty: all checks
  std::set<std::string> skip;
  int jobs = 1;  // checks that run at once
  bool attach = false;
  std::function<std::chrono::milliseconds(const report::CheckSpec&)> deadline = hard_deadline;
  // Why this machine cannot prove the check; empty when it can (machine.h).
  std::function<std::string(const report::CheckSpec&)> obstacle = [](const report::CheckSpec&) { return std::string(); };
};

// Why a check that --check or --skip leaves out has no verdict.
inline constexpr const char* kNotAskedFor = "not asked for";
bool asked(const RunOptions& options, const std::string& check);

struct RunResult {
  std::vector<report::CheckResult> checks;  // one for each check of lab.json, in its order
  int interrupted_by = 0;                   // SIGINT, SIGTERM or SIGHUP ended the run; `checks` is then worth nothing
};

// Runs them all and leaves no process and no file behind. For a program with one thread: signals are taken over while it runs.
// Throws std::system_error.
RunResult run_checks(const report::LabSpec& lab, const RunOptions& options, const Watcher& watcher = {});

}  // namespace grade
