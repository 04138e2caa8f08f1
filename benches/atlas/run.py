"""Runs the tests of public projects by hand-written shell and with greenlight, and compares what they say.

`python3 run.py GREENLIGHT FOLDER RESULTS [--ecosystem X] [--half a|b] [--only owner/name]` reads the lists beside it,
and appends one line of JSON for each project to RESULTS. Projects that are already there are left out. FOLDER has a
bare repository `owner+name/repo` or `owner+name` for each project. README.md explains the lists and the results.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path

import counts

HERE = Path(__file__).resolve().parent
SECONDS = 600
DIFFERING = 20


def half(repository):
    return "ab"[int(hashlib.sha256(repository.encode()).hexdigest()[0], 16) % 2]


def projects(chosen):
    for path in sorted(HERE.glob("*.toml")):
        for project in tomllib.loads(path.read_text()).get("project", []):
            project["ecosystem"] = path.stem
            repository = project["repository"]
            if (
                chosen.ecosystem in (None, path.stem)
                and chosen.half in (None, half(repository))
                and chosen.only in (None, repository)
            ):
                yield project


def git(into, *words, check=True):
    return subprocess.run(["git", "-C", str(into), *words], check=check, capture_output=True)


def lay_out(folder, project, into):
    """A clone with all tags, at the pinned commit, whose origin is the public address."""
    kept = Path(folder) / project["repository"].replace("/", "+", 1)
    kept = kept / "repo" if (kept / "repo").is_dir() else kept
    words = ["git", "clone", "-q", "--no-local", "--no-checkout", str(kept), str(into)]
    if subprocess.run(words, check=False, capture_output=True).returncode == 0:
        # A pinned commit may be on no branch of the mirror.
        git(into, "fetch", "-q", "--tags", str(kept), project["commit"], check=False)
        git(into, "remote", "set-url", "origin", f"https://github.com/{project['repository']}")
        git(into, "checkout", "-q", project["commit"])
        return
    # A mirror may lack the largest files. They are absent on both sides, and not seen as deleted.
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    shutil.copytree(kept, into / ".git")
    git(into, "config", "core.bare", "false")
    git(into, "update-ref", "--no-deref", "HEAD", project["commit"])
    git(into, "read-tree", "HEAD")
    git(into, "checkout-index", "-a", "-f", "-q", check=False)
    absent = git(into, "ls-files", "-z", "-d").stdout
    words = ["git", "-C", str(into), "update-index", "--skip-worktree", "-z", "--stdin"]
    subprocess.run(words, check=True, input=absent)
    git(into, "remote", "remove", "origin", check=False)
    git(into, "remote", "add", "origin", f"https://github.com/{project['repository']}")


def run(words, into, settings, log, seconds):
    """The exit code, or None if the time was up. Ends the whole process group."""
    words = ["nice", "-n", "15", *words]
    with log.open("ab") as out:
        started = subprocess.Popen(
            words, cwd=into, env=settings, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            return started.wait(max(1, seconds))
        except subprocess.TimeoutExpired:
            return None
        finally:
            try:
                os.killpg(started.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            started.wait()


def by_hand(project, into, work):
    """Installs and tests in a home of its own; `python3 -m venv` is left to the shell of the list."""
    home = work / "home"
    home.mkdir()
    settings = {**os.environ, "HOME": str(home), "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    # Toolchains and download caches are shared, as they change nothing but the time.
    real = Path.home()
    for name, path in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")):
        settings.setdefault(name, str(real / path))
    settings.setdefault("npm_config_cache", str(real / ".npm"))
    settings.setdefault("npm_config_userconfig", str(real / ".npmrc"))
    settings.setdefault("PIP_CACHE_DIR", str(real / ".cache/pip"))
    settings.setdefault("GOMODCACHE", str(real / "go/pkg/mod"))
    if (real / ".m2/settings.xml").exists():
        (home / ".m2").mkdir()
        shutil.copy(real / ".m2/settings.xml", home / ".m2/settings.xml")
    began, log = time.monotonic(), work / "test.log"
    # Variables and a virtual environment of the installation are there for the tests, as in one job.
    shell = f"set -e\n{project.get('install', '')}\nset +e\nprintf '\\natlas: installed\\n'\n{project['test']}\n"
    code = run(["bash", "-c", shell], into, settings, log, SECONDS)
    text = log.read_text(errors="replace")
    _, mark, after = text.rpartition("\natlas: installed\n")
    took = round(time.monotonic() - began)
    found = counts.read(project["reader"], after, into) if mark else None
    return {
        "exit": code,
        "is_installed": bool(mark),
        "counts": found[0] if found else None,
        "failing": found[1] if found else [],
        "seconds": took,
        "tail": text[-2000:],
    }


def documents(text):
    """Every JSON document of a text that may have several, one after another."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := text.find("{", at)) >= 0:
        try:
            document, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        found.append(document)
    return found


def by_greenlight(greenlight, into, work):
    began, out, errors = time.monotonic(), work / "out.json", work / "errors.log"
    shell = 'exec "$0" tests --install --json --data-dir "$1" "$2" 2>>"$3"'
    words = ["bash", "-c", shell, str(greenlight), str(work / "data"), str(into), str(errors)]
    code = run(words, into, {**os.environ, "CI": "true"}, out, SECONDS)
    said = documents(out.read_text(errors="replace"))
    row = {"exit": code, "seconds": round(time.monotonic() - began), "counts": None, "failing": []}
    row["notes"] = errors.read_text(errors="replace")[-2000:] if errors.exists() else ""
    if not said:
        return row
    # A list under `suites` or several documents: one for each command that ran.
    parts = [part for one in said for part in (one.get("suites") or [one])]
    names = {"passed": "passed", "failed": "failed", "skipped": "skipped", "xfailed": "expected_failures"}
    row["counts"] = {key: sum(part.get(name) or 0 for part in parts) for key, name in names.items()}
    tests = [test for part in parts for test in part.get("tests") or []]
    row["failing"] = [test["id"] for test in tests if test.get("outcome") in ("failed", "error")]
    row["commands"] = [(part.get("command") or {}).get("line") for part in parts]
    row["source"] = [(part.get("command") or {}).get("source") for part in parts]
    row["others"] = said[0].get("other_commands") or []
    row["outcome"] = [part.get("outcome") for part in parts]
    row["message"] = [part.get("message") for part in parts]
    return row


def plain(command):
    """A command without what does not matter: variables before it, the interpreter's name, spaces and quotes."""
    command = re.sub(r"""^(\w+=('[^']*'|"[^"]*"|\S*)\s+)+""", "", command or "")
    command = re.sub(r"\bpython3?(\.\d+)? -m (pytest|unittest)\b", r"\2", command)
    return " ".join(command.replace("'", "").replace('"', "").split())


def known_verdicts():
    """Of verdicts.tsv: the third column, by repository and greenlight's command."""
    path = HERE / "verdicts.tsv"
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return {(row[0], plain(row[1])): row[2] for row in rows if len(row) >= 3}


def command_verdict(project, there):
    commands = [plain(command) for command in there.get("commands") or []]
    verdicts = known_verdicts()
    for command in commands:
        if (verdict := verdicts.get((project["repository"], command))) is not None:
            return verdict
    if project.get("command") and plain(project["command"]) in commands:
        return "right"
    return "unjudged" if commands else "none"


def same_ids(here, there):
    """Ids match where one ends with the other, as frameworks print shorter ones than their reports have."""
    left = [name for name in here if not any(other.endswith(name) or name.endswith(other) for other in there)]
    right = [name for name in there if not any(other.endswith(name) or name.endswith(other) for other in here)]
    return left, right


def judge(project, here, there):
    verdict = command_verdict(project, there)
    if there["exit"] is None or (here and here["exit"] is None):
        return "time", verdict
    if verdict in ("wrong command", "wrong environment"):
        return verdict, verdict
    if verdict == "none":
        return "wrong command", verdict
    if here is None:
        return "not run here", verdict
    if here["counts"] is None or there["counts"] is None:
        return ("no counts by hand" if here["counts"] is None else "counts differ"), verdict
    is_equal = here["counts"] == there["counts"]
    # Readers of summaries know no ids; then the counts decide.
    ids_equal = not here["failing"] or not any(same_ids(here["failing"], there["failing"]))
    return ("equal" if is_equal and ids_equal else "counts differ"), verdict


def measure(greenlight, folder, project):
    work = Path(tempfile.mkdtemp(prefix="atlas-"))
    try:
        here = None
        if not project.get("missing"):
            lay_out(folder, project, work / "by-hand")
            here = by_hand(project, work / "by-hand", work)
            shutil.rmtree(work / "by-hand", ignore_errors=True)
            shutil.rmtree(work / "home", ignore_errors=True)
        # The folder has the project's own name, which some tests and builds use.
        into = work / "greenlight" / project["repository"].split("/")[1]
        into.parent.mkdir()
        lay_out(folder, project, into)
        there = by_greenlight(greenlight, into, work)
        result, verdict = judge(project, here, there)
        left, right = same_ids(here["failing"], there["failing"]) if here else ([], [])
        # Green where the CI's own command is not.
        is_green = there.get("outcome") and set(there["outcome"]) == {"passed"}
        is_falsely_green = bool(is_green and here and here["exit"] not in (0, None) and here["is_installed"])
        row = {"repository": project["repository"], "ecosystem": project["ecosystem"]}
        row |= {
            "half": half(project["repository"]),
            "result": result,
            "command": verdict,
            "false_green": is_falsely_green,
        }
        row |= {"missing": project.get("missing", ""), "by_hand": here, "greenlight": there}
        row |= {"only_by_hand": left[:DIFFERING], "only_greenlight": right[:DIFFERING]}
        for side in (here, there):
            if side:
                side["failing"] = side["failing"][:DIFFERING]
        return row
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("greenlight", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--ecosystem")
    parser.add_argument("--half", choices=["a", "b"])
    parser.add_argument("--only")
    chosen = parser.parse_args()
    known = chosen.results.read_text().splitlines() if chosen.results.exists() else []
    done = {json.loads(line)["repository"] for line in known if line.strip()}
    for project in projects(chosen):
        if project["repository"] in done:
            continue
        try:
            row = measure(chosen.greenlight.resolve(), chosen.folder.resolve(), project)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{project['repository']}\tnot laid out: {error}", flush=True)
            continue
        with chosen.results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        sides = [side["counts"] if side else None for side in (row["by_hand"], row["greenlight"])]
        print(row["repository"], row["half"], row["result"], row["command"], *sides, sep="\t", flush=True)


if __name__ == "__main__":
    main()
