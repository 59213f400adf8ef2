// The record of one graded run: every check of the lab with its verdict, and the score. The only place that counts points.
// Not for: showing it (grade/printer.h) or finding the verdicts (grade/runner.h).
//
// The file, one JSON object:
//   version    1; grows when a field changes its meaning
//   lab        the lab's number
//   score      points earned: the sum over the checks with verdict PASS
//   max_score  points of all checks of lab.json, whatever ran
//   undecided  points of the checks with verdict UNSURE or INFRA: neither earned nor lost
//   checks     one object for each check of lab.json, in its order:
//     id, group      as in lab.json
//     asked          false when the command line left this check out (--check, --skip): not earned, and not lost either
//     earlier_seed   only in a merged record (below), of a check left out in the last run: the seed of the run that it is from
//     verdict        PASS FAIL TIMEOUT CRASH NO-START LIMIT BUILD SKIPPED UNSURE INFRA
//     points         earned: max_points or 0
//     max_points     as in lab.json
//     diagnosis      id of a hint file; "" when no pitfall was recognised
//     cause          one sentence where there is no story (SKIPPED, UNSURE, INFRA, ...), else ""
//     story          did, server_did, expected: what the client did, what the server did, what should have happened; "" when none
//     measured       values of this run by name
//     server_stderr  the last lines that the server wrote, at most 20
//     wall_ms        how long the check took, in milliseconds
//   seed       the run is repeated by --seed with this number
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/lab_spec.h"
#include "report/outcome.h"

namespace report {

struct CheckResult {
  Outcome outcome;
  std::string group;
  bool asked = true;
  int points = 0;
  int max_points = 0;
  std::optional<std::uint64_t> earlier_seed;
};

struct Record {
  int lab = 0;
  int score = 0;
  int max_score = 0;
  int undecided = 0;
  std::vector<CheckResult> checks;
  std::uint64_t seed = 0;
};

// The result of a check: its points follow from the verdict.
CheckResult result_of(const CheckSpec& check, Outcome outcome, bool asked = true);

// What follows from the verdict, for one check.
bool passed(const CheckResult& result);
bool undecided(const CheckResult& result);  // UNSURE or INFRA
bool lost(const CheckResult& result);       // asked for, and neither of the two

Record record_of(const LabSpec& spec, std::vector<CheckResult> results, std::uint64_t seed);

// The run with what an earlier record knows of the checks that were left out: those keep asked=false. Score and undecided points
// stay the run's own, so that no score is ever made of two runs.
Record merged(Record run, const Record& earlier);

// The first check whose points are lost; nullptr when none is.
const CheckResult* first_lost(const Record& record);
// The same, or else, in a merged record, the first check that an earlier run lost.
const CheckResult* first_to_mend(const Record& record);
const CheckResult* find(const Record& record, std::string_view id);  // nullptr when there is no such check

// Which results --exit-on turns into an exit status other than 0.
enum class ExitOn { never, infra, fail };
// 0 nothing lost; 1 points lost; 3 points undecided and none lost, or the grader's own fault. With `infra` lost points give 0,
// with `never` everything does.
int exit_status(const Record& record, ExitOn exit_on = ExitOn::fail);

// "X of Y" or "X of Y, Z undecided"; when checks were left out "X of Y in the 2 checks asked for (the lab has 100)".
std::string score_text(const Record& record);

void write_record(const std::string& path, const Record& record);  // throws std::system_error
std::optional<Record> read_record(const std::string& path);        // nothing when it is missing or no record

}  // namespace report
