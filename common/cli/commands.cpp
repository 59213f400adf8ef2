#include "cli/commands.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "cli/context.h"
#include "grade/text.h"

namespace cli {
namespace {

constexpr int kUsedWrongly = 2;
constexpr int kOurFault = 3;

int complain(int status, const std::string& what) {
  fmt::print(stderr, "lab: {}\n", what);
  return status;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& command : commands()) all.emplace_back(command.name);
  return all;
}

// CLI11 would only say that the word was not expected.
void refuse_unknown_word(const std::string& word) {
  const auto known = names();
  if (word.starts_with('-') || std::find(known.begin(), known.end(), word) != known.end()) return;
  throw UserError(fmt::format("there is no command \"{}\"; {}", word, instead(word, known)));
}

void set_up_all(CLI::App& app, Action& action) {
  app.require_subcommand(0, 1);
  app.set_help_flag("-h,--help", "This text");
  for (const auto& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.about);
    sub->set_help_flag("-h,--help", "This text");
    Words words(*sub, action);
    command.set_up(words);
  }
}

// "help" and "help grade", as many tools understand them.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

void print_help(const CLI::App& app) {
  std::istringstream lines(app.help());
  for (std::string line; std::getline(lines, line);) fmt::print("{}", grade::hung(line, grade::standard_output_width()));
}

// What was written is lost when the disk is full. A reader of a pipe that has left did so on purpose.
bool output_is_lost() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return false;
  struct stat output {};
  return fstat(STDOUT_FILENO, &output) < 0 || !(S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode));
}

// One line that says what is wrong; where to read what would be right.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto used = app.get_subcommands();
  const std::string command = used.empty() ? "" : " " + used.front()->get_name();
  std::string text = error.what();
  for (auto& letter : text)
    if (letter == '\n') letter = ' ';
  return fmt::format("{}; ./lab{} --help says what can be given", text, command);
}

int parse_and_act(int argc, char** argv) {
  CLI::App app("Labs on waiting for many clients at once: edit labs/NN-model/server.cpp, type ./lab grade N.", "./lab");
  Action action = where_you_stand;
  set_up_all(app, action);
  auto arguments = arguments_of(argc, argv);
  if (!arguments.empty()) refuse_unknown_word(arguments.front());
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    print_help(app);
    return 0;
  } catch (const CLI::ParseError& error) {
    return complain(kUsedWrongly, usage_error(app, error));
  }
  return action();
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"list", "The labs, their checks, your best score", set_up_list},
      {"next", "What to do next", set_up_next},
      {"start", "Begin a lab", set_up_start},
      {"grade", "Build your server and grade it", set_up_grade},
      {"run", "Run your server", set_up_run},
      {"hint", "The next hint on the last failure", set_up_hint},
      {"explain", "What a check does, and what came of it", set_up_explain},
      {"reset", "Begin a lab anew (keeps a copy of your file)", set_up_reset},
      {"doctor", "What this machine can and cannot prove", set_up_doctor},
      {"check", "Whether every lab is complete", set_up_check},
      {"new-check", "A skeleton for a new check in all its places", set_up_new_check},
      {"selftest", "The project's own tests", set_up_selftest},
  };
  return table;
}

int run(int argc, char** argv) {
  int status = kOurFault;
  try {
    status = parse_and_act(argc, argv);
  } catch (const UserError& error) {
    return complain(kUsedWrongly, error.what());
  } catch (const std::exception& error) {
    if (!output_is_lost()) return complain(kOurFault, error.what());
  }
  if (!output_is_lost()) return status;
  return complain(kOurFault, "standard output could not be written (is the disk full?): what you see of it is not all");
}

}  // namespace cli
