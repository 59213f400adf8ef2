#include "cli/commands.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/context.h"

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
  try {
    if (argc > 1) refuse_unknown_word(argv[1]);
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
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
  try {
    return parse_and_act(argc, argv);
  } catch (const UserError& error) {
    return complain(kUsedWrongly, error.what());
  } catch (const std::exception& error) {
    return complain(kOurFault, error.what());
  }
}

}  // namespace cli
