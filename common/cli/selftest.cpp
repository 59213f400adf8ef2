#include <stdlib.h>
#include <unistd.h>

#include <memory>

#include "base/errno_text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "server_flags.h"

namespace cli {
namespace {

struct SelftestOptions {
  std::string matrix;
  int soak = 0;
  std::string only;
};

std::vector<std::string> script(const char* name, const std::string& argument) {
  return {"python3", std::string(kSourceDir) + "/tests/labs/" + name, argument};
}

std::vector<std::string> command_of(const SelftestOptions& options) {
  if (!options.matrix.empty()) return script("matrix.py", options.matrix);
  if (options.soak > 0) return script("soak.py", std::to_string(options.soak));
  // One more than the smallest machine has processors: the tests wait for the kernel half of their time.
  return {"ctest", "--test-dir", kBuildDir, "--output-on-failure", "-j3", "--no-tests=error"};
}

// ./lab has built everything before it calls us.
int selftest(const SelftestOptions& options) {
  if (!options.matrix.empty()) refuse_unwritable("--matrix", options.matrix);
  auto command = command_of(options);
  if (!options.only.empty() && command.front() == "ctest") command.emplace_back("-R");
  if (!options.only.empty()) command.push_back(options.only);
  setenv("LAB_KNOWN_SERVERS", (std::string(kBuildDir) + "/tests/labs/known_servers.json").c_str(), 1);
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv.front(), argv.data());
  base::throw_errno("run " + command.front());
}

}  // namespace

void set_up_selftest(Words& words) {
  auto options = std::make_shared<SelftestOptions>();
  words.optional("--matrix", options->matrix,
                 "Try every check on every wrong and every right server; write the table to this file");
  words.positive("--soak", options->soak, 1'000'000,
                 "Grade every right server so many times, eight at once, on processors kept busy");
  words.exclude_each_other({"--matrix", "--soak"});
  words.optional(
      "--only", options->only,
      "Only tests or servers whose names match this regular expression (mutant.04.short-write, right.lab4_generations, "
      "solution.1, foreign.node)");
  words.then([options] { return selftest(*options); });
}

}  // namespace cli
