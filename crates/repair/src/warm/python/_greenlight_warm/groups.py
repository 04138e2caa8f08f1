"""Tries several edits in one fork, one after the other. Most fail quickly, and a fork costs more than that.

An edit may leave something behind that makes the next one fail. So the contents of modules are restored in between,
and tests that are known to pass run at the end: if they fail, each edit is tried again in a separate fork. An edit
that passes is always tried again in that way.
"""

from .forks import Fork
from .hot_swap import Unlike
from .module_state import ModuleState
from .verdicts import CLOSER, FAILS, INVALID, LATER, TIMEOUT

GROUP = 256
# Number of tests that must pass after a group, and time limit of each in seconds.
CANARIES = 3
CANARY = 0.05
# Number of groups that may go wrong before no more are tried.
MOST_DIRTY = 3


class Groups:
    def __init__(self, judge):
        self.judge = judge
        self.dirty = 0
        # The state that forks start with; nothing changes it here.
        self.kept = None

    def verdicts(self, trials):
        """Returns a verdict for each edit, or None if it must be tried alone."""
        verdicts = []
        while len(verdicts) < len(trials):
            left = trials[len(verdicts) :][:GROUP]
            if len(left) == 1 or self.dirty >= MOST_DIRTY:
                verdicts.append(None)
                continue
            verdicts.extend(self.group(left))
        return verdicts

    def group(self, trials):
        judge, canaries = self.judge, self.canaries()
        self.kept = kept = self.kept or ModuleState(judge.tree)
        looks = judge.looks()

        def work(say):
            def passes(trial):
                try:
                    undo = trial.apply()
                except Unlike:
                    kept.restore()
                    return b"p"
                except BaseException:
                    kept.restore()
                    return b"i"
                results, points = [], []

                def done(at, passed):
                    results.append(passed)
                    points.append((at, judge.tests.point))
                    return all(results) or (len(results) < looks and not any(results))

                judge.tests.run(judge.failing, done)
                undo()
                kept.restore()
                if sum(results) == len(judge.failing):
                    return b"p"
                if any(results):
                    return b"n"
                is_later = trial.added is not None and judge.points.is_later(points, trial.added)
                return b"l" if is_later else b"f"

            for number, trial in enumerate(trials):
                said = passes(trial)
                if number == 0:
                    first = said
                say(said)
            # Check that leftovers changed neither the result of the first edit nor those of other tests.
            # A value that varies may be closer once and not the other time.
            good = [passes(trials[0]).replace(b"l", b"f") == first.replace(b"l", b"f")]
            judge.tests.run(canaries, lambda _, passed: good.append(passed) or passed)
            say(b"c" if all(good) else b"d")

        said = b""
        with Fork(work) as fork:
            while len(said) <= len(trials):
                is_last = len(said) == len(trials)
                took = trials[0].took + CANARIES * CANARY if is_last else trials[len(said)].took
                heard = fork.hear(*judge.limits(took))
                if heard is None:
                    judge.late += 1
                    verdicts = [self.word(byte) for byte in said[: len(trials)]]
                    return [*verdicts, TIMEOUT] if len(verdicts) < len(trials) else [None] * len(trials)
                if not heard:
                    # It died at the next edit, which may or may not be to blame.
                    break
                said += heard
        if len(said) == len(trials) or said[len(trials) :] == b"d":
            self.dirty += 1
            return [None] * len(trials)
        return [self.word(byte) for byte in (said + b"p")[: len(trials)]]

    def word(self, byte):
        return {ord("f"): FAILS, ord("n"): CLOSER, ord("l"): LATER, ord("i"): INVALID}.get(byte)

    def canaries(self):
        """Fast tests that pass here, the nearest first."""
        if not hasattr(self, "chosen"):
            judge = self.judge
            known = set().union(*judge.touched.values()) if judge.touched else set(judge.passing_near())
            quick = [at for at in judge.passing if at in known and judge.times.get(at, 1.0) < CANARY]
            self.chosen = quick[:CANARIES]
        return self.chosen
