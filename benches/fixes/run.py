"""Lets a scripted model that knows a fix propose it to greenlight, and says whether it was accepted byte for byte.

`python3 run.py GREENLIGHT COMMITS FOLDER [RESULTS] [--builtin] [--half HALF]` takes the lines of mine.py, or those of
one half, and appends one line for each commit to RESULTS: repository, commit, result, cause, seconds, test runs.
Commits that are already there are left out. FOLDER has a bare repository `owner+name/repo` or `owner+name` for each
repository.

The broken state is the tree of the fix, with the source file of its parent. Results:

    same        accepted, byte for byte
    other       accepted, with other bytes
    refused     not accepted, although it is the fix; the cause is what the model was told
    not red     the tests are green in the broken state, so there is nothing to fix here
    red         the tests are red with the fix as well
    not run     the tests cannot be run here
    time        not done in time

With `--builtin`, the built-in engine searches for the fix instead, for two minutes. Its results:

    same        posted, byte for byte
    other       posted, with other bytes; the cause has the patch, to be read
    held same   not posted, but the first finding is the fix
    held        not posted, and the first finding is something else
    none        nothing found
    no search   greenlight does not search, although the tests are red without the fix and green with it
    time        not done in time

Before the search, the tests are run with the fix: if they are not green, the result is `red`, or `not run` if they
cannot be run, or if that takes more than CHECK seconds with the installation. The search starts with a data folder that
has nothing but the installed dependencies of that check.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from mine import bare, digest
from model import Model

TIMEOUT = 420
CHECK = 180
CONFIG = '\n[triage]\nruns = 2\n\n[limits]\nwall = "6m"\n\n[test]\ntimeout = "2m"\n\n[repair]\nwall = "2m"\n'


def git(repository, *words, **more):
    return subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, **more).stdout


def lay_out(repository, commit, path, into):
    """Writes the broken state, and returns both versions of the file. What this copy lacks, such as large files, stays
    away."""
    index = dict(os.environ, GIT_INDEX_FILE=f"{into}.index")
    git(repository, "read-tree", commit, env=index)
    words = ["git", "-C", repository, f"--work-tree={into}", "checkout-index", "-a", "-q"]
    subprocess.run(words, check=False, env=index, stderr=subprocess.DEVNULL)
    before = git(repository, "show", f"{commit}^:{path}")
    after = git(repository, "show", f"{commit}:{path}")
    (Path(into) / path).write_bytes(before)
    if not (Path(into) / "greenlight.toml").exists():
        (Path(into) / "greenlight.toml").write_text(CONFIG)
    git(into, "init", "-q")
    keep(into, "broken")
    return before, after


def keep(into, message):
    """Commits all that is in the folder."""
    for words in (["add", "-A", "-f"], ["commit", "-q", "-m", message]):
        git(into, "-c", "user.name=b", "-c", "user.email=b@example.org", "-c", "commit.gpgsign=false", *words)


def fix(greenlight, model, data, into, timeout=TIMEOUT):
    """What `greenlight fix` reports; with the built-in engine if there is no model."""
    settings, engine = dict(os.environ), "builtin"
    if model:
        engine = "model"
        settings |= {
            "GREENLIGHT_MODEL": "scripted",
            "GREENLIGHT_MODEL_BASE_URL": model.url,
            "GREENLIGHT_MODEL_API_KEY": "sk-scripted",
        }
    words = ["fix", "--install", "--yes", "--json", "--engine", engine, "--data-dir", data, into]
    try:
        done = subprocess.run(
            [greenlight, *words], check=False, capture_output=True, text=True, env=settings, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return None
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"outcome": "usage", "message": done.stderr[-400:]}


def judge(ended, model, into, path, after):
    """The result, and its cause."""
    if ended is None:
        return "time", ""
    message = " ".join(str(ended.get("message") or "").split())
    if ended.get("applied"):
        is_same = (Path(into) / path).read_bytes() == after
        status = git(into, "status", "--porcelain").decode().split("\n")
        others = [line[3:] for line in status if line and line[3:] != path]
        left_out = ((ended.get("proposal") or {}).get("evidence") or {}).get("left_out")
        return ("same", "") if is_same and not others else ("other", f"left out: {left_out}, also: {others}")
    if ended["outcome"] == "nothing_to_fix":
        return "not red", message
    if ended["outcome"] == "limit":
        return "time", message
    refusals = [said for said in model.told if "not accepted" in said or "not good enough" in said.lower()]
    after_submission = model.told[-1:] if not model.turns else []
    told = " ".join(" ".join(refusals[-1:] or after_submission).split())
    if model.turns:
        return "not run", message or ended["outcome"]
    if "not green after the change" in told:
        return "red", told
    return "refused", told or message


def judge_builtin(ended, into, path, after):
    """The result of a search without a model, and its cause."""
    if ended is None:
        return "time", ""
    message = " ".join(str(ended.get("message") or "").split())
    if ended.get("applied"):
        patch = git(into, "diff").decode(errors="replace")
        is_same = (Path(into) / path).read_bytes() == after
        return ("same", "") if is_same else ("other", json.dumps(patch))
    if ended["outcome"] == "nothing_to_fix":
        return "not red", message
    search = ended.get("search")
    if not search:
        return "no search", message or ended["outcome"]
    if not search["unverified"]:
        return "none", message
    first = search["unverified"][0]
    git(into, "apply", "-", input=first["patch"].encode())
    is_same = (Path(into) / path).read_bytes() == after
    cause = json.dumps([first["risks"], first["patch"]])
    return "held same" if is_same else "held", cause


def checked(greenlight, repository, commit, path, data):
    """Why a search says nothing: the tests are not green with the fix, or cannot be run; nothing if they are green."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as room:
        into = f"{room}/work"
        os.mkdir(into)
        _, after = lay_out(repository, commit, path, into)
        (Path(into) / path).write_bytes(after)
        keep(into, "fixed")
        ended = fix(greenlight, None, f"{room}/data", into, CHECK)
        os.mkdir(data)
        if os.path.exists(f"{room}/data/installed"):
            os.rename(f"{room}/data/installed", f"{data}/installed")
    if ended is None:
        return "not run", "the tests with the fix take too long"
    if ended["outcome"] == "nothing_to_fix":
        return None
    message = " ".join(str(ended.get("message") or ended["outcome"]).split())
    return ("red" if ended.get("search") or ended.get("applied") else "not run"), f"with the fix: {message}"


