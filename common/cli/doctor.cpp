#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <thread>

#include "cli/commands.h"
#include "cli/context.h"
#include "grade/child.h"
#include "grade/machine.h"
#include "server_flags.h"

namespace cli {
namespace {

constexpr int kCannotProveAll = 3;

void line(bool ok, const std::string& what, const std::string& found, const std::string& cost = "") {
  fmt::print("{:<4}{}: {}{}\n", ok ? "ok" : "!!", what, found, cost.empty() ? "" : "\n      " + cost);
}

// The checks that stay undecided without the ability, by lab.
std::string cost_of(const grade::Ability& ability, const std::vector<report::LabSpec>& labs) {
  std::vector<std::string> costs;
  for (const auto& lab : labs) {
    std::vector<std::string> ids;
    for (const auto& check : lab.checks)
      if (grade::denies(ability, check)) ids.push_back(check.id);
    if (!ids.empty()) costs.push_back(fmt::format("lab {}: {}", lab.lab, fmt::join(ids, ", ")));
  }
  return costs.empty() ? "" : fmt::format("undecided without it: {}", fmt::join(costs, "; "));
}

bool kernel_line() {
  utsname name{};
  uname(&name);
  int major = 0;
  int minor = 0;
  std::sscanf(name.release, "%d.%d", &major, &minor);
  const bool ok = major > 5 || (major == 5 && minor >= 10);
  line(ok, "kernel, 5.10 or newer", name.release,
       ok ? "" : "older ones lack calls that the grader uses; any check may be undecided");
  return ok;
}

bool compiler_line() {
  const auto said = grade::capture({.argv = {kCompiler, "--version"}, .environment = {}, .folder = {}});
  const bool ok = said.exit_status == 0;
  line(ok, "compiler", ok ? said.output.substr(0, said.output.find('\n')) : fmt::format("{} does not run", kCompiler),
       ok ? "" : "no server can be built: install g++ (Debian: sudo apt install g++)");
  return ok;
}

// Told for whoever reads the other lines; they say what it costs.
void ptrace_scope_line() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  std::string scope;
  line(true, "ptrace_scope (0 and 1 let a parent look at its children)", file >> scope ? scope : "none: the kernel has no yama");
}

int doctor() {
  bool all_ok = kernel_line();
  const auto labs = report::load_labs(kSourceDir);
  for (const auto& ability : grade::look_at_machine()) {
    const std::string cost = cost_of(ability, labs);
    const bool ok = ability.ok && cost.empty();
    const bool matters = ability.ok || !cost.empty();
    line(ok, ability.what, ability.found, ok || matters ? cost : "no check is undecided without it");
    all_ok = all_ok && (ok || !matters);
  }
  ptrace_scope_line();
  all_ok = compiler_line() && all_ok;
  line(true, "processors", std::to_string(std::thread::hardware_concurrency()));
  fmt::print("\n{}\n", all_ok ? "Everything can be proved on this machine."
                              : "What is marked !! stays undecided here: those points are neither earned nor lost.");
  return all_ok ? 0 : kCannotProveAll;
}

}  // namespace

void set_up_doctor(Words& words) { words.then(doctor); }

}  // namespace cli
