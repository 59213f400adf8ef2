// What a student has reached so far: .lab/state.json and the last record of each lab beside it. Small, and readable with `cat`.
// Not for: grading; losing these files loses no points.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "report/record.h"

namespace report {

struct LabProgress {
  int best_score = 0;
  int max_score = 0;           // 0: never graded
  std::string hint_diagnosis;  // the diagnosis whose hints were asked for
  int hint_step = 0;           // how many of its three steps were shown
};

// Which step to show now, noted as shown: the next one of the same diagnosis (the last one stays), the first of another.
int next_hint_step(LabProgress& progress, const std::string& diagnosis, int last_step);

struct Progress {
  int last_lab = 0;  // the lab last worked on; 0: none
  std::map<int, LabProgress> labs;
};

// The files of one folder (.lab/), made when first written.
class ProgressStore {
 public:
  explicit ProgressStore(std::string folder) : folder_(std::move(folder)) {}

  // A file that is not ours to understand is moved to state.json.bad, with one line on standard error, and progress begins anew.
  Progress load() const;
  // Loads, lets `change` change it, and saves. One process at a time, so that nobody's change is lost. Throws std::system_error.
  void update(const std::function<void(Progress&)>& change) const;

  std::optional<Record> last_record(int lab) const;
  // Merged with what is known of the checks that this run left out. Throws std::system_error.
  void save_record(const Record& run) const;

  // Keeps `path` as backup/NAME-<timestamp>.cpp and returns where. Throws std::filesystem::filesystem_error.
  std::string back_up(const std::string& path, const std::string& name) const;

 private:
  base::UniqueFd lock() const;  // held until it is closed; makes the folder
  void save(const Progress& progress) const;
  std::string state_path() const { return folder_ + "/state.json"; }
  std::string record_path(int lab) const;

  std::string folder_;
};

}  // namespace report
