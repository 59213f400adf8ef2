#include "cli/skeleton.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHint =
    "# TODO: the pitfall's name\nReason: TODO: one line\nMan: TODO\n\n## Nudge\nTODO: a question that points to the place\n\n"
    "## Concept\nTODO: what the kernel does\n\n## Shape of the fix\nTODO: words or a few lines, not the solution\n";

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

// lab.json is kept by hand, a check a line: a line more keeps its layout, which a JSON library would not.
std::string with_check(const std::string& json, const report::LabSpec& lab, const std::string& id) {
  const std::size_t end = json.rfind("\n  ]");
  if (end == std::string::npos || json[end - 1] != '}')
    throw std::runtime_error("lab.json does not end with its checks, one a line");
  const std::string entry = fmt::format(
      R"(,{}    {{"id": "{}", "group": "{}", "title": "TODO", "points": 0, "needs": [], "deadline_s": 20, "section": "TODO", "diagnoses": ["{}"], "avoided": "TODO"}})",
      "\n", id, lab.groups.back(), id);
  return json.substr(0, end) + entry + json.substr(end);
}

// Behind the last row of the table that holds the lab's last check.
std::string with_row(const std::string& handout, const report::LabSpec& lab, const std::string& id) {
  const std::size_t last = handout.find("| `" + lab.checks.back().id + "` |");
  const std::size_t end = last == std::string::npos ? last : handout.find('\n', last);
  if (end == std::string::npos) throw std::runtime_error("README.md has no row for " + lab.checks.back().id);
  const std::size_t start = handout.rfind('\n', last) + 1;
  const auto columns =
      std::count(handout.begin() + static_cast<std::ptrdiff_t>(start), handout.begin() + static_cast<std::ptrdiff_t>(end), '|') -
      1;
  const std::string group = columns > 3 ? "| " : "";
  return handout.substr(0, end) + fmt::format("\n{}| `{}` | 0 | TODO |", group, id) + handout.substr(end);
}

std::string case_file(const report::LabSpec& lab, const std::string& id) {
  std::string name = id;
  std::replace(name.begin(), name.end(), '-', '_');
  return fmt::format("tests/labs/lab{:02}/{}.cpp", lab.lab, name);
}

std::string case_text(const report::LabSpec& lab, const std::string& id) {
  return fmt::format(
      "// Lab {}: TODO: the trap, and the kernel's state that proves it.\n#include \"fixture/client.h\"\n\nnamespace {{\n\n"
      "LAB_CHECK(\"{}\") {{\n  fixture::Server server(check);\n  check.unsure(\"TODO: not written yet\");\n}}\n\n}}  // "
      "namespace\n",
      lab.lab, id);
}

}  // namespace

std::vector<std::string> add_skeleton(const std::string& source_dir, const report::LabSpec& lab, const std::string& id) {
  const std::string spec = fmt::format("labs/{}/lab.json", lab.name);
  const std::string hint = fmt::format("labs/{}/hints/{}.md", lab.name, id);
  const std::string handout = fmt::format("labs/{}/README.md", lab.name);
  const std::string mutant = fmt::format("solutions/{}/mutants/{}.patch", lab.name, id);
  const std::string test = case_file(lab, id);
  const auto at = [&](const std::string& file) { return source_dir + "/" + file; };
  // Both are made before anything is written: a shape that is not understood then leaves everything as it was.
  const std::string new_spec = with_check(read_text(at(spec)), lab, id);
  const std::string new_handout = with_row(read_text(at(handout)), lab, id);
  write_text(at(spec), new_spec);
  write_text(at(handout), new_handout);
  write_text(at(test), case_text(lab, id));
  write_text(at(hint), kHint);
  write_text(at(mutant),
             fmt::format("# expect: {0} {0}\n# TODO: diff -u solutions/{1}/server.cpp, wrong in this one thing\n", id, lab.name));
  return {spec + ": title, points, what it needs, its section of tutorial.md, what is avoided", test + ": the check itself",
          hint + ": the pitfall and the three steps",
          mutant + ": a wrong server that fails with it and passes every earlier check",
          handout + ": what must hold, and its points"};
}

}  // namespace cli
