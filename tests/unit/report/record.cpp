#include "report/record.h"

#include <doctest/doctest.h>

#include "support/files.h"

namespace {

using report::ExitOn;
using report::Verdict;

report::LabSpec lab_of(std::initializer_list<int> points) {
  report::LabSpec lab;
  lab.lab = 4;
  for (int value : points) {
    report::CheckSpec check;
    check.id = "check-" + std::to_string(lab.checks.size());
    check.group = "serve";
    check.points = value;
    lab.checks.push_back(check);
  }
  return lab;
}

struct Given {
  Verdict verdict;
  bool asked = true;
};

report::Record record_of(const report::LabSpec& lab, std::initializer_list<Given> given) {
  std::vector<report::CheckResult> results;
  for (const auto& [verdict, asked] : given) {
    report::Outcome outcome;
    outcome.verdict = verdict;
    results.push_back(report::result_of(lab.checks[results.size()], outcome, asked));
  }
  return report::record_of(lab, results, 7);
}

TEST_CASE("the score is what passed; the maximum is the lab's; what is not decided stands apart") {
  const auto lab = lab_of({5, 3, 2, 1});
  const auto record = record_of(lab, {{Verdict::pass}, {Verdict::fail}, {Verdict::unsure}, {Verdict::infra}});
  CHECK(record.score == 5);
  CHECK(record.max_score == 11);
  CHECK(record.undecided == 3);
  CHECK(report::score_text(record) == "5 of 11, 3 undecided");
  CHECK(report::first_lost(record)->outcome.check == "check-1");
}

TEST_CASE("exit status") {
  const auto lab = lab_of({1, 1});
  const auto status = [&](Given first, Given second, ExitOn exit_on = ExitOn::fail) {
    return report::exit_status(record_of(lab, {first, second}), exit_on);
  };
  CHECK(status({Verdict::pass}, {Verdict::pass}) == 0);
  for (Verdict bad :
       {Verdict::fail, Verdict::timeout, Verdict::crash, Verdict::no_start, Verdict::limit, Verdict::build, Verdict::skipped}) {
    CHECK(status({Verdict::pass}, {bad}) == 1);
    CHECK(status({Verdict::unsure}, {bad}) == 1);
    CHECK(status({Verdict::infra}, {bad}) == 3);
    CHECK(status({Verdict::pass}, {bad}, ExitOn::infra) == 0);
    CHECK(status({Verdict::infra}, {bad}, ExitOn::infra) == 3);
    CHECK(status({Verdict::infra}, {bad}, ExitOn::never) == 0);
  }
  CHECK(status({Verdict::pass}, {Verdict::unsure}) == 3);
  CHECK(status({Verdict::pass}, {Verdict::skipped, false}) == 0);  // left out on request: not lost
}

TEST_CASE("when checks were left out the score is of those asked for") {
  const auto lab = lab_of({5, 3, 2, 1});
  const Given not_asked{Verdict::skipped, false};
  CHECK(report::score_text(record_of(lab, {not_asked, {Verdict::pass}, not_asked, not_asked})) ==
        "3 of 3 in the 1 check asked for (the lab has 11)");
  CHECK(report::score_text(record_of(lab, {not_asked, {Verdict::pass}, {Verdict::unsure}, not_asked})) ==
        "3 of 5, 2 undecided, in the 2 checks asked for (the lab has 11)");
}

TEST_CASE("a run of some checks leaves what is known of the others, and its own score") {
  const auto lab = lab_of({5, 3, 2, 1});
  const Given not_asked{Verdict::skipped, false};
  auto earlier = record_of(lab, {{Verdict::pass}, {Verdict::fail}, {Verdict::skipped}, {Verdict::fail}});
  earlier.checks[3].outcome.story.did = "wrote";
  auto run = record_of(lab, {not_asked, {Verdict::pass}, not_asked, not_asked});
  run.seed = 8;
  const auto both = report::merged(run, earlier);
  CHECK(both.score == 3);
  CHECK(both.checks[0].points == 5);
  CHECK_FALSE(both.checks[0].asked);
  CHECK(report::passed(both.checks[1]));
  CHECK(both.checks[3].outcome.story.did == "wrote");
  CHECK(both.checks[3].earlier_seed == 7);
  CHECK(report::first_lost(both) == nullptr);
  CHECK(report::first_to_mend(both)->outcome.check == "check-3");
  const auto third = report::merged(record_of(lab, {{Verdict::fail}, not_asked, not_asked, not_asked}), both);
  CHECK(report::first_to_mend(third)->outcome.check == "check-0");
  CHECK(third.checks[3].earlier_seed == 7);
}

TEST_CASE("that a file did not compile says nothing about a check of a later run") {
  const auto lab = lab_of({5, 3});
  const auto both = report::merged(record_of(lab, {{Verdict::pass}, {Verdict::skipped, false}}),
                                   record_of(lab, {{Verdict::build}, {Verdict::build}}));
  CHECK(both.checks[1].outcome.verdict == Verdict::skipped);
  CHECK(report::first_to_mend(both) == nullptr);
}

TEST_CASE("a record is read back as it was written, whatever bytes a server wrote") {
  const files::Folder folder;
  auto record = record_of(lab_of({5, 3}), {{Verdict::fail}, {Verdict::skipped, false}});
  auto& outcome = record.checks[0].outcome;
  outcome.diagnosis = "short-write-loses-rest";
  outcome.story = {"did", "server did", "expected"};
  outcome.measured = {{"sent", 48312}};
  outcome.server_stderr = {"no UTF-8: \xff"};
  outcome.wall_ms = 12;
  report::write_record(folder / "r.json", record);
  const auto read = report::read_record(folder / "r.json");
  REQUIRE(read);
  CHECK(read->lab == 4);
  CHECK(read->seed == 7);
  CHECK(read->max_score == 8);
  CHECK(read->checks.size() == 2);
  CHECK_FALSE(read->checks[1].asked);
  const auto& again = read->checks[0].outcome;
  CHECK(again.verdict == Verdict::fail);
  CHECK(again.diagnosis == outcome.diagnosis);
  CHECK(again.story.server_did == "server did");
  CHECK(again.measured.at("sent") == 48312);
  CHECK(again.server_stderr == std::vector<std::string>{"no UTF-8: \xef\xbf\xbd"});
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // nothing beside it is left
}

TEST_CASE("what is no record is none") {
  const files::Folder folder;
  CHECK_FALSE(report::read_record(folder / "missing.json"));
  for (const char* text : {"", "{", "[]", "{\"version\":1}", "{\"version\":2,\"lab\":4}"}) {
    files::write(folder / "r.json", text);
    CHECK_FALSE(report::read_record(folder / "r.json"));
  }
}

}  // namespace
