#!/usr/bin/env python3
"""Who may include whom: the house's table. What is not listed is forbidden; libc, the kernel's headers and std are free for all."""

import re
import sys

import tree

THIRD_PARTY = {"fmt": "fmt", "nlohmann": "nlohmann-json", "CLI": "CLI11", "doctest": "doctest", "boost": "boost", "asio": "boost",
               "curses.h": "ncurses", "ncurses.h": "ncurses", "ncursesw": "ncurses"}

MODULES = {
    "base": set(),
    "http": {"base"},
    "net": {"base"},
    "inject": {"base"},
    "probe": {"base"},
    "trace": {"base"},
    "sandbox": {"base"},
    "load": {"base", "net"},
    "model": {"trace"},
    "viz": {"model", "trace", "fmt"},
    "report": {"base", "fmt", "nlohmann-json"},
    "grade": {"base", "net", "inject", "probe", "trace", "sandbox", "report", "fmt"},
}
MODULES["cli"] = set(MODULES) | {"CLI11", "fmt"}  # it prints for all of them

GENERATED = {"server_flags.h": "base"}  # by which module's CMakeLists.txt

# What a single file may have beyond its module's share.
FILES = {"common/http/*.cpp": {"boost"}, "common/viz/curses_sink.cpp": {"ncurses"}}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def allowed(path):
    """What the file may include: names of modules and of libraries. None: the table has no say (right servers in other styles)."""
    parts = path.parts
    if parts[0] in ("labs", "solutions"):
        return {"base", "http"}
    if parts[:2] == ("tests", "labs"):
        return {"doctest", "fixture", "base", "net", "inject", "probe", "trace", "report"}
    if parts[:2] == ("tests", "unit") and len(parts) > 2:  # a unit test has what its module has, and the module itself
        return {"doctest", parts[2]} | MODULES.get(parts[2], set())
    if parts[0] == "common":
        beyond = [extra for pattern, extra in FILES.items() if path.match(pattern)]
        return {parts[1]}.union(MODULES.get(parts[1], set()), *beyond)
    return None


def included(top, path, quote, name):
    """The module or library that an include names; None for the free ones."""
    first = name.split("/")[0]
    if first == "..":
        return name
    if quote == '"' and (top / path.parent / name).is_file():
        return None  # a neighbour
    if path.parts[:2] == ("tests", "unit") and (top / "tests/unit" / name).is_file():
        return None  # what the unit tests share
    if first in THIRD_PARTY:
        return THIRD_PARTY[first]
    if first in MODULES or first == "fixture":
        return first
    if path.parts[:2] == ("tests", "labs") and (top / "tests/labs" / first).is_dir():
        return "fixture"  # what the suites share
    if path.parts[:2] == ("tests", "unit") and first == "support":
        return None  # what the unit tests share
    return GENERATED.get(name, None if quote == "<" else name)


def main():
    top = tree.root()
    violations = []
    for path in tree.cpp_files(top):
        may = allowed(path)
        if may is None:
            continue
        for number, line in enumerate((top / path).read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            what = found and included(top, path, *found.groups())
            if what and what not in may:
                violations.append(f"{path}:{number}: may not include {what} ({found[2]})")
    return tree.report(violations)


sys.exit(main())
