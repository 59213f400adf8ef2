"""What the house rules share: which files belong to the project, and how a rule reports.

A rule is a script: [ROOT] -> one line a violation on standard output; exit status 0 kept, 1 broken, 77 cannot be tried here.
"""

import pathlib
import subprocess
import sys

SKIPPED = 77
CPP = {".cpp", ".h"}


def root() -> pathlib.Path:
    return pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()


def files(top: pathlib.Path) -> list[pathlib.Path]:
    """The project's files, relative to its top: those git tracks or would track; all of them where there is no git."""
    if (top / ".git").exists():
        listed = subprocess.run(["git", "-c", f"safe.directory={top}", "ls-files", "-z", "-co", "--exclude-standard"],
                                cwd=top, check=True, capture_output=True, text=True).stdout.split("\0")
        names = [pathlib.Path(name) for name in listed if name]
    else:
        names = [path.relative_to(top) for path in top.rglob("*")]
    return sorted(name for name in names if (top / name).is_file() and not (top / name).is_symlink())


def cpp_files(top: pathlib.Path) -> list[pathlib.Path]:
    return [name for name in files(top) if name.suffix in CPP]


def report(violations: list[str]) -> int:
    for violation in violations:
        print(violation)
    return 1 if violations else 0


def cannot_try(why: str) -> int:
    print("not tried:", why)
    return SKIPPED
