"""Finds out the results of tests if a run of the suite did not end: some tests hang, or end their process."""

import itertools
import json
import os
import resource
import statistics
import sys
import time

from .forks import FORKS, MEMORY, STARTS, Fork, Refused, undisturbed
from .verdicts import FACTOR, PASSING

# Time limit of a test: in seconds, as a multiple of the slowest test so far, and as a share of the whole time.
LONG = 2.0
LONGER_THAN_OTHERS = 10
PART_OF_TIME = 1 / 20
# Maximum number of hanging tests, and of tests that end their process, that are searched for.
MOST_HANGING = 3
MOST_ENDED = 20
# Additional memory in bytes from which a failing test counts as leaking memory.
EATEN = MEMORY // 4
# How much longer than other tests a fixed test may take, times `FACTOR`, and the minimum; more if it starts programs.
MENDED = 0.3
MENDED_LEAST = 0.03
MENDED_LEAST_STARTING = 0.08
# Maximum number of passing tests whose duration is measured.
MOST_BESIDE = 10
# Maximum length of a line in bytes; a longer one does not come from this module.
LONGEST_LINE = 10_000
PASSED, FAILED, NEITHER = b"p", b"f", b"n"


class Survey:
    """Determines the results of all tests, in one fork more than there are tests that do not end."""

    def __init__(self, judge, limit):
        self.judge, self.tests = judge, judge.tests
        self.limit = limit
        self.end = time.monotonic() + limit / 2
        # The results of tests that ended, and the processor time that they took, in seconds.
        self.words, self.busy = {}, {}
        # The other tests: those that ended their process, those that exhausted memory, and those that hang.
        self.ended, self.eating, self.hanging = [], [], []
        self.slowest = 0.0

    def start(self, named, passing):
        """Stores what the judge needs to know about the tests."""
        judge, known = self.judge, set(exact(self.tests.ids, passing)).difference(named)
        self.look([at for at in range(len(self.tests.ids)) if at not in known])
        took = self.see_again()
        if not judge.failing:
            raise Refused("no test fails, hangs or ends its process twice here")
        files = {self.tests.file(at) for at in judge.failing}
        beside = [at for at in sorted(known) if self.tests.file(at) in files]
        self.look(beside[:MOST_BESIDE])
        # A test that is known to pass but does not pass here is useless.
        passed = {at for at in known if self.words.get(at, PASSED) == PASSED} - set(self.late())
        passed.update(at for at, word in self.words.items() if word == PASSED)
        judge.passing = sorted(passed.difference(judge.failing), key=lambda at: (self.tests.file(at) not in files, at))
        judge.on_disk = not judge.starting.isdisjoint(judge.failing)
        self.set_limits(took, files)

    def late(self):
        # The fastest to fail come first.
        return self.ended + self.eating + self.hanging

    def see_again(self):
        """Records the tests that fail a second time, and how long those take that end."""
        judge = self.judge
        failed = sorted(at for at, word in self.words.items() if word == FAILED and at not in self.eating)
        usual = sum(judge.times.get(at, 0.0) for at in failed)
        started = time.monotonic()
        again = judge.run_once(failed, min(LONG + usual * FACTOR, self.limit / 2)) if failed else {}
        took = time.monotonic() - started if failed else 0.0
        judge.ending = sorted((at for at in failed if again.get(at) is False), key=lambda at: judge.times.get(at, 0.0))
        judge.failing = judge.ending + [at for at in self.late() if not self.passes(at)]
        return took

    def passes(self, at):
        """Whether a test that did not end now passes; half of the time limit suffices to see that it hangs."""

        def work(say):
            self.tests.run([at], lambda _, passed: say(PASSED if passed else FAILED))

        with Fork(work) as fork:
            return fork.hear(self.longest() / 2) == PASSED

    def set_limits(self, took, files):
        """Estimates how long fixed tests take that do not end now, from the other tests of their files."""
        judge = self.judge
        late = len(judge.failing) - len(judge.ending)
        passed = [at for at, word in self.words.items() if word == PASSED]
        beside = [at for at in passed if self.tests.file(at) in files] or passed
        usual = statistics.median_low([judge.times[at] for at in beside] or [0.0])
        usual_busy = statistics.median_low([self.busy[at] for at in beside] or [0.0])
        judge.took = judge.busy = took
        if late:
            least = MENDED_LEAST_STARTING if judge.on_disk else MENDED_LEAST
            judge.took += max(least, usual * late * MENDED)
            judge.busy += usual_busy * late * MENDED
        all_passing = sum(judge.times.get(at, usual) for at in judge.passing)
        judge.patience = max(LONG, min(PASSING, all_passing) * FACTOR)

    def look(self, left):
        """Runs each test once."""
        while left and time.monotonic() < self.end and self.goes_on():
            with Fork(lambda say, left=left: self.work(left, say)) as fork:
                self.hear(fork, left)
            gone = set(self.late()).union(self.words)
            if not self.goes_on(more=1):
                # The other tests of these files are likely to hang or crash as well.
                files = {self.tests.file(at) for at in self.late()}
                gone.update(at for at in left if self.tests.file(at) in files)
            left = [at for at in left if at not in gone]

    def goes_on(self, more=0):
        return len(self.hanging) + more <= MOST_HANGING and len(self.ended) + more <= MOST_ENDED

    def longest(self):
        """The time limit of a test."""
        return max(LONG, min(self.slowest * LONGER_THAN_OTHERS, self.limit * PART_OF_TIME))

    def work(self, left, say):
        """Reports everything at once, because there may be no later opportunity."""
        tree, known = self.judge.tree, set()

        def tell(line):
            try:
                say(line + b"\n")
            except OSError:
                # The test has closed the pipe.
                pass

        def watch(event, arguments):
            if event in STARTS:
                tell(b"program")
            elif event in FORKS:
                tell(b"fork")
            elif event == "exec":
                name = getattr(arguments[0], "co_filename", "")
                if name not in known:
                    known.add(name)
                    path = tree.path(str(name))
                    if path:
                        tell(b"file " + json.dumps(path).encode())

        # An audit hook cannot be removed, which does not matter in a fork.
        sys.addaudithook(watch)
        before = [undisturbed(), time.process_time(), eaten()]

        def done(at, passed):
            word = PASSED if passed else FAILED if self.tests.failed else NEITHER
            now = [undisturbed(), time.process_time(), eaten()]
            wall, busy, more = (max(0, new - old) for new, old in zip(now, before))
            before[:] = now
            tell(b"test %d %s %f %f %d" % (at, word, wall, busy, more))
            return True

        # A failure of a class fixture in unittest fails all tests that run with it.
        for _, part in itertools.groupby(left, lambda at: type(self.tests.items[at])):
            self.tests.run(list(part), done)
        tell(b"end")

    def hear(self, fork, left):
        """Records results until a test does not end, or none are left."""
        line, since, at_work = b"", time.monotonic(), None
        left, eating = dict.fromkeys(left), len(self.eating)
        while True:
            now = next(iter(left), None)
            if now != at_work:
                at_work, since = now, time.monotonic()
            until = min(since + self.longest(), self.end)
            data = fork.hear(max(0.001, until - time.monotonic()))
            if not data:
                break
            *lines, line = (line[:LONGEST_LINE] + data).split(b"\n")
            for words in (line.split() for line in lines if len(line) < LONGEST_LINE):
                if words == [b"end"]:
                    # Nobody knows the results of the others.
                    self.words.update(dict.fromkeys(left, NEITHER))
                    return
                self.note(words, left)
            if len(self.eating) > eating:
                # What the next test needs could not be measured in this fork.
                return
        if at_work is not None and (data is not None or time.monotonic() < self.end):
            (self.hanging if data is None else self.ended).append(at_work)

    def note(self, words, left):
        judge = self.judge
        try:
            if words == [b"program"]:
                # Several tests may have ended before their reports were read.
                judge.starting.add(next(iter(left)))
            elif words == [b"fork"]:
                # The code that it runs is not traced.
                judge.run_files = None
            elif words[0] == b"file" and judge.run_files is not None:
                judge.run_files.add(judge.tree.path(judge.tree.whole(json.loads(b" ".join(words[1:])))))
            elif words[0] == b"test" and len(words) == 6:
                self.note_test(int(words[1]), words[2], *map(float, words[3:]), left)
        except (ValueError, TypeError, IndexError, StopIteration, RecursionError):
            # The test itself wrote to the pipe.
            pass

    def note_test(self, at, word, wall, busy, more, left):
        is_word = at in left and word in (PASSED, FAILED, NEITHER)
        if not (is_word and 0 <= wall < self.limit and 0 <= busy < self.limit):
            return
        del left[at]
        self.words[at], self.busy[at], self.judge.times[at] = word, busy, wall
        if word == FAILED and more > EATEN:
            self.eating.append(at)
        else:
            self.slowest = max(self.slowest, wall)


def exact(ids, names):
    """The tests with these names, ignoring where their paths begin."""
    known = {}
    for at, name in enumerate(ids):
        known.setdefault(name, at)
    for name in names:
        file, colons, rest = name.partition("::")
        for full in (name, os.path.normpath(os.path.join(os.getcwd(), file)) + colons + rest):
            if full in known:
                yield known[full]


def eaten():
    """The peak memory usage of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
