"""Repairs bugs that people made, without a model: `python3 people.py GREENLIGHT QUIXBUGS [NAME…]`.

QUIXBUGS is a clone or bare repository of https://github.com/jkoppel/QuixBugs, of which the commit `4257f44` is used:
40 small programs in Python, each with one bug, its tests and the right program. Each becomes a repository with one
commit, and is repaired for two minutes at most. A fix is right if it returns what the right program returns, for
the inputs of the tests and up to 200 variations of them; where the inputs are objects, if it passes the tests.
"held back, right" is a fix that was not posted although the first finding is right.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMMIT = "4257f44b0ff1181dedaedee6a447e133219fcebf"
SETTINGS = '[repair]\nwall = "{0}m"\n[limits]\nwall = "{0}m"\n'
VARIATIONS = 200
# What a program returns for each input, in a process that can be killed.
CALL = """
import io, json, signal, sys
answer, sys.stdout = sys.stdout, io.StringIO()
text, name, inputs, seconds = json.load(sys.stdin)
sys.setrecursionlimit(600)
program, returned = {"__name__": "program"}, []
exec(text, program)
def late(*_):
    raise TimeoutError
# Processor time, which other processes do not use up.
signal.signal(signal.SIGVTALRM, late)
for each in inputs:
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        value = program[name](*each)
        value = list(value) if hasattr(value, "__next__") else value
        returned.append(repr(value))
    except Exception as error:
        returned.append(None if isinstance(error, TimeoutError) else type(error).__name__)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
