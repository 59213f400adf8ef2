// Writing a JSON file so that a reader sees all of it or nothing.
// Not for: including from another folder; who needs a file of ours calls the function that writes it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace report {

// Writes beside the file and renames. Bytes that are no UTF-8 (a server's output) are replaced. Throws std::system_error.
void write_json(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace report
