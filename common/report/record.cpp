#include "report/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "report/json_file.h"
#include "report/outcome_json.h"

namespace report {
namespace {

constexpr int kVersion = 1;
constexpr int kPointsLost = 1;
constexpr int kNotDecided = 3;

nlohmann::ordered_json json_of(const CheckResult& result) {
  nlohmann::ordered_json json = {{"id", result.outcome.check},
                                 {"group", result.group},
                                 {"asked", result.asked},
                                 {"points", result.points},
                                 {"max_points", result.max_points}};
  if (result.earlier_seed) json["earlier_seed"] = *result.earlier_seed;
  put_outcome(json, result.outcome);
  return json;
}

CheckResult result_from(const nlohmann::ordered_json& json) {
  CheckResult result;
  json.at("id").get_to(result.outcome.check);
  json.at("group").get_to(result.group);
  json.at("asked").get_to(result.asked);
  json.at("points").get_to(result.points);
  json.at("max_points").get_to(result.max_points);
  if (json.contains("earlier_seed")) result.earlier_seed = json["earlier_seed"].get<std::uint64_t>();
  get_outcome(json, result.outcome);
  return result;
}

const CheckResult* first(const Record& record, bool (*is_it)(const CheckResult&)) {
  auto found = std::find_if(record.checks.begin(), record.checks.end(), is_it);
  return found == record.checks.end() ? nullptr : &*found;
}

}  // namespace

CheckResult result_of(const CheckSpec& check, Outcome outcome, bool asked) {
  CheckResult result;
  result.outcome = std::move(outcome);
  result.outcome.check = check.id;
  result.group = check.group;
  result.asked = asked;
  result.max_points = check.points;
  result.points = passed(result) ? check.points : 0;
  return result;
}

bool passed(const CheckResult& result) { return result.outcome.verdict == Verdict::pass; }

bool undecided(const CheckResult& result) {
  return result.outcome.verdict == Verdict::unsure || result.outcome.verdict == Verdict::infra;
}

bool lost(const CheckResult& result) { return result.asked && !passed(result) && !undecided(result); }

Record record_of(const LabSpec& spec, std::vector<CheckResult> results, std::uint64_t seed) {
  Record record;
  record.lab = spec.lab;
  record.max_score = spec.max_score();
  record.seed = seed;
  record.checks = std::move(results);
  for (const auto& result : record.checks) {
    record.score += result.points;
    if (undecided(result)) record.undecided += result.max_points;
  }
  return record;
}

Record merged(Record run, const Record& earlier) {
  for (auto& result : run.checks) {
    const CheckResult* known = result.asked ? nullptr : find(earlier, result.outcome.check);
    // A file that did not compile says nothing about a check.
    if (known == nullptr || known->outcome.verdict == Verdict::build) continue;
    result.outcome = known->outcome;
    result.points = passed(result) ? result.max_points : 0;
    result.earlier_seed = known->earlier_seed.value_or(earlier.seed);
  }
  return run;
}

const CheckResult* first_lost(const Record& record) { return first(record, lost); }

const CheckResult* first_to_mend(const Record& record) {
  if (const CheckResult* of_this_run = first_lost(record)) return of_this_run;
  // What was skipped waits for another check; there is nothing to mend in it.
  return first(record, [](const CheckResult& result) {
    return !passed(result) && !undecided(result) && result.outcome.verdict != Verdict::skipped;
  });
}

const CheckResult* find(const Record& record, std::string_view id) {
  auto found = std::find_if(record.checks.begin(), record.checks.end(),
                            [id](const CheckResult& result) { return result.outcome.check == id; });
  return found == record.checks.end() ? nullptr : &*found;
}

int exit_status(const Record& record, ExitOn exit_on) {
  const auto& checks = record.checks;
  const bool infra = std::any_of(checks.begin(), checks.end(),
                                 [](const CheckResult& result) { return result.outcome.verdict == Verdict::infra; });
  const bool any_lost = first_lost(record) != nullptr;
  if (exit_on == ExitOn::never) return 0;
  if (infra || (record.undecided > 0 && !any_lost)) return kNotDecided;
  return any_lost && exit_on == ExitOn::fail ? kPointsLost : 0;
}

std::string score_text(const Record& record) {
  std::size_t asked = 0;
  int points_asked = 0;
  for (const auto& result : record.checks)
    if (result.asked) {
      ++asked;
      points_asked += result.max_points;
    }
  const bool whole = asked == record.checks.size();
  std::string text = fmt::format("{} of {}", record.score, whole ? record.max_score : points_asked);
  if (record.undecided > 0) text += fmt::format(", {} undecided", record.undecided);
  if (!whole)
    text += fmt::format("{} in the {} {} asked for (the lab has {})", record.undecided > 0 ? "," : "", asked,
                        asked == 1 ? "check" : "checks", record.max_score);
  return text;
}

void write_record(const std::string& path, const Record& record) {
  nlohmann::ordered_json json = {{"version", kVersion},
                                 {"lab", record.lab},
                                 {"score", record.score},
                                 {"max_score", record.max_score},
                                 {"undecided", record.undecided},
                                 {"checks", nlohmann::ordered_json::array()},
                                 {"seed", record.seed}};
  for (const auto& result : record.checks) json["checks"].push_back(json_of(result));
  write_json(path, json);
}

std::optional<Record> read_record(const std::string& path) try {
  std::ifstream file(path);
  const auto json = nlohmann::ordered_json::parse(file);
  if (json.at("version") != kVersion) return std::nullopt;
  Record record;
  json.at("lab").get_to(record.lab);
  json.at("score").get_to(record.score);
  json.at("max_score").get_to(record.max_score);
  json.at("undecided").get_to(record.undecided);
  json.at("seed").get_to(record.seed);
  for (const auto& check : json.at("checks")) record.checks.push_back(result_from(check));
  return record;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

}  // namespace report
