"""Reads how many tests ran, and which failed, from what a test command printed.

A reader takes the text, and returns the counts that it found and a list of failing ids. `read` strips escape
sequences, calls the reader, and returns None where nothing was found. Several commands in one `test` add up.
A row whose commands print in several formats names its readers with `+` between them.
"""

import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

KEYS = ("passed", "failed", "skipped", "xfailed")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def pytest(text):
    counts, failing = Counter(), []
    word = r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b"
    for line in re.findall(
        r"^(?:=+ )?(\d+ (?:passed|failed|error|skipped|xfailed|xpassed|deselected).* in [\d.]+s.*)$", text, re.M
    ):
        for number, kind in re.findall(word, line):
            counts[{"error": "failed", "errors": "failed", "xpassed": "passed"}.get(kind, kind)] += int(number)
    failing += re.findall(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", text, re.M)
    return counts, failing


def unittest(text):
    counts, failing = Counter(), []
    for ran, rest in re.findall(r"^Ran (\d+) tests? in [^\n]*\n+(?:OK|FAILED|NO TESTS RAN)([^\n]*)", text, re.M):
        said = {kind: int(number) for kind, number in re.findall(r"([a-z ]+)=(\d+)", rest)}
        said = {kind.strip(): number for kind, number in said.items()}
        failed = said.get("failures", 0) + said.get("errors", 0)
        counts.update(failed=failed, skipped=said.get("skipped", 0), xfailed=said.get("expected failures", 0))
        counts["passed"] += int(ran) - failed - said.get("skipped", 0) - said.get("expected failures", 0)
    for name, place in re.findall(r"^(?:FAIL|ERROR): (\S+) \(([\w.]+)\)", text, re.M):
        failing.append(place if place.endswith(f".{name}") else f"{place}.{name}")
    return counts, failing


def tap(text):
    """The summary of node-tap's own reporter, or else top-level test points, as `# tests` counts subtests."""
    counts, failing = Counter(), []
    names = {"pass": "passed", "fail": "failed", "skip": "skipped", "todo": "xfailed"}
    for summary in re.findall(r"^# \{ (total: \d+.*) \}$", text, re.M):
        for kind, number in re.findall(r"(pass|fail|skip|todo): (\d+)", summary):
            counts[names[kind]] += int(number)
    if counts:
        return counts, failing
    for outcome, name, comment in re.findall(r"^(ok|not ok)\b *\d*(?: -)? ?([^#\n]*)(#[^\n]*)?$", text, re.M):
        directive = comment.lower()
        if "# skip" in directive or "#skip" in directive:
            counts["skipped"] += 1
        elif outcome == "ok":
            counts["passed"] += 1
        elif "# todo" in directive:
            counts["xfailed"] += 1
        else:
            counts["failed"] += 1
            failing.append(name.strip())
    return counts, failing


def node(text):
    """The summary of `node --test`, in either of its formats."""
    counts = Counter()
    names = {"pass": "passed", "fail": "failed", "cancelled": "failed", "skipped": "skipped", "todo": "xfailed"}
    for kind, number in re.findall(r"^(?:#|\u2139) (pass|fail|cancelled|skipped|todo) (\d+)$", text, re.M):
        counts[names[kind]] += int(number)
    return counts, re.findall(r"^not ok \d+ - (.*)$", text, re.M)


def mocha(text):
    counts = Counter()
    names = {"passing": "passed", "failing": "failed", "pending": "skipped"}
    for number, kind in re.findall(r"^\s+(\d+) (passing|failing|pending)\b", text, re.M):
        counts[names[kind]] += int(number)
    return counts, []


def summed(text, line, names):
    """The sums of numbers followed by one of these names, in the lines that match."""
    counts = Counter()
    for found in re.findall(line, text, re.M):
        for number, kind in re.findall(rf"(\d+) ({'|'.join(names)})", found):
            counts[names[kind]] += int(number)
    return counts


def jest(text):
    names = {"passed": "passed", "failed": "failed", "skipped": "skipped", "todo": "skipped"}
    failing = [name.strip() for name in re.findall(r"^\s+\u25cf (.* \u203a .*)$", text, re.M)]
    return summed(text, r"^Tests: +(.*)$", names), list(dict.fromkeys(failing))


def vitest(text):
    names = {
        "passed": "passed",
        "failed": "failed",
        "skipped": "skipped",
        "todo": "skipped",
        "expected fail": "xfailed",
    }
    failing = re.findall(r"^ FAIL +(\S+ > .*?)(?: \d+ms)?$", text, re.M)
    return summed(text, r"^\s+Tests +(.*)$", names), list(dict.fromkeys(failing))


def ava(text):
    counts = Counter()
    names = {"passed": "passed", "failed": "failed", "skipped": "skipped", "todo": "skipped"}
    for number, kind in re.findall(r"^\s+(\d+) tests? (passed|failed|skipped|todo)$", text, re.M):
        counts[names[kind]] += int(number)
    return counts, []


def cargo(text):
    counts = Counter()
    for passed, failed, ignored in re.findall(
        r"^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored", text, re.M
    ):
        counts.update(passed=int(passed), failed=int(failed), skipped=int(ignored))
    return counts, re.findall(r"^test (.+) \.\.\. FAILED$", text, re.M)


def go(text):
    """What `go test -v` prints."""
    counts, failing = Counter(), []
    names = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
    for kind, name in re.findall(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", text, re.M):
        counts[names[kind]] += 1
        if kind == "FAIL":
            failing.append(name)
    return counts, failing


def surefire(text):
    """The totals of every module, which have no class beside them."""
    counts = Counter()
    line = r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)\s*$"
    for run, failures, errors, skipped in re.findall(line, text, re.M):
        failed = int(failures) + int(errors)
        counts.update(passed=int(run) - failed - int(skipped), failed=failed, skipped=int(skipped))
    return counts, []


def ctest(text):
    counts = Counter()
    for failed, total in re.findall(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)", text, re.M):
        counts.update(passed=int(total) - int(failed), failed=int(failed))
    skipped = len(re.findall(r"^\s*\d+/\d+ Test +#\d+: .*\*\*\*Skipped", text, re.M))
    counts.update(skipped=skipped, passed=-skipped)
    return counts, re.findall(r"^\s+\d+ - (.+) \((?:Failed|Timeout|SEGFAULT|Not Run).*\)$", text, re.M)


def automake(text):
    counts = Counter()
    names = {
        "PASS": "passed",
        "FAIL": "failed",
        "ERROR": "failed",
        "SKIP": "skipped",
        "XFAIL": "xfailed",
        "XPASS": "failed",
    }
    for kind, number in re.findall(r"^# (PASS|FAIL|ERROR|SKIP|XFAIL|XPASS): +(\d+)$", text, re.M):
        counts[names[kind]] += int(number)
    return counts, re.findall(r"^FAIL: (\S+)$", text, re.M)


def meson(text):
    counts = Counter()
    names = {"Ok": "passed", "Fail": "failed", "Timeout": "failed", "Skipped": "skipped", "Expected Fail": "xfailed"}
    names["Unexpected Pass"] = "failed"
    for kind, number in re.findall(r"^([A-Z][A-Za-z ]+?): +(\d+)\s*$", text, re.M):
        if kind in names:
            counts[names[kind]] += int(number)
    return counts, []


def minitest(text):
    counts = Counter()
    line = r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) pendings, (\d+) omissions)?"
    for run, failures, errors, pendings, omissions in re.findall(line + r"(?:, (?:\d+) skips)?", text, re.M):
        failed = int(failures) + int(errors)
        skipped = int(pendings or 0) + int(omissions or 0)
        counts.update(passed=int(run) - failed - skipped, failed=failed, skipped=skipped)
    skips = sum(int(number) for number in re.findall(r"^\d+ runs, .* (\d+) skips", text, re.M))
    counts.update(skipped=skips, passed=-skips)
    return counts, []


