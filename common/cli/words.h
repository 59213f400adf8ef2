// The words that a subcommand understands: what its file declares, and what CLI11 is asked to read.
// Only words.cpp and commands.cpp include CLI11: reading it takes the compiler longer than all our files together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cli {

// What the command line asks for; returns the exit status. May throw UserError (context.h).
using Action = std::function<int()>;

class Words {
 public:
  Words(CLI::App& app, Action& action) : app_(app), action_(action) {}

  // Each names a variable that is filled in before the action runs, and must live as long. Names without dashes are read by
  // position.
  void required(const char* name, int& value, const char* about);
  void required(const char* name, std::string& value, const char* about);
  void optional(const char* name, std::optional<int>& value, const char* about);
  void optional(const char* name, std::optional<std::uint64_t>& value, const char* about);
  void optional(const char* name, std::string& value, const char* about);
  void positive(const char* name, int& value, int at_most, const char* about);  // from 1 to `at_most`
  void flag(const char* name, bool& value, const char* about);
  void list(const char* name, std::vector<std::string>& values, const char* about);  // separated by commas
  void choice(const char* name, std::string& value, const std::vector<std::string>& choices, const char* about);

  void exclude_each_other(const std::vector<std::string>& names);

  void then(Action action);

 private:
  CLI::App& app_;
  Action& action_;
};

}  // namespace cli
