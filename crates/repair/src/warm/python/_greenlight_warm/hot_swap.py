"""Applies an edit to loaded code, and reverts it: functions get new code, or one module is run again.

When a module is run again, the modules that imported names from it stay loaded, and get the new values. That is much
faster than reloading all modules. It does not suffice if they used these names while they were loaded, or if anything
else holds objects of the module.
"""

import gc
import importlib.machinery
import sys
import time
import types

from .forks import Fork
from .imports import MOST_ROUNDS, derived, of_modules, read_at_load

# Names that the import system sets in a module.
GIVEN = ("__file__", "__spec__", "__loader__", "__package__", "__path__", "__cached__")
# Types of values whose identity does not matter.
PLAIN = (int, float, complex, bool, str, bytes, tuple, frozenset, type(None))
# Functions only from the interpreter's point of view.
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
# Maximum number of objects of one module that are followed.
MOST_FOLLOWED = 100_000
# Time limits in seconds for finding out whether a module can be run again: for each module, and in total.
SEEING = 5.0
MOST_SEEING = 20.0


class Trial:
    """An edit: `apply()` returns a function that reverts it."""

    def __init__(self, apply, took=0.0):
        # How long applying it usually takes.
        self.apply, self.took = apply, took
        # How many lines it adds. None if they move the tests.
        self.added = None


def swapped(changes):
    """Gives functions new code, and returns a function that reverts this."""
    before = [(function, function.__code__) for function, _ in changes]
    give(changes)
    return lambda: give(before)


def give(codes):
    for function, code in codes:
        function.__code__ = code


class Reruns:
    """Modules that can be run again alone."""

    def __init__(self, judge):
        self.judge, self.tree = judge, judge.tree
        self.uses = None
        # By path: what is run again, and how long it takes. None if that does not suffice.
        self.known = {}
        self.spent = 0.0

    def trial(self, edit):
        """Returns None if an edit must be tried in another way."""
        codes = self.codes(edit)
        known = codes and self.found(edit.file)
        if not known:
            return None
        again, took = known
        return Trial(lambda: again.run(codes)[1], took)

    def codes(self, edit):
        """The code of the module, statement by statement."""
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
            started = time.monotonic()
            self.known[file.path] = self.look_at(file) if self.spent < MOST_SEEING else None
            self.spent += time.monotonic() - started
        return self.known[file.path]

    def look_at(self, file):
        module = self.module(file)
        if module is None:
            return None
        if self.uses is None:
            self.uses = of_modules(self.tree)
        users = derived(self.uses, module.__name__)
        read = self.read_by_others(module, users)
        if read is None:
            return None
        again = Again(module, users, read)
        took = self.seen(again, [file.runnable(part) for part in file.parts])
        return took and (again, took)

    def module(self, file):
        """The module of the file, if there is exactly one and it is an ordinary one."""
        names = [name for name in self.tree.modules() if self.tree.path(sys.modules[name].__file__) == file.path]
        module = sys.modules[names[0]] if len(names) == 1 else None
        is_ordinary = type(getattr(module, "__loader__", None)) is importlib.machinery.SourceFileLoader
        return module if is_ordinary else None

    def read_by_others(self, module, users):
        """The names of the module that others read while they were loaded. None if that is unknown."""
        tests, read = self.judge.tests, set()
        if None in self.uses.values() or self.tree.path(module.__file__) in tests.run_by_others:
            return None
        ran = {self.tree.path(file) for file, _, name in tests.at_import if name not in COMPREHENSIONS}
        for user, names in users.items():
            own = read_at_load(self.uses[user], module.__name__, names)
            if own is None or self.tree.path(sys.modules[user].__file__) in ran:
                return None
            read |= own
        return read

    def seen(self, again, codes):
        """How long it takes to run the unchanged module again. None if anything behaves differently afterwards."""
        judge = self.judge
        canaries = judge.groups.canaries()

        def work(say):
            # References held by the harness itself do not count.
            judge.index, judge.groups.kept = {}, None
            started = time.monotonic()
            made = again.run(codes)[0]
            took = time.monotonic() - started
            if not are_alike(vars(again.module), vars(sys.modules[again.name])) or is_held(self.tree, again, made):
                return
            results = {}
            judge.tests.run(judge.ending + canaries, lambda at, passed: results.update({at: passed}) or True)
            if not any(results[at] for at in judge.ending) and all(results[at] for at in canaries):
                say(b"%f" % took)

        with Fork(work) as fork:
            said, _ = fork.all(SEEING)
        return float(said) if said else None


class Unlike(Exception):
    """The edit changes a value that other modules read while they were loaded."""


