#include "report/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/hints.h"
#include "report/whole_file.h"

namespace report {
namespace {

// What XML 1.0 cannot carry, not even by number: most control characters, U+FFFE and U+FFFF. A carriage return would be read as a
// line's end.
std::string without_forbidden(const std::string& text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool noncharacter = text.compare(at, 3, "\xef\xbf\xbe") == 0 || text.compare(at, 3, "\xef\xbf\xbf") == 0;
    if (noncharacter) {
      kept += "\xef\xbf\xbd";
      at += 2;
    } else if ((byte < ' ' && byte != '\t' && byte != '\n') || byte == 127) {
      kept += fmt::format("\\x{:02x}", byte);
    } else {
      kept += text[at];
    }
  }
  return kept;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char letter : without_forbidden(valid_utf8(text))) {
    if (letter == '&')
      out += "&amp;";
    else if (letter == '<')
      out += "&lt;";
    else if (letter == '>')
      out += "&gt;";  // "]]>" is forbidden
    else
      out += letter;
  }
  return out;
}

// For an attribute, in which a line's end would be read as a blank.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char letter : escaped(text)) {
    if (letter == '"')
      out += "&quot;";
    else if (letter == '\n')
      out += "&#10;";
    else if (letter == '\t')
      out += "&#9;";
    else
      out += letter;
  }
  return out + "\"";
}

std::string seconds(int milliseconds) { return fmt::format("{:.3f}", milliseconds / 1000.0); }

enum class Element { none, failure, error, skipped };

Element element_of(const CheckResult& result) {
  switch (result.outcome.verdict) {
    case Verdict::pass: return Element::none;
    case Verdict::fail: return Element::failure;
    case Verdict::skipped:
    case Verdict::unsure: return Element::skipped;
    default: return Element::error;
  }
}

// Writes one document, from its head to its end.
class Writer {
 public:
  Writer(const Record& record, const LabSpec& lab, const std::string& command) : record_(record), lab_(lab), command_(command) {}

  std::string write() {
    const std::string counted = counts();
    out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    out_ += fmt::format("<testsuites name=\"readylist\"{}>\n", counted);
    out_ += fmt::format("  <testsuite name={}{}>\n", quoted(fmt::format("lab {}: {}", lab_.lab, lab_.title)), counted);
    properties("    ", {{"lab", fmt::to_string(record_.lab)},
                        {"score", fmt::to_string(record_.score)},
                        {"max_score", fmt::to_string(record_.max_score)},
                        {"undecided", fmt::to_string(record_.undecided)},
                        {"seed", fmt::to_string(record_.seed)}});
    for (const auto& result : record_.checks) testcase(result);
    return out_ + "  </testsuite>\n</testsuites>\n";
  }

 private:
  std::string counts() const {
    const auto count = [this](Element element) {
      return std::count_if(record_.checks.begin(), record_.checks.end(),
                           [element](const CheckResult& result) { return element_of(result) == element; });
    };
    int wall_ms = 0;
    for (const auto& result : record_.checks) wall_ms += result.outcome.wall_ms;
    return fmt::format(R"( tests="{}" failures="{}" errors="{}" skipped="{}" time="{}")", record_.checks.size(),
                       count(Element::failure), count(Element::error), count(Element::skipped), seconds(wall_ms));
  }

  void properties(const std::string& indent, const std::vector<std::pair<const char*, std::string>>& all) {
    out_ += indent + "<properties>\n";
    for (const auto& [name, value] : all)
      out_ += fmt::format("{}  <property name=\"{}\" value={}/>\n", indent, name, quoted(value));
    out_ += indent + "</properties>\n";
  }

  void testcase(const CheckResult& result) {
    const Outcome& outcome = result.outcome;
    out_ += fmt::format("    <testcase name={} classname={} time=\"{}\">\n", quoted(outcome.check), quoted(result.group),
                        seconds(outcome.wall_ms));
    properties("      ", {{"verdict", std::string(verdict_name(outcome.verdict))},
                          {"points", fmt::to_string(result.points)},
                          {"max_points", fmt::to_string(result.max_points)}});
    verdict(result);
    if (!outcome.server_stderr.empty())
      out_ +=
          fmt::format("      <system-err>{}</system-err>\n", escaped(fmt::format("{}", fmt::join(outcome.server_stderr, "\n"))));
    out_ += "    </testcase>\n";
  }

  void verdict(const CheckResult& result) {
    const Outcome& outcome = result.outcome;
    const Element element = element_of(result);
    if (element == Element::none) return;
    const auto hint = outcome.diagnosis.empty() ? std::nullopt : load_hint(lab_.folder, outcome.diagnosis);
    const std::string message = quoted(message_of(outcome, hint));
    if (element == Element::skipped) {
      out_ += fmt::format("      <skipped message={}/>\n", message);
      return;
    }
    const char* name = element == Element::failure ? "failure" : "error";
    const std::string type = outcome.diagnosis.empty() ? std::string(verdict_name(outcome.verdict)) : outcome.diagnosis;
    out_ += fmt::format("      <{0} type={1} message={2}>{3}</{0}>\n", name, quoted(type), message, escaped(story(result, hint)));
  }

  std::string message_of(const Outcome& outcome, const std::optional<Hint>& hint) const {
    const std::string found = outcome.story.server_did.empty() ? outcome.cause : outcome.story.server_did;
    if (outcome.verdict == Verdict::unsure) return "undecided: " + found;
    if (outcome.verdict == Verdict::infra) return "the grader's fault, not the server's: " + found;
    return hint ? hint->name + ": " + found : found;
  }

  std::string story(const CheckResult& result, const std::optional<Hint>& hint) const {
    const Outcome& outcome = result.outcome;
    std::string text = "\n";
    const auto part = [&text](const char* label, const std::string& what) {
      if (!what.empty()) text += fmt::format("{}: {}\n", label, what);
    };
    part("The client", outcome.story.did);
    part("Your server", outcome.story.server_did);
    part("Expected", outcome.story.expected);
    part("Cause", outcome.cause);
    if (hint) part("Pitfall", fmt::format("{}: {}", hint->name, hint->reason));
    const bool about_the_check = lost(result) && outcome.verdict != Verdict::build && !lab_.is_general(outcome.diagnosis);
    const CheckSpec* check = about_the_check ? lab_.find(outcome.check) : nullptr;
    if (check != nullptr) part("Read", lab_.where_to_read(*check) + (hint && !hint->man.empty() ? "; " + hint->man : ""));
    part("Again", fmt::format("{} --check {} --seed {}", command_, outcome.check, record_.seed));
    return text;
  }

  const Record& record_;
  const LabSpec& lab_;
  const std::string& command_;
  std::string out_;
};

}  // namespace

std::string junit_xml(const Record& record, const LabSpec& lab, const std::string& command) {
  return Writer(record, lab, command).write();
}

void write_junit(const std::string& path, const Record& record, const LabSpec& lab, const std::string& command) {
  write_whole(path, junit_xml(record, lab, command));
}

}  // namespace report
