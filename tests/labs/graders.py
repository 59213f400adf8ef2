"""Many graders at once: how far they are, what is left when somebody interrupts them (nothing), and which servers are meant."""
import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import known_servers as known

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Progress:
    """A line that is written over on a terminal; elsewhere a line at each tenth of the way."""

    def __init__(self, what, total):
        self.what, self.total, self.done = what, total, 0
        self.live = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def step(self):
        tenth = self.done * 10 // self.total
        self.done += 1
        line = f"{self.what}: {self.done} of {self.total}"
        if self.live:
            print(f"\r\033[K{line}", end="", flush=True)
        elif self.done * 10 // self.total > tenth:
            print(line, flush=True)

    def clear(self):
        if self.live:
            print("\r\033[K", end="", flush=True)


async def side_by_side(jobs, at_once, work, progress):
    """`await work(job)` for each of them, `at_once` at a time."""
    left = iter(jobs)

    async def worker():
        for job in left:
            await work(job)
            progress.step()

    try:
        await asyncio.gather(*(worker() for _ in range(at_once)))
    finally:
        progress.clear()


async def grade(server, arguments):
    """The record, None when there is none, and all that the grader wrote."""
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder, "record.json")
        grader = await asyncio.create_subprocess_exec(
            known.LAB_PROGRAM, "grade", str(server.lab), "--json", record, *arguments,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = await grader.communicate()
            if -grader.returncode in ENDING:  # Ctrl-C reaches all of us; our own handler is about to run
                await asyncio.Future()
        except asyncio.CancelledError:
            if grader.returncode is None:
                grader.terminate()
                await grader.wait()
            raise
        output = output.decode(errors="replace")
        if not record.exists():
            return None, f"exit status {grader.returncode} and no record\n{output}"
        return json.loads(record.read_text()), output


async def compile_all(servers, folder):
    """The arguments of `lab grade` for each server, by name."""
    arguments = {}

    async def one(server):
        arguments[server.name] = await asyncio.to_thread(server.arguments, folder)

    await side_by_side(servers, os.cpu_count(), one, Progress("compiled", len(servers)))
    return arguments


def run(work):
    """Runs the coroutine. Whether a signal cut it short: then every grader has ended before this returns its number."""
    ended_by = []

    async def main():
        task = asyncio.current_task()

        def end(number):
            if not ended_by:
                task.cancel()
            ended_by.append(number)

        for number in ENDING:
            asyncio.get_running_loop().add_signal_handler(number, end, number)
        await work

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        return ended_by[0]
    return None


def end_by(number):
    """As the shell expects of a program that a signal ended."""
    sys.stdout.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def used_wrongly(text):
    print(f"lab: {text}", file=sys.stderr)
    sys.exit(2)


def chosen(servers, only):
    """Those whose names match; all when `only` is empty."""
    try:
        found = [server for server in servers if re.search(only, server.name)]
    except re.error as error:
        used_wrongly(f"--only: \"{only}\" is no regular expression: {error}")
    if not found:
        used_wrongly(f"--only: no server's name matches \"{only}\"; there are {servers[0].name}, {servers[-1].name} and others")
    return found


def story(check):
    """What one check found, on one line."""
    told = " ".join(filter(None, (check["story"]["did"], check["story"]["server_did"], check["cause"])))
    return f"{check['id']} {check['verdict']} {check['diagnosis'] or '(no diagnosis)'}: {told}"
