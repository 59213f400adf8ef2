#include "report/outcome.h"

#include <array>
#include <fstream>
#include <utility>

#include "report/json_file.h"
#include "report/outcome_json.h"

namespace report {
namespace {

constexpr std::array<std::pair<Verdict, std::string_view>, 10> kNames{{{Verdict::pass, "PASS"},
                                                                       {Verdict::fail, "FAIL"},
                                                                       {Verdict::timeout, "TIMEOUT"},
                                                                       {Verdict::crash, "CRASH"},
                                                                       {Verdict::no_start, "NO-START"},
                                                                       {Verdict::limit, "LIMIT"},
                                                                       {Verdict::build, "BUILD"},
                                                                       {Verdict::skipped, "SKIPPED"},
                                                                       {Verdict::unsure, "UNSURE"},
                                                                       {Verdict::infra, "INFRA"}}};

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  for (const auto& [value, name] : kNames)
    if (value == verdict) return name;
  return "INFRA";
}

std::optional<Verdict> verdict_of(std::string_view name) {
  for (const auto& [value, known] : kNames)
    if (known == name) return value;
  return std::nullopt;
}

void put_outcome(nlohmann::ordered_json& json, const Outcome& outcome) {
  json["verdict"] = verdict_name(outcome.verdict);
  json["diagnosis"] = outcome.diagnosis;
  json["cause"] = outcome.cause;
  json["story"] = {{"did", outcome.story.did}, {"server_did", outcome.story.server_did}, {"expected", outcome.story.expected}};
  json["measured"] = outcome.measured;
  json["server_stderr"] = outcome.server_stderr;
  json["wall_ms"] = outcome.wall_ms;
}

void get_outcome(const nlohmann::ordered_json& json, Outcome& outcome) {
  const auto verdict = verdict_of(json.at("verdict").get<std::string>());
  if (!verdict) throw nlohmann::json::other_error::create(501, "no such verdict", &json);
  outcome.verdict = *verdict;
  json.at("diagnosis").get_to(outcome.diagnosis);
  json.at("cause").get_to(outcome.cause);
  const auto& story = json.at("story");
  story.at("did").get_to(outcome.story.did);
  story.at("server_did").get_to(outcome.story.server_did);
  story.at("expected").get_to(outcome.story.expected);
  json.at("measured").get_to(outcome.measured);
  json.at("server_stderr").get_to(outcome.server_stderr);
  json.at("wall_ms").get_to(outcome.wall_ms);
}

void write_outcome(const std::string& path, const Outcome& outcome) {
  nlohmann::ordered_json json = {{"check", outcome.check}};
  put_outcome(json, outcome);
  write_json(path, json);
}

std::optional<Outcome> read_outcome(const std::string& path) try {
  std::ifstream file(path);
  const auto json = nlohmann::ordered_json::parse(file);
  Outcome outcome;
  json.at("check").get_to(outcome.check);
  get_outcome(json, outcome);
  return outcome;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

}  // namespace report
