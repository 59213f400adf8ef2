// A graded run as text for a person: each check as it is settled, failures in their six parts, the score and what to do next.
// Not for: files that programs read; report/record.h writes those.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "grade/build.h"
#include "report/hints.h"
#include "report/lab_spec.h"
#include "report/record.h"

namespace grade {

struct PrinterOptions {
  bool colours = false;
  bool progress = false;     // a line that is rewritten while checks run; for terminals only
  std::size_t width = 80;    // columns at which text is wrapped
  bool every_group = false;  // also the groups behind one that is not complete
  bool own = true;           // the student's own file: ./lab hint knows this run
  std::string command;       // what repeats the run, without --check and --seed: "./lab grade 4"
  std::uint64_t seed = 0;
};

// For a terminal, a pipe, NO_COLOR (no-color.org): what standard output is.
PrinterOptions options_for_standard_output();

class Printer {
 public:
  Printer(std::ostream& out, const report::LabSpec& lab, PrinterOptions options);

  void on_change(std::size_t left, const std::vector<std::string>& running);
  void on_result(const report::CheckResult& result);
  // The last lines: the score, and what to do next.
  void finish(const report::Record& record);
  // Instead of all that when the student's file does not compile.
  void build_failure(const Build& build, const report::Record& record);
  // Takes the progress line away; for a run that ends early.
  void clear_progress();

  // The story of a check that did not pass, as after its line; for `explain` too.
  void failure(const report::CheckResult& result);
  // "✓ echo-small  4/4"
  void verdict_line(const report::CheckResult& result);
  // A label and its text, wrapped beside it.
  void part(const std::string& label, const std::string& text);
  // The same with lines that stay as they are.
  void part(const std::string& label, const std::vector<std::string>& lines);

 private:
  // What of a group is known so far.
  struct Group {
    int points = 0;
    int max_points = 0;
    int lost = 0;
    bool asked = false;
    bool hidden = false;
  };

  void show(const report::CheckResult& result);
  void open_group(const std::string& name);
  void close_group();
  std::string repeat_command(const report::CheckResult& result) const;
  void reading(const report::CheckResult& result, const std::optional<report::Hint>& hint);
  std::vector<std::string> next_steps(const report::Record& record) const;
  std::string coloured(const char* colour, const std::string& text) const;

  std::ostream& out_;
  const report::LabSpec& lab_;
  PrinterOptions options_;
  bool progress_shown_ = false;
  std::string group_name_;
  Group group_;
  std::string incomplete_group_;  // the first one that lost points
  std::size_t id_width_ = 0;
};

}  // namespace grade
