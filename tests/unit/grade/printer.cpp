#include "grade/printer.h"

#include <doctest/doctest.h>

#include <sstream>

#include "report/scene.h"
#include "support/files.h"
#include "support/golden.h"

namespace {

using report::Verdict;

struct Scene : LabScene {
  Scene()
      : LabScene({{"echo-small", "serve", 4},
                  {"eintr", "serve", 4},
                  {"short-write", "slow clients", 5},
                  {"half-close", "slow clients", 4},
                  {"stale-registration", "lifetimes", 6}},
                 "Short writes and EPOLLOUT", "send() took only part of the answer and the rest was dropped.") {
    lab.name = "04-epoll-level";
    std::filesystem::current_path(folder.path());
    lab.folder = ".";  // its length counts where lines are broken
    options.command = "./lab grade 4";
    options.seed = 12345;
  }
  ~Scene() { std::filesystem::current_path(before); }
  std::string print() {
    std::ostringstream out;
    grade::Printer printer(out, lab, options);
    for (const auto& result : results) printer.on_result(result);
    printer.finish(report::record_of(lab, results, options.seed));
    return out.str();
  }

  std::filesystem::path before = std::filesystem::current_path();
  grade::PrinterOptions options;
};

report::Outcome short_write() {
  report::Outcome outcome;
  outcome.verdict = Verdict::fail;
  outcome.diagnosis = "short-write-loses-rest";
  outcome.story = {"sent 48,312 bytes and read slowly.", "sent 32,768 of them; 15,544 never came, and its send queue is empty.",
                   "every byte back, in order: send takes part and says how much."};
  outcome.server_stderr = {"accepted fd 5", "an escape \033[2J that must not reach the terminal"};
  return outcome;
}

TEST_CASE("a failure in six parts; the groups behind it are summed up") {
  Scene scene;
  scene.add(Verdict::pass);
  scene.add(Verdict::pass);
  scene.add(short_write());
  scene.add(Verdict::skipped, "needs short-write");
  scene.add(Verdict::pass);
  golden::check("grade-failure.txt", scene.print());
}

TEST_CASE("text is wrapped at the terminal's width") {
  Scene scene;
  scene.options.width = 60;
  scene.add(Verdict::pass);
  scene.add(Verdict::pass);
  scene.add(short_write());
  scene.add(Verdict::skipped, "needs short-write");
  scene.add(Verdict::pass);
  golden::check("grade-failure-narrow.txt", scene.print());
}

TEST_CASE("colours") {
  Scene scene;
  scene.options.colours = true;
  scene.add(Verdict::pass);
  scene.add(Verdict::fail);
  for (int i = 0; i < 3; ++i) scene.add(Verdict::skipped, "needs eintr");
  golden::check("grade-colours.txt", scene.print());
}

TEST_CASE("full marks") {
  Scene scene;
  for (int i = 0; i < 5; ++i) scene.add(Verdict::pass);
  golden::check("grade-full.txt", scene.print());
}

TEST_CASE("undecided points stand apart") {
  Scene scene;
  for (int i = 0; i < 3; ++i) scene.add(Verdict::pass);
  scene.add(Verdict::unsure, "needs 5100 descriptors for a process: hard limit 4096 (ulimit -Hn)");
  scene.add(Verdict::infra, "the suite ended with signal 11 (Segmentation fault) and gave no verdict; it wrote nothing");
  golden::check("grade-undecided.txt", scene.print());
}

TEST_CASE("only what was asked for is shown, and no hint for somebody else's server") {
  Scene scene;
  scene.options.every_group = true;
  scene.options.own = false;
  scene.options.command = "./lab grade 4 --server './mine {port}'";
  scene.add(Verdict::skipped, "not asked for", false);
  scene.add(Verdict::pass);
  scene.add(short_write());
  scene.add(Verdict::skipped, "not asked for", false);
  scene.add(Verdict::skipped, "not asked for", false);
  golden::check("grade-asked.txt", scene.print());
}

TEST_CASE("the progress line is rewritten, and gone when a result is shown") {
  Scene scene;
  scene.options.progress = true;
  std::ostringstream out;
  grade::Printer printer(out, scene.lab, scene.options);
  printer.on_change(4, {"eintr", "short-write"});
  CHECK(out.str() == "\r\033[K4 checks to go; running: eintr, short-write");
  scene.add(Verdict::pass);
  printer.on_result(scene.results[0]);
  CHECK(out.str().find("short-write\r\033[Kserve\n") != std::string::npos);
}

TEST_CASE("the progress line says nothing of what runs while nothing does") {
  Scene scene;
  scene.options.progress = true;
  std::ostringstream out;
  grade::Printer(out, scene.lab, scene.options).on_change(1, {});
  CHECK(out.str() == "\r\033[K1 check to go");
}

TEST_CASE("what can happen in any check is read about in the handout, not in this check's section") {
  Scene scene;
  scene.lab.general_diagnoses = {"short-write-loses-rest"};
  scene.add(short_write());
  CHECK(scene.print().find("Read          ./README.md, \"When stuck\"; send(2), write(2)\n") != std::string::npos);
}

}  // namespace
