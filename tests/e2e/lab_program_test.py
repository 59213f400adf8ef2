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
import socket
import subprocess
import sys
import tempfile
import unittest

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

    # ------------------------------------------------------------------ machines

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
