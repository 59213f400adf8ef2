// Reading a handout (labs/NN-model/README.md): which headings it has and what it says about a check.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cli {

// The texts of a file's headings of the given level ("## Goal" -> "Goal"), in their order. Empty when there is no such file.
std::vector<std::string> headings(const std::string& markdown_file, int level);

// The row of a handout's table "What must hold" that names a check: | ... | `id` | points | ... |
struct HandoutRow {
  std::string points;  // the cell behind the id
  std::string text;    // the last cell
};
std::optional<HandoutRow> handout_row(const std::string& markdown_file, const std::string& id);

}  // namespace cli
