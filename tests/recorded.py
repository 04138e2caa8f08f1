#!/usr/bin/env python3
"""Downloads recorded answers of GitHub into a folder, and writes those of REST and GraphQL as JSON lines.

The recordings belong to the tests of other clients of GitHub: `@octokit/fixtures` (MIT) from npm, PyGithub (LGPL) and
github3.py (BSD) from PyPI. They are only read here; nothing of them is kept in the repository.
"""

import base64
import gzip
import json
import pathlib
import subprocess
import sys
import tarfile
from urllib.parse import urlsplit

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
SOURCES = {
    "octokit-fixtures": ["npm", "pack", "--silent", "@octokit/fixtures@23.1.2", "--pack-destination"],
    "pygithub": ["pip", "PyGithub==2.10.0"],
    "github3": ["pip", "github3.py==4.0.1"],
}


def download(name, command):
    into = folder / name
    if not any(into.glob("*gz")):
        into.mkdir(parents=True, exist_ok=True)
        if command[0] == "pip":
            # Only this package as source: with ":all:", what builds it is built from source too.
            source = ["--no-deps", "--no-binary", command[1].split("==")[0]]
            options = ["--quiet", "--disable-pip-version-check", *source]
            command = [sys.executable, "-m", "pip", "download", *options, command[1], "--dest"]
        subprocess.run([*command, str(into)], check=True, timeout=300, stdout=subprocess.DEVNULL)
    archive = next(into.glob("*gz"))
    with tarfile.open(archive) as packed:
        for member in packed:
            if member.isfile():
                yield member.name, packed.extractfile(member).read()


def octokit():
    for name, text in download("octokit-fixtures", SOURCES["octokit-fixtures"]):
        if name.endswith("/raw-fixture.json"):
            for one in json.loads(text):
                body = one["response"]
                if isinstance(body, (dict, list)):
                    yield name, one["method"].upper(), one["path"], one["status"], json.dumps(body)


def pygithub():
    for name, text in download("pygithub", SOURCES["pygithub"]):
        if "/ReplayData/" not in name:
            continue
        lines = text.decode("utf-8", "replace").split("\n")
        while len(lines) >= 10:
            if lines[0] not in ("http", "https"):
                lines.pop(0)
                continue
            _, method, _, _, path, _, _, status, _, body, *lines = lines
            yield name, method, path, int(status), body


def github3():
    for name, text in download("github3", SOURCES["github3"]):
        if "/cassettes/" not in name or not name.endswith(".json"):
            continue
        for one in json.loads(text)["http_interactions"]:
            body = one["response"]["body"]
            if packed := body.get("base64_string"):
                body = base64.b64decode(packed)
                body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
                body = body.decode("utf-8", "replace")
            else:
                body = body.get("string") or ""
            address = urlsplit(one["request"]["uri"])
            path = address.path + ("?" + address.query if address.query else "")
            yield name, one["request"]["method"], path, one["response"].get("status", {}).get("code", 0), body


count = 0
with open(folder / "answers.jsonl", "w") as out:
    for source in (octokit, pygithub, github3):
        for name, method, path, status, body in source():
            row = {"source": name, "method": method, "path": path, "status": status, "body": body}
            out.write(json.dumps(row) + "\n")
            count += 1
print(f"{count} recorded answers in {folder}")
