#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/completeness.h"
#include "cli/context.h"
#include "grade/child.h"
#include "server_flags.h"

namespace cli {
namespace {

std::vector<std::string> cases_of_suite(int lab) {
  const std::string suite = fmt::format("{}/bin/suite_{:02}", kBuildDir, lab);
  if (!std::filesystem::exists(suite)) return {};
  return listed_cases(grade::capture({.argv = {suite, "--list-test-cases"}, .environment = {}, .folder = {}}).output);
}

int check() {
  std::size_t count = 0;
  const auto labs = report::load_labs(kSourceDir);
  for (const auto& lab : labs)
    for (const auto& defect : defects(kSourceDir, lab, cases_of_suite(lab.lab))) {
      fmt::print("{}\n", defect);
      ++count;
    }
  if (count == 0) fmt::print("{} labs are complete.\n", labs.size());
  return count == 0 ? 0 : 1;
}

}  // namespace

void set_up_check(Words& words) { words.then(check); }

}  // namespace cli
