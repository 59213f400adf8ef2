#include "grade/machine.h"

#include <doctest/doctest.h>

namespace {

TEST_CASE("the machine is looked at without leaving a trace, and every ability says what was found") {
  const auto abilities = grade::look_at_machine();
  CHECK(abilities.size() == 8);
  for (const auto& ability : abilities) CHECK_FALSE(ability.found.empty());
}

TEST_CASE("exactly the checks that need what is denied have an obstacle") {
  const std::vector<grade::Ability> abilities = {
      {"pidfd_getfd", "duplicates", "EPERM", false, false, 0},
      {"descriptors", "descriptors for a process", "hard limit 4096", true, false, 4096},
      {"threads", "threads", "100 can be had", true, false, 100}};
  report::CheckSpec check;
  CHECK(grade::obstacle(abilities, check) == "");
  check.descriptors = 5100;
  CHECK(grade::obstacle(abilities, check) == "needs 5100 descriptors for a process: hard limit 4096");
  check.descriptors = 4096;
  CHECK(grade::obstacle(abilities, check) == "");
  check.evidence = {"pidfd_getfd"};
  CHECK(grade::obstacle(abilities, check) == "needs duplicates: EPERM");
  CHECK(grade::obstacle({{"sock_diag", "sockets", "ENOENT", false, true, 0}}, {}) == "needs sockets: ENOENT");
}

}  // namespace
