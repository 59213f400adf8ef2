#include "grade/child.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include "support/files.h"

namespace {

TEST_CASE("a temporary folder that cannot be had is told with TMPDIR") {
  const files::Folder folder;
  setenv("TMPDIR", (folder / "missing").c_str(), 1);
  CHECK_THROWS_WITH(grade::TemporaryFolder(), doctest::Contains("/missing: ENOENT (No such file or directory); set TMPDIR"));
  unsetenv("TMPDIR");
}

}  // namespace
