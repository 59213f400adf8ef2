#include "report/hints.h"

#include <fstream>
#include <sstream>

namespace report {
namespace {

constexpr std::string_view kNudge = "## Nudge";
constexpr std::string_view kConcept = "## Concept";
constexpr std::string_view kShape = "## Shape of the fix";

// The rest of the line when it begins with the prefix.
std::optional<std::string> after(std::string_view prefix, const std::string& line) {
  if (!line.starts_with(prefix)) return std::nullopt;
  return line.substr(prefix.size());
}

void trim_blank_lines(std::string& text) {
  text.erase(0, text.find_first_not_of('\n') == std::string::npos ? text.size() : text.find_first_not_of('\n'));
  while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
}

std::string* part_of(Hint& hint, const std::string& heading) {
  if (heading == kNudge) return &hint.nudge;
  if (heading == kConcept) return &hint.concept_;
  if (heading == kShape) return &hint.shape;
  return nullptr;
}

void read_head(Hint& hint, const std::string& line) {
  if (auto name = after("# ", line)) hint.name = *name;
  if (auto reason = after("Reason: ", line)) hint.reason = *reason;
  if (auto man = after("Man: ", line)) hint.man = *man;
}

}  // namespace

std::array<HintStep, 3> steps(const Hint& hint) {
  return {{{"Nudge", hint.nudge}, {"Concept", hint.concept_}, {"Shape of the fix", hint.shape}}};
}

Hint parse_hint(std::string_view text) {
  Hint hint;
  std::string* part = nullptr;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## "))
      part = part_of(hint, line);
    else if (part != nullptr)
      *part += line + "\n";
    else
      read_head(hint, line);
  }
  for (std::string* text_part : {&hint.nudge, &hint.concept_, &hint.shape}) trim_blank_lines(*text_part);
  return hint;
}

std::vector<std::string> missing_parts(const Hint& hint) {
  std::vector<std::string> missing;
  if (hint.name.empty()) missing.emplace_back("the first line \"# Name of the pitfall\"");
  if (hint.reason.empty()) missing.emplace_back("the line \"Reason: ...\"");
  if (hint.man.empty()) missing.emplace_back("the line \"Man: ...\"");
  if (hint.nudge.empty()) missing.emplace_back(kNudge);
  if (hint.concept_.empty()) missing.emplace_back(kConcept);
  if (hint.shape.empty()) missing.emplace_back(kShape);
  return missing;
}

std::string hint_path(const std::string& lab_folder, const std::string& diagnosis) {
  return lab_folder + "/hints/" + diagnosis + ".md";
}

std::optional<Hint> load_hint(const std::string& lab_folder, const std::string& diagnosis) {
  std::ifstream file(hint_path(lab_folder, diagnosis));
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return parse_hint(text.str());
}

}  // namespace report