def run(given, model, repository, commit, path, known):
    """The result, its cause, and how many test runs there were."""
    repository = bare(given.folder, repository)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as room:
        data, into = f"{room}/data", f"{room}/work"
        os.mkdir(into)
        before, after = lay_out(repository, commit, path, into)
        if known and digest(before, after) != known:
            return "not run", "this copy of the repository has another commit", ""
        if model:
            model.learn(path, before.decode(), after.decode())
            ended = fix(given.greenlight, model, data, into)
            result, cause = judge(ended, model, into, path, after)
        elif found := checked(given.greenlight, repository, commit, path, data):
            return *found, ""
        else:
            ended = fix(given.greenlight, None, data, into)
            result, cause = judge_builtin(ended, into, path, after)
        return result, cause, ((ended or {}).get("spent") or {}).get("test_runs", "")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("greenlight")
    arguments.add_argument("commits")
    arguments.add_argument("folder")
    arguments.add_argument("results", nargs="?", type=Path)
    arguments.add_argument("--builtin", action="store_true")
    arguments.add_argument("--half", choices=["development", "held-out"])
    given = arguments.parse_args()
    results = given.results
    known = results.read_text().splitlines() if results and results.exists() else []
    done = {tuple(line.split("\t")[:2]) for line in known}
    model = None if given.builtin else Model()
    for line in Path(given.commits).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        repository, commit, path, *more = line.split("\t")
        if (repository, commit) in done or (given.half and given.half not in more):
            continue
        done.add((repository, commit))
        began = time.monotonic()
        result, cause, runs = run(given, model, repository, commit, path, more[0] if more else None)
        row = [repository, commit, result, cause[:2000], f"{time.monotonic() - began:.0f}", str(runs)]
        print("\t".join(row), flush=True)
        if results:
            with results.open("a") as file:
                file.write("\t".join(row) + "\n")


if __name__ == "__main__":
    main()
