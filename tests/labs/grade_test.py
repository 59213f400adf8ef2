#!/usr/bin/env python3
"""Grades one server and holds the grader to what is known about that server.

  grade_test.py mutant PATCH       a wrong server: every check before the one that PATCH names passes, that one fails with its diagnosis
  grade_test.py right FILE         a right server in an unusual style: no point is lost
  grade_test.py guard FILE CARE CHECK DIAGNOSIS   the same server is blamed as soon as that care is taken away (LAB_SUITE_WITHOUT)
  grade_test.py foreign LAB SKIP COMMAND...   a right server that is not ours ({port}): no point is lost but for the checks in SKIP (or -)
  grade_test.py solution LAB       the reference: every point, with two seeds
  grade_test.py starter LAB        the starter: nothing passes, and the first check says why
  grade_test.py plain LAB          the suite as a plain doctest program: the reference passes, the starter does not and says why
  grade_test.py seed PATCH         the sizes in the story follow the seed

The variables LAB_PROGRAM (bin/lab), LAB_SOURCE (the project) and LAB_COMPILE (a command line with @SOURCE@ and @OUTPUT@) come from CMake."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ["LAB_SOURCE"])
EXCUSED = "excused from nc"  # in the second line of a patch whose fault keeps a single client from being answered


def fail(text):
    sys.exit(f"FAILED: {text}")


def lab_of(number):
    folder = next(SOURCE.glob(f"labs/{number:02d}-*"))
    return json.loads((folder / "lab.json").read_text())


def compile_server(source, output):
    words = [w.replace("@SOURCE@", str(source)).replace("@OUTPUT@", str(output)) for w in os.environ["LAB_COMPILE"].split("|")]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        fail(f"{source} does not compile without a warning:\n{done.stderr}")


def grade(number, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder, "record.json")
        done = subprocess.run(
            [os.environ["LAB_PROGRAM"], "grade", str(number), "--json", record, *map(str, arguments)], capture_output=True, text=True
        )
        if not record.exists():
            fail(f"no record; exit status {done.returncode}\n{done.stdout}{done.stderr}")
        print(done.stdout)
        return json.loads(record.read_text()), done


def check_of(record, name):
    return next(check for check in record["checks"] if check["id"] == name)


def echoes(server):
    """What a student tries first: one line by hand. The port is the kernel's choice; another program may take it before the server."""
    for _ in range(20):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with subprocess.Popen([server, "--port", str(port)], stderr=subprocess.DEVNULL) as process:
            try:
                deadline = time.monotonic() + 20
                while process.poll() is None and time.monotonic() < deadline:
                    try:
                        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
                            client.sendall(b"hello\n")
                            return client.recv(100) == b"hello\n"
                    except ConnectionRefusedError:  # not listening yet
                        pass
            except TimeoutError:
                return False
            finally:
                process.kill()
    return False


