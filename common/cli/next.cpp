#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/context.h"
#include "grade/build.h"
#include "server_flags.h"

namespace cli {
namespace {

bool is_complete(const report::Progress& progress, const report::LabSpec& lab) {
  auto known = progress.labs.find(lab.lab);
  return known != progress.labs.end() && known->second.best_score >= lab.max_score();
}

// What to type for a lab that is not complete.
std::string step_in(const report::LabSpec& lab) {
  if (!std::filesystem::exists(server_file(lab)))
    return fmt::format("Begin lab {}, {}: ./lab start {}", lab.lab, lab.title, lab.lab);
  const auto record = progress_store().last_record(lab.lab);
  const std::string file = grade::shown_path(server_file(lab));
  if (!record) return fmt::format("Edit {} (the handout is {}), then: ./lab grade {}", file, handout(lab), lab.lab);
  const auto* failed = report::first_lost(*record);
  if (failed == nullptr) return fmt::format("Grade it: ./lab grade {}", lab.lab);
  if (failed->outcome.verdict == report::Verdict::build)
    return fmt::format("It does not compile: {}. Then: ./lab grade {}", failed->outcome.cause, lab.lab);
  return fmt::format("Mend \"{0}\" in {1} (./lab explain {2} {0}, ./lab hint {2}), then: ./lab grade {2}", failed->outcome.check,
                     file, lab.lab);
}

// The first lab that is not complete, from the one last worked on to the last, and then from the beginning.
std::string next_step(const report::Progress& progress, const std::vector<report::LabSpec>& labs) {
  const auto is_open = [&](const report::LabSpec& lab) { return !is_complete(progress, lab); };
  const auto here =
      std::find_if(labs.begin(), labs.end(), [&](const report::LabSpec& lab) { return lab.lab >= progress.last_lab; });
  auto open = std::find_if(here, labs.end(), is_open);
  if (open == labs.end()) open = std::find_if(labs.begin(), labs.end(), is_open);
  return open == labs.end() ? "All labs are complete." : step_in(*open);
}

int next() {
  fmt::print("{}\n", next_step(progress_store().load(), report::load_labs(kSourceDir)));
  return 0;
}

}  // namespace

int where_you_stand() {
  const auto progress = progress_store().load();
  const auto labs = report::load_labs(kSourceDir);
  for (const auto& lab : labs) {
    auto known = progress.labs.find(lab.lab);
    const std::string score = known == progress.labs.end() || known->second.max_score == 0
                                  ? "not graded yet"
                                  : fmt::format("best {} of {}", known->second.best_score, lab.max_score());
    fmt::print("{:>2}  {:<28}  {}\n", lab.lab, lab.title, score);
  }
  fmt::print("\n{}\n(./lab --help lists all commands)\n", next_step(progress, labs));
  return 0;
}

void set_up_next(Words& words) { words.then(next); }

}  // namespace cli
