"""Calls edited functions with inputs: those from the tests, and variations of them."""

import copy
import hashlib
import itertools
import json
import signal
import sys
import time
import types
from random import seed

from .forks import Fork, Refused
from .hot_swap import swapped

# Tests may replace it.
cpu_time = time.process_time

# Maximum number of inputs recorded for each function, and of all inputs.
MOST_RECORDED = 24
MOST_INPUTS = 240
# Time limit of one call in seconds.
CALL = 0.1
# The share of that limit that a call must have had of a processor before it counts as too slow, unless it took this
# many times as long: on a busy machine, it may only have waited for its turn.
OWN_SHARE, MOST_WAITS = 0.6, 5
# Characters of an answer that are shown; a longer one is shown with its digest.
SHOWN = 300
DEEP = 5
MANY = 200


class TooSlow(BaseException):
    pass


def behave(judge, candidates, wall):
    end = time.monotonic() + wall
    chosen = []
    for candidate in candidates:
        edit = judge.edited(candidate)
        changes = edit and judge.live(edit.swap)
        if not changes:
            raise Refused("not every candidate edits an existing function")
        chosen.append(changes)
    functions = list({id(changes[0][0]): changes[0][0] for changes in chosen}.values())
    tests = list(dict.fromkeys(judge.failing + judge.relevant_to(functions)))

    def work(say):
        # With an edit, because no failing test ends without one.
        undo = swapped(chosen[0])
        inputs = varied(recorded(judge, functions, tests, wall / 3))
        undo()
        if not inputs:
            return
        # If no input reaches the edits, they look alike no matter what they do. So run without an edit, too.
        for number, changes in enumerate([[], *chosen]):
            left = max(0.2, (end - time.monotonic()) / (len(chosen) + 1 - number))
            with Fork(lambda say, changes=changes: answer(changes, inputs, say)) as fork:
                said, ended = fork.all(left)
            answers = said.decode("utf-8", "replace").split("\n")[:-1][: len(inputs)]
            missing = "the process ended" if ended else "timeout"
            # Answers that are missing because the time was up say nothing; a call that never returned does.
            say(json.dumps([answers, missing]).encode() + b"\n")

    with Fork(work) as fork:
        said, _ = fork.all(wall + 1)
    heard = [json.loads(line) for line in said.split(b"\n")[:-1]]
    if len(heard) != len(candidates) + 1:
        raise Refused("the functions were not called, or took too long")
    longest = max(len(answers) for answers, _ in heard)
    without, *lists = [answers + [missing] * (longest - len(answers)) for answers, missing in heard]
    if all(answers == without for answers in lists):
        raise Refused("no call reaches the edits")
    return {"answers": lists, "without": without}


def recorded(judge, functions, tests, limit):
    """Records calls that tests make, as a function and its arguments by name."""
    wanted = {function.__code__: function for function in functions}
    calls, seen = [], set()
    counts = dict.fromkeys(wanted, 0)
    end = time.monotonic() + limit

    def profile(frame, event, _):
        code = frame.f_code
        if event != "call" or code not in wanted or counts[code] >= MOST_RECORDED:
            return
        sys.setprofile(None)
        try:
            arguments = arguments_of(frame)
            before = (id(code), show(arguments))
            if before not in seen:
                seen.add(before)
                counts[code] += 1
                calls.append((wanted[code], arguments))
        except Exception:
            pass
        finally:
            sys.setprofile(profile)

    def done(*_):
        return time.monotonic() < end and any(count < MOST_RECORDED for count in counts.values())

    sys.setprofile(profile)
    try:
        judge.tests.run(tests, done)
    finally:
        sys.setprofile(None)
    return calls


