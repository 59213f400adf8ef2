// A pitfall as labs/NN-model/hints/<diagnosis>.md tells it: its name, why it bites, and three steps towards the fix.
// Not for: deciding which pitfall it was; the suite's diagnosis says that.
//
// The file has exactly this shape:
//     # Name of the pitfall
//     Reason: one line
//     Man: send(2), write(2)
//
//     ## Nudge
//     ## Concept
//     ## Shape of the fix
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace report {

struct Hint {
  std::string name;    // "Short write loses the rest"
  std::string reason;  // one line
  std::string man;     // manual pages, as text
  // Each without the blank lines around it.
  std::string nudge;     // a question that points to the place
  std::string concept_;  // what the kernel does
  std::string shape;     // words or a few lines of code, not the solution
};

// The three steps in the order in which a student asks for them, with their headings.
struct HintStep {
  std::string_view heading;
  std::string_view text;
};
std::array<HintStep, 3> steps(const Hint& hint);

// A part that the text lacks stays empty.
Hint parse_hint(std::string_view text);
std::vector<std::string> missing_parts(const Hint& hint);  // "the line \"Reason: ...\"", "## Nudge", ...

// Path of the hint file for a diagnosis; it need not exist.
std::string hint_path(const std::string& lab_folder, const std::string& diagnosis);
// Nothing when there is no such file.
std::optional<Hint> load_hint(const std::string& lab_folder, const std::string& diagnosis);

}  // namespace report
