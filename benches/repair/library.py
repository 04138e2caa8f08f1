"""Lays out a library as a person would have it: its sources, with the dependencies of its tests installed beside
them.

`python3 library.py NAME CACHE INTO [--sources | PACKAGE...]` prints nothing and fails loudly. Archives come
from the package manager of each language and must match the digest that is stored beside the cases.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT = 600


def libraries():
    return {library["name"]: library for library in json.loads((HERE / "libraries.json").read_text())}


def run(command, cwd, **more):
    done = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT, **more)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def download(library, folder):
    """Downloads the archive with the registry's ordinary client."""
    name, version = library["name"], library["version"]
    folder.mkdir(parents=True, exist_ok=True)
    if library["registry"] == "pypi":
        words = ["download", "-q", "--no-deps", "--no-binary=:all:", f"{name}=={version}"]
        run([sys.executable, "-m", "pip", *words], folder)
    elif library["registry"] == "npm":
        run(["npm", "pack", "-s", f"{name}@{version}"], folder)
    else:
        (folder / "src").mkdir(exist_ok=True)
        (folder / "src/lib.rs").touch()
        (folder / "Cargo.toml").write_text(
            '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n'
            f'[workspace]\n[dependencies]\n{name} = "={version}"\n'
        )
        run(["cargo", "fetch", "-q"], folder)
        home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        found = sorted((home / "registry/cache").glob(f"*/{name}-{version}.crate"))
        shutil.copy(found[0], folder / f"{name}-{version}.crate")
    found = [path for path in folder.iterdir() if path.name.endswith((".tar.gz", ".tgz", ".crate"))]
    if len(found) != 1:
        raise SystemExit(f"{name}: {len(found)} archives")
    return found[0]


def archive(library, cache):
    """The archive from the cache, and its digest."""
    name = library["name"].replace("/", "+")
    kept = cache / "archives" / f"{name}-{library['version']}"
    if not kept.exists():
        folder = cache / "downloading" / name
        shutil.rmtree(folder, ignore_errors=True)
        found = download(library, folder)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(found, kept)
    digest = hashlib.sha256(kept.read_bytes()).hexdigest()
    listed = HERE / "cases" / f"{library['language']}.made.json"
    known = json.loads(listed.read_text()) if listed.exists() else {}
    if known.get(library["name"], {}).get("archive_sha256", digest) != digest:
        raise SystemExit(f"{name}: the archive has another digest: {digest}")
    return kept, digest


def unpack(path, into):
    """Unpacks an archive without its top-level folder."""
    with tarfile.open(path) as tar:
        members = []
        for member in tar.getmembers():
            parts = Path(member.name).parts[1:]
            if parts and (member.isfile() or member.isdir()):
                member.name = str(Path(*parts))
                members.append(member)
        tar.extractall(into, members, filter="data")


def strip(library, into):
    """Removes what needs the library's own tools: coverage settings, and linters that run with the tests."""
    if library["language"] == "javascript":
        manifest = into / "package.json"
        read = json.loads(manifest.read_text())
        for key in ["devDependencies", "scripts"]:
            read.pop(key, None)
        manifest.write_text(json.dumps(read, indent=2) + "\n")
    if library["language"] == "rust":
        shutil.rmtree(into / "benches", ignore_errors=True)
        (into / ".cargo-ok").unlink(missing_ok=True)
    kept = {
        "python": ".venv\n__pycache__\n.pytest_cache\n.hypothesis\n",
        "javascript": "node_modules\n",
        "rust": "target\n",
    }
    (into / ".gitignore").write_text(kept[library["language"]])


def install(library, into, also=()):
    """What the tests need, where a person would have it; a virtual environment knows its own path."""
    if library["language"] == "python":
        run([sys.executable, "-m", "venv", ".venv"], into)
        run([".venv/bin/pip", "install", "-q", *library["packages"], *also], into)
    elif library["language"] == "javascript":
        words = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        run(["npm", "install", "-s", *words, *library["packages"], *also], into)
    else:
        run(["cargo", "test", "-q", "--no-run", "--lib", "--tests"], into)


def lay_out(library, cache, into, also=()):
    digest = sources(library, cache, into)
    install(library, into, also)
    return digest


def sources(library, cache, into):
    """Lays out the sources without the dependencies of the tests."""
    path, digest = archive(library, cache)
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    unpack(path, into)
    strip(library, into)
    return digest


if __name__ == "__main__":
    name, cache, into = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    if sys.argv[4:] == ["--sources"]:
        sources(libraries()[name], cache, into)
    else:
        lay_out(libraries()[name], cache, into, sys.argv[4:])
