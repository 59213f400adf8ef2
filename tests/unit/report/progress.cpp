#include "report/progress.h"

#include <doctest/doctest.h>

#include <thread>

#include "support/files.h"

namespace {

TEST_CASE("progress is read back as it was saved") {
  const files::Folder folder;
  const report::ProgressStore store(folder / ".lab");
  CHECK(store.load().last_lab == 0);
  store.update([](report::Progress& progress) {
    progress.last_lab = 4;
    progress.labs[4] = {50, 100, "eof-ignored", 2};
  });
  const auto read = store.load();
  CHECK(read.last_lab == 4);
  CHECK(read.labs.at(4).best_score == 50);
  CHECK(read.labs.at(4).max_score == 100);
  CHECK(read.labs.at(4).hint_diagnosis == "eof-ignored");
  CHECK(read.labs.at(4).hint_step == 2);
}

TEST_CASE("nothing is lost when two change it at once") {
  const files::Folder folder;
  constexpr int kTimes = 100;
  const auto count_up = [&] {
    const report::ProgressStore store(folder / ".lab");
    for (int i = 0; i < kTimes; ++i) store.update([](report::Progress& progress) { ++progress.labs[4].best_score; });
  };
  std::thread other(count_up);
  count_up();
  other.join();
  CHECK(report::ProgressStore(folder / ".lab").load().labs.at(4).best_score == 2 * kTimes);
}

TEST_CASE("a damaged state file is put aside, not lost") {
  const files::Folder folder;
  const report::ProgressStore store(folder.path());
  for (const char* text : {"{", "[]", "{\"last_lab\":\"four\",\"labs\":{}}", "{\"last_lab\":4,\"labs\":{\"four\":{}}}"}) {
    files::write(folder / "state.json", text);
    CHECK(store.load().labs.empty());
    CHECK(files::read(folder / "state.json.bad") == text);
    CHECK_FALSE(std::filesystem::exists(folder / "state.json"));
  }
}

TEST_CASE("hints go on with the same diagnosis, stay at the last step and begin anew with another diagnosis") {
  report::LabProgress lab;
  for (int expected : {1, 2, 3, 3}) CHECK(report::next_hint_step(lab, "eof-ignored", 3) == expected);
  CHECK(report::next_hint_step(lab, "no-answer", 3) == 1);
  CHECK(report::next_hint_step(lab, "eof-ignored", 3) == 1);
}

TEST_CASE("the record that is kept knows what earlier runs told") {
  const files::Folder folder;
  const report::ProgressStore store(folder / ".lab");
  const auto record = [](bool second) {
    report::Record one{.lab = 4, .score = 1, .max_score = 2, .undecided = 0, .checks = {}, .seed = second ? 2u : 1u};
    for (const char* id : {"a", "b"}) {
      report::CheckResult result;
      result.outcome.check = id;
      result.asked = !second || result.outcome.check == "b";
      result.outcome.verdict = result.asked ? report::Verdict::pass : report::Verdict::skipped;
      one.checks.push_back(result);
    }
    return one;
  };
  store.save_record(record(false));
  store.save_record(record(true));
  const auto kept = store.last_record(4);
  REQUIRE(kept);
  CHECK(kept->seed == 2);
  CHECK(report::passed(kept->checks.at(0)));
  CHECK_FALSE(kept->checks.at(0).asked);
  CHECK(kept->checks.at(0).earlier_seed == 1);
}

TEST_CASE("a backup never replaces another") {
  const files::Folder folder;
  const report::ProgressStore store(folder / ".lab");
  files::write(folder / "server.cpp", "mine");
  const auto first = store.back_up(folder / "server.cpp", "04-epoll-level");
  const auto second = store.back_up(folder / "server.cpp", "04-epoll-level");
  CHECK(first != second);
  CHECK(files::read(first) == "mine");
  CHECK(first.find("/backup/04-epoll-level-2") != std::string::npos);
}

}  // namespace
