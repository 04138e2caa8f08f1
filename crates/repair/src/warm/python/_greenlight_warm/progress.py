"""How far a failing test got: the later it fails, or the closer its value is, the more of the code is right."""

import json

from .forks import Fork

# Values with more elements are not compared.
MOST_ELEMENTS = 10_000
# Numbers that differ by more are not compared.
MOST_OFF = 1e15


class Point:
    """Where a test failed, and how far the value was from the expected one."""

    def __init__(self, row=0, returned=False, inner=(), distance=None):
        # The line of the test itself.
        self.row = row
        # Whether the code under test had returned by then, or else where it raised an error: file, function and line.
        self.returned, self.inner = returned, inner
        self.distance = distance

    def is_later_than(self, before, added):
        """Compares the failure with an edit to the one without, where the edit adds lines."""
        if self.row != before.row:
            return self.row > before.row > 0
        if self.returned != before.returned:
            return self.returned
        if self.returned:
            return None not in (self.distance, before.distance) and self.distance < before.distance
        if self.inner[:2] != before.inner[:2]:
            return False
        return bool(self.inner) and self.inner[2] > before.inner[2] + max(0, added)

    def is_earlier_than(self, before):
        return self.row < before.row or (self.row == before.row and before.returned and not self.returned)


class Points:
    """Where the first failing tests fail without an edit, by test."""

    def __init__(self):
        self.before = {}

    def find(self, judge):
        """Runs them in a fork."""

        def work(say):
            points = {}

            def done(at, _):
                points.setdefault(at, []).append(vars(judge.tests.point))
                return True

            # Twice, because what varies says nothing.
            for _ in range(2):
                judge.tests.run(judge.failing[: judge.looks()], done)
            same = {at: both[0] for at, both in points.items() if both[1:] == both[:1]}
            say(json.dumps(same).encode())

        with Fork(work) as fork:
            said, _ = fork.all(judge.limit())
        try:
            self.before = {int(at): Point(**fields) for at, fields in json.loads(said).items()}
        except ValueError:
            # It did not end.
            self.before = {}
        for each in self.before.values():
            each.inner = tuple(each.inner)

    def is_later(self, points, added):
        """Whether a test failed later than without the edit, and none earlier."""
        both = [(found, self.before[at]) for at, found in points if at in self.before]
        return any(found.is_later_than(before, added) for found, before in both) and not any(
            found.is_earlier_than(before) for found, before in both
        )


def point(tree, file, traceback, compared=None):
    """The point of a traceback; `compared` are the two values of its comparison."""
    row, last = 0, None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        path = tree.path(code.co_filename)
        if path is not None:
            last = path, code.co_name, traceback.tb_lineno
            if not row and tree.whole(path) == file:
                row = traceback.tb_lineno
        traceback = traceback.tb_next
    if not row:
        return Point()
    returned = tree.whole(last[0]) == file
    return Point(row, returned, () if returned else last, distance(*compared) if returned and compared else None)


def distance(one, other):
    """How far two values are from each other. None if that has no meaning."""
    try:
        if type(one) in (int, float) and type(other) in (int, float):
            off = abs(one - other)
            return off if off <= MOST_OFF else None
        is_sequence = type(one) is type(other) and isinstance(one, (str, list, tuple))
        if is_sequence and max(len(one), len(other)) <= MOST_ELEMENTS:
            return sum(bool(a != b) for a, b in zip(one, other)) + abs(len(one) - len(other))
    except Exception:
        # The elements are the project's.
        pass
    return None
