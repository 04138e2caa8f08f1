"""Repairs solutions of programming puzzles, without a model.

Usage: `python3 puzzles.py HALF GREENLIGHT DEBUGBENCH [NAME…]`. HALF is `first`, whose cases may be looked at, `second`,
whose cases may only be counted, or `all`. DEBUGBENCH is a clone or bare repository of
https://github.com/thunlp/DebugBench, of which the commit `COMMIT` is used: solutions that people published, each with
one bug that a model put in. Those in Python are tried whose bug is not in the syntax.

The tests are the puzzle's examples and some variations of them, with what the right solution returns. A fix is right if
it returns what the right solution returns for up to 200 further variations. Cases are left out whose examples cannot be
read, or whose bug none of the first variations shows. Of several bugs of a puzzle whose kinds begin with the same word,
one is tried. Fixes of the first half are printed.
"""

import ast
import hashlib
import json
import re
import subprocess
import sys

import people

COMMIT = "2761bab93c4c65351b19d0ef4a94b26abe47a185"
KINDS = (
    "condition error",
    "faulty indexing",
    "misused == or =",
    "operation error",
    "other error",
    "undefined methods",
    "undefined objects",
    "variable error",
)
# How many variations are tests, and how many are looked at for one that shows the bug.
SHOWN_VARIATIONS = 6
LOOKED_AT = 30
# What the site of the puzzles imports for every solution.
IMPORTS = """import bisect
import functools
import heapq
import itertools
import math
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
from typing import *
"""
# An example's inputs: names with values, separated by commas.
GIVEN = re.compile(r"Input:(.*?)\nOutput:(.*?)(?:\n|$)", re.DOTALL)
NAME = re.compile(r"\s*,?\s*([A-Za-z_]\w*)\s*=\s*")


def digest(name):
    return hashlib.sha256(name.encode()).hexdigest()


def program(code):
    return f"{IMPORTS}\n\n{code.strip()}\n"


def entry(code, names):
    """The method of `Solution` that takes these arguments."""
    for each in ast.parse(code).body:
        for method in each.body if isinstance(each, ast.ClassDef) and each.name == "Solution" else []:
            if isinstance(method, ast.FunctionDef) and [it.arg for it in method.args.args[1:]] == names:
                return method.name
    return None


def read(example):
    """The names and values of the inputs of an example."""
    found = GIVEN.search(example)
    if not found:
        return None
    text, names, values, decoder = found[1].strip(), [], [], json.JSONDecoder()
    while text:
        named = NAME.match(text)
        if not named:
            return None
        value, end = decoder.raw_decode(text[named.end() :])
        names.append(named[1])
        values.append(value)
        text = text[named.end() + end :].strip()
    return names, values


class Puzzles:
    """The cases in Python."""

    def __init__(self, half):
        self.half = half
        self.all = None

    def records(self, source):
        if self.all is None:
            found = {}
            for kind in KINDS:
                command = ["git", "-C", source, "show", f"{COMMIT}:benchmark/python3_{kind}.json"]
                every = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                found |= {f"{kind.split()[0]}:{each['slug']}": each for each in every}
            self.all = found
        return self.all

    def names(self, source):
        every = sorted(self.records(source), key=digest)
        halves = {"first": "01234567", "second": "89abcdef", "all": "0123456789abcdef"}
        # All bugs of one puzzle are in the same half.
        return [name for name in every if digest(name.partition(":")[2])[0] in halves[self.half]]

    def case(self, source, name):
        record = self.records(source)[name]
        try:
            examples = [read(each) for each in record["examples"]]
            right = record["oracle_code"]
            solved = entry(right, examples[0][0]) if examples and all(examples) else None
        except (ValueError, SyntaxError):
            return None, None
        if not solved:
            return None, None
        inputs = [values for _, values in examples]
        every = people.variations(inputs)
        try:
            looked = every[: len(inputs) + LOOKED_AT]
            wanted = self.returned(right, solved, looked, 0.2)
            found = self.returned(record["buggy_code"], solved, looked, 0.2)
        except (ValueError, subprocess.SubprocessError):
            return None, None
        usable = [at for at, want in enumerate(wanted) if want is not None and not want.endswith("Error")]
        differing = [at for at in usable if wanted[at] != found[at]]
        if not differing or len(usable) < len(inputs) or usable[: len(inputs)] != list(range(len(inputs))):
            return None, None
        shown = usable[: len(inputs) + SHOWN_VARIATIONS]
        if not set(shown) & set(differing):
            shown.append(differing[0])
        tests = ""
        for number, at in enumerate(shown):
            call = f"Solution().{solved}({', '.join(map(repr, every[at]))})"
            tests += f"\n\ndef test_{number}():\n    assert {call} == {wanted[at]}\n"
        files = {"small.py": program(record["buggy_code"]), "test_small.py": f"from small import Solution\n{tests}"}
        return files, (solved, every)

    def returned(self, code, solved, inputs, seconds):
        text = f"{program(code)}\n\ndef solve(*given):\n    return Solution().{solved}(*given)\n"
        return people.returned(text, "solve", inputs, seconds)

    def edited(self, _name):
        return "small.py"

    def is_right(self, source, name, text, inputs):
        record = self.records(source)[name]
        if self.half == "first":
            # To be read by a person.
            codes = (record["buggy_code"], record["oracle_code"], text)
            print(f"--- {name}", *codes, sep="\n--- ", flush=True)
        solved, every = inputs
        wanted = self.returned(record["oracle_code"], solved, every, 0.2)
        return people.agree(wanted, self.returned(text, solved, every, 2))


if __name__ == "__main__":
    half = sys.argv.pop(1)
    people.main(Puzzles(half), __doc__)
