"""Which of a library's tests can be hidden without editing them, and which of them failed in a run.

A unit is a test function of pytest, a test of cargo or Mocha by its full name, or a file of tape and `node --test`.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys


def finish(command, cwd, seconds):
    """The exit code (None if it took too long) and the output; ends all processes that it started."""
    started = subprocess.Popen(
        ["bash", "-c", command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
        env={**os.environ, "CARGO_NET_OFFLINE": "true"},
    )
    try:
        printed, _ = started.communicate(timeout=seconds)
        return started.returncode, printed
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
        return None, ""


def command(library, units, hidden):
    """The shell command for `[test] command` that runs all units except the hidden ones."""
    runner = library["runner"]
    quoted = " ".join(shlex.quote(test) for test in library["tests"])
    if runner == "pytest":
        words = "".join(f" --deselect {shlex.quote(unit)}" for unit in hidden)
        return f"python -m pytest -q {quoted}{words}"
    if runner == "cargo":
        words = "".join(f" --skip {shlex.quote(unit)}" for unit in hidden)
        return "cargo test --lib --tests" + (f" -- --exact{words}" if hidden else "")
    if runner == "mocha":
        names = "|".join(re.escape(unit).replace("/", ".").replace("\\ ", " ") for unit in hidden)
        words = f" --invert --grep {shlex.quote(f'^({names})$')}" if hidden else ""
        return f"npx mocha {quoted}{words}"
    shown = " ".join(shlex.quote(unit) for unit in units if unit not in hidden)
    return f"npx tape {shown}" if runner == "tape" else f"node --test {shown}"


def outcomes(library, tree, seconds):
    """Every unit and whether it passed. None if a run took too long or its output is unreadable."""
    return {"pytest": pytest, "cargo": cargo, "mocha": mocha}.get(library["runner"], files)(library, tree, seconds)


def function_of(name):
    return name.split("[", 1)[0].split(" - ", 1)[0].strip()


def pytest(library, tree, seconds):
    tests = " ".join(shlex.quote(test) for test in library["tests"])
    line = f".venv/bin/python -m pytest -q -rA --tb=no --no-header -p no:cacheprovider {tests}"
    code, printed = finish(line, tree, seconds)
    if code is None:
        return None
    found = {}
    for line in printed.splitlines():
        match = re.match(r"(PASSED|FAILED|ERROR) (\S+?::.+|\S+\.py)", line)
        if match:
            name = function_of(match[2])
            found[name] = found.get(name, True) and match[1] == "PASSED"
    return found or None


def cargo(library, tree, seconds):
    code, printed = finish("cargo test --lib --tests --no-fail-fast -- --test-threads 2", tree, seconds)
    if code is None:
        return None
    found = {}
    for name, how in re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED)", printed, re.MULTILINE):
        found[name] = found.get(name, True) and how == "ok"
    return found or None


def mocha(library, tree, seconds):
    code, printed = finish(f"npx mocha --reporter json {' '.join(library['tests'])}", tree, seconds)
    start = printed.find("{")
    if code is None or start < 0:
        return None
    try:
        read, _ = json.JSONDecoder().raw_decode(printed[start:])
    except ValueError:
        return None
    found = {}
    for kind, passed in [("passes", True), ("failures", False)]:
        for test in read[kind]:
            found[test["fullTitle"]] = found.get(test["fullTitle"], True) and passed
    return found or None


def files(library, tree, seconds):
    """Runs each in a separate process. A file that hangs has failed; after the second such file the rest is skipped."""
    found, hung = {}, 0
    names = sorted({str(path.relative_to(tree)) for pattern in library["tests"] for path in tree.glob(pattern)})
    for name in names:
        program = "node_modules/.bin/tape" if library["runner"] == "tape" else "node --test"
        line = f"{program} {shlex.quote(name)}"
        code, _ = finish(line, tree, seconds)
        found[name] = code == 0
        hung += code is None
        if hung > 1:
            return None
    return found or None


def command_of_only(library, shown):
    """The shell command that runs only these units: what a naive search starts for each candidate."""
    quoted = " ".join(shlex.quote(unit) for unit in shown)
    if library["runner"] == "pytest":
        return f"python -m pytest -q {quoted}"
    if library["runner"] == "cargo":
        return f"cargo test --lib --tests -- --exact {quoted}"
    if library["runner"] == "mocha":
        names = "|".join(re.escape(unit) for unit in shown)
        return f"npx mocha {' '.join(library['tests'])} --grep {shlex.quote(f'^({names})$')}"
    return f"npx tape {quoted}" if library["runner"] == "tape" else f"node --test {quoted}"


if __name__ == "__main__":
    import library as libraries

    print(command_of_only(libraries.libraries()[sys.argv[1]], sys.argv[2:]))
