#include "cli/completeness.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "cli/handout.h"
#include "report/hints.h"

namespace cli {
namespace {

namespace fs = std::filesystem;
using report::CheckSpec;
using report::LabSpec;

const std::vector<std::string> kHandoutHeadings = {"Goal",           "The protocol", "Your file", "What must hold",
                                                   "Calls you need", "Try it",       "When stuck"};
constexpr const char* kToBeWritten = "TODO";  // what new-check leaves to be written

template <typename Range>
bool contains(const Range& range, const std::string& value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// An indented line right behind a paragraph: in Markdown it belongs to the paragraph, and often its first line has lost its
// indent.
bool breaks_off_into_code(std::string_view text) {
  for (std::size_t at = text.find("\n    "); at != std::string_view::npos; at = text.find("\n    ", at + 1)) {
    const std::size_t before = text.rfind('\n', at - 1) + 1;  // npos + 1: the first line
    if (at != before && !text.substr(before).starts_with("    ")) return true;
  }
  return false;
}

// Collects the defects of one lab; each function looks at one room.
class Inspection {
 public:
  Inspection(std::string source_dir, const LabSpec& lab) : source_dir_(std::move(source_dir)), lab_(lab) {}

  void inspect_spec();
  void inspect_hints();
  void inspect_handout();
  void inspect_tutorial();
  void inspect_servers();
  void inspect_mutants();
  void inspect_suite(const std::vector<std::string>& cases);
  std::vector<std::string> found() { return std::move(found_); }

 private:
  template <typename... Values>
  void add(const std::string& where, fmt::format_string<Values...> what, Values&&... values) {
    found_.push_back(where + ": " + fmt::format(what, std::forward<Values>(values)...));
  }
  std::string in_lab(const std::string& file) const { return "labs/" + lab_.name + "/" + file; }
  std::string mutants() const { return "solutions/" + lab_.name + "/mutants"; }
  fs::path absolute(const std::string& path) const { return fs::path(source_dir_) / path; }
  std::set<std::string> all_diagnoses() const;
  void inspect_check_spec(const CheckSpec& check, const std::set<std::string>& earlier);
  void inspect_group_order();
  void inspect_mutant(const std::string& file);

  std::string source_dir_;
  const LabSpec& lab_;
  std::vector<std::string> found_;
};

std::set<std::string> Inspection::all_diagnoses() const {
  std::set<std::string> all(lab_.general_diagnoses.begin(), lab_.general_diagnoses.end());
  for (const auto& check : lab_.checks) all.insert(check.diagnoses.begin(), check.diagnoses.end());
  return all;
}

void Inspection::inspect_spec() {
  std::set<std::string> earlier;
  for (const auto& check : lab_.checks) {
    inspect_check_spec(check, earlier);
    if (!earlier.insert(check.id).second) add(in_lab("lab.json"), "{} is there twice", check.id);
  }
  inspect_group_order();
}

void Inspection::inspect_check_spec(const CheckSpec& check, const std::set<std::string>& earlier) {
  const std::string file = in_lab("lab.json");
  if (!contains(lab_.groups, check.group)) add(file, "{}: there is no group \"{}\"", check.id, check.group);
  if (check.points <= 0) add(file, "{}: points must be positive", check.id);
  if (check.deadline_s <= 0) add(file, "{}: deadline_s must be positive", check.id);
  if (check.diagnoses.empty()) add(file, "{}: no diagnosis", check.id);
  for (const auto& need : check.needs)
    if (!earlier.contains(need)) add(file, "{}: needs {}, which is no earlier check", check.id, need);
  for (const auto& [name, text] : {std::pair("title", check.title), {"section", check.section}, {"avoided", check.avoided}})
    if (text.empty() || text.find(kToBeWritten) != std::string::npos) add(file, "{}: {} is not written", check.id, name);
}

// Groups are shown one at a time: their checks stand together, in the order of `groups`.
void Inspection::inspect_group_order() {
  std::size_t place = 0;
  for (const auto& check : lab_.checks) {
    const auto group =
        static_cast<std::size_t>(std::find(lab_.groups.begin(), lab_.groups.end(), check.group) - lab_.groups.begin());
    if (group < place) add(in_lab("lab.json"), "{} stands behind checks of a later group", check.id);
    place = std::max(place, group);
  }
}

void Inspection::inspect_hints() {
  const auto diagnoses = all_diagnoses();
  for (const auto& diagnosis : diagnoses) {
    const std::string file = in_lab("hints/" + diagnosis + ".md");
    const auto hint = report::load_hint(lab_.folder, diagnosis);
    if (!hint) add(file, "missing; lab.json lists the diagnosis");
    if (!hint) continue;
    for (const auto& part : report::missing_parts(*hint)) add(file, "{} is missing", part);
    if (read_text(absolute(file)).find(kToBeWritten) != std::string::npos) add(file, "not written yet");
    for (const auto& step : report::steps(*hint))
      if (breaks_off_into_code(step.text)) add(file, "{}: code needs a blank line before it", step.heading);
  }
  if (!fs::exists(lab_.folder + "/hints")) return;
  for (const auto& entry : fs::directory_iterator(lab_.folder + "/hints"))
    if (entry.path().extension() != ".md" || !diagnoses.contains(entry.path().stem().string()))
      add(in_lab("hints/" + entry.path().filename().string()), "stray: no diagnosis of lab.json has that name");
}

void Inspection::inspect_handout() {
  const std::string file = in_lab("README.md");
  const auto path = absolute(file).string();
  if (!fs::exists(path)) return add(file, "missing");
  if (headings(path, 2) != kHandoutHeadings) add(file, "its headings must be: {}", fmt::join(kHandoutHeadings, " / "));
  for (const auto& check : lab_.checks) {
    const auto row = handout_row(path, check.id);
    if (!row)
      add(file, "no row for `{}`", check.id);
    else if (row->points != std::to_string(check.points))
      add(file, "`{}` has {} points there and {} in lab.json", check.id, row->points, check.points);
    else if (row->text.find(kToBeWritten) != std::string::npos)
      add(file, "the row for `{}` is not written yet", check.id);
  }
}

// The sections of the lab's own chapter: two chapters may have one of the same name.
void Inspection::inspect_tutorial() {
  std::set<std::string> sections;
  bool in_chapter = false;
  std::ifstream text(absolute("tutorial.md"));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## ")) in_chapter = line.starts_with(fmt::format("## Lab {}:", lab_.lab));
    if (in_chapter && line.starts_with("### ")) sections.insert(line.substr(4));
  }
  std::set<std::string> missing;
  for (const auto& check : lab_.checks)
    if (!sections.contains(check.section)) missing.insert(check.section);
  for (const auto& section : missing)
    add("tutorial.md", "no section \"{}\" in the chapter of lab {}, which {} names", section, lab_.lab, in_lab("lab.json"));
}

void Inspection::inspect_servers() {
  for (const std::string& file : {in_lab("starter.cpp"), "solutions/" + lab_.name + "/server.cpp"})
    if (!fs::exists(absolute(file))) add(file, "missing");
}

void Inspection::inspect_mutants() {
  std::set<std::string> covered;
  if (fs::exists(absolute(mutants())))
    for (const auto& entry : fs::directory_iterator(absolute(mutants()))) {
      const std::string name = entry.path().filename().string();
      inspect_mutant(name);
      const std::string stem = entry.path().stem().string();
      covered.insert(stem.substr(0, stem.find("--")));
    }
  for (const auto& check : lab_.checks)
    if (!covered.contains(check.id)) add(mutants(), "no wrong server for {} ({}.patch)", check.id, check.id);
}

// "CHECK.patch" or "CHECK--variant.patch"; its first line says what it must fail with.
void Inspection::inspect_mutant(const std::string& file) {
  const std::string where = mutants() + "/" + file;
  const fs::path name(file);
  const std::string stem = name.stem().string();
  const std::string id = stem.substr(0, stem.find("--"));
  const CheckSpec* check = lab_.find(id);
  if (name.extension() != ".patch" || check == nullptr)
    return add(where, "stray: it is named CHECK.patch or CHECK--variant.patch");
  const std::string text = read_text(absolute(where));
  std::istringstream first(text.substr(0, text.find('\n')));
  std::string hash, expect, expected_id, diagnosis, more;
  first >> hash >> expect >> expected_id >> diagnosis;
  if (hash != "#" || expect != "expect:" || expected_id != id || diagnosis.empty() || first >> more)
    return add(where, "its first line must be \"# expect: {} DIAGNOSIS\"", id);
  if (!contains(check->diagnoses, diagnosis) && !contains(lab_.general_diagnoses, diagnosis))
    add(where, "{} has no diagnosis {}", id, diagnosis);
  if (text.find("\n+++ ") == std::string::npos) add(where, "not written yet: it changes nothing");
}

void Inspection::inspect_suite(const std::vector<std::string>& cases) {
  if (cases.empty()) return;
  const std::string suite = fmt::format("suite_{:02}", lab_.lab);
  for (const auto& check : lab_.checks)
    if (!contains(cases, check.id)) add(suite, "no doctest case for {}", check.id);
  for (const auto& name : cases)
    if (lab_.find(name) == nullptr) add(suite, "the case {} is no check of lab.json", name);
}

}  // namespace

std::vector<std::string> listed_cases(const std::string& output) {
  std::vector<std::string> cases;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && !line.starts_with("[doctest]") && !line.starts_with("===")) cases.push_back(line);
  return cases;
}

std::vector<std::string> defects(const std::string& source_dir, const LabSpec& lab, const std::vector<std::string>& suite_cases) {
  Inspection inspection(source_dir, lab);
  inspection.inspect_spec();
  inspection.inspect_hints();
  inspection.inspect_handout();
  inspection.inspect_tutorial();
  inspection.inspect_servers();
  inspection.inspect_mutants();
  inspection.inspect_suite(suite_cases);
  return inspection.found();
}

}  // namespace cli
