"""Lets a scripted model that knows a fix propose it to greenlight, and says whether it was accepted byte for byte.

`python3 run.py GREENLIGHT COMMITS FOLDER [RESULTS]` takes the lines of mine.py, and appends one line for each commit to
RESULTS: repository, commit, result, cause, seconds, test runs. Commits that are already there are left out. FOLDER has
a bare repository `owner+name/repo` or `owner+name` for each repository.

The broken state is the tree of the fix, with the source file of its parent. Results:

    same        accepted, byte for byte
    other       accepted, with other bytes
    refused     not accepted, although it is the fix; the cause is what the model was told
    not red     the tests are green in the broken state, so there is nothing to fix here
    red         the tests are red with the fix as well
    not run     the tests cannot be run here
    time        not done in time
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from model import Model

TIMEOUT = 420
CONFIG = '\n[triage]\nruns = 2\n\n[limits]\nwall = "6m"\n\n[test]\ntimeout = "2m"\n'


def git(repository, *words, **more):
    return subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True, **more).stdout


def bare(folder, repository):
    kept = Path(folder) / repository.replace("/", "+", 1)
    return str(kept / "repo" if (kept / "repo").is_dir() else kept)


def lay_out(repository, commit, path, into):
    """Writes the broken state, and returns both versions of the file."""
    archive = subprocess.Popen(["git", "-C", repository, "archive", commit], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", into], check=True, stdin=archive.stdout)
    archive.wait()
    before = git(repository, "show", f"{commit}^:{path}").decode()
    after = git(repository, "show", f"{commit}:{path}").decode()
    (Path(into) / path).write_text(before, newline="")
    if not (Path(into) / "greenlight.toml").exists():
        (Path(into) / "greenlight.toml").write_text(CONFIG)
    for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "broken"]):
        git(into, "-c", "user.name=b", "-c", "user.email=b@example.org", "-c", "commit.gpgsign=false", *words)
    return before, after


def fix(greenlight, model, data, into):
    settings = {
        **os.environ,
        "GREENLIGHT_MODEL": "scripted",
        "GREENLIGHT_MODEL_BASE_URL": model.url,
        "GREENLIGHT_MODEL_API_KEY": "sk-scripted",
    }
    words = ["fix", "--install", "--yes", "--json", "--engine", "model", "--data-dir", data, into]
    try:
        done = subprocess.run(
            [greenlight, *words], check=False, capture_output=True, text=True, env=settings, timeout=TIMEOUT
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
        is_same = (Path(into) / path).read_bytes() == after.encode()
        status = git(into, "status", "--porcelain").decode().split("\n")
        others = [line[3:] for line in status if line and line[3:] != path]
        left_out = ((ended.get("proposal") or {}).get("evidence") or {}).get("left_out")
        return ("same", "") if is_same and not others else ("other", f"left out: {left_out}, also: {others}")
    if ended["outcome"] == "nothing_to_fix":
        return "not red", message
    refusals = [said for said in model.told if "not accepted" in said or "not good enough" in said.lower()]
    after_submission = model.told[-1:] if not model.turns else []
    told = " ".join(" ".join(refusals[-1:] or after_submission).split())
    if model.turns:
        return "not run", message or ended["outcome"]
    if "not green after the change" in told:
        return "red", told
    return "refused", told or message


def main():
    greenlight, commits, folder = sys.argv[1:4]
    results = Path(sys.argv[4]) if len(sys.argv) > 4 else None
    known = results.read_text().splitlines() if results and results.exists() else []
    done = {tuple(line.split("\t")[:2]) for line in known}
    model = Model()
    with tempfile.TemporaryDirectory() as data:
        for line in Path(commits).read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            repository, commit, path = line.split("\t")[:3]
            if (repository, commit) in done:
                continue
            done.add((repository, commit))
            into = tempfile.mkdtemp()
            before, after = lay_out(bare(folder, repository), commit, path, into)
            model.learn(path, before, after)
            began = time.monotonic()
            ended = fix(greenlight, model, data, into)
            result, cause = judge(ended, model, into, path, after)
            runs = ((ended or {}).get("spent") or {}).get("test_runs", "")
            row = [repository, commit, result, cause[:600], f"{time.monotonic() - began:.0f}", str(runs)]
            print("\t".join(row), flush=True)
            if results:
                with results.open("a") as file:
                    file.write("\t".join(row) + "\n")
            shutil.rmtree(into, ignore_errors=True)


if __name__ == "__main__":
    main()
