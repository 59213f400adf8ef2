#!/usr/bin/env python3
"""./lab as its user meets it: a fresh checkout, slips of the finger, a server that does not compile, machines of several kinds.

It works on a copy of the checkout and of its build folder, never on anybody's own server.cpp. The program knows the place it was built
for, so the copy is mounted there, in a mount namespace that only this test sees. Exit status 77: no namespace can be had here.
"""

import contextlib
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

import terminal

TOP = pathlib.Path(__file__).resolve().parents[2]
SERVER = TOP / "labs/04-epoll-level/server.cpp"
STARTER = TOP / "labs/04-epoll-level/starter.cpp"
os.environ.pop("LAB_CMAKE_FLAGS", None)  # CI's: with it every call configures, and says so
GUARD = 300  # seconds; against hanging, nothing else
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI")}
    return {**kept, "TERM": "xterm", **more}


def lab(*arguments, before=(), limits=None, **more):
    return subprocess.run([*before, TOP / "lab", *arguments], env=environment(**more), cwd=TOP, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=GUARD, preexec_fn=limits)


def alive_in_session(session):
    """The processes of that session, as /proc shows them; those that are dead and wait to be collected do not count."""
    alive = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, fields = entry.read_text().rsplit(")", 1)
            state, _, _, of_session, *_ = fields.split()
            if int(of_session) == session and state not in "ZX":
                alive.append(name)
    return alive


