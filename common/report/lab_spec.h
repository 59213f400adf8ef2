// A lab as lab.json fixes it: its checks, their points and order, what each needs first.
// Not for: verdicts. The denominator of a score comes from here, so it never depends on what ran.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace report {

struct CheckSpec {
  std::string id;     // the pitfall's, and the name of the doctest case
  std::string group;  // groups are shown one at a time
  std::string title;
  int points = 0;
  std::vector<std::string> needs;  // ids of checks that must have passed
  int deadline_s = 0;              // seconds of wall time the check may take before it is the server's time-out
  std::string section;             // heading in tutorial.md
  std::vector<std::string> diagnoses;
  std::string avoided;  // after success: which trap was avoided, in two sentences
  std::vector<std::string>
      evidence;         // abilities of the machine (grade/machine.h) without which the check proves nothing; may be left out
  int descriptors = 0;  // descriptors that server and clients each need; 0: a handful
  int threads = 0;      // threads that the server needs; 0: a handful
};

struct LabSpec {
  int lab = 0;
  std::string name;    // folder: "04-epoll-level"
  std::string folder;  // absolute path of labs/NN-model
  std::string title;
  std::vector<std::string> files;  // to hand in
  std::vector<std::string> groups;
  std::vector<std::string> general_diagnoses;  // those that any check may give
  std::vector<CheckSpec> checks;               // in the order in which they are shown

  int max_score() const;
  std::string where_to_read(const CheckSpec& check) const;  // `tutorial.md, lab 4, "Half-close"`
  bool is_general(std::string_view diagnosis) const;        // one that any check may give
  const CheckSpec* find(std::string_view id) const;         // nullptr when there is no such check
};

// Reads labs/NN-*/lab.json below `source_dir`. Nothing when there is no such lab. Throws std::runtime_error naming file and
// fault.
std::optional<LabSpec> load_lab(const std::string& source_dir, int lab);
LabSpec read_lab(const std::string& folder);                    // labs/NN-model
std::vector<LabSpec> load_labs(const std::string& source_dir);  // all of them, by number

}  // namespace report
