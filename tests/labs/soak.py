#!/usr/bin/env python3
"""soak.py N [REGEX]: the references, the right and the foreign servers, graded N times each on a machine that has no time to spare:
a busy process for each processor and eight graders at once. What ./lab selftest --soak runs. REGEX: only servers whose names match.

A verdict other than PASS is wrong: it is printed, and kept with all that belongs to it below build/soak. Exit status 1 if there was one."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import graders
import known_servers as known

AT_ONCE = 8
BURN = 'while kill -0 "$1"; do :; done'  # ends by itself should we be killed


class Soak:
    def __init__(self, servers, times):
        self.servers, self.times = servers, times
        self.grades = self.wrong = 0

    async def run(self, folder):
        self.arguments = await graders.compile_all(self.servers, folder)
        grades = [server for _ in range(self.times) for server in self.servers]
        self.progress = graders.Progress("grades", len(grades))
        burners = [subprocess.Popen(["sh", "-c", BURN, "sh", str(os.getpid())], stderr=subprocess.DEVNULL) for _ in range(os.cpu_count())]
        try:
            await graders.side_by_side(grades, AT_ONCE, self.grade, self.progress)
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()

    async def grade(self, server):
        skip = ["--skip", ",".join(server.skip)] if server.skip else []
        record, output = await graders.grade(server, [*self.arguments[server.name], *skip])
        self.grades += 1
        checks = [] if record is None else [check for check in record["checks"] if check["asked"] and check["verdict"] != "PASS"]
        if record is None or checks:
            self.wrong += 1
            self.progress.clear()
            seed = f", seed {record['seed']}" if record else ""
            print(f"{server.name}{seed}, kept in {self.keep(server, record, output)}:")
            print(*(f"    {graders.story(check)}" for check in checks) if checks else [output], sep="\n", flush=True)

    def keep(self, server, record, output):
        folder = known.BUILD / "soak" / f"{server.name}-{record['seed'] if record else f'lost-{self.grades}'}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "output.txt").write_text(output)
        (folder / "record.json").write_text(json.dumps(record, indent=2))
        binary = pathlib.Path(self.arguments[server.name][-1])
        if binary.is_file():
            shutil.copy2(binary, folder / "server")
        return folder

    def summary(self):
        return f"grades {self.grades}, wrong verdicts {self.wrong}"


def main(times, only=""):
    soak = Soak(graders.chosen(known.all_right(), only), int(times))
    with tempfile.TemporaryDirectory(prefix="lab-soak-") as folder:
        ended_by = graders.run(soak.run(pathlib.Path(folder)))
    print(f"{'interrupted: ' if ended_by else ''}{soak.summary()}", flush=True)
    if ended_by:
        graders.end_by(ended_by)
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
