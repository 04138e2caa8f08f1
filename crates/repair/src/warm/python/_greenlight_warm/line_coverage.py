"""Traces the tests line by line."""

import collections
import json
import sys
import threading
import time

from .forks import Fork

MOST_LINES = 100_000
# Time limits for tracing a test that never ends, in seconds: without a new line, and in total.
QUIET = 1.0
MOST_FOLLOWING = 10.0


class Followed:
    """Records which lines tests execute."""

    def __init__(self, judge):
        self.judge, self.tree = judge, judge.tree
        # By file and line: the numbers of failing and passing tests.
        self.lines = {}

    def answer(self, wall):
        end = time.monotonic() + wall
        failing = self.follow_failing(end)
        self.follow_passing(end)
        self.count_imports(failing)
        files = collections.defaultdict(list)
        for (name, line), (red, green) in sorted(self.lines.items())[:MOST_LINES]:
            files[self.tree.path(name)].append([line, red, green])
        return {"failing": failing, "files": files}

    def count_imports(self, failing):
        """All tests count as having executed what ran while they were loaded."""
        for line in self.judge.tests.lines_at_import:
            self.lines.setdefault(line, [failing, len(self.judge.passing)])

    def follow_failing(self, end):
        count = 0
        for at in self.judge.failing:
            left = end - time.monotonic()
            if left <= 0:
                break
            heard = self.follow_one(at, left)
            count += bool(heard)
            for lines in heard:
                for line in lines:
                    self.lines.setdefault(line, [0, 0])[0] += 1
        return count

    def follow_one(self, at, left):
        """A list with the lines that a failing test executed; empty if it could not be traced."""
        if at not in self.judge.ending:
            return self.follow_endless(at, min(left, MOST_FOLLOWING))
        return [lines for _, _, lines, _ in self.follow([at], min(left, self.judge.limit() * 5), None)]

    def follow_passing(self, end):
        left = end - time.monotonic()
        if left <= 0 or not self.lines:
            return
        names = {name for name, _ in self.lines}
        touched = {}
        for at, passed, lines, codes in self.follow(self.judge.passing, left, names):
            if not passed:
                continue
            for line in lines:
                if line in self.lines:
                    self.lines[line][1] += 1
            for code in codes:
                touched.setdefault(code, []).append(at)
        self.judge.touched = touched

    def follow(self, tests, limit, names):
        """For each test, whether it passed, and the lines and functions that it executed."""

        def work(say):
            tracer = Tracer(self.tree, names)
            started = [time.monotonic()]

            def done(at, passed):
                lines, codes = tracer.take()
                took = time.monotonic() - started[0]
                say(json.dumps([at, passed, lines, codes, took]).encode() + b"\n")
                started[0] = time.monotonic()
                return True

            tracer.start()
            self.judge.tests.run(tests, done)

        with Fork(work) as fork:
            said, _ = fork.all(limit)
        heard = []
        for line in said.split(b"\n")[:-1]:
            try:
                at, passed, lines, codes, took = json.loads(line)
                lines = {(name, int(row)) for name, rows in lines.items() for row in rows if self.tree.path(name)}
                heard.append((at, passed, lines, [tuple(code) for code in codes]))
                self.judge.times.setdefault(at, took)
            except (ValueError, TypeError, AttributeError):
                continue
        return heard

    def follow_endless(self, at, limit):
        """The same for a test that hangs or ends its process."""

        def work(say):
            Teller(self.tree, say).start()
            self.judge.tests.run([at], lambda *_: True)

        said, end = [], time.monotonic() + limit
        with Fork(work) as fork:
            while said[-1:] != [b""] and time.monotonic() < end:
                said.append(fork.hear(QUIET) or b"")
        lines = set()
        for line in b"".join(said).split(b"\n")[:-1]:
            try:
                name, row = json.loads(line)
                if self.tree.path(name):
                    lines.add((name, int(row)))
            except (ValueError, TypeError, AttributeError):
                continue
        return [lines] if lines else []


class Tracer:
    """Records executed lines of the project until they are taken."""

    def __init__(self, tree, names):
        self.tree, self.names = tree, names
        self.wanted = {}
        self.locals = {}
        self.seen = {}

    def start(self):
        threading.settrace(self.enter)
        sys.settrace(self.enter)

    def enter(self, frame, event, argument):
        code = frame.f_code
        local = self.locals.get(code)
        if local is None:
            wanted = self.wanted.get(code)
            if wanted is None:
                name = code.co_filename
                path = self.tree.path(name)
                wanted = bool(path) and (self.names is None or self.tree.whole(path) in self.names)
                self.wanted[code] = wanted
            if not wanted:
                return None
            local = self.locals[code] = self.local(code)
        return local

    def local(self, code):
        seen = self.seen.setdefault(code, set())

        def follow(frame, event, argument):
            if event == "line":
                seen.add(frame.f_lineno)
            return follow

        return follow

    def take(self):
        """Returns what was executed since the last call."""
        sys.settrace(None)
        seen, self.seen, self.locals = self.seen, {}, {}
        lines, codes = {}, []
        for code, rows in list(seen.items()):
            name = self.tree.whole(self.tree.path(code.co_filename))
            lines.setdefault(name, set()).update(rows)
            codes.append((name, code.co_firstlineno, code.co_name))
        self.start()
        return {name: sorted(rows) for name, rows in lines.items()}, codes


class Teller(Tracer):
    """Reports each line when it is first executed, because there may be no later opportunity."""

    def __init__(self, tree, say):
        super().__init__(tree, None)
        self.say = say

    def local(self, code):
        seen, name = set(), self.tree.whole(self.tree.path(code.co_filename))

        def follow(frame, event, argument):
            if event == "line" and frame.f_lineno not in seen:
                seen.add(frame.f_lineno)
                try:
                    self.say(json.dumps([name, frame.f_lineno]).encode() + b"\n")
                except OSError:
                    # The test has closed the pipe.
                    pass
            return follow

        return follow