class Again:
    """A module that can be run again."""

    def __init__(self, module, users, read):
        self.module, self.name = module, module.__name__
        # The names that others imported from it, and those that they read while they were loaded.
        self.users, self.read = users, read

    def run(self, codes):
        """Runs the code, and returns the new objects and a function that reverts everything."""
        before, fresh = vars(self.module), afresh(self.module)
        after = vars(fresh)
        sys.modules[self.name] = fresh
        try:
            for code in codes:
                exec(code, after)
            if not all(is_same(before.get(key), after.get(key)) for key in self.read):
                raise Unlike
        except BaseException:
            sys.modules[self.name] = self.module
            raise
        changes = self.given(before, fresh)
        for names, key, _, new in changes:
            names[key] = new
        made = [old for key, old in before.items() if key in after and after[key] is not old and type(old) not in PLAIN]

        def undo():
            sys.modules[self.name] = self.module
            for names, key, old, _ in reversed(changes):
                names[key] = old

        return [*made, self.module], undo

    def given(self, before, fresh):
        """The names in other modules that get another value: the namespace, the name, the old and the new value."""
        after, modules = vars(fresh), (self.module, fresh)
        parent, _, child = self.name.rpartition(".")
        changes = []
        if parent in sys.modules and vars(sys.modules[parent]).get(child) is self.module:
            changes.append((vars(sys.modules[parent]), child, *modules))
        # Indexed by module and name, so that names imported from an importing module are found, too.
        known = {(self.name, key): (old, after[key]) for key, old in before.items() if key in after}
        known[self.name, None] = modules
        for _ in range(MOST_ROUNDS):
            count = len(known)
            for user, taken in self.users.items():
                names = vars(sys.modules[user])
                for key, origin in taken.items():
                    old, new = known.get(origin, (None, None))
                    if (user, key) in known or origin not in known or names.get(key, known) is not old:
                        continue
                    known[user, key] = (old, new)
                    if new is not old:
                        changes.append((names, key, old, new))
            if len(known) == count:
                break
        return changes


def afresh(module):
    """An empty module with the same name and location."""
    before, name = vars(module), module.__name__
    fresh = types.ModuleType(name)
    after = vars(fresh)
    after.update({given: before[given] for given in GIVEN if given in before})
    # Submodules are not the module's own names.
    below = [other[len(name) + 1 :] for other in sys.modules if other.startswith(name + ".")]
    after.update({key: before[key] for key in below if key in before})
    return fresh


def are_alike(before, after):
    """Whether the values of a module's names look the same as before, so that nobody has changed them."""
    own = [key for key in before if not key.startswith("__")]
    if any(key not in after for key in own) or any(key not in before for key in after):
        return False
    return all(is_like(before[key], after[key]) for key in own)


def is_same(one, other):
    """Whether two values are equal for their readers: plain values, and collections of them."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if type(one) is dict:
        return list(one) == list(other) and all(is_same(one[key], other[key]) for key in one)
    return type(one) in (int, float, complex, bool, str, bytes, set, frozenset) and one == other


def is_like(one, other):
    if type(one).__qualname__ != type(other).__qualname__:
        return False
    if type(one) in (list, dict, set):
        return len(one) == len(other)
    if isinstance(one, type):
        has_same_names = isinstance(other, type) and vars(one).keys() == vars(other).keys()
        return has_same_names and registered(one) == registered(other)
    return type(one) not in (int, float, bool, str, bytes) or one == other or one != one


def registered(kind):
    """The number of classes registered with an abstract class."""
    import _abc

    try:
        return len(_abc._get_dump(kind)[0])
    except (AttributeError, TypeError):
        return 0


def is_held(tree, again, made):
    """Whether anything but modules and the objects themselves holds a reference to the objects of the module."""
    module = again.module
    gc.unfreeze()
    spaces = {id(vars(other)) for other in list(sys.modules.values()) if isinstance(other, types.ModuleType)}
    own, left = {}, [value for value in made if value is not module]
    while left and len(own) < MOST_FOLLOWED:
        value = left.pop()
        is_foreign_class = isinstance(value, type) and value.__module__ != module.__name__
        is_foreign = is_foreign_class or isinstance(value, types.ModuleType)
        if id(value) in own or id(value) in spaces or is_foreign or not gc.is_tracked(value):
            continue
        own[id(value)] = value
        left.extend(gc.get_referents(value))
    # Modules, and the variables of this check.
    here = map(id, (vars(module), sys.modules, again, vars(again), made, own, left))
    known = {id(vars(sys.modules[name])) for name in tree.modules()}.union(own, here)
    holders = gc.get_referrers(*made)
    return len(own) >= MOST_FOLLOWED or any(id(holder) not in known and not is_harness(holder) for holder in holders)


def is_harness(holder):
    """Whether the holder belongs to the harness, such as another trial's changes."""
    is_change = type(holder) is tuple and len(holder) == 2 and type(holder[1]) is types.CodeType
    return is_change or isinstance(holder, (types.FrameType, types.CellType))
