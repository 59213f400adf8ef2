#include <fmt/format.h>

#include <signal.h>
#include <unistd.h>
#include <memory>

#include <filesystem>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

#include "cli/commands.h"
#include "cli/context.h"
#include "grade/build.h"
#include "grade/machine.h"
#include "grade/printer.h"
#include "grade/runner.h"
#include "report/junit.h"
#include "server_flags.h"

namespace cli {
namespace {

namespace fs = std::filesystem;
struct Options {
  std::optional<int> lab;
  bool solution = false;
  bool starter = false;
  std::string server;
  std::vector<std::string> only;
  std::vector<std::string> skip;
  std::string json;
  std::string junit;
  std::optional<std::uint64_t> seed;
  bool attach = false;
  std::string exit_on = "fail";
  int jobs = 0;  // 0: as many as is quickest

  // Whether it is the student's own file that is graded: only that counts as progress.
  bool own() const { return !solution && !starter && server.empty(); }
};

report::ExitOn exit_on(const Options& options) {
  if (options.exit_on == "never") return report::ExitOn::never;
  return options.exit_on == "infra" ? report::ExitOn::infra : report::ExitOn::fail;
}

std::string repeat_command(const Options& options, const report::LabSpec& lab) {
  std::string command = fmt::format("./lab grade {}", lab.lab);
  if (options.solution) command += " --solution";
  if (options.starter) command += " --starter";
  if (!options.server.empty()) command += " --server " + shell_word(options.server);
  return command;
}

// Small, so that it can be typed.
std::uint64_t random_seed() { return std::random_device()() % 999'999 + 1; }

// Checks wait for the kernel most of the time, so more of them than processors are quicker; too many get in each other's way.
int default_jobs() { return static_cast<int>(std::thread::hardware_concurrency()) + 2; }

std::string suite_program(int lab) {
  const std::string path = fmt::format("{0}/bin/suite_{1:02}", kBuildDir, lab);
  if (!fs::exists(path))
    throw std::runtime_error(
        fmt::format("the suite of lab {0} is not built; make it with: cmake --build {1} --target suite_{0:02}", lab,
                    grade::shown_path(kBuildDir)));
  return path;
}

// The file to compile, and the name of what is made of it.
struct Source {
  std::string path;
  std::string name;
};

Source source_of(const Options& options, const report::LabSpec& lab) {
  if (options.solution) return {fmt::format("{}/solutions/{}/server.cpp", kSourceDir, lab.name), lab.name + "-solution"};
  if (options.starter) return {starter_file(lab), lab.name + "-starter"};
  if (make_server_file(lab))
    fmt::print("{} was missing; it was copied from the starter.\n\n", grade::shown_path(server_file(lab)));
  return {server_file(lab), lab.name};
}

std::set<std::string> chosen_ids(const report::LabSpec& lab, const std::vector<std::string>& ids) {
  for (const auto& id : ids) chosen_check(lab, id);
  return {ids.begin(), ids.end()};
}

// The suite will find out for itself, and give its verdict; this line says it sooner and in plainer words.
void warn_of_missing_program(const std::string& command) {
  std::string program;
  std::istringstream(command) >> program;
  if (program.find('/') != std::string::npos && program.find_first_of("$'\"\\`~*") == std::string::npos &&
      access(program.c_str(), X_OK) < 0)
    fmt::print(stderr, "lab: --server: {} is no program that can be run from {}\n", program, fs::current_path().string());
}

grade::RunOptions run_options(const Options& options, const report::LabSpec& lab, std::uint64_t seed) {
  grade::RunOptions run;
  run.suite = suite_program(lab.lab);
  run.server = options.server;
  run.seed = seed;
  run.only = chosen_ids(lab, options.only);
  run.skip = chosen_ids(lab, options.skip);
  run.jobs = options.jobs > 0 ? options.jobs : default_jobs();
  run.attach = options.attach;
  run.obstacle = [abilities = grade::look_at_machine()](const report::CheckSpec& check) {
    return grade::obstacle(abilities, check);
  };
  return run;
}

grade::PrinterOptions printer_options(const Options& options, const report::LabSpec& lab, std::uint64_t seed) {
  auto printing = grade::options_for_standard_output();
  printing.every_group = !options.only.empty();
  printing.own = options.own();
  if (options.attach) printing.progress = false;  // the suite asks on the same terminal
  printing.command = repeat_command(options, lab);
  printing.seed = seed;
  return printing;
}

void keep(const Options& options, const report::LabSpec& spec, const report::Record& record) {
  if (!options.json.empty()) report::write_record(options.json, record);
  if (!options.junit.empty()) report::write_junit(options.junit, record, spec, repeat_command(options, spec));
  if (!options.own()) return;
  const auto store = progress_store();
  store.save_record(record);
  store.update([&record](report::Progress& progress) {
    auto& lab = progress.labs[record.lab];
    lab.best_score = std::max(lab.best_score, record.score);
    lab.max_score = record.max_score;
    progress.last_lab = record.lab;
  });
}

// As the shell expects of a program that a signal ended.
[[noreturn]] void end_by(int signal_number) {
  fmt::print(stderr, "interrupted: nothing was recorded\n");
  signal(signal_number, SIG_DFL);
  raise(signal_number);
  _exit(128 + signal_number);
}

report::Record record_without_build(const grade::RunOptions& run, const report::LabSpec& lab, const std::string& error) {
  std::vector<report::CheckResult> results;
  for (const auto& check : lab.checks) {
    const bool asked = grade::asked(run, check.id);
    report::Outcome outcome;
    outcome.verdict = asked ? report::Verdict::build : report::Verdict::skipped;
    outcome.cause = asked ? error : grade::kNotAskedFor;
    results.push_back(report::result_of(check, outcome, asked));
  }
  return report::record_of(lab, std::move(results), run.seed);
}

int grade_lab(const Options& options) {
  if (!options.json.empty()) refuse_unwritable("--json", options.json);
  if (!options.junit.empty()) refuse_unwritable("--junit", options.junit);
  signal(SIGPIPE, SIG_IGN);  // whoever reads our output may leave early; the record is kept all the same
  const auto lab = chosen_lab(options.lab);
  const std::uint64_t seed = options.seed.value_or(random_seed());
  auto run = run_options(options, lab, seed);
  grade::Printer printer(std::cout, lab, printer_options(options, lab, seed));
  if (options.server.empty()) {
    const Source source = source_of(options, lab);
    const auto build = grade::build_server(source.path, source.name);
    if (!build.ok) {
      const auto record = record_without_build(run, lab, build.first_error);
      keep(options, lab, record);
      printer.build_failure(build, record);
      return report::exit_status(record, exit_on(options));
    }
    if (!build.output.empty()) fmt::print(stderr, "{}\n", build.output);
    run.server = build.binary;
  } else {
    warn_of_missing_program(options.server);
  }
  std::cout << std::flush;
  grade::Watcher watcher;
  watcher.on_result = [&](const report::CheckResult& result) { printer.on_result(result); };
  watcher.on_change = [&](std::size_t left, const std::vector<std::string>& running) { printer.on_change(left, running); };
  auto result = grade::run_checks(lab, run, watcher);
  printer.clear_progress();
  if (result.interrupted_by != 0) end_by(result.interrupted_by);
  const auto record = report::record_of(lab, std::move(result.checks), seed);
  keep(options, lab, record);
  printer.finish(record);
  return report::exit_status(record, exit_on(options));
}

}  // namespace

void set_up_grade(Words& words) {
  auto options = std::make_shared<Options>();
  words.optional("N", options->lab, "The lab's number; without it, the lab last worked on");
  words.flag("--solution", options->solution, "Grade the reference solution");
  words.flag("--starter", options->starter, "Grade the starter as it is");
  words.optional("--server", options->server, "Grade this program; {port} in it is replaced by a port number");
  words.exclude_each_other({"--solution", "--starter", "--server"});
  words.list("--check", options->only, "Only these checks, separated by commas");
  words.list("--skip", options->skip, "Not these checks; those that need them take them for passed");
  words.optional("--json", options->json, "Write the record to this file");
  words.optional("--junit", options->junit, "Write the results as JUnit XML to this file");
  words.optional("--seed", options->seed, "Repeat the run that had this seed");
  words.flag("--attach", options->attach, "Say the server's pid and wait for Enter before the first check");
  words.positive("--jobs", options->jobs, 1000, "Checks that run at once");
  words.choice("--exit-on", options->exit_on, {"never", "fail", "infra"},
               "What gives an exit status other than 0 (default: fail)");
  words.then([options] { return grade_lab(*options); });
}

}  // namespace cli
