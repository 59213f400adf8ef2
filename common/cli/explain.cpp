#include <fmt/format.h>

#include <fmt/ostream.h>
#include <memory>

#include <charconv>
#include <iostream>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/handout.h"
#include "grade/printer.h"
#include "report/hints.h"

namespace cli {
namespace {

grade::Printer printer_for(const report::LabSpec& lab, const report::Record& record) {
  auto options = grade::options_for_standard_output();
  options.progress = false;
  options.command = fmt::format("./lab grade {}", lab.lab);
  options.seed = record.seed;
  return grade::Printer(std::cout, lab, options);
}

// The state of a check that no run has told about.
report::CheckResult not_graded(const report::CheckSpec& check) {
  report::Outcome outcome;
  outcome.verdict = report::Verdict::skipped;
  outcome.cause = "not graded yet";
  return report::result_of(check, outcome, false);
}

report::CheckResult state_of(const report::CheckSpec& check, const report::Record& record) {
  const auto* result = report::find(record, check.id);
  return result == nullptr ? not_graded(check) : *result;
}

void all_checks(const report::LabSpec& lab, const report::Record& record) {
  auto printer = printer_for(lab, record);
  std::string group;
  for (const auto& check : lab.checks) {
    if (check.group != group) fmt::print(std::cout, "{}\n", check.group);
    group = check.group;
    printer.verdict_line(state_of(check, record));
  }
  fmt::print(std::cout, "\nOne of them: ./lab explain {} ID\n", lab.lab);
}

void pitfalls(grade::Printer& printer, const report::LabSpec& lab, const report::CheckSpec& check) {
  for (const auto& diagnosis : check.diagnoses)
    if (const auto hint = report::load_hint(lab.folder, diagnosis))
      printer.part("Pitfall", fmt::format("{}: {} ({})", hint->name, hint->reason, hint->man));
}

void one_check(const report::LabSpec& lab, const report::CheckSpec& check, const report::Record& record) {
  auto printer = printer_for(lab, record);
  const auto result = state_of(check, record);
  printer.verdict_line(result);
  printer.part("About", fmt::format("{} ({} points)", check.title, check.points));
  const auto row = handout_row(lab.folder + "/README.md", check.id);
  if (row) printer.part("What it does", row->text);
  if (!check.needs.empty()) printer.part("Needs", fmt::format("{}", fmt::join(check.needs, ", ")));
  if (!report::passed(result) && result.outcome.verdict != report::Verdict::skipped) return printer.failure(result);
  pitfalls(printer, lab, check);
  printer.part("Read", lab.where_to_read(check));
  if (report::passed(result)) printer.part("You avoided", check.avoided);
}

// "4 short-write", "4", or, of the lab last worked on, "short-write".
struct Wanted {
  std::optional<int> lab;
  std::string id;
};

Wanted wanted(const std::string& first, const std::string& second) {
  if (first.empty()) return {};
  int number = 0;
  const char* end = first.data() + first.size();
  const auto [stopped_at, error] = std::from_chars(first.data(), end, number);
  if (error == std::errc() && stopped_at == end) return {number, second};
  if (!second.empty()) throw UserError(fmt::format("\"{}\" is no lab's number; for example: ./lab explain 4 {}", first, second));
  return {std::nullopt, first};
}

int explain(const Wanted& what) {
  const auto lab = chosen_lab(what.lab);
  const auto record = progress_store().last_record(lab.lab).value_or(report::Record{});
  if (what.id.empty())
    all_checks(lab, record);
  else
    one_check(lab, chosen_check(lab, what.id), record);
  return 0;
}

}  // namespace

void set_up_explain(Words& words) {
  auto first = std::make_shared<std::string>();
  auto second = std::make_shared<std::string>();
  words.optional("N", *first, "The lab's number; without it, the lab last worked on");
  words.optional("ID", *second, "A check; without it, the state of all");
  words.then([first, second] { return explain(wanted(*first, *second)); });
}

}  // namespace cli
