// A skeleton for a new check in all the places where a check has something.
#pragma once

#include <string>
#include <vector>

#include "report/lab_spec.h"

namespace cli {

// Adds the check `id` (new, of lower-case letters, digits and hyphens) to the lab: to the last group, with nothing written.
// Returns what remains to be done, a line for each place. Throws std::runtime_error when a file has not the shape that it should
// have.
std::vector<std::string> add_skeleton(const std::string& source_dir, const report::LabSpec& lab, const std::string& id);

}  // namespace cli
