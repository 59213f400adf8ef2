#include "cli/handout.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace cli {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream rest(row);
  for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(trimmed(cell));
  return cells;
}

}  // namespace

std::vector<std::string> headings(const std::string& markdown_file, int level) {
  const std::string mark = std::string(static_cast<std::size_t>(level), '#') + " ";
  std::vector<std::string> found;
  std::ifstream file(markdown_file);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(mark)) found.push_back(trimmed(line.substr(mark.size())));
  return found;
}

std::optional<HandoutRow> handout_row(const std::string& markdown_file, const std::string& id) {
  std::ifstream file(markdown_file);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('|')) continue;
    const auto cells = cells_of(line);
    const auto name = std::find(cells.begin(), cells.end(), "`" + id + "`");
    if (cells.end() - name > 2) return HandoutRow{name[1], cells.back()};
  }
  return std::nullopt;
}

}  // namespace cli
