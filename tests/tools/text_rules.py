#!/usr/bin/env python3
"""Rules about text and places: nothing that holds on one machine only, no trailing blanks, nothing stray, no fixed sleep in a test."""

import re
import sys

import tree

TOP = {"CMakeLists.txt", "CMakePresets.json", "lab", "README.md", "tutorial.md", "LICENSE", "labs", "solutions", "common", "tests"}
FOLDERS = {
    "common": {"base", "http", "net", "probe", "inject", "trace", "model", "viz", "load", "sandbox", "grade", "report", "cli"},
    "tests": {"labs", "right", "demos", "unit", "golden", "e2e", "bench", "tools", "CMakeLists.txt"},
}

MACHINE_PATH = re.compile(r"(?<![\w.}])/(work|home|root|Users)/")
REGISTRY = re.compile(r"(deb\.debian|snapshot\.debian|security\.debian|archive\.ubuntu|registry\.npmjs|pypi|crates|proxy\.golang)"
                      r"\.(org|com|io)")
# A line that must sleep says why: "sleep allowed: REASON". It is for the poll inside a wait. Servers (tests/right) pause as they like.
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(|(?:^|[\s;&|(`])sleep\s+[\d.$]")
SLEEP_ALLOWED = re.compile(r"sleep allowed: \w+")


def stray(path):
    """Why the file lies where nothing should, or None."""
    if len(path.parts) == 1 or path.parts[0] not in FOLDERS:
        known = path.parts[0] in TOP or path.parts[0].startswith(".")
        return None if known else f"{path}: {path.parts[0]} is not in the house's tree"
    known = path.parts[1] in FOLDERS[path.parts[0]]
    return None if known else f"{path}: {path.parts[0]}/{path.parts[1]} is not in the house's tree"


def line_rules(path, line):
    if MACHINE_PATH.search(line):
        yield "an absolute path of one machine"
    if REGISTRY.search(line):
        yield "names the host of a package registry"
    if line != line.rstrip() and path.suffix != ".patch":  # in a patch a blank is the mark of an unchanged line
        yield "trailing blanks"
    if path.parts[0] == "tests" and path.parts[1] != "right" and path.suffix != ".md" and SLEEP.search(line) and not SLEEP_ALLOWED.search(line):
        yield "a fixed sleep; wait for the condition"


def main():
    top = tree.root()
    violations = []
    for path in tree.files(top):
        violations += filter(None, [stray(path)])
        try:
            text = (top / path).read_text()
        except UnicodeDecodeError:
            continue
        violations += [f"{path}:{number}: {why}" for number, line in enumerate(text.split("\n"), 1) for why in line_rules(path, line)]
        if text and not text.endswith("\n"):
            violations.append(f"{path}: no newline at its end")
    return tree.report(violations)


sys.exit(main())
