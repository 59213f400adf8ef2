#!/usr/bin/env python3
"""Shell scripts are clean for shellcheck, each in the shell that its first line names."""

import re
import shutil
import subprocess
import sys

import tree

SHELL = re.compile(rb"#!.*\b(sh|bash|dash)\b")


def main():
    top = tree.root()
    if not shutil.which("shellcheck"):
        return tree.cannot_try("shellcheck is not installed")
    scripts = [str(path) for path in tree.files(top) if SHELL.match((top / path).read_bytes()[:40])]
    if not scripts:
        return tree.report(["no shell script found"])
    done = subprocess.run(["shellcheck", "-f", "gcc", *scripts], cwd=top, capture_output=True, text=True)
    return tree.report((done.stdout + done.stderr).splitlines()) or done.returncode


sys.exit(main())
