"""Repairs programs that students wrote, without a model.

Usage: `python3 students.py HALF GREENLIGHT REFACTORY [NAME…]`. HALF is `first`, whose cases may be looked at, `second`,
whose cases may only be counted, or `all`. REFACTORY is a clone or bare repository of
https://github.com/githubhuyang/refactory, of which the commit `COMMIT` is used: what students of a first course handed
in for five exercises in Python, and the calls that they were marked with. Of each half and exercise, `MOST` programs
are tried, which are chosen by digest.

A third of the calls are hidden. A fix is right if it returns what the teacher's program returns, for all calls and up
to 200 variations of them, except where programs of students that passed return something else: there, the exercise
leaves open what is right. Programs that do not parse, that pass, or that another differs from in spaces and comments
only, are left out. Fixes of the first half are printed.
"""

import ast
import hashlib
import io
import subprocess
import sys
import zipfile

import people

COMMIT = "f05583a56c2e3c50aa8cc0327645283f27df3a68"
EXERCISES = range(1, 6)
MOST = 12
OTHERS = 8
# The calls are text, because JSON has no tuples.
SOLVE = "\n\nimport ast as _ast\n\n\ndef solve(given):\n    return {}(*_ast.literal_eval(given))\n"


def digest(name):
    return hashlib.sha256(name.encode()).hexdigest()


class Exercise:
    """The calls, the teacher's program, and the programs that fail."""

    def __init__(self, archive, number):
        folder = f"data/question_{number}"
        every = sorted(archive.namelist())
        texts = {path: archive.read(path).decode(errors="replace") for path in every if path.startswith(f"{folder}/")}
        # What all programs begin with.
        self.shared = texts.get(f"{folder}/code/global.py", "")
        self.right = texts[f"{folder}/code/reference/reference.py"]
        calls = [ast.parse(text.strip()).body[0].value for path, text in texts.items() if "/ans/input_" in path]
        named = {
            each.targets[0].id: ast.literal_eval(each.value)
            for each in ast.parse(self.shared).body
            if isinstance(each, ast.Assign)
        }
        self.calls = [
            (
                call.func.id,
                [named.get(each.id) if isinstance(each, ast.Name) else ast.literal_eval(each) for each in call.args],
            )
            for call in calls
        ]
        named = [path for path in texts if "/code/correct/" in path]
        # Other programs that pass. Where they differ from the teacher's, the exercise leaves open what is right.
        self.others = [texts[path] for path in sorted(named, key=digest)[:OTHERS]]
        wrong = {path.rpartition("/")[2]: text for path, text in texts.items() if "/code/wrong/" in path}
        self.wrong = {}
        seen = set()
        for name in sorted(wrong, key=digest):
            try:
                meaning = ast.dump(ast.parse(wrong[name]))
            except (SyntaxError, ValueError):
                continue
            if meaning not in seen:
                seen.add(meaning)
                self.wrong[f"{number}:{name.removesuffix('.py')}"] = wrong[name].replace("\r\n", "\n")

    def program(self, code):
        return f"{self.shared.strip()}\n\n\n{code.strip()}\n".lstrip()

    def returned(self, text, inputs, seconds):
        """What a program returns, for each call."""
        found = []
        for name in dict.fromkeys(name for name, _ in inputs):
            given = [[repr(tuple(each))] for called, each in inputs if called == name]
            found += people.returned(text + SOLVE.format(name), "solve", given, seconds)
        return found

    def wanted(self, inputs):
        """What all right programs return, for each call. None if they differ."""
        wanted = self.returned(self.program(self.right), inputs, 0.2)
        for other in self.others:
            answers = self.returned(self.program(other), inputs, 0.2)
            wanted = [want if want == has else None for want, has in zip(wanted, answers, strict=True)]
        return wanted

    def varied(self):
        """All calls and variations of them, function by function."""
        names = dict.fromkeys(name for name, _ in self.calls)
        every = []
        for name in names:
            every += [
                (name, each) for each in people.variations([each for called, each in self.calls if called == name])
            ]
        return every


class Students:
    """The programs that are tried."""

    def __init__(self, half):
        self.half = half
        self.exercises = {}

    def opened(self, source):
        if not self.exercises:
            command = ["git", "-C", source, "show", f"{COMMIT}:data.zip"]
            data = subprocess.run(command, check=True, capture_output=True).stdout
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                self.exercises = {str(each): Exercise(archive, each) for each in EXERCISES}
        return self.exercises

    def names(self, source):
        halves = {"first": "01234567", "second": "89abcdef", "all": "0123456789abcdef"}
        chosen = []
        for exercise in self.opened(source).values():
            names = [name for name in exercise.wrong if digest(name)[0] in halves[self.half]]
            chosen += names[:MOST]
        return chosen

    def case(self, source, name):
        exercise = self.opened(source)[name.partition(":")[0]]
        text = exercise.program(exercise.wrong[name])
        calls = sorted(exercise.calls, key=lambda call: call[0])
        wanted = exercise.returned(exercise.program(exercise.right), calls, 2)
        fails = [has != want for has, want in zip(exercise.returned(text, calls, 2), wanted, strict=True)]
        if not any(fails):
            return None, None
        shown = [at for at in range(len(calls)) if at % 3 != 2]
        if not any(fails[at] for at in shown):
            shown = range(len(calls))
        tests = "".join(
            f"\n\ndef test_{at}():\n    assert {calls[at][0]}({', '.join(map(repr, calls[at][1]))}) == {wanted[at]}\n"
            for at in shown
        )
        return {"small.py": text, "test_small.py": f"from small import *\n{tests}"}, exercise

    def edited(self, _name):
        return "small.py"

    def is_right(self, _source, name, text, exercise):
        if self.half == "first":
            # To be read by a person.
            print(f"--- {name}", exercise.wrong[name], text, sep="\n--- ", flush=True)
        every = exercise.varied()
        wanted = exercise.wanted(every)
        return people.agree(wanted, exercise.returned(text, every, 2))


if __name__ == "__main__":
    half = sys.argv.pop(1)
    people.main(Students(half), __doc__)
