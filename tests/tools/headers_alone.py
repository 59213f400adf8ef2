#!/usr/bin/env python3
"""Every header compiles alone, and twice in a row: whoever includes it needs to know nothing else."""

import concurrent.futures
import os
import subprocess
import sys

import tree

FLAGS = ["-std=gnu++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-"]
FOLDERS = ["common", "tests/labs", "tests/unit", "build/generated"]


def compile_alone(top, path):
    command = [os.environ.get("CXX", "g++"), *(f"-I{top / folder}" for folder in FOLDERS), *FLAGS]
    source = f'#include "{top / path}"\n' * 2 + "int main() {}\n"
    done = subprocess.run(command, input=source, capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return [] if done.returncode == 0 else [f"{path}: does not compile alone: {(errors or [done.stderr])[0]}"]


def main():
    top = tree.root()
    headers = [path for path in tree.cpp_files(top) if path.suffix == ".h"]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda path: compile_alone(top, path), headers)
    return tree.report([violation for violations in results for violation in violations])


sys.exit(main())
