"""Compiled code: how two versions of it differ, and the functions that have it."""

import gc
import types

FUNCTION = 0x3  # CO_OPTIMIZED | CO_NEWLOCALS


class Swap:
    """Functions that are given other code: pairs of code of now and of then, the outer ones first."""

    def __init__(self):
        self.pairs = []
        self.changed = []
        self.possible = True

    def compare(self, old, new, around):
        """Whether anything differs; `around` are the pairs of functions that this code is made in."""
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
    """What a piece of code does, without the code nested in it and without where it stands."""
    consts = [(type(const), repr(const)) for const in code.co_consts if not isinstance(const, types.CodeType)]
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_name)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, consts, shape, names, getattr(code, "co_exceptiontable", b""))


def key(code):
    """Where code stands."""
    return (code.co_filename, code.co_firstlineno, code.co_name)


def functions(tree):
    """The functions of the project that are alive, by where their code stands."""
    found = {}
    for function in gc.get_objects():
        if type(function) is types.FunctionType and tree.path(function.__code__.co_filename):
            code = function.__code__
            whole = tree.whole(tree.path(code.co_filename))
            found.setdefault((whole, code.co_firstlineno, code.co_name), []).append(function)
    return found
