#include "grade/text.h"

#include <doctest/doctest.h>

namespace {

using Lines = std::vector<std::string>;

TEST_CASE("wrapping counts characters and leaves long words whole") {
  CHECK(grade::wrapped("äöü äöü äöü", 7) == Lines{"äöü äöü", "äöü"});
  CHECK(grade::wrapped("a longwordhere b", 5) == Lines{"a", "longwordhere", "b"});
  CHECK(grade::wrapped("", 5).empty());
}

TEST_CASE("a piece is broken only when it fits on no line") {
  CHECK(grade::packed({"Next: a.", "./lab grade 4", "./lab hint 4"}, 15) == Lines{"Next: a.", "./lab grade 4", "./lab hint 4"});
  CHECK(grade::packed({"Next: a.", "./lab grade 4"}, 10) == Lines{"Next: a.", "./lab", "grade 4"});
}

TEST_CASE("paragraphs are wrapped anew, code and blank lines stay") {
  CHECK(grade::reflowed("one two three\nfour\n\n    a long line of code\n    more\nfive\n- six seven\n- eight", 9) ==
        "one two\nthree\nfour\n\n    a long line of code\n    more\nfive\n- six\nseven\n- eight\n");
}

TEST_CASE("a line that is too long goes on below its text") {
  CHECK(grade::hung("  name    what it is", 40) == "  name    what it is\n");
  CHECK(grade::hung("  name    what it is and what it is for, in words", 40) ==
        "  name    what it is and what it is for,\n          in words\n");
  CHECK(grade::hung("      group: a, b, c, d, e, f, g, h, i, j", 40) == "      group: a, b, c, d, e, f, g, h,\n        i, j\n");
  CHECK(grade::hung("  --a-long-name              what it is, in words", 40) == "  --a-long-name\n      what it is, in words\n");
}

}  // namespace