def rspec(text):
    counts = Counter()
    for run, failures, pending in re.findall(r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?", text, re.M):
        skipped = int(pending or 0)
        counts.update(passed=int(run) - int(failures) - skipped, failed=int(failures), skipped=skipped)
    return counts, re.findall(r"^rspec (\S+)", text, re.M)


def phpunit(text):
    counts = Counter()
    for number in re.findall(r"^OK \((\d+) tests?", text, re.M):
        counts["passed"] += int(number)
    for run, rest in re.findall(r"^Tests: (\d+), Assertions: \d+(.*)$", text, re.M):
        said = {kind: int(number) for kind, number in re.findall(r"(Errors|Failures|Skipped|Incomplete): (\d+)", rest)}
        failed = said.get("Errors", 0) + said.get("Failures", 0)
        skipped = said.get("Skipped", 0) + said.get("Incomplete", 0)
        counts.update(passed=int(run) - failed - skipped, failed=failed, skipped=skipped)
    return counts, re.findall(r"^\d+\) (\S+::\S.*)$", text, re.M)


def text(printed):
    """The closing lines of test programs without a framework: sbt, QUnit on a terminal, libxml2 and util-linux."""
    counts = Counter()
    for numbers in re.findall(r"^\[\w+\] (?:Passed|Failed): Total (\d+, .*)$", printed, re.M):
        said = {kind: int(number) for kind, number in re.findall(r"(\w+) (\d+)", numbers)}
        counts.update(passed=said.get("Passed", 0), failed=said.get("Failed", 0) + said.get("Errors", 0))
        counts.update(skipped=said.get("Skipped", 0) + said.get("Ignored", 0) + said.get("Canceled", 0))
    for passed, failed in re.findall(r"^\s*PASS: (\d+)\s+FAIL: (\d+)\s+TOTAL: \d+", printed, re.M):
        counts.update(passed=int(passed), failed=int(failed))
    for total, errors in re.findall(r"^Total (\d+) tests, (no|\d+) errors", printed, re.M):
        failed = int(errors.replace("no", "0"))
        counts.update(passed=int(total) - failed, failed=failed)
    for total in re.findall(r"^  All (\d+) tests PASSED$", printed, re.M):
        counts.update(passed=int(total))
    for failed, total in re.findall(r"^  (\d+) tests of (\d+) FAILED$", printed, re.M):
        counts.update(passed=int(total) - int(failed), failed=int(failed))
    return counts, []


def gradle(folder):
    """The JUnit XML files that Gradle leaves below `build/test-results`, as it prints no totals."""
    counts, failing = Counter(), []
    for path in sorted(Path(folder).glob("**/build/test-results/**/TEST-*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                counts["failed"] += 1
                failing.append(f"{case.get('classname')}.{case.get('name')}")
            else:
                counts["passed" if case.find("skipped") is None else "skipped"] += 1
    return counts, failing


READERS = {
    reader.__name__: reader
    for reader in (
        *(pytest, unittest, tap, node, mocha, jest, vitest, ava, cargo, go, surefire, ctest, automake, meson),
        *(minitest, rspec, phpunit, text),
    )
}


def read(reader, printed, folder):
    """The counts and failing ids, or None where the reader finds none or there is no such reader.

    Readers of files look below `folder`, where the tests ran; the others read what was `printed`.
    """
    printed = ESCAPES.sub("", printed).replace("\r\n", "\n")
    counts, failing = Counter(), []
    for name in reader.split("+"):
        if name not in {*READERS, "gradle"}:
            return None
        found = gradle(folder) if name == "gradle" else READERS[name](printed)
        counts.update(found[0])
        failing += found[1]
    if not any(counts.values()):
        return None
    return {key: counts.get(key, 0) for key in KEYS}, failing
