#!/usr/bin/env python3
"""The shell part of ./lab, as a user meets it on machines of every kind.

A machine is a PATH with nothing on it but a few of the real tools and stubs for the rest (cmake, ninja, apt-get, sudo, id): what is
missing, who one is and which packager there is are a matter of what lies in that folder. The real build and the real packages are
tried by lab_program_test.py and on a fresh machine (CONTRIBUTING).
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

import terminal

LAB = pathlib.Path(__file__).resolve().parents[2] / "lab"
REAL_TOOLS = ["sh", "env", "readlink", "mkdir", "flock", "grep", "head", "tail", "find", "rm", "touch", "chmod", "cat", "cp"]

CMAKE = """
while [ $# -gt 0 ]; do case $1 in -S) source=$2 ;; -B) build=$2 ;; esac; shift; done
[ -e "$STUBS/cmake-fails" ] && { echo 'CMake Error at CMakeLists.txt:18 (find_package):'; exit 1; }
echo configured >>"$STUBS/log"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$source" >"$build/CMakeCache.txt"
touch "$build/build.ninja"
echo '-- Configuring done'
"""

NINJA = """
build=$2; shift 2
echo "ninja $*" >>"$STUBS/log"
[ -e "$STUBS/ninja-fails" ] && { echo '[1/9] Building x'; echo 'x.cpp:1:2: error: no such thing'; exit 1; }
[ -p "$STUBS/ninja-waits" ] && { cat "$STUBS/ninja-waits"; rm "$STUBS/ninja-waits"; }
[ -e "$build/bin/lab" ] && { echo '[0/2] Re-checking globbed directories...'; echo 'ninja: no work to do.'; exit 0; }
mkdir -p "$build/bin"
echo '[1/2] Building CXX object lab.o'
cp "$STUBS/lab-program" "$build/bin/lab"
echo '[2/2] Linking CXX executable bin/lab'
"""

LAB_PROGRAM = """#!/bin/sh
[ -e /proc/$$/fd/9 ] && echo 'holds the lock still'
printf 'program:'
printf ' <%s>' "$@"
echo
exit "${LAB_PROGRAM_EXIT-0}"
"""

APT_GET = """
echo "apt-get $*" >>"$STUBS/log"
case "$*" in
  *update*) touch "$STUBS/lists-are-new" ;;
  *install*)
    [ -e "$STUBS/lists-are-old" ] && [ ! -e "$STUBS/lists-are-new" ] && { echo 'E: Unable to fetch some archives'; exit 100; }
    [ -e "$STUBS/apt-fails" ] && { echo 'E: No space left on device'; exit 100; }
    echo 'Setting up cmake (3.25.1-1)'
    cp "$STUBS"/packages/* "$STUBS/bin/" ;;
esac
"""


class Machine:
    """A checkout of the shell part, in a folder with spaces, and a PATH of its own."""

    def __init__(self, lacking=(), user="root", sudo=False, packager="apt-get"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lab-shell-"))
        self.started = []
        self.checkout = self.folder / "my check out"
        self.bin = self.folder / "bin"
        (self.checkout / "labs/01-thread-per-connection").mkdir(parents=True)
        (self.checkout / "labs/04-epoll-level").mkdir()
        for spec in self.checkout.glob("labs/*"):
            (spec / "lab.json").write_text("{}")
        shutil.copy(LAB, self.checkout / "lab")
        self.bin.mkdir()
        (self.folder / "packages").mkdir()
        (self.folder / "lab-program").write_text(LAB_PROGRAM)
        (self.folder / "lab-program").chmod(0o755)
        (self.folder / "log").touch()
        for tool in REAL_TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool, path="/usr/bin:/bin"))
        self.stub("id", f"echo {0 if user == 'root' else 1000}")
        for name, text in {"g++": "", "python3": "", "patch": "", "cmake": CMAKE, "ninja": NINJA}.items():
            self.stub(name, text, into=self.folder / "packages" if name in lacking else self.bin)
        if packager:
            self.stub(packager, APT_GET)
        if sudo:
            self.stub("sudo", '[ "$1" = -n ] && { [ ! -e "$STUBS/sudo-wants-a-password" ]; exit; }\necho "sudo $*" >>"$STUBS/log"\nexec "$@"')

    def stub(self, name, text, into=None):
        file = (into or self.bin) / name
        file.write_text("#!/bin/sh\n" + text)
        file.chmod(0o755)

    def flag(self, name):
        (self.folder / name).touch()

    def environment(self, **more):
        return {"PATH": str(self.bin), "STUBS": str(self.folder), "TERM": "xterm", **more}

    def start(self, *arguments, lab=None, **environment):
        process = subprocess.Popen([str(lab or self.checkout / "lab"), *arguments], env=self.environment(**environment), cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   process_group=0)
        self.started.append(process)
        return process

    def run(self, *arguments, **how):
        process = self.start(*arguments, **how)
        output, errors = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, output, errors)

    def run_on_terminal(self, *arguments, answer):
        """Runs it on a terminal, types the answer when asked; the exit status and all that was on the screen."""
        return terminal.run([str(self.checkout / "lab"), *arguments], self.environment(), self.folder, answer)

    def remove(self):
        for process in self.started:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.stdout.close()
            process.stderr.close()
            process.wait()
        shutil.rmtree(self.folder)

    def log(self):
        return (self.folder / "log").read_text().splitlines()


def hangs(*_):
    raise TimeoutError("hangs")


class LabShell(unittest.TestCase):
    def setUp(self):
        signal.signal(signal.SIGALRM, hangs)
        signal.alarm(60)  # a guard against hanging, nothing else
        self.addCleanup(signal.alarm, 0)

    def machine(self, **how):
        machine = Machine(**how)
        self.addCleanup(machine.remove)
        return machine

    # ------------------------------------------------------------------ the usual case

    def test_builds_and_hands_over(self):
        machine = self.machine()
        ran = machine.run("grade", "4", "--json", "a b.json")
        self.assertEqual((ran.returncode, ran.stdout), (0, "program: <grade> <4> <--json> <a b.json>\n"))
        self.assertEqual(machine.log(), ["configured", "ninja lab server_parts suite_04"])
        self.assertEqual(ran.stderr.splitlines(), ["lab: configuring", "lab: building the grader; this takes a minute, once"])

    def test_the_second_time_it_only_asks_ninja_and_is_silent(self):
        machine = self.machine()
        machine.run("list")
        ran = machine.run("list")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "program: <list>\n", ""))
        self.assertEqual(machine.log(), ["configured", "ninja lab", "ninja lab"])

    def test_the_programs_exit_status_is_ours(self):
        for status in (1, 2, 3):
            self.assertEqual(self.machine().run("grade", "4", LAB_PROGRAM_EXIT=str(status)).returncode, status)

    def test_builds_only_what_the_command_needs(self):
        machine = self.machine()
        wanted = {
            (): "lab",
            ("--help",): "lab",
            ("grade", "--help"): "lab",
            ("gradd", "4"): "lab",
            ("grade", "01"): "lab server_parts suite_01",
            ("grade", "--seed", "1", "4"): "lab server_parts suite_04",
            ("grade", "--server", "4", "1"): "lab server_parts suite_01",
            ("grade", "9"): "lab server_parts suite_01 suite_04",
            ("grade",): "lab server_parts suite_01 suite_04",
            ("check",): "lab server_parts suite_01 suite_04",
            ("run", "4"): "lab server_parts",
            ("selftest",): "all echo_asio",
        }
        for arguments, targets in wanted.items():
            machine.run(*arguments)
            self.assertEqual(machine.log()[-1], "ninja " + targets, arguments)

    def test_through_a_symbolic_link(self):
        machine = self.machine()
        link = machine.folder / "lab-link"
        link.symlink_to(machine.checkout / "lab")
        self.assertEqual(machine.run("list", lab=link).returncode, 0)
        self.assertTrue((machine.checkout / "build/bin/lab").exists())

    def test_yes_reaches_only_the_command_that_asks(self):
        machine = self.machine()
        self.assertEqual(machine.run("--yes", "grade", "4").stdout, "program: <grade> <4>\n")
        self.assertEqual(machine.run("reset", "--yes", "4").stdout, "program: <reset> <4> <--yes>\n")
        self.assertEqual(machine.run("reset", "4").stdout, "program: <reset> <4>\n")

    def test_two_at_once_build_one_after_the_other(self):
        machine = self.machine()
        os.mkfifo(machine.folder / "ninja-waits")
        first = machine.start("list")
        with open(machine.folder / "ninja-waits", "w"):  # opens when the first one's ninja reads from it; ends when we close
            second = machine.start("list")
            self.assertIn("waiting", second.stderr.readline())
            self.assertEqual(machine.log(), ["configured", "ninja lab"])
        for process in (first, second):
            output, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, output), (0, "program: <list>\n"))
        self.assertEqual(machine.log(), ["configured", "ninja lab", "ninja lab"])

    # ------------------------------------------------------------------ build folders

    def test_a_checkout_that_was_moved_is_configured_anew(self):
        machine = self.machine()
        machine.run("list")
        (machine.checkout / "build/old.o").touch()
        machine.checkout = machine.checkout.rename(machine.folder / "my")  # the beginning of the old name
        ran = machine.run("list")
        self.assertEqual(ran.returncode, 0)
        self.assertFalse((machine.checkout / "build/old.o").exists())
        self.assertIn("belongs to another folder", ran.stderr)
        self.assertEqual(machine.log().count("configured"), 2)

    def test_a_build_folder_of_another_generator_is_made_anew(self):
        machine = self.machine()
        machine.run("list")
        (machine.checkout / "build/build.ninja").unlink()
        self.assertEqual(machine.run("list").returncode, 0)
        self.assertEqual(machine.log().count("configured"), 2)

    def test_a_failed_build_shows_the_error_and_is_not_the_students_fault(self):
        machine = self.machine()
        machine.flag("ninja-fails")
        ran = machine.run("grade", "4")
        self.assertEqual((ran.returncode, ran.stdout), (3, ""))
        self.assertIn("Building failed", ran.stderr)
        self.assertIn("x.cpp:1:2: error: no such thing", ran.stderr)

    def test_a_failed_configuration_shows_the_error(self):
        machine = self.machine()
        machine.flag("cmake-fails")
        ran = machine.run("grade", "4")
        self.assertEqual(ran.returncode, 3)
        self.assertIn("CMake Error at CMakeLists.txt:18", ran.stderr)

    # ------------------------------------------------------------------ packages

    def test_missing_packages_are_named_with_the_reason_and_installed(self):
        machine = self.machine(lacking=["g++", "cmake", "ninja"])
        ran = machine.run("grade", "4")
        self.assertEqual((ran.returncode, ran.stdout), (0, "program: <grade> <4>\n"))
        self.assertRegex(ran.stderr, r"\n  g\+\+ +compiles the grader and your server\n  cmake +\w.*\n  ninja-build +\w")
        self.assertIn("install -y --no-install-recommends g++ cmake ninja-build", "\n".join(machine.log()))
        self.assertEqual(machine.log()[-2:], ["configured", "ninja lab server_parts suite_04"])

    def test_selftest_needs_more_and_configures_again_for_it(self):
        machine = self.machine(lacking=["patch"])
        machine.run("list")
        self.assertEqual(machine.log(), ["configured", "ninja lab"])
        self.assertEqual(machine.run("selftest").returncode, 0)
        self.assertIn("recommends patch", machine.log()[-3])
        self.assertEqual(machine.log()[-2:], ["configured", "ninja all echo_asio"])

    def test_lists_that_are_too_old_are_fetched_and_the_installation_repeated(self):
        machine = self.machine(lacking=["g++"])
        machine.flag("lists-are-old")
        self.assertEqual(machine.run("list").returncode, 0)
        self.assertTrue((machine.folder / "lists-are-new").exists())

    def test_a_failed_installation_shows_why(self):
        machine = self.machine(lacking=["g++"])
        machine.flag("apt-fails")
        ran = machine.run("list")
        self.assertEqual((ran.returncode, ran.stdout), (3, ""))
        self.assertIn("E: No space left on device", ran.stderr)

    def test_an_ordinary_user_installs_through_sudo(self):
        machine = self.machine(lacking=["g++"], user="student", sudo=True)
        self.assertEqual(machine.run("list").returncode, 0)
        self.assertTrue(any(line.startswith("sudo env DEBIAN_FRONTEND=noninteractive apt-get") for line in machine.log()))

    def test_sudo_that_wants_a_password_where_nobody_can_type_it(self):
        machine = self.machine(lacking=["g++"], user="student", sudo=True)
        machine.flag("sudo-wants-a-password")
        ran = machine.run("list")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("First run: sudo apt-get install --no-install-recommends g++", ran.stderr)
        self.assertEqual(machine.log(), [])

    def test_neither_root_nor_sudo(self):
        machine = self.machine(lacking=["g++"], user="student")
        ran = machine.run("list")
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(ran.stderr.splitlines()[-1],
                         "lab: neither root nor sudo here. Have root run: apt-get install --no-install-recommends g++")

    def test_elsewhere_the_names_for_dnf_and_pacman(self):
        for packager in ("dnf", "pacman"):
            machine = self.machine(lacking=["g++", "ninja"], packager=packager)
            ran = machine.run("list", "--yes")
            self.assertEqual(ran.returncode, 2)
            self.assertEqual(ran.stderr.splitlines()[-1], "lab: I can install with apt only. "
                             "Fedora: dnf install gcc-c++ ninja-build · Arch: pacman -S gcc ninja")
            self.assertEqual(machine.log(), [])

    def test_it_asks_once_on_a_terminal_and_no_means_no(self):
        machine = self.machine(lacking=["g++"])
        status, screen = machine.run_on_terminal("list", answer="n\n")
        self.assertEqual(status, 2)
        self.assertEqual(screen.count("[Y/n]"), 1)
        self.assertIn("By hand: apt-get install --no-install-recommends g++", screen)
        self.assertEqual(machine.log(), [])

    def test_the_end_of_the_input_means_no(self):
        machine = self.machine(lacking=["g++"])
        status, _ = machine.run_on_terminal("list", answer="\x04")
        self.assertEqual((status, machine.log()), (2, []))

    def test_return_means_yes(self):
        machine = self.machine(lacking=["g++"])
        status, screen = machine.run_on_terminal("list", answer="\n")
        self.assertEqual(status, 0, screen)
        self.assertIn("program: <list>", screen)

    def test_yes_on_a_terminal_does_not_ask(self):
        machine = self.machine(lacking=["g++"])
        status, screen = machine.run_on_terminal("list", "--yes", answer=None)
        self.assertEqual(status, 0, screen)
        self.assertNotIn("[Y/n]", screen)

    # ------------------------------------------------------------------ output

    def test_no_control_bytes_but_on_a_terminal(self):
        machine = self.machine(lacking=["g++"])
        ran = machine.run("grade", "4")
        self.assertNotRegex(ran.stdout + ran.stderr, r"[\x1b\r]")
        _, screen = self.machine().run_on_terminal("list", answer=None)
        self.assertIn("\r\x1b[Klab: building the grader · 1/2", screen)

    def test_a_build_folder_of_somebody_else(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        machine = self.machine()
        (machine.checkout / "build").mkdir(mode=0o555)
        ran = machine.run("list")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("it belongs to somebody else", ran.stderr)


if __name__ == "__main__":
    unittest.main()
