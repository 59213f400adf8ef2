#include "grade/printer.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "grade/text.h"

namespace grade {
namespace {

using report::CheckResult;
using report::Verdict;

constexpr const char* kGreen = "32";
constexpr const char* kRed = "31";
constexpr const char* kYellow = "33";
constexpr const char* kBold = "1";
constexpr const char* kDim = "2";
constexpr std::size_t kLabelWidth = 14;
constexpr std::string_view kIndent = "      ";

const char* colour_of(const CheckResult& result) {
  if (report::passed(result)) return kGreen;
  if (result.outcome.verdict == Verdict::skipped) return kDim;
  return report::undecided(result) ? kYellow : kRed;
}

const char* mark_of(const CheckResult& result) {
  if (report::passed(result)) return "✓";
  if (result.outcome.verdict == Verdict::skipped) return "-";
  return report::undecided(result) ? "?" : "✗";
}

// A server's output must not be able to steer the terminal.
std::string without_control_characters(std::string line) {
  for (char& byte : line)
    if ((byte >= 0 && byte < ' ' && byte != '\t') || byte == 127) byte = '?';
  return line;
}

// What stands behind the points, on the same line.
std::string remark_of(const CheckResult& result) {
  if (report::passed(result)) return "";
  std::string text(report::verdict_name(result.outcome.verdict));
  if (result.outcome.verdict == Verdict::skipped) text += "  " + result.outcome.cause;
  return text;
}

}  // namespace

PrinterOptions options_for_standard_output() {
  PrinterOptions options;
  const bool terminal = isatty(STDOUT_FILENO) == 1;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::string_view(kind) == "dumb";
  options.colours = terminal && !dumb && (no_colour == nullptr || *no_colour == '\0');
  options.progress = terminal && !dumb;
  options.width = standard_output_width();
  return options;
}

Printer::Printer(std::ostream& out, const report::LabSpec& lab, PrinterOptions options)
    : out_(out), lab_(lab), options_(std::move(options)) {
  for (const auto& check : lab.checks) id_width_ = std::max(id_width_, columns(check.id));
}

std::string Printer::coloured(const char* colour, const std::string& text) const {
  return options_.colours ? fmt::format("\033[{}m{}\033[0m", colour, text) : text;
}

void Printer::clear_progress() {
  if (progress_shown_) out_ << "\r\033[K" << std::flush;
  progress_shown_ = false;
}

void Printer::on_change(std::size_t left, const std::vector<std::string>& running) {
  if (!options_.progress) return;
  std::string line = fmt::format("{} {} to go", left, left == 1 ? "check" : "checks");
  if (!running.empty()) line += fmt::format("; running: {}", fmt::join(running, ", "));
  if (line.size() >= options_.width) line.resize(options_.width - 1);  // ids are plain ASCII
  out_ << "\r\033[K" << line << std::flush;
  progress_shown_ = true;
}

void Printer::on_result(const CheckResult& result) {
  clear_progress();
  if (result.group != group_name_) open_group(result.group);
  group_.points += result.points;
  group_.max_points += result.max_points;
  group_.lost += report::lost(result) ? 1 : 0;
  if (result.asked && !group_.hidden) show(result);
  if (result.outcome.check == lab_.checks.back().id) close_group();
  out_ << std::flush;
}

void Printer::open_group(const std::string& name) {
  close_group();
  group_name_ = name;
  group_ = {};
  group_.hidden = !incomplete_group_.empty() && !options_.every_group;
}

// One group at a time: those behind an incomplete one are summed up in a line.
void Printer::close_group() {
  if (group_name_.empty()) return;
  if (group_.hidden)
    fmt::print(out_, "{}  {}/{}  {}\n", coloured(kBold, group_name_), group_.points, group_.max_points,
               coloured(kDim, fmt::format("shown once \"{}\" is complete", incomplete_group_)));
  if (group_.lost > 0 && incomplete_group_.empty()) incomplete_group_ = group_name_;
  if (group_.asked) out_ << "\n";
}

void Printer::show(const CheckResult& result) {
  if (!group_.asked) fmt::print(out_, "{}\n", coloured(kBold, group_name_));
  group_.asked = true;
  verdict_line(result);
  if (!report::passed(result) && result.outcome.verdict != Verdict::skipped) failure(result);
}

void Printer::verdict_line(const CheckResult& result) {
  const std::string padding(id_width_ - std::min(id_width_, columns(result.outcome.check)), ' ');
  const std::string remark = remark_of(result);
  std::string line = fmt::format("  {} {}{}  {}/{}", coloured(colour_of(result), mark_of(result)), result.outcome.check, padding,
                                 result.points, result.max_points);
  if (!remark.empty()) line += "  " + coloured(colour_of(result), remark);
  out_ << line << "\n";
}

void Printer::part(const std::string& label, const std::string& text) {
  part(label, wrapped(text, options_.width - kIndent.size() - kLabelWidth));
}

void Printer::part(const std::string& label, const std::vector<std::string>& lines) {
  std::string head = label;
  for (const auto& line : lines) {
    fmt::print(out_, "{}{}{}{}\n", kIndent, coloured(kBold, head),
               std::string(kLabelWidth - std::min(kLabelWidth, columns(head)), ' '), line);
    head.clear();
  }
}

std::string Printer::repeat_command(const CheckResult& result) const {
  return fmt::format("{} --check {} --seed {}", options_.command, result.outcome.check,
                     result.earlier_seed.value_or(options_.seed));
}

void Printer::reading(const CheckResult& result, const std::optional<report::Hint>& hint) {
  const report::CheckSpec* check = lab_.find(result.outcome.check);
  std::string text = check == nullptr ? "" : lab_.where_to_read(*check);
  // What can happen in any check has nothing to do with this one's section.
  if (lab_.is_general(result.outcome.diagnosis)) text = shown_path(lab_.folder + "/README.md") + ", \"When stuck\"";
  if (hint && !hint->man.empty()) text += "; " + hint->man;
  part("Read", text);
}

void Printer::failure(const CheckResult& result) {
  const report::Outcome& outcome = result.outcome;
  const auto hint = outcome.diagnosis.empty() ? std::nullopt : report::load_hint(lab_.folder, outcome.diagnosis);
  part("The client", outcome.story.did);
  part("Your server", outcome.story.server_did);
  part("Expected", outcome.story.expected);
  part("Cause", outcome.cause);
  if (hint) part("Pitfall", fmt::format("{}: {}", hint->name, hint->reason));
  const bool failed = !report::undecided(result);
  if (failed) reading(result, hint);
  const bool hints = failed && hint && options_.own;
  // In one piece, however long: a command is copied.
  part("Again", std::vector{repeat_command(result) + (hints ? fmt::format("   (hint: ./lab hint {})", lab_.lab) : "")});
  if (outcome.server_stderr.empty()) return;
  fmt::print(out_, "{}{}\n", kIndent, coloured(kBold, "Server's last words:"));
  for (const auto& line : outcome.server_stderr) fmt::print(out_, "{}  {}\n", kIndent, without_control_characters(line));
}

void Printer::finish(const report::Record& record) {
  clear_progress();
  if (group_.hidden) out_ << "\n";
  for (const auto& line : wrapped(report::score_text(record), options_.width)) fmt::print(out_, "{}\n", coloured(kBold, line));
  for (const auto& line : packed(next_steps(record), options_.width)) fmt::print(out_, "{}\n", line);
}

void Printer::build_failure(const Build& build, const report::Record& record) {
  fmt::print(out_, "{}\n\n{}", coloured(kRed, build.first_error), build.output.empty() ? "" : build.output + "\n");
  fmt::print(out_, "{} (it does not compile)\n", coloured(kBold, report::score_text(record)));
  for (const auto& line : packed({"Next: mend the first error.", "Then: " + options_.command}, options_.width))
    fmt::print(out_, "{}\n", line);
}

// In pieces that stay whole on their lines.
std::vector<std::string> Printer::next_steps(const report::Record& record) const {
  const CheckResult* failed = report::first_lost(record);
  if (failed == nullptr && record.undecided > 0)
    return wrapped("Undecided points are not lost: ./lab doctor says what this machine cannot prove.", options_.width);
  if (!options_.own) return {};
  if (failed == nullptr)
    return record.score == record.max_score ? std::vector<std::string>{"Next: ./lab next"} : std::vector<std::string>{};
  std::vector<std::string> steps = {fmt::format("Next: {}.", failed->outcome.check)};
  if (report::load_hint(lab_.folder, failed->outcome.diagnosis)) steps.push_back(fmt::format("Hint: ./lab hint {}.", lab_.lab));
  steps.push_back(fmt::format("Handout: {}.", shown_path(lab_.folder + "/README.md")));
  steps.push_back("Then: " + options_.command);
  return steps;
}

}  // namespace grade
