#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/context.h"
#include "server_flags.h"

namespace cli {
namespace {

int list() {
  const auto progress = progress_store().load();
  for (const auto& lab : report::load_labs(kSourceDir)) {
    const auto known = progress.labs.find(lab.lab);
    const bool graded = known != progress.labs.end() && known->second.max_score > 0;
    const std::string best = graded ? fmt::format("best {} of {}", known->second.best_score, lab.max_score())
                                    : fmt::format("{} points", lab.max_score());
    fmt::print("{:>2}  {}  ({}, {} checks)\n", lab.lab, lab.title, best, lab.checks.size());
    for (const auto& group : lab.groups) {
      std::vector<std::string> ids;
      for (const auto& check : lab.checks)
        if (check.group == group) ids.push_back(check.id);
      fmt::print("      {}: {}\n", group, fmt::join(ids, ", "));
    }
  }
  return 0;
}

}  // namespace

void set_up_list(Words& words) { words.then(list); }

}  // namespace cli
