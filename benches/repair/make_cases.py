"""Generates the cases: `python3 make_cases.py CACHE LANGUAGE [LIBRARY…]` writes `cases/`.

Needs cosmic-ray in the Python that runs it, cargo-mutants on PATH, and `@stryker-mutator/instrumenter` in
STRYKER_HOME. Nothing is chosen by hand. The tool's mutants of every library are sorted by file and operator in an
order that only depends on the seed, and each is tested in turn until enough were detected by a test that passes
without the fault. Mutants that do not build, that hang or that no test detects are counted in `made.json` and left
out.
"""

import difflib
import json
import random
import sys
import time
from itertools import zip_longest
from pathlib import Path

import library as libraries
import mutants
import units

HERE = Path(__file__).resolve().parent
SEED = 7
WANTED = {"python": 10, "javascript": 7, "rust": 8}
ERASURES_WANTED = {"python": 0, "javascript": 1, "rust": 1}
MAX_TRIED = 60
MAX_SECONDS = 110
MAX_HIDDEN = 30


def dealt(found, chance):
    """Takes one mutant of every file and operator in each round."""
    strata = {}
    for each in found:
        strata.setdefault((each["path"], each["group"]), []).append(each)
    decks = [strata[key] for key in sorted(strata)]
    for deck in decks:
        chance.shuffle(deck)
    chance.shuffle(decks)
    return [each for row in zip_longest(*decks) for each in row if each is not None]


def split(passing, seeing, chance):
    """The hidden tests: half of those that detect the fault, but never all, and half of the others."""
    seeing, others = sorted(seeing), sorted(passing - seeing)
    chance.shuffle(seeing)
    chance.shuffle(others)
    hidden = seeing[: min(len(seeing) // 2, MAX_HIDDEN)]
    hidden += others[: min(len(others) // 2, max(MAX_HIDDEN - len(hidden), 0))]
    # Frameworks deselect by prefix, which must not match visible tests.
    kept = passing - set(hidden)
    return sorted(unit for unit in hidden if not any(other.startswith(unit) for other in kept))


def make(library, cache, tree):
    chance = random.Random(f"{SEED} {library['name']}")
    digest = libraries.lay_out(library, cache, tree)
    began = time.monotonic()
    runs = [units.outcomes(library, tree, 60) for _ in range(2)]
    seconds = (time.monotonic() - began) / 2
    if not all(runs):
        raise SystemExit(f"{library['name']}: the tests do not run")
    every = set(runs[0]) | set(runs[1])
    passing = {unit for unit in every if all(run.get(unit) for run in runs)}
    tool, found = mutants.of(library, tree)
    counts = {"killed": 0, "survived": 0, "hung_or_not_built": 0, "same": 0}
    cases = []
    for kind, wanted in [("edit", WANTED), ("erasure", ERASURES_WANTED)]:
        enough = len(cases) + wanted[library["language"]]
        tried = dealt([each for each in found if each["kind"] == kind], chance)[:MAX_TRIED]
        started = time.monotonic()
        for each in tried:
            if len(cases) >= enough or time.monotonic() - started > MAX_SECONDS:
                break
            case = judged(library, tree, (each, tool), (every, passing), (counts, chance, seconds))
            if case:
                cases.append({"id": f"{library['name']}-{len(cases) + 1:02}", **case})
    row = {
        "archive_sha256": digest,
        "tool": tool,
        "mutants": len(found),
        "tested": counts,
        "units": len(every),
        "units_left_out": sorted(every - passing),
        "seconds": round(seconds, 2),
        "cases": len(cases),
        "command": units.command(library, sorted(every), sorted(every - passing)),
    }
    print(library["name"], json.dumps(row), flush=True)
    return cases, row


def judged(library, tree, made, known, run):
    """The case, if a test detects it."""
    (each, tool), (every, passing), (counts, chance, seconds) = made, known, run
    path = tree / each["path"]
    before = path.read_text()
    after = each["text"]()
    if after is None or after == before:
        counts["same"] += 1
        return None
    try:
        path.write_text(after)
        outcomes = units.outcomes(library, tree, max(20, 10 * seconds))
    finally:
        path.write_text(before)
    if not outcomes:
        counts["hung_or_not_built"] += 1
        return None
    seeing = {unit for unit in passing if not outcomes.get(unit, False)}
    if not seeing:
        counts["survived"] += 1
        return None
    counts["killed"] += 1
    hidden = split(passing, seeing, chance)
    lines = [text.splitlines(keepends=True) for text in [before, after]]
    function = each["function"]
    grown = len(lines[1]) - len(lines[0])
    return {
        "language": library["language"],
        "library": library["name"],
        "version": library["version"],
        "path": each["path"],
        "line": each["line"],
        "function": function and [function[0], max(function[0], function[1] + grown)],
        "tool": tool[0],
        "tool_version": tool[1],
        "operator": each["operator"],
        "kind": each["kind"],
        "fault": "".join(difflib.unified_diff(*lines, f"a/{each['path']}", f"b/{each['path']}")),
        "seen_by": sorted(seeing)[:40],
        "seen_by_count": len(seeing),
        "hidden_seeing_count": len(seeing & set(hidden)),
        "hidden": hidden,
        "visible_command": units.command(library, sorted(every), sorted(set(hidden) | (every - passing))),
    }


def main():
    cache, language, *names = sys.argv[1:]
    cases, rows = [], {}
    for name, library in libraries.libraries().items():
        if library["language"] != language or (names and name not in names):
            continue
        try:
            of_library, row = make(library, Path(cache), Path(cache) / "trees" / name.replace("/", "+"))
        except (SystemExit, Exception) as error:  # One unavailable library must not cost the others.
            print(f"{name}: {error!r}", file=sys.stderr, flush=True)
            continue
        cases += of_library
        rows[name] = row
        (HERE / "cases").mkdir(exist_ok=True)
        text = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
        (HERE / "cases" / f"{language}.jsonl").write_text(text)
        (HERE / "cases" / f"{language}.made.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
