#!/usr/bin/env python3
"""matrix.py FILE [REGEX]: every check on every wrong and every right server, as a table a lab. What ./lab selftest --matrix runs.

Each check is a grade of its own, so that it runs whatever the checks it needs would have said. REGEX: only servers whose names match.
Exit status 1: a wrong server is not found out by its check, or a right server is blamed (the table has a "!")."""
import os
import pathlib
import sys
import tempfile

import graders
import known_servers as known

LEGEND = """\
    .  passes            X  fails with the diagnosis that its patch names
    x  fails as well     ?  undecided       -  does not apply
    !  must not be: a right server is blamed; a wrong one fails before its own check, or not there, or with another diagnosis
"""
UNDECIDED = ("UNSURE", "INFRA")


class Lab:
    def __init__(self, number, servers):
        self.spec = known.lab_of(number)
        self.checks = [check["id"] for check in self.spec["checks"]]
        mine = [server for server in servers if server.lab == number]
        self.right = [server for server in mine if not server.expected]
        self.wrong = sorted((server for server in mine if server.expected), key=lambda server: self.checks.index(server.expected.check))

    def cells(self):
        return [(server, check) for server in self.right + self.wrong for check in self.checks if check not in server.skip]

    def mark(self, server, check, results):
        if check in server.skip:
            return "-"
        result = results[server.name, check]
        if result["verdict"] == "PASS":
            return "!" if server.expected and server.expected.check == check else "."
        if not server.expected or self.checks.index(check) < self.checks.index(server.expected.check):
            return "!"
        if check == server.expected.check:
            right = result["verdict"] not in UNDECIDED and result["diagnosis"] == server.expected.diagnosis
            return "X" if right else "!"
        return "?" if result["verdict"] in UNDECIDED else "x"

    def table(self, results):
        width = max(len(server.name) for server in self.right + self.wrong) + 2
        lines = [f"Lab {self.spec['lab']}: {self.spec['title']}", ""]
        lines += [" " * width + "| " * column + check for column, check in enumerate(self.checks)]
        for heading, servers in (("right", self.right), ("wrong", self.wrong)):
            lines.append(heading)
            lines += [server.name.ljust(width) + " ".join(self.mark(server, check, results) for check in self.checks) for server in servers]
        return "\n".join(lines) + "\n"

    def complaints(self, results, whole):
        for server, check in self.cells():
            if self.mark(server, check, results) == "!":
                result = results[server.name, check]
                expected = f", expected {server.expected.check} {server.expected.diagnosis}" if server.expected else ""
                yield f"{server.name}{expected}: {graders.story(result)} (seed {result['seed']})"
        if whole:
            found = {server.expected.check for server in self.wrong}
            yield from (f"lab {self.spec['lab']}: {check} has no wrong server" for check in self.checks if check not in found)


async def grade_all(labs, folder, results):
    arguments = await graders.compile_all([server for lab in labs for server in lab.right + lab.wrong], folder)
    cells = [cell for lab in labs for cell in lab.cells()]

    async def one(cell):
        server, check = cell
        record, output = await graders.grade(server, [*arguments[server.name], "--check", check])
        if record is None:
            known.fail(f"{server.name}, {check}: {output}")
        results[server.name, check] = {**known.check_of(record, check), "seed": record["seed"]}

    # Checks wait half of their time.
    await graders.side_by_side(cells, os.cpu_count() + 2, one, graders.Progress("checks", len(cells)))


def write(path, text):
    """Aside, then renamed: a reader sees all of it or nothing."""
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    aside.write_text(text)
    aside.replace(path)


def main(file, only=""):
    servers = graders.chosen([*known.all_right(), *known.mutants()], only)
    labs = [Lab(number, servers) for number in sorted({server.lab for server in servers})]
    results = {}
    with tempfile.TemporaryDirectory(prefix="lab-matrix-") as folder:
        ended_by = graders.run(grade_all(labs, pathlib.Path(folder), results))
    if ended_by:
        print(f"interrupted: {len(results)} checks done, nothing written", flush=True)
        graders.end_by(ended_by)
    complaints = [complaint for lab in labs for complaint in lab.complaints(results, whole=not only)]
    write(pathlib.Path(file), "\n".join([LEGEND, *(lab.table(results) for lab in labs), *complaints]).rstrip("\n") + "\n")
    print("\n".join([*complaints, f"{file}: {len(servers)} servers, {len(results)} checks, {len(complaints)} not as they should be"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
