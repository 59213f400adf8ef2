"""The servers of which it is known what the grader must say: references, wrong servers, right ones of other styles and languages.

The variable LAB_KNOWN_SERVERS names a file that CMake writes: where the project and its lab program are, the command line that compiles a
server (with @SOURCE@ and @OUTPUT@), and the foreign servers that this machine has."""
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import typing

KNOWN = json.loads(pathlib.Path(os.environ["LAB_KNOWN_SERVERS"]).read_text())
SOURCE = pathlib.Path(KNOWN["source"])
BUILD = pathlib.Path(KNOWN["build"])
LAB_PROGRAM = KNOWN["lab"]
EXCUSED = "excused from nc"  # in the second line of a patch whose fault keeps a single client from being answered


def fail(text):
    sys.exit(f"FAILED: {text}")


def lab_folder(number):
    return next(SOURCE.glob(f"labs/{number:02d}-*"))


def lab_of(number):
    return json.loads((lab_folder(number) / "lab.json").read_text())


def compile_server(source, output):
    words = [w.replace("@SOURCE@", str(source)).replace("@OUTPUT@", str(output)) for w in KNOWN["compile"].split("|")]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        fail(f"{source} does not compile without a warning:\n{done.stderr}")


def check_of(record, name):
    return next(check for check in record["checks"] if check["id"] == name)


# ---------------------------------------------------------------------------------------------- wrong servers

class Expectation(typing.NamedTuple):
    check: str
    diagnosis: str
    excused: bool


def expectation(patch):
    head = patch.read_text().splitlines()[:2]
    expected = re.fullmatch(r"# expect: (\S+) (\S+)", head[0])
    if not expected:
        fail(f"{patch}: the first line is not '# expect: CHECK DIAGNOSIS'")
    return Expectation(expected[1], expected[2], EXCUSED in head[1])


def compile_mutant(patch, output):
    name = patch.parent.parent.name
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "solutions", name, "server.cpp")
        copy.parent.mkdir(parents=True)
        copy.write_bytes((SOURCE / "solutions" / name / "server.cpp").read_bytes())
        done = subprocess.run(["patch", "--fuzz=0", "-p1", "--silent", "-i", patch.resolve()], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"{patch} does not apply:\n{done.stdout}")
        compile_server(copy, output)


# ---------------------------------------------------------------------------------------------- all of them

@dataclasses.dataclass
class Server:
    name: str  # its test's, without "grade."
    lab: int
    arguments: typing.Callable  # of a folder for what has to be compiled: how `lab grade` is told to grade it
    skip: tuple = ()  # the checks that do not apply to it
    expected: Expectation = None  # of a wrong one


def compiled(compile_it, source, name):
    def arguments(folder):
        compile_it(source, folder / name)
        return ["--server", str(folder / name)]

    return arguments


def solutions():
    for folder in sorted(SOURCE.glob("solutions/[0-9]*-*")):
        number = int(folder.name[:2])
        yield Server(f"solution.{number}", number, lambda folder: ["--solution"])


def right_lab(file):
    head = re.match(r"// right: lab (\d+)", file.read_text())
    return int(head[1]) if head else None


def right_servers():
    for file in sorted(SOURCE.glob("tests/right/*.cpp")):
        if number := right_lab(file):
            yield Server(f"right.{file.stem}", number, compiled(compile_server, file, file.stem))


def foreign_servers():
    for name, it in KNOWN["foreign"].items():
        yield Server(f"foreign.{name}", it["lab"], lambda folder, command=it["command"]: ["--server", command], tuple(it["skip"]))


def mutants():
    for patch in sorted(SOURCE.glob("solutions/*/mutants/*.patch")):
        number = patch.parent.parent.name[:2]
        name = f"mutant.{number}.{patch.stem}"
        yield Server(name, int(number), compiled(compile_mutant, patch, name), (), expectation(patch))


def all_right():
    return [*solutions(), *right_servers(), *foreign_servers()]
