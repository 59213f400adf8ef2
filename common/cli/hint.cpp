#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/context.h"
#include "report/hints.h"

namespace cli {
namespace {

void show(const report::LabSpec& lab, const report::CheckResult& failed, const report::Hint& hint, int step) {
  const auto all = report::steps(hint);
  const auto& shown = all.at(static_cast<std::size_t>(step) - 1);
  fmt::print("{}: {}\n\n{} ({} of {})\n{}\n\n", failed.outcome.check, hint.name, shown.heading, step, all.size(), shown.text);
  if (step < static_cast<int>(all.size()))
    fmt::print("More: ./lab hint {}\n", lab.lab);
  else
    fmt::print("That was the last hint. The whole story: ./lab explain {} {}\n", lab.lab, failed.outcome.check);
}

int without_hint(const report::LabSpec& lab, const report::CheckResult& failed) {
  if (failed.outcome.verdict == report::Verdict::build) {
    fmt::print("Your file did not compile; what the compiler said first: {}\n", failed.outcome.cause);
    return 0;
  }
  fmt::print("There is no hint for {} ({}): no known pitfall was recognised. {}\n", failed.outcome.check,
             report::verdict_name(failed.outcome.verdict), failed.outcome.cause);
  fmt::print("What was seen: ./lab explain {} {}. The handout: {}\n", lab.lab, failed.outcome.check, handout(lab));
  return 0;
}

int hint(const std::optional<int>& number) {
  const auto lab = chosen_lab(number);
  const auto store = progress_store();
  const auto record = store.last_record(lab.lab);
  if (!record) {
    fmt::print("Hints are about what went wrong in the last run, and lab {} was not graded yet: ./lab grade {}\n", lab.lab,
               lab.lab);
    return 0;
  }
  const auto* failed = report::first_lost(*record);
  if (failed == nullptr) {
    fmt::print("Nothing failed in the last run of lab {}: there is nothing to hint at.\n", lab.lab);
    return 0;
  }
  const auto found = report::load_hint(lab.folder, failed->outcome.diagnosis);
  if (!found) return without_hint(lab, *failed);
  int step = 0;
  store.update([&](report::Progress& progress) {
    step =
        report::next_hint_step(progress.labs[lab.lab], failed->outcome.diagnosis, static_cast<int>(report::steps(*found).size()));
  });
  show(lab, *failed, *found, step);
  return 0;
}

}  // namespace

void set_up_hint(Words& words) {
  auto number = std::make_shared<std::optional<int>>();
  words.optional("N", *number, "The lab's number; without it, the lab last worked on");
  words.then([number] { return hint(*number); });
}

}  // namespace cli
