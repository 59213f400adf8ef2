#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/context.h"
#include "grade/text.h"
#include "server_flags.h"

namespace cli {
namespace {

void show(const report::LabSpec& lab, const report::Progress& progress) {
  const auto known = progress.labs.find(lab.lab);
  const bool graded = known != progress.labs.end() && known->second.max_score > 0;
  const std::string best = graded ? fmt::format("best {} of {}", known->second.best_score, lab.max_score())
                                  : fmt::format("{} points", lab.max_score());
  const std::size_t width = grade::standard_output_width();
  fmt::print("{}", grade::hung(fmt::format("{:>2}  {} ({}, {} checks)", lab.lab, lab.title, best, lab.checks.size()), width));
  for (const auto& group : lab.groups) {
    std::vector<std::string> ids;
    for (const auto& check : lab.checks)
      if (check.group == group) ids.push_back(check.id);
    fmt::print("{}", grade::hung(fmt::format("      {}: {}", group, fmt::join(ids, ", ")), width));
  }
}

int list(const std::optional<int>& number) {
  const auto progress = progress_store().load();
  for (const auto& lab : number ? std::vector{chosen_lab(number)} : report::load_labs(kSourceDir)) show(lab, progress);
  return 0;
}

}  // namespace

void set_up_list(Words& words) {
  auto number = std::make_shared<std::optional<int>>();
  words.optional("N", *number, "The lab's number; without it, all labs");
  words.then([number] { return list(*number); });
}

}  // namespace cli
