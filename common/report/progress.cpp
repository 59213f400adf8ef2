#include "report/progress.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/errno_text.h"
#include "report/json_file.h"

namespace report {
namespace {

namespace fs = std::filesystem;

Progress progress_from(const nlohmann::ordered_json& json) {
  Progress progress;
  json.at("last_lab").get_to(progress.last_lab);
  for (const auto& [number, lab] : json.at("labs").items()) {
    LabProgress& entry = progress.labs[std::stoi(number)];
    lab.at("best_score").get_to(entry.best_score);
    lab.at("max_score").get_to(entry.max_score);
    lab.at("hint_diagnosis").get_to(entry.hint_diagnosis);
    lab.at("hint_step").get_to(entry.hint_step);
  }
  return progress;
}

nlohmann::ordered_json json_of(const Progress& progress) {
  nlohmann::ordered_json json = {{"last_lab", progress.last_lab}, {"labs", nlohmann::ordered_json::object()}};
  for (const auto& [number, entry] : progress.labs)
    json["labs"][std::to_string(number)] = {{"best_score", entry.best_score},
                                            {"max_score", entry.max_score},
                                            {"hint_diagnosis", entry.hint_diagnosis},
                                            {"hint_step", entry.hint_step}};
  return json;
}

}  // namespace

int next_hint_step(LabProgress& progress, const std::string& diagnosis, int last_step) {
  if (progress.hint_diagnosis != diagnosis) progress.hint_step = 0;
  progress.hint_diagnosis = diagnosis;
  progress.hint_step = std::min(progress.hint_step + 1, last_step);
  return progress.hint_step;
}

Progress ProgressStore::load() const {
  if (!fs::exists(state_path())) return {};
  try {
    std::ifstream file(state_path());
    return progress_from(nlohmann::ordered_json::parse(file));
  } catch (const std::exception&) {  // nlohmann's, or std::stoi's for a lab that is no number
    std::rename(state_path().c_str(), (state_path() + ".bad").c_str());
    fmt::print(stderr, "lab: .lab/state.json is damaged; it is now .lab/state.json.bad, and best scores begin anew\n");
    return {};
  }
}

// A file of its own: state.json is replaced at each save, and a lock on what was replaced keeps nobody out.
base::UniqueFd ProgressStore::lock() const {
  fs::create_directories(folder_);
  const std::string path = folder_ + "/lock";
  base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) base::throw_errno("open " + path);
  while (flock(fd.get(), LOCK_EX) < 0)
    if (errno != EINTR) base::throw_errno("lock " + path);
  return fd;
}

void ProgressStore::update(const std::function<void(Progress&)>& change) const {
  const auto held = lock();
  Progress progress = load();
  change(progress);
  save(progress);
}

void ProgressStore::save(const Progress& progress) const { write_json(state_path(), json_of(progress)); }

std::string ProgressStore::record_path(int lab) const { return fmt::format("{}/last-{:02}.json", folder_, lab); }

std::optional<Record> ProgressStore::last_record(int lab) const { return read_record(record_path(lab)); }

void ProgressStore::save_record(const Record& run) const {
  const auto held = lock();
  const auto before = last_record(run.lab);
  write_record(record_path(run.lab), before ? merged(run, *before) : run);
}

std::string ProgressStore::back_up(const std::string& path, const std::string& name) const {
  const std::string folder = folder_ + "/backup";
  fs::create_directories(folder);
  const auto now = std::chrono::system_clock::now();
  const std::string stem = fmt::format("{}/{}-{:%Y%m%d-%H%M%S}", folder, name, fmt::localtime(now));
  std::string target = stem + ".cpp";
  for (int copy = 2; fs::exists(target); ++copy) target = fmt::format("{}-{}.cpp", stem, copy);
  fs::copy_file(path, target);
  return target;
}

}  // namespace report
