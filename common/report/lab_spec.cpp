#include "report/lab_spec.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace report {
namespace {

CheckSpec check_from(const nlohmann::json& json) {
  CheckSpec check;
  json.at("id").get_to(check.id);
  json.at("group").get_to(check.group);
  json.at("title").get_to(check.title);
  json.at("points").get_to(check.points);
  json.at("needs").get_to(check.needs);
  json.at("deadline_s").get_to(check.deadline_s);
  json.at("section").get_to(check.section);
  json.at("diagnoses").get_to(check.diagnoses);
  json.at("avoided").get_to(check.avoided);
  check.evidence = json.value("evidence", check.evidence);
  if (json.contains("limits")) {
    check.descriptors = json["limits"].value("descriptors", 0);
    check.threads = json["limits"].value("threads", 0);
  }
  return check;
}

}  // namespace

LabSpec read_lab(const std::string& path) try {
  const std::filesystem::path folder(path);
  std::ifstream file(folder / "lab.json");
  const auto json = nlohmann::json::parse(file);
  LabSpec spec;
  spec.folder = folder.string();
  spec.name = folder.filename().string();
  json.at("lab").get_to(spec.lab);
  json.at("title").get_to(spec.title);
  json.at("files").get_to(spec.files);
  json.at("groups").get_to(spec.groups);
  json.at("general_diagnoses").get_to(spec.general_diagnoses);
  for (const auto& check : json.at("checks")) spec.checks.push_back(check_from(check));
  return spec;
} catch (const nlohmann::json::exception& error) {
  throw std::runtime_error(path + "/lab.json" + ": " + error.what());
}

int LabSpec::max_score() const {
  int sum = 0;
  for (const auto& check : checks) sum += check.points;
  return sum;
}

std::string LabSpec::where_to_read(const CheckSpec& check) const {
  return "tutorial.md, lab " + std::to_string(lab) + ", \"" + check.section + "\"";
}

bool LabSpec::is_general(std::string_view diagnosis) const {
  return std::find(general_diagnoses.begin(), general_diagnoses.end(), diagnosis) != general_diagnoses.end();
}

const CheckSpec* LabSpec::find(std::string_view id) const {
  auto found = std::find_if(checks.begin(), checks.end(), [id](const CheckSpec& check) { return check.id == id; });
  return found == checks.end() ? nullptr : &*found;
}

std::vector<LabSpec> load_labs(const std::string& source_dir) {
  std::vector<LabSpec> labs;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source_dir) / "labs"))
    if (std::filesystem::exists(entry.path() / "lab.json")) labs.push_back(read_lab(entry.path().string()));
  std::sort(labs.begin(), labs.end(), [](const LabSpec& a, const LabSpec& b) { return a.lab < b.lab; });
  return labs;
}

std::optional<LabSpec> load_lab(const std::string& source_dir, int lab) {
  for (auto& spec : load_labs(source_dir))
    if (spec.lab == lab) return spec;
  return std::nullopt;
}

}  // namespace report
