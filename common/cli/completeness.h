// Whether a lab is complete: every check has its hint, its row in the handout, its chapter, its wrong server, its doctest case.
// Not for: whether the checks judge rightly; the tests of the solutions and the mutants say that.
#pragma once

#include <string>
#include <vector>

#include "report/lab_spec.h"

namespace cli {

// One line for each thing that is missing or wrong, naming the file; empty when the lab is complete. `source_dir` is the
// project's top. `suite_cases`: the doctest cases that the built suite has; empty: it is not built.
std::vector<std::string> defects(const std::string& source_dir, const report::LabSpec& lab,
                                 const std::vector<std::string>& suite_cases);

// The names in the output of `suite --list-test-cases`.
std::vector<std::string> listed_cases(const std::string& output);

}  // namespace cli
