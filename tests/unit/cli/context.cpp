#include "cli/context.h"

#include <doctest/doctest.h>

namespace {

TEST_CASE("a wrong word gets the nearest right one, or all of them") {
  const std::vector<std::string> known = {"grade", "hint", "list"};
  CHECK(cli::instead("grad", known) == "did you mean \"grade\"?");
  CHECK(cli::instead("lst", known) == "did you mean \"list\"?");
  CHECK(cli::instead("watch", known) == "there are: grade, hint, list");
  CHECK(cli::instead("x", {}) == "there are: ");
}

TEST_CASE("a command is quoted so that a shell reads it as it was given") {
  CHECK(cli::shell_word("./mine") == "./mine");
  CHECK(cli::shell_word("./mine {port}") == "'./mine {port}'");
  CHECK(cli::shell_word("it's") == "'it'\\''s'");
  CHECK(cli::shell_word("") == "''");
}

TEST_CASE("a lab or a check that does not exist is told with those that do") {
  CHECK_THROWS_WITH_AS(cli::chosen_lab(77), doctest::Contains("there is no lab 77; there are labs 1"), cli::UserError);
  const auto lab = cli::chosen_lab(4);
  CHECK_THROWS_WITH_AS(cli::chosen_check(lab, "shortwrite"), "lab 4 has no check \"shortwrite\"; did you mean \"short-write\"?",
                       cli::UserError);
}

}  // namespace
