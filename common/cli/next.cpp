#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/context.h"
#include "grade/build.h"
#include "grade/text.h"
#include "server_flags.h"

namespace cli {
namespace {

bool is_complete(const report::Progress& progress, const report::LabSpec& lab) {
  auto known = progress.labs.find(lab.lab);
  return known != progress.labs.end() && known->second.best_score >= lab.max_score();
}

using Pieces = std::vector<std::string>;  // for say()

// What to type for a lab that is not complete.
Pieces step_in(const report::LabSpec& lab) {
  if (!std::filesystem::exists(server_file(lab)))
    return {fmt::format("Begin lab {}, {}:", lab.lab, lab.title), fmt::format("./lab start {}", lab.lab)};
  const auto record = progress_store().last_record(lab.lab);
  const std::string file = grade::shown_path(server_file(lab));
  const std::string grade_it = fmt::format("./lab grade {}", lab.lab);
  if (!record) return {"Edit " + file, fmt::format("(the handout is {}), then:", handout(lab)), grade_it};
  const auto* failed = report::first_to_mend(*record);
  if (failed == nullptr) return {"Grade it:", grade_it};
  if (failed->outcome.verdict == report::Verdict::build)
    return {fmt::format("It does not compile: {}.", failed->outcome.cause), "Then: " + grade_it};
  const std::string& check = failed->outcome.check;
  return {fmt::format("Mend \"{}\" in {}", check, file), fmt::format("(./lab explain {} {},", lab.lab, check),
          fmt::format("./lab hint {}), then:", lab.lab), grade_it};
}

// The first lab that is not complete, from the one last worked on to the last, and then from the beginning.
Pieces next_step(const report::Progress& progress, const std::vector<report::LabSpec>& labs) {
  const auto is_open = [&](const report::LabSpec& lab) { return !is_complete(progress, lab); };
  const auto here =
      std::find_if(labs.begin(), labs.end(), [&](const report::LabSpec& lab) { return lab.lab >= progress.last_lab; });
  auto open = std::find_if(here, labs.end(), is_open);
  if (open == labs.end()) open = std::find_if(labs.begin(), labs.end(), is_open);
  return open == labs.end() ? Pieces{"All labs are complete."} : step_in(*open);
}

int next() {
  say(next_step(progress_store().load(), report::load_labs(kSourceDir)));
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
    fmt::print("{}", grade::hung(fmt::format("{:>2}  {:<28}  {}", lab.lab, lab.title, score), grade::standard_output_width()));
  }
  fmt::print("\n");
  say(next_step(progress, labs));
  fmt::print("(./lab --help lists all commands)\n");
  return 0;
}

void set_up_next(Words& words) { words.then(next); }

}  // namespace cli
