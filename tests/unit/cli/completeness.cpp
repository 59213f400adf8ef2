// Completeness and skeletons on a small project that the test writes.
#include "cli/completeness.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/handout.h"
#include "cli/skeleton.h"
#include "support/files.h"

namespace {

constexpr const char* kSpec = R"({
  "version": 1,
  "lab": 4,
  "title": "A lab",
  "files": ["server.cpp"],
  "groups": ["serve", "survive"],
  "general_diagnoses": ["died"],
  "checks": [
    {"id": "echo", "group": "serve", "title": "Echo", "points": 4, "needs": [], "deadline_s": 20, "section": "Echo", "diagnoses": ["no-answer"], "avoided": "One. Two."},
    {"id": "reset", "group": "survive", "title": "Reset", "points": 2, "needs": ["echo"], "deadline_s": 20, "section": "Resets", "diagnoses": ["reset-spin"], "avoided": "One. Two."}
  ]
}
)";
constexpr const char* kHandout =
    "# Lab\n## Goal\n## The protocol\n## Your file\n## What must hold\n\n| check | points | what must be true |\n|---|---:|---|\n"
    "| `echo` | 4 | bytes come back |\n| `reset` | 2 | a reset ends itself |\n\n## Calls you need\n## Try it\n## When stuck\n";
constexpr const char* kHint = "# Name\nReason: why\nMan: send(2)\n\n## Nudge\nn\n\n## Concept\nc\n\n## Shape of the fix\ns\n";

std::string mutant(const std::string& first_line) {
  return first_line + "\n--- server.cpp\n+++ server.cpp\n@@ -1 +1 @@\n-a\n+b\n";
}

// A project with one complete lab.
struct Project {
  Project() {
    files::write(in_lab("lab.json"), kSpec);
    files::write(in_lab("README.md"), kHandout);
    files::write(in_lab("starter.cpp"), "");
    for (const char* id : {"died", "no-answer", "reset-spin"}) files::write(in_lab(std::string("hints/") + id + ".md"), kHint);
    files::write(top / "tutorial.md", "# Course\n## Lab 4: Model\n### Echo\n### Resets\n");
    files::write(in_solution("server.cpp"), "");
    files::write(in_solution("mutants/echo.patch"), mutant("# expect: echo no-answer"));
    files::write(in_solution("mutants/reset--other.patch"), mutant("# expect: reset died"));
  }
  std::string in_lab(const std::string& file) const { return top / ("labs/04-model/" + file); }
  std::string in_solution(const std::string& file) const { return top / ("solutions/04-model/" + file); }
  report::LabSpec lab() const { return report::read_lab(top / "labs/04-model"); }
  std::vector<std::string> defects(const std::vector<std::string>& cases = {}) const {
    return cli::defects(top.path(), lab(), cases);
  }
  // Replaces a piece of a file.
  void change(const std::string& path, const std::string& from, const std::string& to) const {
    std::string text = files::read(path);
    REQUIRE(text.find(from) != std::string::npos);
    files::write(path, text.replace(text.find(from), from.size(), to));
  }
  files::Folder top;
};

using Lines = std::vector<std::string>;

TEST_CASE("a complete lab has no defect") {
  CHECK(Project().defects() == Lines{});
  CHECK(Project().defects({"echo", "reset"}) == Lines{});
}

TEST_CASE("lab.json") {
  Project project;
  project.change(project.in_lab("lab.json"), "\"needs\": []", "\"needs\": [\"reset\"]");
  project.change(project.in_lab("lab.json"), "\"points\": 2", "\"points\": 0");
  project.change(project.in_lab("lab.json"), "\"group\": \"survive\"", "\"group\": \"nowhere\"");
  CHECK(project.defects() == Lines{"labs/04-model/lab.json: echo: needs reset, which is no earlier check",
                                   "labs/04-model/lab.json: reset: there is no group \"nowhere\"",
                                   "labs/04-model/lab.json: reset: points must be positive",
                                   "labs/04-model/README.md: `reset` has 2 points there and 0 in lab.json"});
}

TEST_CASE("groups stand together") {
  Project project;
  project.change(project.in_lab("lab.json"), "\"group\": \"serve\"", "\"group\": \"survive\"");
  project.change(project.in_lab("lab.json"), "\"id\": \"reset\", \"group\": \"survive\"",
                 "\"id\": \"reset\", \"group\": \"serve\"");
  CHECK(project.defects() == Lines{"labs/04-model/lab.json: reset stands behind checks of a later group"});
}

