// What one check found out about one server, as the suite writes it and `lab grade` reads it.
// Not for: points and scores, which are computed from lab.json (record.h), never by a suite.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace report {

enum class Verdict {
  pass,
  fail,      // the server did something wrong that the kernel's state or its bytes prove
  timeout,   // the server went on without getting there; the cause says what it was doing
  crash,     // the server ended by a signal, or left, while it was being served
  no_start,  // the server never listened
  limit,     // a resource limit of the check ended it
  build,     // the file does not compile
  skipped,   // a check that it needs did not pass, or it was not asked for
  unsure,    // the evidence did not come, or the machine denies it: points undecided
  infra,     // the grader's fault
};

std::string_view verdict_name(Verdict verdict);            // "PASS", "NO-START", ...
std::optional<Verdict> verdict_of(std::string_view name);  // the reverse

// The first three of the six parts of a failure; the other three come from the diagnosis' hint file and the command line.
struct Story {
  std::string did;         // what the client did
  std::string server_did;  // what the server did, with at least one value measured in this run
  std::string expected;    // what should have happened
};

struct Outcome {
  std::string check;
  Verdict verdict = Verdict::infra;
  std::string diagnosis;  // id of a hint file, when a pitfall was recognised
  std::string cause;      // one sentence for verdicts without a story (skipped, unsure, infra, ...)
  Story story;
  std::map<std::string, double> measured;  // values of this run, by name
  std::vector<std::string> server_stderr;  // the last lines the server wrote, at most 20
  int wall_ms = 0;
};

// Writes aside and renames, so that a reader sees all of it or nothing. Throws std::system_error.
void write_outcome(const std::string& path, const Outcome& outcome);

// Nothing when the file is missing or is not an outcome: the suite was lost.
std::optional<Outcome> read_outcome(const std::string& path);

}  // namespace report