json.dump(returned, answer)
"""


def listed(source, folder):
    command = ["git", "-C", source, "ls-tree", "--name-only", f"{COMMIT}:{folder}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def shown(source, path):
    command = ["git", "-C", source, "show", f"{COMMIT}:{path}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def varied(chance, value):
    """The same kind of value, a little different. What was sorted stays sorted."""
    if isinstance(value, bool):
        return chance.random() < 0.5
    if isinstance(value, int):
        return abs(value + chance.choice([-2, -1, 1, 2])) if value >= 0 else value - chance.choice([0, 1, 2])
    if isinstance(value, float):
        return round(value + chance.choice([-0.5, 0.5, 1.25]), 3)
    if isinstance(value, str) and value:
        at = chance.randrange(len(value))
        return value[:at] + chance.choice(["", value[at] * 2, chance.choice(value)]) + value[at + 1 :]
    if isinstance(value, tuple):
        return tuple(varied(chance, list(value)))
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        kept, other = list(value), chance.choice(value)
        kept[at : at + 1] = chance.choice([[], [kept[at], other], [varied(chance, kept[at])]])
        try:
            return sorted(kept) if value == sorted(value) else kept
        except TypeError:
            return kept
    return value


def variations(inputs):
    chance = random.Random(1)
    every = list(inputs)
    while inputs and len(every) < len(inputs) + VARIATIONS:
        chosen = list(chance.choice(every))
        if not chosen:
            break
        at = chance.randrange(len(chosen))
        every.append([*chosen[:at], varied(chance, chosen[at]), *chosen[at + 1 :]])
    return every


def returned(text, name, inputs, seconds):
    given = json.dumps([text, name, inputs, seconds])
    command = [sys.executable, "-c", CALL]
    # A program that catches every error does not end.
    most = 30 + seconds * len(inputs)
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=most)
    except subprocess.TimeoutExpired:
        return [None] * len(inputs)
    return json.loads(done.stdout)


def agree(wanted, found):
    """Inputs that the right program refuses, or takes long for, count for nothing."""
    both = zip(wanted, found, strict=True)
    return all(want == has for want, has in both if want is not None and not want.endswith("Error"))


class Python:
    """The programs in Python."""

    @staticmethod
    def names(source):
        files = listed(source, "correct_python_programs")
        programs = [
            name.removesuffix(".py") for name in files if name.endswith(".py") and not name.endswith("_test.py")
        ]
        return [name for name in programs if name != "node"]

    @staticmethod
    def edited(name):
        return f"{name}.py"

    @staticmethod
    def case(source, name):
        """The files of a repository, and the inputs of its tests. No inputs: they are objects."""
        test = shown(source, f"python_testcases/test_{name}.py")
        test = re.sub(r"if pytest\.use_correct:\n.*?else:\n +(from python_programs.*?\n)", r"\1", test, flags=re.DOTALL)
        test = test.replace("python_programs.", "").replace("not pytest.run_slow and ", "")
        files = {f"{name}.py": shown(source, f"python_programs/{name}.py")}
        inputs = []
        if "load_json_testcases" in test:
            cases = shown(source, f"json_testcases/{name}.json")
            given = [json.loads(line)[0] for line in cases.splitlines() if line.strip()]
            inputs = [each if isinstance(each, list) else [each] for each in given if len(json.dumps(each)) < 400]
            read = f'[json.loads(line) for line in (Path(__file__).parent / "{name}.json").read_text().splitlines()]'
            test = test.replace("from load_testdata import load_json_testcases\n", "")
            test = "import json\nfrom pathlib import Path\n" + re.sub(
                r"load_json_testcases\(.*?\)", lambda _: read, test
            )
            files[f"{name}.json"] = cases
        else:
            files["node.py"] = shown(source, "python_testcases/node.py")
        return files | {f"test_{name}.py": test}, inputs

    @staticmethod
    def is_right(source, name, text, inputs):
        if not inputs:
            return True
        every = variations(inputs)
        wanted = returned(shown(source, f"correct_python_programs/{name}.py"), name, every, 0.2)
        # Longer, or what takes the right program nearly as long would depend on chance.
        return agree(wanted, returned(text, name, every, 2))


def git(folder, *arguments):
    names = {f"GIT_{who}_{what}": "bench@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=folder, env=os.environ | names, check=True, capture_output=True)


def verdict(greenlight, source, language, minutes, name):
    files, inputs = language.case(source, name)
    if not files:
        return "skipped", 0, ""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as data:
        for path, text in (files | {"greenlight.toml": SETTINGS.format(minutes)}).items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text)
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "all")
        kept = getattr(language, "data_folder", None) or data
        command = [greenlight, "fix", folder, "--yes", "--engine", "builtin", "--json", "--data-dir", kept]
        began = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, timeout=minutes * 60 + 30, check=False)
        except subprocess.TimeoutExpired:
            return "slow", minutes * 60 + 30, ""
        took = time.monotonic() - began
        ended = json.loads(done.stdout)
        findings = (ended.get("search") or {}).get("unverified") or []
        if not ended["applied"] and not findings:
            return "none", took, done.stderr.decode().strip().rpartition("\n")[2]
        if not ended["applied"]:
            patch = findings[0]["patch"].encode()
            subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, check=True, capture_output=True)
        after = (Path(folder) / language.edited(name)).read_text()
        right = {True: "right", False: "wrong", None: "different"}[language.is_right(source, name, after, inputs)]
        if ended["applied"]:
            return right, took, ""
        return f"held back, {right}", took, f"{len(findings)}: " + "; ".join(findings[0]["risks"])


def main(language, description):
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("greenlight")
    arguments.add_argument("source", help="a clone of the repository of the programs")
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--workers", type=int, default=2, help="how many cases are repaired at the same time")
    arguments.add_argument("--minutes", type=int, default=2, help="how long each may take")
    given = arguments.parse_args()
    greenlight = str(Path(given.greenlight).resolve())
    names = given.names or language.names(given.source)
    verdicts = {}
    with ThreadPoolExecutor(given.workers) as workers:
        found = workers.map(lambda name: verdict(greenlight, given.source, language, given.minutes, name), names)
        for name, (ended, took, why) in zip(names, found, strict=True):
            print(f"{name}: {ended} ({took:.1f} s) {why}".strip(), flush=True)
            verdicts[name] = ended, took
    counted = Counter(found for found, _ in verdicts.values())
    seconds = [took for found, took in verdicts.values() if found == "right"]
    print(f"{len(names)} programs: {dict(counted)}")
    if seconds:
        print(f"until a right fix: median {statistics.median(seconds):.1f} s")


if __name__ == "__main__":
    main(Python, __doc__)