def patched(patch, folder):
    """The lab's number, the expectation, and the path of the wrong server's source."""
    head = patch.read_text().splitlines()[:2]
    expected = re.fullmatch(r"# expect: (\S+) (\S+)", head[0])
    if not expected:
        fail(f"{patch}: the first line is not '# expect: CHECK DIAGNOSIS'")
    name = patch.parent.parent.name
    copy = pathlib.Path(folder, "solutions", name, "server.cpp")
    copy.parent.mkdir(parents=True)
    copy.write_bytes((SOURCE / "solutions" / name / "server.cpp").read_bytes())
    done = subprocess.run(["patch", "--fuzz=0", "-p1", "--silent", "-i", patch.resolve()], cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{patch} does not apply:\n{done.stdout}")
    return int(name[:2]), expected[1], expected[2], copy, EXCUSED in head[1]


def built(patch, folder):
    number, check, diagnosis, source, excused = patched(patch, folder)
    server = pathlib.Path(folder, "server")
    compile_server(source, server)
    return number, check, diagnosis, server, excused


def mutant(patch):
    with tempfile.TemporaryDirectory() as folder:
        number, name, diagnosis, server, excused = built(pathlib.Path(patch), folder)
        if not excused and not echoes(server):
            fail("it does not echo a line for nc")
        order = [check["id"] for check in lab_of(number)["checks"]]
        earlier = order[: order.index(name)]
        record, _ = grade(number, "--server", server, "--check", ",".join(earlier + [name]))
        for other in earlier:
            if check_of(record, other)["verdict"] != "PASS":
                fail(f"{other} does not pass: {check_of(record, other)}")
        got = check_of(record, name)
        if got["verdict"] in ("PASS", "SKIPPED", "UNSURE", "INFRA") or got["diagnosis"] != diagnosis:
            fail(f"{name}: expected a failure with {diagnosis}, got {got}")
        if got["points"] != 0:
            fail("a failed check has points")


def full_marks(record, skipped=()):
    for check in record["checks"]:
        if check["id"] not in skipped and check["verdict"] != "PASS":
            fail(f"a right server lost {check['id']}: {check}")


def right(file):
    head = re.match(r"// right: lab (\d+)", pathlib.Path(file).read_text())
    if not head:
        fail(f"{file}: the first line is not '// right: lab N, <design>'")
    with tempfile.TemporaryDirectory() as folder:
        server = pathlib.Path(folder, "server")
        compile_server(file, server)
        record, _ = grade(int(head[1]), "--server", server)
        full_marks(record)


def guard(file, care, check, diagnosis):
    head = re.match(r"// right: lab (\d+)", pathlib.Path(file).read_text())
    os.environ["LAB_SUITE_WITHOUT"] = care
    with tempfile.TemporaryDirectory() as folder:
        server = pathlib.Path(folder, "server")
        compile_server(file, server)
        got = check_of(grade(int(head[1]), "--server", server, "--check", check)[0], check)
    if got["verdict"] != "FAIL" or got["diagnosis"] != diagnosis:
        fail(f"without the care {care}, {check} was expected to blame it for {diagnosis}; got {got}")


def foreign(number, skip, *command):
    arguments = ["--server", " ".join(command)] + ([] if skip == "-" else ["--skip", skip])
    record, done = grade(int(number), *arguments)
    full_marks(record, skip.split(","))
    if done.returncode != 0:
        fail(f"exit status {done.returncode}")


def solution(number):
    for seed in (1, 2):
        record, done = grade(int(number), "--solution", "--seed", seed)
        full_marks(record)
        if record["score"] != record["max_score"] or done.returncode != 0:
            fail(f"{record['score']} of {record['max_score']}, exit status {done.returncode}")


def starter(number):
    record, done = grade(int(number), "--starter")
    first, rest = record["checks"][0], record["checks"][1:]
    if first["verdict"] == "PASS" or not first["story"]["server_did"]:
        fail(f"the first check does not say why the starter fails: {first}")
    for check in rest:
        if check["verdict"] != "SKIPPED" or not check["cause"].startswith("needs "):
            fail(f"not skipped for what it needs: {check}")
    if record["score"] != 0 or done.returncode != 1:
        fail(f"score {record['score']}, exit status {done.returncode}")


def plain(number):
    suite = pathlib.Path(os.environ["LAB_PROGRAM"]).parent / f"suite_{int(number):02d}"
    labs, name = SOURCE / "labs", next(SOURCE.glob(f"labs/{int(number):02d}-*")).name
    with tempfile.TemporaryDirectory() as folder:
        for source, passes in ((SOURCE / "solutions" / name / "server.cpp", True), (labs / name / "starter.cpp", False)):
            server = pathlib.Path(folder, "server")
            compile_server(source, server)
            done = subprocess.run([suite], capture_output=True, text=True, env={**os.environ, "LAB_SUITE_SERVER": str(server), "TMPDIR": folder})
            if (done.returncode == 0) != passes:
                fail(f"{source}: exit status {done.returncode}\n{done.stdout}")
            if not passes and "Your server" not in done.stdout and "accept" not in done.stdout:
                fail(f"the story is missing:\n{done.stdout}")
            server.unlink()
        if left := list(pathlib.Path(folder).iterdir()):
            fail(f"left behind: {left}")


def seed(patch):
    with tempfile.TemporaryDirectory() as folder:
        number, name, _, server, _ = built(pathlib.Path(patch), folder)
        stories = [
            check_of(grade(number, "--server", server, "--check", name, "--seed", value)[0], name)["story"]["did"] for value in (11, 11, 12)
        ]
        if stories[0] != stories[1] or stories[1] == stories[2] or not re.search(r"\d", stories[0]):
            fail(f"the same seed must tell the same sizes, another seed other ones: {stories}")


if __name__ == "__main__":
    {"mutant": mutant, "right": right, "guard": guard, "foreign": foreign, "solution": solution, "starter": starter, "plain": plain, "seed": seed}[sys.argv[1]](*sys.argv[2:])
