#include "report/hints.h"

#include <doctest/doctest.h>

namespace {

constexpr const char* kWhole =
    "# Short write loses the rest\nReason: send() took only part.\nMan: send(2), write(2)\n\n"
    "## Nudge\nWhat does send return?\n\n## Concept\nIt takes what fits.\n\nAnd says so.\n\n## Shape of the fix\n    keep the "
    "rest\n";

TEST_CASE("a hint has its name, its reason, its manual pages and three steps") {
  const auto hint = report::parse_hint(kWhole);
  CHECK(hint.name == "Short write loses the rest");
  CHECK(hint.reason == "send() took only part.");
  CHECK(hint.man == "send(2), write(2)");
  CHECK(hint.nudge == "What does send return?");
  CHECK(hint.concept_ == "It takes what fits.\n\nAnd says so.");
  CHECK(hint.shape == "    keep the rest");
  CHECK(report::missing_parts(hint).empty());
  CHECK(report::steps(hint)[1].heading == "Concept");
}

TEST_CASE("each part that a hint lacks is named") {
  CHECK(report::missing_parts(report::parse_hint("")).size() == 6);
  const auto missing = report::missing_parts(
      report::parse_hint("# Name\nReason: why\nMan: x(2)\n## Nudge\n\n## Concept\nc\n## Shape of the fix\ns\n"));
  CHECK(missing == std::vector<std::string>{"## Nudge"});
}

TEST_CASE("no hint file is no hint") { CHECK_FALSE(report::load_hint("/nonexistent", "x")); }

}  // namespace
