#include "report/junit.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "report/scene.h"
#include "support/files.h"
#include "support/golden.h"

namespace {

using report::Verdict;

// That the golden files are XML, and JUnit's, is tests/e2e's to say: it has a parser.
struct Scene : LabScene {
  Scene()
      : LabScene({{"echo-small", "serve", 4}, {"short-write", "slow clients", 5}, {"half-close", "slow clients", 4}},
                 "Short writes & EPOLLOUT", "send() took only part.") {
    lab.title = "epoll, level-triggered";
  }
  std::string xml() {
    for (auto& result : results) result.outcome.wall_ms = 1234;
    return report::junit_xml(report::record_of(lab, results, 7), lab, "./lab grade 4");
  }
};

report::Outcome short_write() {
  report::Outcome outcome;
  outcome.verdict = Verdict::fail;
  outcome.diagnosis = "short-write-loses-rest";
  outcome.story = {"sent 48,312 bytes & read slowly.", "sent 32,768 of them; \"15,544\" never came.",
                   "n < 48,312 means: keep the rest."};
  return outcome;
}

TEST_CASE("full marks") {
  Scene scene;
  for (int i = 0; i < 3; ++i) scene.add(Verdict::pass);
  golden::check("junit-full.xml", scene.xml());
}

TEST_CASE("a failure, and a check that needs it") {
  Scene scene;
  scene.add(Verdict::pass);
  scene.add(short_write());
  scene.add(Verdict::skipped, "needs short-write");
  golden::check("junit-partial.xml", scene.xml());
}

TEST_CASE("a file that does not compile") {
  Scene scene;
  scene.add(Verdict::build, "labs/04-epoll-level/server.cpp:3: error: 'std::vector<int> x' <- \"y\"");
  for (int i = 0; i < 2; ++i) scene.add(Verdict::skipped, "not asked for", false);
  golden::check("junit-build.xml", scene.xml());
}

TEST_CASE("a server that hangs, one that crashes") {
  Scene scene;
  scene.add(Verdict::timeout, "within 20 s nothing came back; it was asleep in read(fd 5)");
  scene.add(Verdict::skipped, "after the time-out of echo-small");
  scene.add(Verdict::crash, "it ended with signal 11 (Segmentation fault)", true, "server-died");
  golden::check("junit-hang.xml", scene.xml());
}

TEST_CASE("the grader's fault, and points that are undecided") {
  Scene scene;
  scene.add(Verdict::infra, "the suite ended with signal 11 (Segmentation fault) and gave no verdict; it wrote nothing");
  scene.add(Verdict::unsure, "needs 5100 descriptors for a process: hard limit 4096 (ulimit -Hn)");
  scene.add(Verdict::unsure, "needs short-write, which is undecided");
  golden::check("junit-undecided.xml", scene.xml());
}

TEST_CASE("whatever bytes a server wrote") {
  Scene scene;
  auto outcome = short_write();
  outcome.server_stderr = {std::string("nul \0, escape \x1b[2J, return \r, delete \x7f", 38), "no UTF-8: \xff\xc3 \xed\xa0\x80",
                           "no characters: \xef\xbf\xbe \xef\xbf\xbf", "]]> <b> & \"ä\" \t€"};
  scene.add(outcome);
  golden::check("junit-bytes.xml", scene.xml());
}

TEST_CASE("written aside; what is no regular file is written to and stays what it is") {
  const files::Folder folder;
  Scene scene;
  scene.add(Verdict::pass);
  const std::string xml = scene.xml();
  const auto record = report::record_of(scene.lab, scene.results, 7);
  report::write_junit(folder / "r.xml", record, scene.lab, "./lab grade 4");
  CHECK(files::read(folder / "r.xml") == xml);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  std::filesystem::create_symlink("/dev/null", folder / "nothing");
  report::write_junit(folder / "nothing", record, scene.lab, "./lab grade 4");
  CHECK(std::filesystem::is_symlink(folder / "nothing"));
  CHECK_THROWS_AS(report::write_junit(folder / "no/such/folder", record, scene.lab, ""), std::system_error);
}

}  // namespace
