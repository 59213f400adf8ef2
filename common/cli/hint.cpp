#include <fmt/format.h>

#include <memory>
#include <tuple>

#include "cli/commands.h"
#include "cli/context.h"
#include "grade/text.h"
#include "report/hints.h"

namespace cli {
namespace {

struct HintWords {
  std::optional<int> lab;
  std::optional<int> step;  // this one, and no other is counted as shown
};

constexpr int kLastStep = static_cast<int>(std::tuple_size_v<decltype(report::steps({}))>);

void show(const report::LabSpec& lab, const report::CheckResult& failed, const report::Hint& hint, int step, bool again) {
  const report::HintStep shown = report::steps(hint).at(static_cast<std::size_t>(step) - 1);
  const auto width = grade::standard_output_width();
  fmt::print("{}\n{} ({} of {})\n{}\n", grade::hung(failed.outcome.check + ": " + hint.name, width), shown.heading, step,
             kLastStep, grade::reflowed(std::string(shown.text), width));
  if (step == kLastStep)
    say({"That was the last hint. The whole story:", fmt::format("./lab explain {} {}", lab.lab, failed.outcome.check)});
  else
    fmt::print("More: ./lab hint {}{}\n", lab.lab, again ? fmt::format(" --step {}", step + 1) : "");
}

int without_hint(const report::LabSpec& lab, const report::CheckResult& failed) {
  const auto& outcome = failed.outcome;
  if (outcome.verdict == report::Verdict::build) {
    say({"Your file did not compile; what the compiler said first:", outcome.cause});
    return 0;
  }
  say({fmt::format("There is no hint for {} ({}): no known pitfall was recognised.", outcome.check,
                   report::verdict_name(outcome.verdict)),
       outcome.cause});
  say({fmt::format("What was seen: ./lab explain {} {}.", lab.lab, outcome.check), fmt::format("The handout: {}", handout(lab))});
  return 0;
}

int hint(const HintWords& options) {
  if (options.step && (*options.step < 1 || *options.step > kLastStep))
    throw UserError(fmt::format("there is no step {}; the steps of a hint are 1 to {}", *options.step, kLastStep));
  const auto lab = chosen_lab(options.lab);
  const auto store = progress_store();
  const auto record = store.last_record(lab.lab);
  if (!record) {
    say({"Hints are about what went wrong in the last run,", fmt::format("and lab {} was not graded yet:", lab.lab),
         fmt::format("./lab grade {}", lab.lab)});
    return 0;
  }
  const auto* failed = report::first_to_mend(*record);
  if (failed == nullptr) {
    say({fmt::format("Nothing failed in the last run of lab {}: there is nothing to hint at.", lab.lab)});
    return 0;
  }
  const auto found = report::load_hint(lab.folder, failed->outcome.diagnosis);
  if (!found) return without_hint(lab, *failed);
  int step = options.step.value_or(0);
  if (!options.step)
    store.update([&](report::Progress& progress) {
      step = report::next_hint_step(progress.labs[lab.lab], failed->outcome.diagnosis, kLastStep);
    });
  show(lab, *failed, *found, step, options.step.has_value());
  return 0;
}

}  // namespace

void set_up_hint(Words& words) {
  auto options = std::make_shared<HintWords>();
  words.optional("N", options->lab, "The lab's number; without it, the lab last worked on");
  words.optional("--step", options->step, "Show this step, 1 to 3, again; the next hint stays the next one");
  words.then([options] { return hint(*options); });
}

}  // namespace cli
