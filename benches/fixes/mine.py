"""Chooses fix commits from the history of repositories, by a rule and never by hand.

`python3 mine.py PER_REPOSITORY FOLDER` prints `repository<TAB>commit<TAB>source<TAB>digest<TAB>half` lines for the
repositories of repositories.txt: the first commit of every repository first, one of each language after the other, and
repositories in the order of the SHA-256 of their names. FOLDER has a bare repository `owner+name/repo` or `owner+name`
for each of them.

No code is stored: the digest is the SHA-256 of the source file before the fix, a NUL, and the file after it, so that
run.py can tell whether a copy of the repository has the same commit.

The rule: the newest commits that are no merge, whose subject says fix, bug or regression, and that change exactly one
source file, by at most MAX_LINES lines, and at least one test file. Other files of the commit may only be prose. The
source file stays, and at most PER_FILE commits have the same one. A source in Java is below `src/main/java`.

Only repositories with a permissive licence count: the licence files of the newest commit, or else its manifest, name
one of PERMISSIVE, and none of them has the title of a licence in OTHER. Those left out go to standard error, and how
many commits there are of each language.

The half is `development` or `held-out`, by the first hex digit of the SHA-256 of `owner/name`: even is development.
A repository that was already used while the engine was built is development, whatever its hash: those of commits.tsv,
and those with the name of a library that the mutants of benches/repair are made from.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
MAX_LINES = 8
PER_FILE = 3
NEWEST = 3000
LANGUAGES = {
    "Python": (".py",),
    "JavaScript": (".js", ".mjs", ".cjs", ".jsx"),
    "TypeScript": (".ts", ".mts", ".cts", ".tsx"),
    "Rust": (".rs",),
    "Go": (".go",),
    "Java": (".java",),
}
SOURCES = tuple(ending for endings in LANGUAGES.values() for ending in endings)
PROSE = re.compile(
    r"\.(md|rst|txt|adoc|markdown)$"
    r"|(^|/)(changes|changelog|history|news|authors|contributors|credits)$"
    r"|(^|/)(release-notes|newsfragments|changelog\.d|\.changeset)/"
    r"|(^|/)src/changes/changes\.xml$",
    re.IGNORECASE,
)
SAYS_FIX = re.compile(r"\b(fix(es|ed)?|bug(fix)?|regression)\b", re.IGNORECASE)
NOT_CODE = re.compile(r"\b(typos?|docs?|javadocs?|ci|lint|flake8|mypy|typing|build|tests?)\b", re.IGNORECASE)
NO_SOURCE = re.compile(r"(^|/)(docs?|examples?|bench(es|marks?)?|scripts?|tools?)/|\.d\.[cm]?ts$")
TEST = re.compile(
    r"(^|/)(tests?|testing|testdata|__tests__|__snapshots__|spec)/"
    r"|(^|/)(test_[^/]*|conftest|tests?)\.py$|_test\.(go|py)$"
    r"|(^|/)tests?\.[cm]?[jt]sx?$|[._-](test|spec)\.[cm]?[jt]sx?$"
)
LICENCE = re.compile(r"^((UN)?LICEN[CS]E|COPYING)[^/]*$", re.IGNORECASE)
MANIFESTS = ("package.json", "Cargo.toml", "pyproject.toml", "setup.cfg", "setup.py", "pom.xml")
PERMISSIVE = {
    "MIT": r"Permission is hereby granted, free of charge, to any person obtaining a copy",
    "ISC": r"Permission to use, copy, modify,? and(/or)? distribute this software for any purpose",
    "Apache-2.0": r"Apache License,? *Version 2\.0|www\.apache\.org/licenses/LICENSE-2\.0",
    "BSD": r"Redistribution and use in source and binary forms",
    "Unlicense": r"This is free and unencumbered software released into the public domain",
}
OTHER = re.compile(
    r"GNU (LESSER |AFFERO |LIBRARY )?GENERAL PUBLIC LICENSE Version|(Eclipse|Mozilla) Public License|^ *EPL",
    re.IGNORECASE,
)
IN_MANIFEST = re.compile(
    r"""["']?\blicen[cs]e["']? *[:=] *(\{ *text *= *)?["']?"""
    r"""(?P<named>[^"'\n]*)|<licen[cs]e> *<name>(?P<xml>[^<]*)""",
    re.IGNORECASE,
)
NAMED = re.compile(r"\b(MIT|ISC|Apache|BSD|Unlicense)\b", re.IGNORECASE)


def git(repository, *words):
    done = subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True)
    return done.stdout.decode(errors="replace")


def blob(repository, which):
    return subprocess.run(["git", "-C", repository, "show", which], check=True, capture_output=True).stdout


