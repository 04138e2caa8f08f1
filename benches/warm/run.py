"""Runs the tests of small projects by hand and with greenlight in turn, and prints what greenlight adds.

Usage: python3 benches/warm/run.py GREENLIGHT [ROUNDS] [PROJECT]…

Each project is installed once and run once before it is measured, so the framework's own caches are full. Then one
operator is replaced, and `greenlight fix` without a model puts it back."""

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from projects import PROJECTS

PLACE = Path(__file__).parent
ROUNDS = 5
# In seconds. Nothing here takes longer, except for a first download.
PATIENCE = 900


def run(words, folder, variables=None):
    """The seconds that a command took."""
    began = time.monotonic()
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    took = time.monotonic() - began
    if done.returncode:
        raise RuntimeError(f"`{' '.join(map(str, words))}` ended with {done.returncode}: {done.stdout[-600:]}")
    return took


def lay_out(project, folder):
    shutil.copytree(PLACE / "projects" / project.name, folder)
    if project.install:
        run(project.install, folder)
    run(["git", "init", "-q", "."], folder)
    commit(folder)


def commit(folder):
    run(["git", "add", "."], folder)
    run(["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-qm", "One"], folder)


def measure(project, binary, rounds):
    """Seconds: by hand, the first `greenlight tests`, later ones, and a fix."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as place:
        variables, folder = {"GREENLIGHT_DATA_DIR": home}, Path(place, "calc")
        lay_out(project, folder)
        run(project.command, folder)
        tests = [binary, "tests", "--quiet"]
        first = run(tests, folder, variables)
        by_hand, again, fixes = [], [], []
        for _ in range(rounds):
            by_hand.append(run(project.command, folder))
            again.append(run(tests, folder, variables))
        path = folder / project.source
        path.write_text(path.read_text().replace("a + b", "a - b"))
        commit(folder)
        for _ in range(rounds):
            run(["git", "checkout", "--quiet", "."], folder)
            # It would remember the fix of the first round.
            fixes.append(run([binary, "fix", "--yes", "--quiet", "--without", "memory"], folder, variables))
            if "a + b" not in path.read_text():
                raise RuntimeError("it did not fix the code")
        return statistics.median(by_hand), first, statistics.median(again), statistics.median(fixes)


def machine():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    described = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return f"{os.cpu_count()} processors ({next(described, platform.machine())})"


def main():
    binary = Path(sys.argv[1]).resolve()
    rounds = next((int(word) for word in sys.argv[2:] if word.isdigit()), ROUNDS)
    wanted = [word for word in sys.argv[2:] if not word.isdigit()]
    commit_id = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    print(f"{date.today()}, {machine()}, commit {commit_id.stdout.strip()}, medians of {rounds} rounds.\n")
    print("| | by hand s | `tests`, first s | again s | ratio | `fix` s | ratio |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for project in PROJECTS:
        if wanted and project.name not in wanted:
            continue
        missing = [program for program in project.needs if not shutil.which(program)]
        if missing:
            print(f"UNAVAILABLE: {project.name} needs {', '.join(missing)}", file=sys.stderr)
            continue
        try:
            by_hand, first, again, fix = measure(project, binary, rounds)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{project.name} is left out: {error}", file=sys.stderr)
            continue
        figures = f"{by_hand:.2f} | {first:.2f} | {again:.2f} | {again / by_hand:.1f} | {fix:.2f} | {fix / by_hand:.1f}"
        print(f"| {project.name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
