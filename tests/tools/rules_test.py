#!/usr/bin/env python3
"""Every rule finds what it is for, and nothing in a tree that keeps it. A rule that cannot fail is worth nothing."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
SLASH = "/"  # so that this file does not break the rules it feeds


class Rules(unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="lab-rules-"))
        self.addCleanup(shutil.rmtree, self.top)
        shutil.copy(TOOLS.parents[1] / ".clang-format", self.top)
        self.write("common/base/fd.h", "#pragma once\n#include <unistd.h>\n")
        self.write("common/base/fd.cpp", '#include "base/fd.h"\n\nint main() { return 0; }\n')
        self.write("lab", "#!/bin/sh\necho\n")

    def write(self, name, text):
        file = self.top / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run_rule(self, rule):
        done = subprocess.run([sys.executable, TOOLS / rule, self.top], capture_output=True, text=True)
        if done.returncode == 77:
            self.skipTest(done.stdout.strip())
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def assert_kept(self, rule):
        self.assertEqual(self.run_rule(rule), (0, []))

    def assert_broken(self, rule, *violations):
        self.assertEqual(self.run_rule(rule), (1, list(violations)))

    def test_a_good_tree_keeps_every_rule(self):
        for rule in ("include_rules.py", "headers_alone.py", "format.py", "text_rules.py", "shell_rules.py"):
            with self.subTest(rule):
                self.assert_kept(rule)

    # ------------------------------------------------------------------ include_rules

    def test_a_module_includes_only_what_its_row_lists(self):
        self.write("common/base/up.cpp", '#include "report/record.h"\n')
        self.assert_broken("include_rules.py", "common/base/up.cpp:1: may not include report (report/record.h)")

    def test_a_library_in_the_wrong_module(self):
        self.write("common/grade/a.cpp", "#include <fmt/core.h>\n#include <nlohmann/json.hpp>\n")
        self.assert_broken("include_rules.py", "common/grade/a.cpp:2: may not include nlohmann-json (nlohmann/json.hpp)")

    def test_boost_in_http_only_in_a_source_file(self):
        self.write("common/http/parser.cpp", "#include <boost/beast.hpp>\n")
        self.assert_kept("include_rules.py")
        self.write("common/http/parser.h", "  #  include <boost/beast.hpp>\n")
        self.assert_broken("include_rules.py", "common/http/parser.h:1: may not include boost (boost/beast.hpp)")

    def test_curses_in_one_file(self):
        self.write("common/viz/curses_sink.cpp", "#include <curses.h>\n")
        self.assert_kept("include_rules.py")
        self.write("common/viz/keys.cpp", "#include <curses.h>\n")
        self.assert_broken("include_rules.py", "common/viz/keys.cpp:1: may not include ncurses (curses.h)")

    def test_a_students_file_has_base_and_http_only(self):
        self.write("labs/04-x/starter.cpp", '#include "base/serve.h"\n#include "net/net.h"\n')
        self.assert_broken("include_rules.py", "labs/04-x/starter.cpp:2: may not include net (net/net.h)")

    def test_a_suite_never_includes_a_lab_or_a_solution(self):
        self.write("solutions/04-x/server.cpp", "")
        self.write("tests/labs/fixture/check.h", "")
        self.write("tests/labs/lab04/a.cpp", '#include "fixture/check.h"\n#include "../../../solutions/04-x/server.cpp"\n')
        self.assert_broken("include_rules.py",
                           "tests/labs/lab04/a.cpp:2: may not include ../../../solutions/04-x/server.cpp (../../../solutions/04-x/server.cpp)")

    def test_a_unit_test_has_what_its_module_has(self):
        self.write("tests/unit/files.h", "")
        self.write("tests/unit/report/record_test.cpp", '#include <doctest/doctest.h>\n#include "files.h"\n#include "report/record.h"\n')
        self.assert_kept("include_rules.py")
        self.write("tests/unit/base/a_test.cpp", "#include <fmt/core.h>\n")
        self.assert_broken("include_rules.py", "tests/unit/base/a_test.cpp:1: may not include fmt (fmt/core.h)")

    # ------------------------------------------------------------------ headers_alone

    def test_a_header_that_needs_another_first(self):
        self.write("common/base/needy.h", "#pragma once\ninline std::string name();\n")
        status, lines = self.run_rule("headers_alone.py")
        self.assertEqual(status, 1)
        self.assertIn("common/base/needy.h: does not compile alone", lines[0])

    def test_a_header_without_a_guard(self):
        self.write("common/base/twice.h", "struct Twice {};\n")
        status, lines = self.run_rule("headers_alone.py")
        self.assertEqual(status, 1)
        self.assertIn("redefinition", lines[0])

    # ------------------------------------------------------------------ format, shell

    def test_a_file_that_is_not_formatted(self):
        self.write("common/base/ugly.cpp", "int  main( ){return 0;}\n")
        self.assert_broken("format.py", "common/base/ugly.cpp: not formatted (clang-format -i)")

    def test_a_script_that_shellcheck_does_not_like(self):
        self.write("tests/e2e/thing", "#!/bin/sh\nrm $1\n")
        status, lines = self.run_rule("shell_rules.py")
        self.assertEqual(status, 1)
        self.assertIn("tests/e2e/thing:2", lines[0])

    # ------------------------------------------------------------------ text_rules

    def test_paths_of_one_machine(self):
        for place in ("work", "home", "root"):
            self.write("README.md", f"see {SLASH}{place}{SLASH}x\n")
            self.assert_broken("text_rules.py", "README.md:1: an absolute path of one machine")

    def test_paths_of_every_machine(self):
        self.write("README.md", f"GET {SLASH}work?us=5, ~{SLASH}x, build{SLASH}work{SLASH}y\n")
        self.assert_kept("text_rules.py")

    def test_hosts_of_registries(self):
        self.write("README.md", "from deb.debian" + ".org\n")
        self.assert_broken("text_rules.py", "README.md:1: names the host of a package registry")

    def test_trailing_blanks_and_the_last_newline(self):
        self.write("README.md", "a \nb")
        self.assert_broken("text_rules.py", "README.md:1: trailing blanks", "README.md: no newline at its end")
        self.write("README.md", "ok\n")
        self.write("solutions/04-x/mutants/a.patch", " \n-x\n+y\n")
        self.assert_kept("text_rules.py")

    def test_nothing_stray(self):
        self.write("notes.txt", "x\n")
        self.write("common/util/a.h", "#pragma once\n")
        self.write("tests/misc/b.md", "x\n")
        self.assert_broken("text_rules.py", "common/util/a.h: common/util is not in the house's tree",
                           "notes.txt: notes.txt is not in the house's tree", "tests/misc/b.md: tests/misc is not in the house's tree")

    def test_fixed_sleeps_in_tests(self):
        sleeps = [line.replace("NAP", "sleep") for line in ("std::this_thread::NAP_for(10ms);", "uNAP(10);", "time.NAP(1)", "true; NAP 1",
                                                            "nanoNAP(&t, 0);")]
        self.write("tests/unit/a.txt", "\n".join(sleeps) + "\n")
        self.assert_broken("text_rules.py", *(f"tests/unit/a.txt:{n}: a fixed sleep; wait for the condition" for n in range(1, 6)))
        self.write("tests/right/server.cpp", sleeps[0] + "\n")  # what a server does is its own business
        self.write("tests/unit/a.txt", sleeps[0] + "  // sleep allowed: the poll of wait_until\nit is asleep in poll; /sleep?ms=3\n")
        self.assert_kept("text_rules.py")


if __name__ == "__main__":
    unittest.main()