def bare(folder, repository):
    kept = Path(folder) / repository.replace("/", "+", 1)
    return str(kept / "repo" if (kept / "repo").is_dir() else kept)


def language(path):
    return next(language for language, endings in LANGUAGES.items() if path.endswith(endings))


def licence(repository):
    """The permissive licence of the repository, if it has one and no other."""
    files = git(repository, "ls-tree", "--name-only", "HEAD").splitlines()
    texts = [
        " ".join(blob(repository, f"HEAD:{f}").decode(errors="replace").split()) for f in files if LICENCE.match(f)
    ]
    if any(OTHER.search(text[:2000]) for text in texts):
        return None
    for called, words in PERMISSIVE.items():
        if any(re.search(words, text, re.IGNORECASE) for text in texts):
            return called
    for manifest in MANIFESTS:
        if manifest in files:
            for found in IN_MANIFEST.finditer(blob(repository, f"HEAD:{manifest}").decode(errors="replace")):
                named = NAMED.search(found["named"] or found["xml"] or "")
                if named:
                    return named[0]
    return None


def half(repository):
    """`development` or `held-out`: all commits of a repository are in the same half."""
    lines = (HERE / "commits.tsv").read_text().splitlines()
    seen = {line.split("\t")[0] for line in lines if not line.startswith("#")}
    libraries = json.loads((HERE.parent / "repair" / "libraries.json").read_text())
    if repository in seen or repository.split("/")[1] in {library["name"].split("/")[-1] for library in libraries}:
        return "development"
    first = hashlib.sha256(repository.encode()).hexdigest()[0]
    return "held-out" if int(first, 16) % 2 else "development"


def digest(before, after):
    return hashlib.sha256(before + b"\0" + after).hexdigest()


def changed(repository, commit):
    """Status, added and removed lines of each file."""
    status, counted = {}, {}
    for line in git(repository, "show", "--format=", "--raw", "--numstat", "--no-renames", commit).splitlines():
        if line.startswith(":"):
            described, _, path = line.partition("\t")
            status[path] = described.split()[-1]
        elif line:
            added, removed, path = line.split("\t", 2)
            counted[path] = (status.get(path), added, removed)
    return counted


def source(files):
    """The only source file, if the commit is one of those that are wanted."""
    sources, tests = [], 0
    for path, (kind, added, removed) in files.items():
        if TEST.search(path):
            tests += path.endswith(SOURCES)
        elif not PROSE.search(path):
            sources.append((path, kind, added, removed))
    if tests == 0 or len(sources) != 1:
        return None
    path, kind, added, removed = sources[0]
    is_source = path.endswith(SOURCES) and not NO_SOURCE.search(path)
    is_source &= not path.endswith(".java") or "src/main/java/" in path
    fits = kind == "M" and is_source and added.isdigit() and removed.isdigit()
    return path if fits and 0 < int(added) + int(removed) <= MAX_LINES else None


def mine(repository, limit):
    found, files = [], Counter()
    for line in git(repository, "log", "--no-merges", f"-{NEWEST}", "--format=%H %s", "HEAD").splitlines():
        commit, _, subject = line.partition(" ")
        if not SAYS_FIX.search(subject) or NOT_CODE.search(subject):
            continue
        try:
            path = source(changed(repository, commit))
            if path is None or files[path] == PER_FILE:
                continue
            known = digest(blob(repository, f"{commit}^:{path}"), blob(repository, f"{commit}:{path}"))
        except subprocess.CalledProcessError:  # A file of the commit is not in this copy of the repository.
            continue
        files[path] += 1
        found.append((commit, path, known))
        if len(found) == limit:
            break
    return found


def main():
    limit, folder = int(sys.argv[1]), sys.argv[2]
    rows, seen = [], Counter()
    names = (HERE / "repositories.txt").read_text().split()
    for name in sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest()):
        repository, part = bare(folder, name), half(name)
        if not licence(repository):
            print(f"{name}: no permissive licence", file=sys.stderr)
            continue
        for place, (commit, path, known) in enumerate(mine(repository, limit)):
            spoken = language(path)
            turn = seen[place, spoken, part]
            seen[place, spoken, part] += 1
            rows.append(((place, turn, list(LANGUAGES).index(spoken)), name, commit, path, known, part))
    print("# repository", "commit", "source", "digest", "half", sep="\t")
    for _, *row in sorted(rows):
        print(*row, sep="\t")
    counted = Counter((language(row[3]), row[5]) for row in rows)
    for spoken in LANGUAGES:
        parts = (f"{counted[spoken, part]} {part}" for part in ("development", "held-out"))
        print(f"{spoken}: {', '.join(parts)}", file=sys.stderr)


if __name__ == "__main__":
    main()
