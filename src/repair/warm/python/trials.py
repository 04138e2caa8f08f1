"""Puts an edit into code that is loaded, and takes it out again: functions get other code, or one module is run again.

When a module is run again, the modules that use it stay and are given what is new in it, which takes a fraction of the time
that loading them all does. Where anything else holds what the module made, that is not enough.
"""

import gc
import importlib.machinery
import sys
import time
import types

# Names that the import system gives a module.
GIVEN = ("__file__", "__spec__", "__loader__", "__package__", "__path__", "__cached__")
# Values that are the same wherever they come from, so that it is the name that says where from.
PLAIN = (int, float, complex, bool, str, bytes, tuple, frozenset, type(None))
# Objects of one module that are followed.
MOST_FOLLOWED = 100_000


class Trial:
    """An edit: `apply()` gives what takes it back."""

    def __init__(self, apply, took=0.0):
        # How long that usually takes.
        self.apply, self.took = apply, took


def swapped(changes):
    """Functions with other code."""
    before = [(function, function.__code__) for function, _ in changes]
    give(changes)
    return lambda: give(before)


def give(codes):
    for function, code in codes:
        function.__code__ = code


class Reruns:
    """Modules that can be run again by themselves."""

    def __init__(self, judge):
        self.judge, self.tree = judge, judge.tree
        # By path, with how long that takes; None where it is not enough.
        self.known = {}
        # By the path of each module what it imports.
        self.imported = {}

    def trial(self, edit):
        """None where an edit has to be tried in another way."""
        codes = self.codes(edit)
        known = codes and self.found(edit.file)
        if not known:
            return None
        module, took = known
        return Trial(lambda: self.run_again(module, codes)[1], took)

    def codes(self, edit):
        """What the module runs, statement by statement."""
        file, edited = edit.file, edit.file.part(edit.start, edit.end)
        if edited is None or not file.is_whole:
            return None
        try:
            new = file.runnable(edited, (edit.start, edit.end, edit.text))
            return [new if part == edited else file.runnable(part) for part in file.parts]
        except SyntaxError:
            return None

    def found(self, file):
        if file.path not in self.known:
            started, module = time.monotonic(), self.module(file)
            is_enough = module and self.is_enough(module, file)
            self.known[file.path] = (module, time.monotonic() - started) if is_enough else None
        return self.known[file.path]

    def module(self, file):
        """The only module of the file, if it is an ordinary one."""
        names = [name for name in self.tree.modules() if self.tree.path(sys.modules[name].__file__) == file.path]
        module = sys.modules[names[0]] if len(names) == 1 else None
        is_ordinary = type(getattr(module, "__loader__", None)) is importlib.machinery.SourceFileLoader
        return module if is_ordinary else None

    def is_enough(self, module, file):
        """Whether nothing else holds what it made, and the tests go as they did when it is run again as it is."""
        judge = self.judge
        canaries = judge.groups.canaries()
        codes = [file.runnable(part) for part in file.parts]
        self.look_at_imports()

        def work(say):
            judge.index = {}
            if is_held(self.tree, module, self.run_again(module, codes)[0]):
                return
            results = {}
            judge.tests.run(judge.failing + canaries, lambda at, passed: results.update({at: passed}) or True)
            if not any(results[at] for at in judge.failing) and all(results[at] for at in canaries):
                say(b"y")

        with Fork(work) as fork:
            said, _ = fork.all(MOST)
        return said == b"y"

    def look_at_imports(self):
        for name in self.tree.modules():
            path = self.tree.path(sys.modules[name].__file__)
            try:
                self.imported.setdefault(path, self.tree.file(path).imported)
            except (Refused, OSError):
                self.imported.setdefault(path, {"*"})

    def run_again(self, module, codes):
        """What was replaced, with what it is now, and what takes it back."""
        before, fresh = vars(module), afresh(module)
        after = vars(fresh)
        sys.modules[module.__name__] = fresh
        try:
            for code in codes:
                exec(code, after)
        except BaseException:
            sys.modules[module.__name__] = module
            raise
        pairs = [(old, after[key]) for key, old in before.items() if key in after and not key.startswith("__")]
        made = {id(old): (old, new) for old, new in [(module, fresh), *pairs] if new is not old and type(old) not in PLAIN}
        given = []
        for name in self.tree.modules():
            names, imported = vars(sys.modules[name]), self.imported.get(self.tree.path(sys.modules[name].__file__), {"*"})
            for key, value in list(names.items()) if names is not after else ():
                if id(value) in made:
                    given.append((names, key, value, made[id(value)][1]))
                elif type(value) in PLAIN and value is before.get(key) and key in after and not imported.isdisjoint((key, "*")):
                    given.append((names, key, value, after[key]))
        give_names((names, key, new) for names, key, _, new in given)

        def undo():
            sys.modules[module.__name__] = module
            give_names((names, key, old) for names, key, old, _ in given)

        return made, undo


def give_names(values):
    for names, key, value in values:
        names[key] = value


def afresh(module):
    """A module of the same name and place that has nothing in it."""
    before, name = vars(module), module.__name__
    fresh = types.ModuleType(name)
    after = vars(fresh)
    after.update({given: before[given] for given in GIVEN if given in before})
    # What was loaded below a package is no name of its own.
    below = [other[len(name) + 1 :] for other in sys.modules if other.startswith(name + ".")]
    after.update({key: before[key] for key in below if key in before})
    return fresh


def is_held(tree, module, made):
    """Whether anything but modules holds on to what was replaced, besides what was replaced itself."""
    gc.unfreeze()
    names = vars(module)
    values = [old for old, _ in made.values() if old is not module]
    own, left = {id(names): names}, list(values)
    while left and len(own) < MOST_FOLLOWED:
        value = left.pop()
        is_foreign = isinstance(value, types.ModuleType) or (isinstance(value, type) and value.__module__ != module.__name__)
        if id(value) in own or is_foreign or not gc.is_tracked(value):
            continue
        own[id(value)] = value
        left.extend(gc.get_referents(value))
    allowed = {id(vars(sys.modules[name])) for name in tree.modules()} | {id(made), id(values), id(own), id(left)}
    allowed.update(id(pair) for pair in made.values())
    holders = (holder for holder in gc.get_referrers(*values) if not isinstance(holder, types.FrameType))
    return len(own) >= MOST_FOLLOWED or any(id(holder) not in own and id(holder) not in allowed for holder in holders)
