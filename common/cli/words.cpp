#include "cli/words.h"

#include <CLI/App.hpp>

namespace cli {
namespace {

// Before CLI11 converts it, whose message would not say what a number looks like.
std::string not_a_number(const std::string& word) {
  const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::string() : "\"" + word + "\" is no whole number";
}

}  // namespace

void Words::required(const char* name, int& value, const char* about) {
  app_.add_option(name, value, about)->required()->check(not_a_number);
}

void Words::required(const char* name, std::string& value, const char* about) { app_.add_option(name, value, about)->required(); }

void Words::optional(const char* name, std::optional<int>& value, const char* about) {
  app_.add_option_function<int>(
          name, [&value](const int& given) { value = given; }, about)
      ->check(not_a_number);
}

void Words::optional(const char* name, std::optional<std::uint64_t>& value, const char* about) {
  app_.add_option_function<std::uint64_t>(
          name, [&value](const std::uint64_t& given) { value = given; }, about)
      ->check(not_a_number);
}

void Words::optional(const char* name, std::string& value, const char* about) {
  const auto not_blank = [](const std::string& given) {
    return given.find_first_not_of(' ') == std::string::npos ? std::string("it is empty") : std::string();
  };
  app_.add_option(name, value, about)->check(not_blank, "");
}

void Words::positive(const char* name, int& value, int at_most, const char* about) {
  app_.add_option(name, value, about)->check(not_a_number)->check(CLI::Range(1, at_most));
}

void Words::flag(const char* name, bool& value, const char* about) { app_.add_flag(name, value, about); }

void Words::list(const char* name, std::vector<std::string>& values, const char* about) {
  app_.add_option(name, values, about)->delimiter(',')->allow_extra_args(false);
}

void Words::choice(const char* name, std::string& value, const std::vector<std::string>& choices, const char* about) {
  app_.add_option(name, value, about)->check(CLI::IsMember(choices));
}

void Words::exclude_each_other(const std::vector<std::string>& names) {
  for (const auto& one : names)
    for (const auto& other : names)
      if (one < other) app_.get_option(one)->excludes(app_.get_option(other));
}

void Words::then(Action action) {
  app_.callback([this_action = std::move(action), &chosen = action_] { chosen = this_action; });
}

}  // namespace cli
