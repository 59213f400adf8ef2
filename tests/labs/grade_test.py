#!/usr/bin/env python3
"""Grades one server and holds the grader to what is known about that server.

  grade_test.py mutant PATCH       a wrong server: every check before the one that PATCH names passes, that one fails with its diagnosis
  grade_test.py right FILE         a right server in an unusual style: no point is lost
  grade_test.py guard FILE CARE CHECK DIAGNOSIS   the same server is blamed as soon as that care is taken away (LAB_SUITE_WITHOUT)
  grade_test.py foreign NAME       a right server that is not ours: no point is lost but for the checks that do not apply to it
  grade_test.py solution LAB       the reference: every point, with two seeds
  grade_test.py starter LAB        the starter: nothing passes, and the first check says why
  grade_test.py plain LAB          the suite as a plain doctest program: the reference passes, the starter does not and says why
  grade_test.py seed PATCH         the sizes in the story follow the seed

What it reads from the environment is in known_servers.py."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

import known_servers as known
from known_servers import SOURCE, check_of, compile_server, fail


def grade(number, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder, "record.json")
        done = subprocess.run(
            [known.LAB_PROGRAM, "grade", str(number), "--json", record, *map(str, arguments)], capture_output=True, text=True
        )
        if not record.exists():
            fail(f"no record; exit status {done.returncode}\n{done.stdout}{done.stderr}")
        print(done.stdout)
        return json.loads(record.read_text()), done


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


def built(patch, folder):
    """The lab's number, the path of the wrong server, and what is expected of it."""
    server = pathlib.Path(folder, "server")
    known.compile_mutant(patch, server)
    return int(patch.parent.parent.name[:2]), server, known.expectation(patch)


def mutant(patch):
    with tempfile.TemporaryDirectory() as folder:
        number, server, (name, diagnosis, excused) = built(pathlib.Path(patch), folder)
        if not excused and not echoes(server):
            fail("it does not echo a line for nc")
        order = [check["id"] for check in known.lab_of(number)["checks"]]
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
    number = known.right_lab(pathlib.Path(file))
    if not number:
        fail(f"{file}: the first line is not '// right: lab N, <design>'")
    with tempfile.TemporaryDirectory() as folder:
        server = pathlib.Path(folder, "server")
        compile_server(file, server)
        record, _ = grade(number, "--server", server)
        full_marks(record)


def guard(file, care, check, diagnosis):
    os.environ["LAB_SUITE_WITHOUT"] = care
    with tempfile.TemporaryDirectory() as folder:
        server = pathlib.Path(folder, "server")
        compile_server(file, server)
        got = check_of(grade(known.right_lab(pathlib.Path(file)), "--server", server, "--check", check)[0], check)
    if got["verdict"] != "FAIL" or got["diagnosis"] != diagnosis:
        fail(f"without the care {care}, {check} was expected to blame it for {diagnosis}; got {got}")


def foreign(name):
    server = next(server for server in known.foreign_servers() if server.name == f"foreign.{name}")
    skip = ["--skip", ",".join(server.skip)] if server.skip else []
    record, done = grade(server.lab, *server.arguments(None), *skip)
    full_marks(record, server.skip)
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
    suite = pathlib.Path(known.LAB_PROGRAM).parent / f"suite_{int(number):02d}"
    lab = known.lab_folder(int(number))
    with tempfile.TemporaryDirectory() as folder:
        for source, passes in ((SOURCE / "solutions" / lab.name / "server.cpp", True), (lab / "starter.cpp", False)):
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
        number, server, (name, *_) = built(pathlib.Path(patch), folder)
        stories = [
            check_of(grade(number, "--server", server, "--check", name, "--seed", value)[0], name)["story"]["did"] for value in (11, 11, 12)
        ]
        if stories[0] != stories[1] or stories[1] == stories[2] or not re.search(r"\d", stories[0]):
            fail(f"the same seed must tell the same sizes, another seed other ones: {stories}")


if __name__ == "__main__":
    {"mutant": mutant, "right": right, "guard": guard, "foreign": foreign, "solution": solution, "starter": starter, "plain": plain, "seed": seed}[sys.argv[1]](*sys.argv[2:])
