#include "cli/context.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "grade/build.h"
#include "grade/text.h"
#include "server_flags.h"

namespace cli {
namespace {

// Letters to change, add or leave out to make one word of the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j)
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] == b[j] ? 0 : 1)}));
  }
  return row.back();
}

}  // namespace

report::ProgressStore progress_store() { return report::ProgressStore(fmt::format("{}/.lab", kSourceDir)); }

report::LabSpec chosen_lab(const std::optional<int>& number) {
  const int wanted = number ? *number : progress_store().load().last_lab;
  const auto labs = report::load_labs(kSourceDir);
  for (const auto& lab : labs)
    if (lab.lab == wanted) return lab;
  std::vector<int> numbers;
  for (const auto& lab : labs) numbers.push_back(lab.lab);
  if (!number) throw UserError(fmt::format("which lab? None was worked on yet; there are labs {}", fmt::join(numbers, ", ")));
  throw UserError(fmt::format("there is no lab {}; there are labs {}", wanted, fmt::join(numbers, ", ")));
}

void note_lab(int lab) {
  const auto store = progress_store();
  if (store.load().last_lab != lab) store.update([lab](report::Progress& progress) { progress.last_lab = lab; });
}

std::string server_file(const report::LabSpec& lab) { return lab.folder + "/server.cpp"; }
std::string starter_file(const report::LabSpec& lab) { return lab.folder + "/starter.cpp"; }
std::string handout(const report::LabSpec& lab) { return grade::shown_path(lab.folder + "/README.md"); }

bool make_server_file(const report::LabSpec& lab) {
  return std::filesystem::copy_file(starter_file(lab), server_file(lab), std::filesystem::copy_options::skip_existing);
}

std::string instead(std::string_view word, const std::vector<std::string>& known) {
  auto nearest = std::min_element(known.begin(), known.end(),
                                  [word](const auto& a, const auto& b) { return distance(word, a) < distance(word, b); });
  // More than half of the word wrong is no slip of the finger.
  if (nearest != known.end() && distance(word, *nearest) <= std::max<std::size_t>(word.size() / 2, 1))
    return fmt::format("did you mean \"{}\"?", *nearest);
  return fmt::format("there are: {}", fmt::join(known, ", "));
}

void say(const std::vector<std::string>& pieces) {
  for (const auto& line : grade::packed(pieces, grade::standard_output_width())) fmt::print("{}\n", line);
}

std::string shell_word(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char letter : word) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

void refuse_unwritable(const char* option, const std::string& path) {
  const auto folder = std::filesystem::absolute(path).parent_path();
  if (std::filesystem::is_directory(path) || access(folder.c_str(), W_OK) < 0)
    throw UserError(fmt::format("{}: {} cannot be written; it takes the path of a file", option, path));
}

const report::CheckSpec& chosen_check(const report::LabSpec& lab, const std::string& id) {
  if (const auto* check = lab.find(id)) return *check;
  std::vector<std::string> ids;
  for (const auto& check : lab.checks) ids.push_back(check.id);
  throw UserError(fmt::format("lab {} has no check \"{}\"; {}", lab.lab, id, instead(id, ids)));
}

}  // namespace cli
