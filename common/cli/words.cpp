#include "cli/words.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <charconv>
#include <limits>

namespace cli {
namespace {

// Before CLI11 converts it, whose message would not say what a number looks like.
template <typename Number>
std::string not_a_number(const std::string& word) {
  Number number{};
  const char* end = word.data() + word.size();
  const auto [stopped_at, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc::result_out_of_range)
    return fmt::format("\"{}\" is too large; the largest is {}", word, std::numeric_limits<Number>::max());
  const bool whole = error == std::errc() && stopped_at == end && word.front() != '-';
  return whole ? std::string() : "\"" + word + "\" is no whole number";
}

}  // namespace

void Words::required(const char* name, int& value, const char* about) {
  app_.add_option(name, value, about)->required()->check(not_a_number<int>);
}

void Words::required(const char* name, std::string& value, const char* about) { app_.add_option(name, value, about)->required(); }

void Words::optional(const char* name, std::optional<int>& value, const char* about) {
  app_.add_option_function<int>(
          name, [&value](const int& given) { value = given; }, about)
      ->check(not_a_number<int>);
}

void Words::optional(const char* name, std::optional<std::uint64_t>& value, const char* about) {
  app_.add_option_function<std::uint64_t>(
          name, [&value](const std::uint64_t& given) { value = given; }, about)
      ->check(not_a_number<std::uint64_t>);
}

void Words::optional(const char* name, std::string& value, const char* about) {
  const auto not_blank = [](const std::string& given) {
    return given.find_first_not_of(' ') == std::string::npos ? std::string("it is empty") : std::string();
  };
  app_.add_option(name, value, about)->check(not_blank, "");
}

void Words::positive(const char* name, int& value, int at_most, const char* about) {
  app_.add_option(name, value, about)->check(not_a_number<int>)->check(CLI::Range(1, at_most));
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
