#!/usr/bin/env python3
"""C++ looks as .clang-format says. Versions of clang-format differ in details: ours is Debian 12's, 14."""

import re
import shutil
import subprocess
import sys

import tree

VERSION = "14"


def main():
    top = tree.root()
    program = shutil.which(f"clang-format-{VERSION}") or shutil.which("clang-format")
    version = program and re.search(r"version (\d+)", subprocess.run([program, "--version"], capture_output=True, text=True).stdout)
    if not version or version[1] != VERSION:
        return tree.cannot_try(f"clang-format {VERSION} is not installed")
    sources = [str(path) for path in tree.cpp_files(top)]
    if not sources:
        return tree.report(["no C++ file found"])
    done = subprocess.run([program, "--dry-run", "-Werror", *sources], cwd=top, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if ": error:" in line or ": warning:" in line]
    return tree.report(sorted({line.split(":")[0] + ": not formatted (clang-format -i)" for line in lines})) or done.returncode


sys.exit(main())