def arguments_of(frame):
    """The positional arguments, the keyword-only ones, and the contents of `*` and `**`."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames
    plain = [values[name] for name in names[: code.co_argcount]]
    at = code.co_argcount + code.co_kwonlyargcount
    named = {name: values[name] for name in names[code.co_argcount : at]}
    if code.co_flags & 4:  # CO_VARARGS
        plain.extend(values[names[at]])
        at += 1
    if code.co_flags & 8:  # CO_VARKEYWORDS
        named.update(values[names[at]])
    return copied((plain, named))


def copied(value):
    try:
        return copy.deepcopy(value)
    except Exception:
        if isinstance(value, tuple):
            return tuple(copied(inner) for inner in value)
        return [copied(inner) for inner in value] if type(value) is list else value


def varied(calls):
    """Returns the calls, followed by the same calls with one or two arguments changed, one change of each in turn."""
    others = [variations(function, arguments) for function, arguments in calls]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*others))
    unique = {}
    for function, arguments in itertools.chain(calls, filter(None, turns)):
        unique.setdefault((id(function), show(arguments)), (function, arguments))
        if len(unique) >= MOST_INPUTS:
            break
    return list(unique.values())


def variations(function, arguments):
    plain, named = arguments
    places = [(plain, at) for at in range(len(plain))] + [(named, name) for name in named]
    changes = [[(group, at, other) for other in like(group[at])] for group, at in places]
    for change in itertools.chain.from_iterable(changes):
        yield function, with_changes(arguments, [change])
    for at in range(len(plain) - 1):
        if type(plain[at]) is type(plain[at + 1]):
            yield function, ([*plain[:at], plain[at + 1], plain[at], *plain[at + 2 :]], named)
    # Combinations of two conditions only show when two arguments change together.
    for one, other in itertools.combinations(changes, 2):
        for both in itertools.product(one, other):
            yield function, with_changes(arguments, both)


def with_changes(arguments, changes):
    plain, named = list(arguments[0]), dict(arguments[1])
    for group, at, other in changes:
        (plain if group is arguments[0] else named)[at] = other
    return plain, named


def like(value):
    """Other values of the same kind."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)) and type(value) in (int, float):
        return [value + 1, value - 1, 0, -1, -value, value * 2]
    if type(value) is str:
        return ["", value[:-1], value[1:], value[::-1], value + value, value.upper(), " " + value]
    if type(value) in (list, tuple, bytes):
        return [value[:0], value[:-1], value[1:], value[::-1], value + value]
    if type(value) in (dict, set):
        shorter = list(value)[:-1]
        return [type(value)(), {key: value[key] for key in shorter} if type(value) is dict else set(shorter)]
    return [] if value is None or hasattr(value, "__dict__") else [None]


def answer(changes, inputs, say):
    """Sends one line for each input."""
    for function, code in changes:
        function.__code__ = code
    patience = Patience()
    signal.signal(signal.SIGALRM, patience.tick)
    for function, arguments in inputs:
        plain, named = copied(arguments)
        before = show((plain, named))
        seed(0)
        patience.begin()
        try:
            signal.setitimer(signal.ITIMER_REAL, CALL, CALL)
            try:
                result = show(settled(function(*plain, **named)))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except TooSlow:
            result = "timeout"
        except BaseException as error:
            result = "raises " + type(error).__name__
        after = before if result == "timeout" else show((plain, named))
        text = result if after == before else result + " leaving " + after
        say(json.dumps(brief(text))[1:-1].encode() + b"\n")


class Patience:
    """Ends a call that takes too long."""

    def begin(self):
        self.ticks, self.began = 0, cpu_time()

    def tick(self, *_):
        self.ticks += 1
        if self.ticks >= MOST_WAITS or cpu_time() - self.began >= OWN_SHARE * CALL:
            raise TooSlow


def settled(result):
    """The result of a coroutine, or the values of a generator."""
    if isinstance(result, types.GeneratorType):
        return list(itertools.islice(result, MANY))
    if isinstance(result, types.CoroutineType):
        import asyncio

        return asyncio.run(result)
    return result


def brief(text):
    if len(text) <= SHOWN:
        return text
    return text[:SHOWN] + "... " + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def show(value, deep=DEEP):
    """A text that is equal for values that are alike, regardless of their addresses."""
    kind = type(value)
    if kind in (int, float, bool, complex, type(None)):
        return repr(value)
    if kind in (str, bytes):
        return repr(value[:10_000])
    if deep == 0:
        return kind.__name__
    if kind in (list, tuple):
        inside = ", ".join(show(inner, deep - 1) for inner in value[:MANY])
        return f"{kind.__name__}({inside}, {len(value)})"
    if kind in (set, frozenset):
        return kind.__name__ + "(" + ", ".join(sorted(show(inner, deep - 1) for inner in list(value)[:MANY])) + ")"
    if kind is dict:
        pairs = itertools.islice(value.items(), MANY)
        return "{" + ", ".join(show(key, deep - 1) + ": " + show(inner, deep - 1) for key, inner in pairs) + "}"
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)):
        return kind.__name__ + " " + getattr(value, "__name__", "")
    try:
        if kind.__repr__ is object.__repr__:
            return kind.__name__ + show(dict(vars(value)), deep - 1) if hasattr(value, "__dict__") else kind.__name__
        import re

        return kind.__name__ + " " + re.sub(r"0x[0-9a-f]{6,}", "0x", repr(value))[:10_000]
    except Exception as error:
        return kind.__name__ + " that cannot be shown: " + type(error).__name__