TEST_CASE("hints") {
  Project project;
  std::filesystem::remove(project.in_lab("hints/no-answer.md"));
  project.change(project.in_lab("hints/died.md"), "## Nudge\nn\n", "## Nudge\n");
  project.change(project.in_lab("hints/reset-spin.md"), "\ns\n", "\nif (a) -> b\n    if (c) -> d\n\nand:\n\n    e\n    f\n");
  files::write(project.in_lab("hints/stray.md"), kHint);
  CHECK(project.defects() == Lines{"labs/04-model/hints/died.md: ## Nudge is missing",
                                   "labs/04-model/hints/no-answer.md: missing; lab.json lists the diagnosis",
                                   "labs/04-model/hints/reset-spin.md: Shape of the fix: code needs a blank line before it",
                                   "labs/04-model/hints/stray.md: stray: no diagnosis of lab.json has that name"});
}

TEST_CASE("handout, tutorial, starter and solution") {
  Project project;
  project.change(project.in_lab("README.md"), "## Try it\n", "");
  project.change(project.in_lab("README.md"), "| `echo` | 4 | bytes come back |\n", "");
  project.change(project.top / "tutorial.md", "### Resets\n", "");
  std::filesystem::remove(project.in_lab("starter.cpp"));
  std::filesystem::remove(project.in_solution("server.cpp"));
  CHECK(project.defects() ==
        Lines{"labs/04-model/README.md: its headings must be: Goal / The protocol / Your file / What must "
              "hold / Calls you need / Try it / When stuck",
              "labs/04-model/README.md: no row for `echo`",
              "tutorial.md: no section \"Resets\" in the chapter of lab 4, which labs/04-model/lab.json names",
              "labs/04-model/starter.cpp: missing", "solutions/04-model/server.cpp: missing"});
}

TEST_CASE("wrong servers") {
  Project project;
  std::filesystem::remove(project.in_solution("mutants/reset--other.patch"));
  files::write(project.in_solution("mutants/echo.patch"), mutant("# expect: echo reset-spin"));
  files::write(project.in_solution("mutants/echo--b.patch"), mutant("# expects echo no-answer"));
  files::write(project.in_solution("mutants/typo.patch"), mutant("# expect: typo died"));
  auto found = project.defects();
  std::sort(found.begin(), found.end());
  CHECK(found == Lines{"solutions/04-model/mutants/echo--b.patch: its first line must be \"# expect: echo DIAGNOSIS\"",
                       "solutions/04-model/mutants/echo.patch: echo has no diagnosis reset-spin",
                       "solutions/04-model/mutants/typo.patch: stray: it is named CHECK.patch or CHECK--variant.patch",
                       "solutions/04-model/mutants: no wrong server for reset (reset.patch)"});
}

TEST_CASE("the suite knows exactly the lab's checks") {
  CHECK(Project().defects({"echo", "other"}) ==
        Lines{"suite_04: no doctest case for reset", "suite_04: the case other is no check of lab.json"});
  CHECK(cli::listed_cases(
            "[doctest] listing all test case names\n=====\necho\nreset\n=====\n[doctest] unskipped test cases: 2\n") ==
        Lines{"echo", "reset"});
}

TEST_CASE("a new check is put into all its places, and each is a defect until it is written") {
  Project project;
  const auto places = cli::add_skeleton(project.top.path(), project.lab(), "new-trap");
  CHECK(places.size() == 5);
  REQUIRE(project.lab().checks.size() == 3);
  CHECK(project.lab().checks[2].id == "new-trap");
  CHECK(project.lab().checks[2].group == "survive");
  CHECK(files::read(project.top / "tests/labs/lab04/new_trap.cpp").find("LAB_CHECK(\"new-trap\")") != std::string::npos);
  CHECK(cli::handout_row(project.in_lab("README.md"), "new-trap")->points == "0");
  const auto found = project.defects();
  for (const char* place : {"lab.json: new-trap: points", "lab.json: new-trap: title", "hints/new-trap.md: not written",
                            "README.md: the row", "tutorial.md: no section", "mutants/new-trap.patch: not written"})
    CHECK_MESSAGE(
        std::any_of(found.begin(), found.end(), [&](const std::string& line) { return line.find(place) != std::string::npos; }),
        place);
}

TEST_CASE("a file of another shape is left alone") {
  Project project;
  const auto lab = project.lab();
  files::write(project.in_lab("README.md"), "# no table\n");
  const std::string before = files::read(project.in_lab("lab.json"));
  CHECK_THROWS_WITH(cli::add_skeleton(project.top.path(), lab, "new-trap"), "README.md has no row for reset");
  CHECK(files::read(project.in_lab("lab.json")) == before);
}

}  // namespace
