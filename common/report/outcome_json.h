// The fields that outcome files and records have in common.
// Not for: including from another folder.
#pragma once

#include <nlohmann/json.hpp>

#include "report/outcome.h"

namespace report {

// Everything but the check's id, which the two files name differently.
void put_outcome(nlohmann::ordered_json& json, const Outcome& outcome);
void get_outcome(const nlohmann::ordered_json& json, Outcome& outcome);  // throws nlohmann::json::exception

}  // namespace report
