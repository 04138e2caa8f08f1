"""Counts what run.py --builtin found, by language, with Wilson's 95 % intervals.

`python3 table.py RESULTS COMMITS` prints a table in Markdown, and what could not be judged by cause. RESULTS has the
lines of run.py; where a result is `other`, `other right` or `other wrong` says what a person read.
"""

import math
import sys
from collections import Counter, defaultdict
from pathlib import Path

from mine import LANGUAGES, language

RIGHT = ("same", "other right")
COLUMNS = {
    "posted, right": RIGHT,
    "posted, wrong": ("other wrong", "other"),
    "not posted, and the first finding is the fix": ("held same",),
    "not posted, other": ("held",),
    "not found": ("none",),
    "not searched": ("no search",),
    "not done in time": ("time",),
}
Z = 1.959964


def wilson(found, of):
    """The interval in per cent."""
    share = found / of
    middle = share + Z * Z / (2 * of)
    spread = Z * math.sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    return [round(100 * (middle + side * spread) / (1 + Z * Z / of)) for side in (-1, 1)]


def row(called, results):
    cells = [sum(results[result] for result in column) for column in COLUMNS.values()]
    judged = sum(cells)
    share = f"{cells[0]} ({100 * cells[0] / judged:.0f} %)" if judged else "0"
    print("|", " | ".join(str(cell) for cell in (called, sum(results.values()), judged, share, *cells[1:])), "|")
    return cells[0], judged


def main():
    sources = {}
    for line in Path(sys.argv[2]).read_text().splitlines():
        if not line.startswith("#"):
            repository, commit, path, *_ = line.split("\t")
            sources[repository, commit] = path
    counted, causes = defaultdict(Counter), Counter()
    for line in Path(sys.argv[1]).read_text().splitlines():
        if line.startswith("#"):
            continue
        repository, commit, result, *_ = line.split("\t")
        spoken = language(sources[repository, commit])
        counted[spoken][result] += 1
        causes[result] += 1
    print("| | tried | judged |", " | ".join(COLUMNS), "|")
    print("|---" + "|--:" * (len(COLUMNS) + 2) + "|")
    for spoken in LANGUAGES:
        if spoken in counted:
            row(spoken, counted[spoken])
    found, judged = row("all", causes)
    if judged:
        low, high = wilson(found, judged)
        print(f"\n{found} of {judged}: {100 * found / judged:.0f} %, and {low} to {high} % with 95 % confidence")
    print(*(f"{result}: {count}" for result, count in causes.most_common()), sep=", ")


if __name__ == "__main__":
    main()
