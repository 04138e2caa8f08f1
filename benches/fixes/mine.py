"""Chooses fix commits from the history of repositories, by a rule and never by hand.

`python3 mine.py PER_REPOSITORY BARE_REPOSITORY...` prints `repository<TAB>commit<TAB>source` lines. A repository is a
path whose name, or whose parent's name, is `owner+name`.

The rule: the newest commits that are no merge, whose subject says fix, bug or regression, and that change exactly one
source file, by at most MAX_LINES lines, and at least one test file. Other files of the commit may only be prose. The
source file stays, and at most PER_FILE commits have the same one.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

MAX_LINES = 8
PER_FILE = 3
SOURCES = (".py", ".js", ".mjs", ".cjs", ".ts", ".go", ".rs")
PROSE = (".md", ".rst", ".txt", ".adoc", ".markdown")
SAYS_FIX = re.compile(r"\b(fix(es|ed)?|bug(fix)?|regression)\b", re.IGNORECASE)
NOT_CODE = re.compile(r"\b(typo|docs?|ci|lint|flake8|mypy|typing|build|tests?)\b", re.IGNORECASE)
NO_SOURCE = re.compile(r"(^|/)(docs?|examples?|bench(es|marks?)?|scripts?|tools?)/")
TEST = re.compile(
    r"(^|/)(tests?|testing|__tests__|spec)/|(^|/)(test_[^/]*|conftest|tests?)\.py$|_test\.(go|py)$"
    r"|[._-](test|spec)\.[cm]?[jt]s$"
)


def git(repository, *words):
    done = subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True)
    return done.stdout.decode(errors="replace")


def name(repository):
    path = Path(repository)
    found = path.name if "+" in path.name else path.parent.name
    return found.replace("+", "/", 1)


def changed(repository, commit):
    """Status, added and removed lines of each file."""
    status = {}
    for line in git(repository, "show", "--format=", "--name-status", "--no-renames", commit).splitlines():
        kind, _, path = line.partition("\t")
        status[path] = kind
    counted = {}
    for line in git(repository, "show", "--format=", "--numstat", "--no-renames", commit).splitlines():
        added, removed, path = line.split("\t", 2)
        counted[path] = (status.get(path), added, removed)
    return counted


def source(files):
    """The only source file, if the commit is one of those that are wanted."""
    sources, tests = [], 0
    for path, (kind, added, removed) in files.items():
        if TEST.search(path):
            tests += path.endswith(SOURCES)
        elif not path.endswith(PROSE):
            sources.append((path, kind, added, removed))
    if tests == 0 or len(sources) != 1:
        return None
    path, kind, added, removed = sources[0]
    is_source = path.endswith(SOURCES) and not NO_SOURCE.search(path)
    fits = kind == "M" and is_source and added.isdigit() and removed.isdigit()
    return path if fits and 0 < int(added) + int(removed) <= MAX_LINES else None


def mine(repository, limit):
    found, files = [], Counter()
    for line in git(repository, "log", "--no-merges", "-3000", "--format=%H %s", "HEAD").splitlines():
        commit, _, subject = line.partition(" ")
        if not SAYS_FIX.search(subject) or NOT_CODE.search(subject):
            continue
        try:
            path = source(changed(repository, commit))
        except subprocess.CalledProcessError:  # A file of the commit is not in this copy of the repository.
            continue
        if path and files[path] < PER_FILE:
            files[path] += 1
            found.append((commit, path))
        if len(found) == limit:
            break
    return found


if __name__ == "__main__":
    for repository in sys.argv[2:]:
        for commit, path in mine(repository, int(sys.argv[1])):
            print(name(repository), commit, path, sep="\t", flush=True)
