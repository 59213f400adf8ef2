#include "report/outcome.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/errno_text.h"

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

void write_outcome(const std::string& path, const Outcome& outcome) {
  nlohmann::json json = {
      {"check", outcome.check},
      {"verdict", verdict_name(outcome.verdict)},
      {"diagnosis", outcome.diagnosis},
      {"cause", outcome.cause},
      {"story", {{"did", outcome.story.did}, {"server_did", outcome.story.server_did}, {"expected", outcome.story.expected}}},
      {"measured", outcome.measured},
      {"server_stderr", outcome.server_stderr},
      {"wall_ms", outcome.wall_ms}};
  const std::string aside = path + ".tmp";
  std::ofstream file(aside);
  // A server may write bytes that are no UTF-8: they are replaced, not fatal.
  file << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  if (!file || std::rename(aside.c_str(), path.c_str()) != 0) base::throw_errno("write " + path);
}

std::optional<Outcome> read_outcome(const std::string& path) try {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  Outcome outcome;
  const auto verdict = verdict_of(json.at("verdict").get<std::string>());
  if (!verdict) return std::nullopt;
  outcome.verdict = *verdict;
  json.at("check").get_to(outcome.check);
  json.at("diagnosis").get_to(outcome.diagnosis);
  json.at("cause").get_to(outcome.cause);
  const auto& story = json.at("story");
  story.at("did").get_to(outcome.story.did);
  story.at("server_did").get_to(outcome.story.server_did);
  story.at("expected").get_to(outcome.story.expected);
  json.at("measured").get_to(outcome.measured);
  json.at("server_stderr").get_to(outcome.server_stderr);
  json.at("wall_ms").get_to(outcome.wall_ms);
  return outcome;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

}  // namespace report
