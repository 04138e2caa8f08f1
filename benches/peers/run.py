"""Runs the same scripted repair through other agents and through greenlight in turn, each pinned to one core, and
prints what each costs.

Usage: python3 benches/peers/run.py GREENLIGHT [ROUNDS] [AGENT]…

The repository has one wrong operator and one failing test. The model answers at once. The floor is what the agents
have to do: two runs of the tests and an edit. Agents are installed below target/ci/peers from their registries."""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from agents import AGENTS, Greenlight, environment
from model import EDIT, TESTS, Script, serve

FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "pyproject.toml": '[project]\nname = "calc"\nversion = "0.1.0"\n\n[tool.pytest.ini_options]\n',
    # The model is measured, which the built-in engine would forestall.
    "greenlight.toml": '[repair]\nbefore_model = "0s"\n',
}
ROUNDS = 5
# In seconds. Nothing here takes longer.
PATIENCE = 180
INTERVAL = 0.01


def repository(folder):
    for name, text in FILES.items():
        Path(folder, name).write_text(text)
    me = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "-q"], ["add", "."], [*me, "commit", "-qm", "One wrong operator"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def children():
    """The children of every process."""
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:
                continue
            found.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    return found


def tree_mib(process):
    """The memory of a process and its descendants, shared pages divided."""
    below, found, total = children(), [process], 0
    while found:
        one = found.pop()
        found += below.get(one, [])
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def run(words, variables, script, server, is_watched=False):
    """Runs an agent once: seconds, CPU seconds, MiB of its tree, seconds until the first call, and KB of its prompt."""
    server.script = script
    with tempfile.TemporaryDirectory() as folder:
        repository(folder)
        before, began = os.times(), time.monotonic()
        process = subprocess.Popen(
            ["taskset", "--cpu-list", "0", *words],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        peak = 0.0
        while is_watched and process.poll() is None:
            peak = max(peak, tree_mib(process.pid))
            time.sleep(INTERVAL)
        try:
            said, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
        wall, after = time.monotonic() - began, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        is_fixed = "a + b" in Path(folder, "calc.py").read_text()
    if not is_fixed:
        raise RuntimeError(f"it did not fix the code: {said[-600:]}")
    first = (script.first_call or began) - began
    return {"wall": wall, "cpu": cpu, "tree": peak, "first": first, "prompt": script.prompt_bytes / 1000}


def floor(server):
    words = ["bash", "-c", f"{TESTS} > /dev/null; {EDIT}; {TESTS} > /dev/null"]
    return run(words, environment({}, "/tmp"), Script(), server)


def measure(agent, root, server, is_watched):
    """One run of an agent, with a home of its own."""
    url = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as home:
        words, variables = agent.start(root / agent.name, url, home)
        return run(words, environment(variables, home), Script(agent.last), server, is_watched)


def installed(binary, root, wanted):
    found = [Greenlight(binary)]
    for agent in AGENTS:
        if wanted and agent.name not in wanted:
            continue
        problem = agent.install(root)
        if problem:
            print(f"UNAVAILABLE: {agent} cannot be installed ({problem})", file=sys.stderr)
            continue
        found.append(agent)
    return found


def main():
    binary = Path(sys.argv[1]).resolve()
    rounds = next((int(word) for word in sys.argv[2:] if word.isdigit()), ROUNDS)
    wanted = [word for word in sys.argv[2:] if not word.isdigit()]
    root = Path("target/ci/peers").resolve()
    server = serve()
    agents, rows, floors = installed(binary, root, wanted), {}, []
    for number in range(rounds + 1):
        # The first round warms up caches, and measures memory.
        is_watched = number == 0
        floors.append(floor(server)["wall"])
        for agent in list(agents):
            try:
                rows.setdefault(agent.name, []).append(measure(agent, root, server, is_watched))
            except (RuntimeError, StopIteration, OSError) as error:
                print(f"{agent} is left out: {error}", file=sys.stderr)
                agents.remove(agent)
    show(agents, rows, floors[1:], root)


def show(agents, rows, floors, root):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    described = (line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    machine = f"{os.cpu_count()} processors ({next(described, platform.machine())})"
    print(f"{date.today()}, {machine}, commit {commit.stdout.strip()}, medians of {len(floors)} rounds.")
    print(f"The floor, two runs of the tests and an edit, took {statistics.median(floors):.2f} s.\n")
    print("| | net s | ratio | wall s | CPU s | tree MiB | first call s | prompt KB | installed MB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    ours = None
    for agent in agents:
        first, *timed = rows[agent.name]
        wall, cpu, call, prompt = (
            statistics.median(one[key] for one in timed) for key in ("wall", "cpu", "first", "prompt")
        )
        net = statistics.median(one["wall"] - base for one, base in zip(timed, floors, strict=True))
        ours = ours or net
        figures = f"{wall:.2f} | {cpu:.2f} | {first['tree']:.0f} | {call:.2f} | {prompt:.0f}"
        print(f"| {agent} | {net:.2f} | {net / ours:.1f} | {figures} | {agent.megabytes(root):.0f} |")


if __name__ == "__main__":
    main()
