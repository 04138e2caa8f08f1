"""Counts small mistakes that are repaired right: `python3 mistakes.py GREENLIGHT [LANGUAGE…] [--packages DIR]`.

Each mistake is one commit on top of a small project, in code that the commit adds. `right` is what the changed files
should be; a mistake without it is repaired right if nothing is proposed. TypeScript and ESLint are taken from the
`node_modules` in DIR, ruff, mypy and pytest from the active virtual environment.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "mistakes"
WALL = 400


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(root, *arguments):
    names = {f"GIT_{who}_{what}": "bench@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["git", *arguments], cwd=root, env=os.environ | names, check=True, capture_output=True)
    return done.stdout.decode()


def project(root, case, packages):
    write(root, case["base"])
    settings = f'[test]\ncommand = "{case["command"]}"\n'
    write(root, {"greenlight.toml": settings, ".gitignore": "node_modules\ntarget\nout\n"})
    git(root, "init", "-q", "-b", "main")
    for branch, files in (("main", {}), ("mistake", case["head"])):
        if files:
            git(root, "switch", "-qc", branch)
        write(root, files)
        git(root, "add", "-A")
        git(root, "commit", "-qm", branch)
    if packages and "package.json" in case["base"]:
        shutil.copytree(packages / "node_modules", root / "node_modules", symlinks=True)


def verdict(greenlight, case, packages, data):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        project(root, case, packages)
        command = [greenlight, "fix", folder, "--yes", "--engine", "builtin", "--json", "--data-dir", data]
        try:
            subprocess.run(command, capture_output=True, timeout=WALL, check=False)
        except subprocess.TimeoutExpired:
            return "slow"
        changed = git(root, "diff", "--name-only", "mistake").split()
        if not changed:
            return "none" if case["right"] else "right"
        after = {path: (root / path).read_text() for path in changed}
        return "right" if after == case["right"] else "other"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("greenlight")
    arguments.add_argument("languages", nargs="*")
    arguments.add_argument("--packages", type=Path)
    given = arguments.parse_args()
    greenlight = str(Path(given.greenlight).resolve())
    with tempfile.TemporaryDirectory() as data:
        for path in sorted(HERE.glob("*.json")):
            if given.languages and path.stem not in given.languages:
                continue
            cases = json.loads(path.read_text())
            verdicts = {name: verdict(greenlight, case, given.packages, data) for name, case in cases.items()}
            right = sum(found == "right" for name, found in verdicts.items() if cases[name]["right"])
            print(f"{path.stem}: {right} of {len(cases)} proposed and right", flush=True)
            for name, found in verdicts.items():
                if found != "right":
                    print(f"  {name}: {found}")


if __name__ == "__main__":
    main()
