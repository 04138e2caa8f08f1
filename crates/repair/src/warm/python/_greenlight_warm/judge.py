"""Tries edits: each in a fork, in which functions get new code or modules are reloaded."""

import gc
import json
import sys
import time

from .code_objects import content, functions, key
from .edits import Edited, Written
from .forks import FORKS, STARTS, Fork, Refused, undisturbed
from .groups import GROUP, Groups
from .hot_swap import Reruns, Trial, Unlike, swapped
from .progress import Points
from .reloading import reload
from .survey import Survey
from .verdicts import CLOSER, FACTOR, FAILS, INVALID, LATER, PASSES, PASSING, TIMEOUT

# The least time limit of a candidate, in seconds.
LEAST = 0.2
# The least limit of processor time once this many candidates took too long. Other processes cannot use it up, so it
# may be stricter.
LEAST_BUSY = 0.05
MANY_LATE = 10
MOST = 20.0
# The number of failing tests that are run although one of them failed, if all of them together are at most this quick,
# in seconds.
LOOKS = 3
QUICK = 0.03
# Maximum number of passing tests that are run for one candidate.
MOST_PASSING = 400


class Judge:
    """The tests, and their results without an edit."""

    def __init__(self, tree, tests):
        self.tree, self.tests = tree, tests
        self.failing, self.passing = [], []
        self.took, self.reload_took = LEAST, None
        # The failing tests that end, and the processor time that all of them take, if it is less.
        self.ending, self.busy = [], None
        # Time limit of the tests that passed.
        self.patience = PASSING * FACTOR
        # Number of candidates that took too long.
        self.late = 0
        # By the code of functions: the tests that passed here and executed them. None if unknown.
        self.touched = None
        # How long each test takes, and which tests start other programs.
        self.times = {}
        self.starting = set()
        self.points = Points()
        # The files whose code was executed, at least by the failing tests. None if unknown.
        self.run_files = tests.files | {tree.path(sys.modules[name].__file__) for name in tree.modules()}
        # Whether edits must be written to the disk, because the failing tests start programs that must see them.
        self.on_disk = False
        self.groups = Groups(self)
        self.reruns = Reruns(self)
        self.index = functions(tree)
        gc.collect()
        gc.freeze()

    def start(self, failing, passing, limit, was_ended):
        end = time.monotonic() + limit
        named = {}
        for name in failing:
            for at in self.tests.find(name)[:50]:
                named.setdefault(at, name)
        if was_ended:
            Survey(self, limit).start(named, passing)
            return self.told(named)
        if not named:
            raise Refused("the failing tests were not found")
        self.passing = self.all_passing(passing, named)
        chosen = sorted(named)
        # Run twice, because tests that leave something behind must not be run repeatedly in the same place.
        first = self.run_once(chosen, max(0.1, (end - time.monotonic()) / 2))
        started = time.monotonic()
        second = self.run_once(chosen, max(0.1, end - time.monotonic()))
        self.took = time.monotonic() - started
        self.failing = [at for at in chosen if second.get(at) is False]
        if not self.failing or any(first.get(at) for at in self.failing):
            raise Refused("the failing tests do not fail here")
        if any(second.get(at) is False for at in chosen if first.get(at)):
            raise Refused("the tests gave different results in two runs")
        self.on_disk = not self.starting.isdisjoint(self.failing)
        # The fastest first: most candidates fail the first test.
        self.failing.sort(key=lambda at: self.times.get(at, 0.0))
        self.ending = self.failing
        self.points.find(self)
        return self.told(named)

    def told(self, named):
        names = list(dict.fromkeys(named.get(at, self.tests.ids[at]) for at in self.failing))
        return {"failing": names, "ms": int(self.took * 1000)}

    def all_passing(self, names, failing):
        """Sorts tests by how useful they are: those of the same files first."""
        if len(names) > 20_000:
            names = names[:20_000]
        known = {}
        for at, name in enumerate(self.tests.ids):
            known.setdefault(name, at)
        found = {}
        for name in names:
            if name in known:
                found[known[name]] = True
            elif len(names) < 500:
                found.update(dict.fromkeys(self.tests.find(name)[:1], True))
        if names and not found:
            # Names have another format; whether these tests pass is checked before it matters.
            found = dict.fromkeys(range(len(self.tests.ids)))
        files = {self.tests.file(at) for at in failing}
        rest = [at for at in found if at not in failing]
        return sorted(rest, key=lambda at: (self.tests.file(at) not in files, at))

    def run_once(self, chosen, limit):
        """Runs tests in a separate fork, and returns whether each passed."""

        def work(say):
            started, programs, files = [undisturbed()], [], set()

            def watch(event, arguments):
                if event in STARTS:
                    programs.append(event)
                elif event in FORKS:
                    # The code that it runs is not traced.
                    files.add(None)
                elif event == "exec":
                    files.add(getattr(arguments[0], "co_filename", ""))

            # An audit hook cannot be removed, which does not matter in a fork.
            sys.addaudithook(watch)

            def done(at, passed):
                now = undisturbed()
                say(b"%d %d %f %d\n" % (at, passed, now - started[0], bool(programs)))
                started[0] = now
                programs.clear()
                return True

            self.tests.run(chosen, done)
            say(json.dumps(None if None in files else list(files)).encode())

        results = {}
        with Fork(work) as fork:
            said, _ = fork.all(limit)
        for line in said.split(b"\n"):
            words = line.split()
            if len(words) == 4:
                at = int(words[0])
                results[at] = words[1] == b"1"
                self.times[at] = float(words[2])
                if words[3] == b"1":
                    self.starting.add(at)
        self.note_files(said.rpartition(b"\n")[2])
        # A test that ended the process has not passed.
        for at in chosen:
            results.setdefault(at, False)
        return results

    def note_files(self, said):
        try:
            files = json.loads(said)
        except ValueError:
            # It did not end.
            files = None
        if self.run_files is not None and isinstance(files, list):
            self.run_files.update(self.tree.path(str(name)) for name in files)
        else:
            self.run_files = None

    def limit(self):
        return min(MOST, max(LEAST, self.took * FACTOR))

    def limits(self, more=0.0):
        """Time limits for a candidate: wall time and processor time, with `more` seconds of preparation."""
        more *= FACTOR
        least = LEAST_BUSY if self.late >= MANY_LATE else LEAST
        busy = self.took if self.busy is None else self.busy
        return min(MOST, self.limit() + more), min(MOST, max(least, busy * FACTOR) + more)

    def verdicts(self, candidates, limit):
        end, found = time.monotonic() + limit, []
        while len(found) < len(candidates) and not (found and time.monotonic() > end):
            found.extend(self.some(candidates[len(found) :][:GROUP]))
        return found

    def some(self, candidates):
        """Returns a verdict for each candidate."""
        edits = [self.edited(candidate) for candidate in candidates]
        if self.on_disk:
            return [self.written(edit) for edit in edits]
        trials = [edit and self.trial(edit) for edit in edits]
        together = iter(self.groups.verdicts([trial for trial in trials if trial]))
        found = []
        for edit, trial in zip(edits, trials):
            if edit is None:
                found.append(INVALID)
            elif trial is None:
                found.append(self.reloaded(edit))
            else:
                found.append(next(together) or self.alone(edit, trial))
        return found

    def edited(self, candidate):
        try:
            return Edited(self.tree, candidate)
        except (Refused, SyntaxError, ValueError, OSError, RecursionError, MemoryError, OverflowError):
            return None

    def written(self, edit):
        if edit is None:
            return INVALID
        # The disk is unchanged meanwhile.
        trial = self.trial(edit)
        if trial is None or trial.took:
            self.get_ready_to_reload()
        try:
            with Written(edit):
                return self.alone(edit, trial) if trial else self.reloaded(edit)
        except OSError:
            return FAILS

    def trial(self, edit):
        """How to try an edit without reloading everything. None if that does not suffice."""
        changes = self.live(edit.swap)
        trial = Trial(lambda: swapped(changes)) if changes else self.reruns.trial(edit)
        if trial:
            trial.added = edit.added(self.tests.file(at) for at in self.failing)
        return trial

    def alone(self, edit, trial):
        relevant = self.relevant(edit)

        def work(say):
            try:
                trial.apply()
            except BaseException as error:
                say(b"u" if isinstance(error, Unlike) else b"i")
                return
            self.try_tests(self.tests, self.failing, relevant, say, trial.added)

        return self.heard(work, trial.took) or self.reloaded(edit)

    def live(self, swap):
        """The functions to change, with their new code. None if that does not suffice."""
        if not swap.possible or not swap.pairs:
            return None
        targets = []
        for old, new in swap.changed:
            if key(old) in self.tests.at_import:
                return None
            if new is None and self.index.get(key(old)):
                return None
        for old, new in swap.pairs:
            for function in self.index.get(key(old), ()):
                if function.__code__.co_freevars != new.co_freevars:
                    return None
                if content(function.__code__) == content(old):
                    targets.append((function, new))
        return targets or None

    def relevant(self, edit):
        """Tests that passed and may execute the edited code."""
        if self.touched is None:
            chosen = self.passing_near()
        else:
            keys = [key(old) for old, _ in edit.swap.changed]
            sets = [self.touched.get(one, ()) for one in keys]
            if edit.swap.possible:
                chosen = sorted({at for touched in sets for at in touched})
            else:
                path = edit.file.path
                sets = [tests for one, tests in self.touched.items() if self.tree.path(one[0]) == path]
                chosen = sorted({at for touched in sets for at in touched})
        return bounded_by(chosen, self.times)

    def relevant_to(self, functions):
        """Tests that passed and call these functions, as far as that is known."""
        if self.touched is None:
            return self.passing_near()
        touched = [self.touched.get(key(function.__code__), ()) for function in functions]
        return bounded_by(sorted({at for tests in touched for at in tests}), self.times)

    def passing_near(self):
        """If it is unknown which tests execute what: some from the same files that pass here."""
        near = self.passing[:50]
        results = self.run_once(near, PASSING) if near else {}
        self.touched_near = [at for at in near if results.get(at)]
        self.passing_near = lambda: self.touched_near
        return self.touched_near

    def try_tests(self, tests, failing, passing, say, added=None):
        """Sends `p` when the failing tests pass, `P` when the others pass as well, `n` when only some of the failing
        ones pass, and `l` when one fails later, if it is known how many lines were added."""
        first, remaining = set(failing), set(failing) | set(passing)
        ran, bad, points = 0, False, []

        def done(at, passed):
            nonlocal ran, bad
            ran, bad = ran + 1, bad or not passed
            if passed:
                first.discard(at)
                if at in remaining and at in failing and not first:
                    say(b"p")
                remaining.discard(at)
            if not bad:
                return True
            if first and len(first) < len(failing):
                say(b"n")
                return False
            points.append((at, tests.point))
            if ran < min(self.looks(), len(failing)):
                return True
            if added is not None and first and self.points.is_later(points, added):
                say(b"l")
            return False

        tests.run(list(failing) + list(passing), done)
        if not remaining:
            say(b"P")

    def looks(self):
        """How many failing tests are run if the first of them fails: where they are quick, it is worth knowing
        whether another one passes."""
        usual = sum(self.times.get(at, self.took) for at in self.failing)
        return LOOKS if usual <= QUICK else 1

    def heard(self, work, more=0.0):
        """The verdict of a fork, whose preparation usually takes `more` seconds. None if the edit cannot be tried in
        this way."""
        with Fork(work) as fork:
            said = fork.hear(*self.limits(more))
            if said == b"p":
                said = fork.hear(self.patience)
            if said is None:
                self.late += 1
                return TIMEOUT
        if said.startswith((b"i", b"u")):
            return INVALID if said.startswith(b"i") else None
        if said.startswith((b"n", b"l")):
            return CLOSER if said.startswith(b"n") else LATER
        return PASSES if said.endswith(b"P") else FAILS

    def reloaded(self, edit):
        """Judges an edit that changes what modules do while they are loaded."""
        if self.run_files is not None and not self.on_disk and edit.file.path not in self.run_files:
            return FAILS
        self.get_ready_to_reload()
        if not self.reload_took:
            return FAILS
        failing, passing = self.failing, self.relevant(edit)

        def work(say):
            reload(self.tree, {edit.file.name: edit.data()})
            try:
                fresh = self.tests.again(failing + passing)
            except BaseException:
                say(b"i")
                return
            count = len(failing)
            self.try_tests(fresh, list(range(count)), list(range(count, count + len(passing))), say)

        return self.heard(work, self.reload_took)

    def get_ready_to_reload(self):
        if self.reload_took is None:
            self.reload_took = self.try_reloading()

    def try_reloading(self):
        """How long reloading the modules takes; 0 if the tests then do not fail as before."""
        self.tests.get_ready()

        def work(say):
            reload(self.tree, {})
            fresh = self.tests.again(self.failing)
            said = {}
            fresh.run(list(range(len(self.ending))), lambda at, passed: said.update({at: passed}) or True)
            say(json.dumps(list(said.values())).encode())

        started = time.monotonic()
        with Fork(work) as fork:
            said, ended = fork.all(MOST)
        if not ended or not said or any(json.loads(said)):
            return 0.0
        return time.monotonic() - started


def bounded_by(chosen, times):
    """As many of the fastest as there is time for, in their original order."""
    kept, total = set(), 0.0
    for at in sorted(chosen, key=lambda at: times.get(at, 0.0)):
        total += times.get(at, 0.01)
        if total > PASSING or len(kept) >= MOST_PASSING:
            break
        kept.add(at)
    return [at for at in chosen if at in kept]
