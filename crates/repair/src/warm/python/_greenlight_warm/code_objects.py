"""Compares two versions of compiled code, and finds the functions that use it."""

import gc
import types

FUNCTION = 0x3  # CO_OPTIMIZED | CO_NEWLOCALS


class Swap:
    """Returns pairs of old and new code of the functions that must be changed, the outer ones first."""

    def __init__(self):
        self.pairs = []
        self.changed = []
        self.possible = True

    def compare(self, old, new, around):
        """Returns whether anything differs; `around` are the pairs of functions that contain this code."""
        here = [*around, (old, new)] if old.co_flags & FUNCTION == FUNCTION else around
        differs = content(old) != content(new)
        inner, others = nested(old), nested(new)
        if differs:
            self.changed.extend(here[-1:] or [(old, new)])
            self.possible = self.possible and bool(here)
        if len(inner) == len(others):
            for pair in zip(inner, others):
                self.compare(*pair, here)
        elif not differs:
            self.possible = False
        else:
            self.changed.extend((code, None) for code in inner)
        if differs:
            self.pairs.extend(pair for pair in here if pair not in self.pairs)


def nested(code):
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


def content(code):
    """A description of a code object without nested code and without its location."""
    consts = [(type(const), repr(const)) for const in code.co_consts if not isinstance(const, types.CodeType)]
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_name)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, consts, shape, names, getattr(code, "co_exceptiontable", b""))


def key(code):
    """The location of a code object."""
    return (code.co_filename, code.co_firstlineno, code.co_name)


def functions(tree):
    """The project's live functions, by the location of their code."""
    found = {}
    for function in gc.get_objects():
        if type(function) is types.FunctionType and tree.path(function.__code__.co_filename):
            code = function.__code__
            whole = tree.whole(tree.path(code.co_filename))
            found.setdefault((whole, code.co_firstlineno, code.co_name), []).append(function)
    return found