class LabProgram(unittest.TestCase):
    def setUp(self):
        for left in (*TOP.glob("labs/*/server.cpp"), *TOP.glob(".lab/*.json")):
            left.unlink()

    def assert_one_line(self, ran, status, *words):
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr.count("\n")), (status, "", 1), ran.stderr)
        for word in words:
            self.assertIn(word, ran.stderr)

    # ------------------------------------------------------------------ slips

    def test_a_wrong_word(self):
        self.assert_one_line(lab("gradd", "4"), 2, "gradd", "grade")

    def test_a_lab_that_is_not_there(self):
        self.assert_one_line(lab("grade", "99"), 2, "99", "1, 4")

    def test_a_check_that_is_not_there(self):
        self.assert_one_line(lab("grade", "4", "--check", "short-wriet"), 2, "short-wriet", "short-write")

    def test_an_option_that_is_not_there(self):
        self.assert_one_line(lab("grade", "4", "--chek", "short-write"), 2, "--chek")

    def test_a_number_that_is_none_or_too_large(self):
        self.assert_one_line(lab("grade", "4", "--seed", "x1"), 2, "--seed", "x1")
        self.assert_one_line(lab("grade", "4", "--seed", "9" * 30), 2, "--seed", "too large")
        self.assert_one_line(lab("grade", "9" * 30), 2, "too large")

    def test_a_hints_step_that_is_not_there(self):
        for step in ("0", "4"):
            self.assert_one_line(lab("hint", "4", "--step", step), 2, f"no step {step}", "1 to 3")
        self.assert_one_line(lab("hint", "4", "--step", "two"), 2, "two")

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            ran = lab("run", "4", "--port", str(port))
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        self.assertIn(f"port {port}", ran.stderr)

    # ------------------------------------------------------------------ the first hour

    def test_alone_it_says_what_to_type_next(self):
        ran = lab()
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("./lab ", ran.stdout)

    def test_the_first_grade_copies_the_starter_and_says_why_it_fails(self):
        ran = lab("grade", "4")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        self.assertEqual(SERVER.read_bytes(), STARTER.read_bytes())
        self.assertNotIn("✓", ran.stdout)
        self.assertRegex(ran.stdout, r"✗ \S+ +0/\d+ +\w+")
        self.assertIn("./lab grade 4 --check ", ran.stdout)
        self.assertNotRegex(ran.stdout, r"[\x1b\r]")

    def test_the_first_compiler_error_in_the_students_file_comes_first(self):
        good = STARTER.read_text()
        SERVER.write_text(good + "int first() { return no_such_thing; }\nint second() { return nor_this; }\n")
        ran = lab("grade", "4")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout.splitlines()[0],
                         rf"^labs/04-epoll-level/server\.cpp:{good.count(chr(10)) + 1}: error: .*no_such_thing")
        self.assertNotIn("✓", ran.stdout)

    def test_a_file_without_serve(self):
        SERVER.write_text("int answer() { return 42; }\n")
        ran = lab("grade", "4")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        self.assertEqual(ran.stdout.splitlines()[0], "labs/04-epoll-level/server.cpp: error: server.cpp must define "
                         "void serve(int listen_fd, const base::Limits& limits)")
        self.assertNotIn("undefined reference", ran.stdout)

    def test_a_serve_that_returns_says_so(self):
        SERVER.write_text('#include "base/serve.h"\nvoid serve(int, const base::Limits&) {}\n')
        ran = lab("grade", "4", "--check", "echo-small")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        self.assertIn("serve() returned", ran.stdout)
        self.assertIn('Read          labs/04-epoll-level/README.md, "When stuck"; ', ran.stdout)

    def test_warnings_come_with_the_compilation_and_not_again(self):
        SERVER.write_text(STARTER.read_text() + "static int unused_thing;\n")
        for expected in (True, False):
            ran = lab("grade", "4", "--check", "echo-small")
            self.assertEqual("unused_thing" in ran.stderr, expected, ran.stderr)
            self.assertNotIn("unused_thing", ran.stdout)

    def test_a_run_of_one_check_leaves_what_is_known_of_the_others(self):
        lab("grade", "4", "--exit-on", "never")
        first = json.loads((TOP / ".lab/last-04.json").read_text())["checks"][0]
        ran = lab("grade", "4", "--check", "eintr", "--json", str(TOP / ".lab/own.json"))
        self.assertIn("0 of 4 in the 1 check asked for (the lab has 100)", ran.stdout)
        kept, own = (json.loads((TOP / ".lab" / name).read_text()) for name in ("last-04.json", "own.json"))
        self.assertEqual((kept["checks"][0]["story"], kept["checks"][0]["asked"]), (first["story"], False))
        self.assertEqual(own["checks"][0]["cause"], "not asked for")
        self.assertIn(first["story"]["did"].split()[0], lab("explain", "4", first["id"]).stdout)
        self.assertIn('Mend "eintr"', lab().stdout)

    def test_a_step_of_a_hint_again(self):
        lab("grade", "4")
        self.assertIn("(1 of 3)", lab("hint", "4").stdout)
        self.assertIn("(3 of 3)", lab("hint", "4", "--step", "3").stdout)
        self.assertIn("(1 of 3)", lab("hint", "4", "--step", "1").stdout)
        self.assertIn("(2 of 3)", lab("hint", "4").stdout)

    def test_help_as_a_word_and_labs_and_checks_left_out(self):
        self.assertEqual(lab("help").stdout, lab("--help").stdout)
        self.assertEqual(lab("help", "grade").stdout, lab("grade", "--help").stdout)
        self.assert_one_line(lab("explain", "short-write"), 2, "which lab?")
        lab("start", "4")
        self.assertEqual(lab("explain", "short-write").stdout, lab("explain", "4", "short-write").stdout)
        self.assert_one_line(lab("explain", "short-wriet"), 2, "short-write")
        self.assertIn("stale-registration", lab("list", "4").stdout)
        self.assertNotIn("Thread per connection", lab("list", "4").stdout)
        self.assert_one_line(lab("list", "99"), 2, "99", "1, 4")

    def test_a_debugger_that_waits_is_not_said_to_serve(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            debugger = pathlib.Path(folder, "gdb")
            debugger.write_text("#!/bin/sh\n")
            debugger.chmod(0o755)
            ran = lab("run", "4", "--gdb", PATH=f"{folder}:{os.environ['PATH']}")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("type run, and 127.0.0.1:", ran.stdout)

    def test_a_reset_is_agreed_to_first(self):
        SERVER.write_text("mine\n")
        self.assert_one_line(lab("reset", "4"), 2, "--yes")
        self.assertEqual(SERVER.read_text(), "mine\n")
        ran = lab("reset", "4", "--yes")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(SERVER.read_bytes(), STARTER.read_bytes())
        self.assertTrue(any(file.read_text() == "mine\n" for file in (TOP / ".lab").rglob("*") if file.is_file()))

    def test_colours_on_a_terminal_and_only_there_and_only_if_wanted(self):
        command = [str(TOP / "lab"), "grade", "4", "--starter"]
        self.assertRegex(terminal.run(command, environment(), TOP)[1], COLOUR)
        self.assertNotRegex(terminal.run(command, environment(NO_COLOR="1"), TOP)[1], COLOUR)

    def test_a_narrow_terminal_breaks_between_words(self):
        lab("grade", "4")
        for arguments in (["list"], ["--help"], ["grade", "--help"], [], ["hint", "4", "--step", "2"], ["grade", "4", "--check", "eintr"]):
            screen = terminal.run([str(TOP / "lab"), *arguments], environment(NO_COLOR="1"), TOP, columns=60)[1]
            for line in screen.replace("\r\n", "\n").split("\n"):
                if "Again" not in line:  # a command is copied
                    self.assertLessEqual(len(line.rsplit("\x1b[K")[-1]), 60, line)

    # ------------------------------------------------------------------ JUnit

    def assert_junit(self, path):
        """It is XML and JUnit's; the test cases by name."""
        suites = xml.etree.ElementTree.parse(path).getroot()
        suite, = suites
        self.assertEqual((suites.tag, suite.tag), ("testsuites", "testsuite"))
        cases = suite.findall("testcase")
        for case in cases:
            self.assertLessEqual({*case.attrib}, {"name", "classname", "time"})
            tags = [element.tag for element in case]
            self.assertEqual(tags[0], "properties")
            self.assertLessEqual(sum(tag in ("failure", "error", "skipped") for tag in tags), 1)
            for element in case.findall("failure") + case.findall("error"):
                self.assertTrue(element.get("type") and element.get("message") and "Again: " in element.text)
        counted = {"tests": cases} | {f"{kind}{plural}": [case for case in cases if case.find(kind) is not None]
                                      for kind, plural in (("failure", "s"), ("error", "s"), ("skipped", ""))}
        for element in (suites, suite):
            for name, among in counted.items():
                self.assertEqual(element.get(name), str(len(among)), name)
        return {case.get("name"): case for case in cases}

    def test_junit_as_it_should_look(self):
        golden = sorted(TOP.glob("tests/golden/junit-*.xml"))
        self.assertTrue(golden)
        for path in golden:
            self.assert_junit(path)

    def test_junit_says_what_the_record_says(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = lab("grade", "4", "--starter", "--junit", f"{folder}/junit.xml", "--json", f"{folder}/record.json")
            self.assertEqual((ran.returncode, ran.stderr), (1, ""))
            self.assertEqual(len(os.listdir(folder)), 2)
            cases = self.assert_junit(f"{folder}/junit.xml")
            checks = json.loads(pathlib.Path(folder, "record.json").read_text())["checks"]
        self.assertEqual([*cases], [check["id"] for check in checks])
        for check in checks:
            properties = {each.get("name"): each.get("value") for each in cases[check["id"]].find("properties")}
            self.assertEqual(properties, {"verdict": check["verdict"], "points": str(check["points"]), "max_points": str(check["max_points"])})
            self.assertEqual(cases[check["id"]].get("classname"), check["group"])

    def test_junit_of_a_server_that_writes_what_xml_cannot_carry(self):
        SERVER.write_text('#include <unistd.h>\n#include "base/serve.h"\nvoid serve(int, const base::Limits&) {\n'
                          '  if (write(2, "\\x1b[2J \\xff ]]> <&\\r\\0\\n", 16) < 0) return;\n  for (;;) pause();\n}\n')
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(lab("grade", "4", "--junit", f"{folder}/junit.xml").returncode, 1)
            case, *_ = self.assert_junit(f"{folder}/junit.xml").values()
        self.assertIn("\\x1b[2J \ufffd ]]> <&\\x0d\\x00", case.find("system-err").text)

    def test_junit_of_a_server_that_does_not_compile(self):
        SERVER.write_text("int first() { return no_such_thing; }\n")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(lab("grade", "4", "--junit", f"{folder}/junit.xml").returncode, 1)
            cases = self.assert_junit(f"{folder}/junit.xml")
        for case in cases.values():
            self.assertEqual(case.find("error").get("type"), "BUILD")
            self.assertIn("no_such_thing", case.find("error").get("message"))

    def test_a_path_that_cannot_be_written_is_refused_before_the_run(self):
        for option in ("--json", "--junit"):
            self.assert_one_line(lab("grade", "4", option, "/nonexistent/file"), 2, option, "/nonexistent/file")

    # ------------------------------------------------------------------ the project's own tools

    def test_wrong_words_to_selftest(self):
        for arguments, words in ((["--soak", "0"], ["--soak"]), (["--soak", "x"], ["--soak", "x"]),
                                 (["--matrix", "/nonexistent/file"], ["--matrix", "/nonexistent/file"]),
                                 (["--soak", "1", "--only", "("], ["--only"]),
                                 (["--soak", "1", "--only", "no-such-server"], ["--only", "no-such-server"])):
            ran = lab("selftest", *arguments)
            ran.stderr = re.sub("lab: (configuring|building).*\n", "", ran.stderr)  # it always does
            self.assert_one_line(ran, 2, *words)

    def added(self, path, text):
        """A file that is gone again after the test."""
        path.write_text(text)
        self.addCleanup(path.unlink)

    def test_the_matrix_of_a_right_and_a_wrong_server(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "matrix.txt")
            ran = lab("selftest", "--matrix", str(table), "--only", r"^solution\.1$|^mutant\.01\.echo-binary$")
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertEqual(os.listdir(folder), [table.name])
            rows = {words[0]: words[1:] for words in map(str.split, table.read_text().splitlines()) if words}
        checks = [check["id"] for check in json.loads((TOP / "labs/01-thread-per-connection/lab.json").read_text())["checks"]]
        self.assertEqual(rows["solution.1"], ["."] * len(checks))
        self.assertEqual(rows["mutant.01.echo-binary"][checks.index("echo-binary")], "X")
        self.assertNotIn("\r", ran.stdout)
        self.assertIn(f"checks: {2 * len(checks)} of {2 * len(checks)}\n", ran.stdout)

    def test_the_matrix_of_a_server_that_is_not_as_its_patch_says(self):
        mutants = TOP / "solutions/01-thread-per-connection/mutants"
        patch = (mutants / "echo-binary.patch").read_text().split("\n", 1)[1]
        self.added(mutants / "echo-large--is-none.patch", f"# expect: echo-large stream-broken\n{patch}")
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "matrix.txt")
            ran = lab("selftest", "--matrix", str(table), "--only", "is-none")
            self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
            row = next(line for line in table.read_text().splitlines() if "is-none" in line).split()
        self.assertEqual(row.count("!"), 2)  # it fails before its own check, and not there
        self.assertIn("mutant.01.echo-large--is-none, expected echo-large stream-broken: echo-large PASS", ran.stdout)

    def test_a_soak(self):
        ran = lab("selftest", "--soak", "2", "--only", r"^solution\.1$")
        self.assertEqual((ran.returncode, ran.stdout.splitlines()[-1]), (0, "grades 2, wrong verdicts 0"), ran.stdout + ran.stderr)

    def test_a_soak_in_which_a_verdict_is_wrong(self):
        self.added(TOP / "tests/right/lab1_blamed.cpp", "// right: lab 1, it is said\n" +
                   (TOP / "labs/01-thread-per-connection/starter.cpp").read_text())
        ran = lab("selftest", "--soak", "1", "--only", "lab1_blamed")
        self.assertEqual((ran.returncode, ran.stdout.splitlines()[-1]), (1, "grades 1, wrong verdicts 1"), ran.stdout + ran.stderr)
        seed, folder = re.search(r"^right\.lab1_blamed, seed (\d+), kept in (.*):$", ran.stdout, re.MULTILINE).groups()
        self.assertEqual(json.loads(pathlib.Path(folder, "record.json").read_text())["seed"], int(seed))
        self.assertTrue(os.access(pathlib.Path(folder, "server"), os.X_OK))
        self.assertIn("echo-small", pathlib.Path(folder, "output.txt").read_text())

    def test_a_soak_that_is_interrupted_leaves_nobody_behind(self):
        # Ctrl-C reaches everybody on the terminal, kill only the one.
        for number, send in ((signal.SIGINT, os.killpg), (signal.SIGTERM, os.kill)):
            with subprocess.Popen([TOP / "lab", "selftest", "--soak", "40", "--only", r"^solution\.1$"], cwd=TOP, env=environment(), text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as soak:
                self.assertTrue(any(line.startswith("grades: ") for line in soak.stdout))
                send(soak.pid, number)
                rest, complaints = soak.communicate(timeout=GUARD)
            self.assertEqual(soak.returncode, -number, rest)
            self.assertNotIn("Traceback", complaints)
            self.assertRegex(rest, r"interrupted: grades \d+, wrong verdicts 0\n$")
            deadline = time.monotonic() + GUARD
            while left := alive_in_session(soak.pid):
                self.assertLess(time.monotonic(), deadline, left)
                time.sleep(0.01)  # sleep allowed: init collects what its parent left

    # ------------------------------------------------------------------ machines

    def test_a_full_disk_behind_standard_output(self):
        for arguments in (["list"], ["grade", "4", "--solution"]):
            with open("/dev/full", "w") as full:
                ran = subprocess.run([TOP / "lab", *arguments], env=environment(), cwd=TOP, stdin=subprocess.DEVNULL, stdout=full,
                                     stderr=subprocess.PIPE, text=True, timeout=GUARD)
            self.assertEqual((ran.returncode, ran.stderr.count("\n")), (3, 1), ran.stderr)

    def test_without_a_temporary_folder(self):
        self.assert_one_line(lab("grade", "4", "--solution", TMPDIR="/nonexistent"), 3, "/nonexistent", "TMPDIR")

    def test_with_a_full_temporary_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
            ran = lab("grade", "4", "--solution", TMPDIR=folder)
            subprocess.run(["umount", folder], check=True)
            self.assert_one_line(ran, 3, folder, "ENOSPC", "TMPDIR")

    def test_a_checkout_that_cannot_be_written_in(self):
        subprocess.run(["mount", "-o", "remount,bind,ro", TOP], check=True)
        self.addCleanup(subprocess.run, ["mount", "-o", "remount,bind,rw", TOP], check=True)
        self.assert_one_line(lab("list"), 2, str(TOP), "cp -r")

    def assert_full_marks(self, ran):
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_with_a_soft_limit_of_1024_descriptors(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        self.assert_full_marks(lab("grade", "4", "--solution", limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))))

    def test_without_ipv6(self):
        # A network of its own has nothing but a loopback that is down.
        no_ipv6 = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 && exec \"$@\""
        up = ("import fcntl, os, socket, struct, sys; s = socket.socket(); "
              "fcntl.ioctl(s, 0x8914, struct.pack('16sh14x', b'lo', 1)); s.close(); os.execvp(sys.argv[1], sys.argv[1:])")
        before = ["unshare", "--net", sys.executable, "-c", up, "sh", "-c", no_ipv6, "sh"]
        if subprocess.run([*before, "true"], capture_output=True).returncode != 0:
            self.skipTest("no network namespace, or no IPv6 to be without")
        self.assert_full_marks(lab("grade", "4", "--solution", before=before))

    def test_a_server_that_listens_twice(self):
        # As when another program had the port first: what listened there before is not the server's socket.
        first = ("import os, socket, sys, time\nlistener = socket.create_server(('127.0.0.1', int(sys.argv[2])))\n"
                 "while time.process_time() < 0.3: pass\nlistener.close()\nos.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            script = pathlib.Path(folder, "twice.py")
            script.write_text(first)
            ran = lab("grade", "4", "--check", "blocking-listener", "--server", f"{sys.executable} {script} {TOP}/tests/right/echo_asyncio.py {{port}}")
        self.assert_full_marks(ran)

    def test_as_an_ordinary_user(self):
        with open("/proc/self/uid_map") as uid_map:
            if os.geteuid() != 0 or uid_map.read().split()[2] == "1":
                self.skipTest("not root: the other tests are this one")
        nobody = pwd.getpwnam("nobody")
        subprocess.run(["chown", "-R", f"{nobody.pw_uid}:{nobody.pw_gid}", TOP], check=True)
        self.addCleanup(subprocess.run, ["chown", "-R", "0:0", TOP], check=True)
        before = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        self.assert_full_marks(lab("grade", "4", "--solution", before=before, HOME="/nonexistent"))

    def test_eight_graders_side_by_side(self):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            graders = [stack.enter_context(subprocess.Popen([TOP / "lab", "grade", "4", "--solution", "--json", f"{folder}/{n}"], cwd=TOP,
                                                            env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                            stderr=subprocess.STDOUT, text=True)) for n in range(8)]
            for n, grader in enumerate(graders):
                output, _ = grader.communicate(timeout=GUARD)
                self.assertEqual(grader.returncode, 0, output)
                record = json.loads(pathlib.Path(folder, str(n)).read_text())
                self.assertEqual((record["score"], record["undecided"]), (record["max_score"], 0))


# ---------------------------------------------------------------------------------------------- the copy, and the namespace

def copy_checkout(folder):
    def other(place, names):
        if pathlib.Path(place) == TOP:
            return [name for name in names if name in (".git", ".lab") or name.startswith("build-")]
        return {"servers", "Testing"} if pathlib.Path(place) == TOP / "build" else ()

    with contextlib.suppress(shutil.Error):  # other tests make and remove files there
        shutil.copytree(TOP, folder, symlinks=True, ignore=other, dirs_exist_ok=True)


def main():
    inside = os.environ.pop("LAB_E2E_COPY", None)
    if inside:
        subprocess.run(["mount", "--bind", inside, TOP], check=True)
        os.chdir(TOP)
        unittest.main()
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    if subprocess.run([*namespace, "true"], capture_output=True).returncode != 0:
        print("not tried: no mount namespace can be had here")
        return 77
    with tempfile.TemporaryDirectory(prefix="lab-program-") as folder:
        os.chmod(folder, 0o755)
        copy_checkout(folder)
        return subprocess.run([*namespace, sys.executable, __file__, *sys.argv[1:]], env={**os.environ, "LAB_E2E_COPY": folder}).returncode


if __name__ == "__main__":
    sys.exit(main())
