"""Repairs small functions with bugs that people made, without a model.

Usage: `python3 functions.py LANGUAGE HALF GREENLIGHT OCTOPACK [NAME…]`. LANGUAGE is `python`, `js`, `go`, `rust` or
`java`; the last needs what `people_java.py` needs. HALF is `first`, whose cases may be looked at, `second`, whose cases
may only be counted, or `all`. OCTOPACK is a clone or bare repository of https://github.com/bigcode-project/octopack, of
which the commit `e17a8f6` is used: HumanEvalFix, 164 functions with one bug each, the same in all languages.

A third of each function's assertions are hidden. A fix is right if it is the published one, apart from spaces, or if it
passes the hidden assertions, too. In Python and JavaScript, it is counted as "different" if it then returns something
else than the right function for up to 200 variations of the inputs of all assertions: some of them are inputs that the
function is not for. Fixes of the first half that are not the published one are printed. Functions that need other
packages, or whose assertions cannot be read, are skipped.
"""

import ast
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

import people
import people_java

COMMIT = "e17a8f6470264286bc6a52eb8263582083bf3bf6"
DATA = "evaluation/create/humaneval-x/data/{}/data/humanevalpack.jsonl"
SECONDS = 30
# What a function in JavaScript returns for each input. A call that does not end ends the process, and the judgement.
CALL_JS = """
const [path, name, inputs] = JSON.parse(require('fs').readFileSync(0, 'utf8'))
const f = require(path)[name]
const returned = inputs.map((each) => {
  try { return JSON.stringify(f(...each)) ?? 'undefined' } catch (error) { return error.name + 'Error' }
})
process.stdout.write(JSON.stringify(returned))
"""


def records(source, language):
    command = ["git", "-C", source, "show", f"{COMMIT}:{DATA.format(language)}"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {f"{number:03}": json.loads(line) for number, line in enumerate(lines)}


def parts(text, separator):
    """The parts of a text between separators that are outside brackets and strings."""
    found, depth, begun, at, quote = [], 0, 0, 0, ""
    while at < len(text):
        here = text[at]
        if quote:
            if here == "\\":
                at += 1
            elif here == quote:
                quote = ""
        elif here in "\"'`" and not (here == "'" and text[at + 2 : at + 3] != "'" and separator == ";\n"):
            quote = here
        elif here in "([{":
            depth += 1
        elif here in ")]}":
            depth -= 1
        elif depth == 0 and text.startswith(separator, at):
            found.append(text[begun:at])
            begun = at + len(separator)
        at += 1
    return [*found, text[begun:]]


def inside(text):
    return text[text.index("(") + 1 : text.rindex(")")].strip()


def without_spaces(text):
    return "".join(text.split())


def ran(command, folder, given=""):
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as done:
        try:
            stdout, _ = done.communicate(given, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            # Runners of tests have children.
            os.killpg(done.pid, signal.SIGKILL)
            return None
        return stdout if done.returncode == 0 else None


class Functions:
    """What the languages have in common. Each has a `program`, its `assertions`, and `tests` made of some of them."""

    def __init__(self, half):
        self.half = half

    def names(self, source):
        names = [name for name, record in records(source, self.data).items() if self.can(record)]
        halves = {"first": 0, "second": 1}
        return [
            name
            for name in names
            if self.half == "all" or hashlib.sha256(name.encode()).digest()[0] % 2 == halves[self.half]
        ]

    def can(self, _record):
        return True

    def case(self, source, name):
        record = records(source, self.data)[name]
        files = self.files | {self.source: self.program(record, record["buggy_solution"])}
        try:
            every = self.assertions(record)
        except (ValueError, SyntaxError, StopIteration):
            return None, None
        kept = [each for number, each in enumerate(every) if number % 3 != 2]
        with tempfile.TemporaryDirectory() as folder:
            written(folder, files | self.tests(record, every))
            written(folder, {self.source: self.program(record, record["canonical_solution"])})
            if not every or ran(self.command, folder) is None:
                return None, None
            tried = files | self.tests(record, kept)
            written(folder, tried)
            # Where only hidden ones fail, all are shown.
            shown = every if ran(self.command, folder) is not None else kept
        return files | self.tests(record, shown), None

    def edited(self, _name):
        return self.source

    def is_right(self, source, name, text, _inputs):
        record = records(source, self.data)[name]
        right = self.program(record, record["canonical_solution"])
        if without_spaces(text) == without_spaces(right):
            return True
        with tempfile.TemporaryDirectory() as folder:
            files = self.files | {self.source: text} | self.tests(record, self.assertions(record))
            written(folder, files)
            if ran(self.command, folder) is None:
                same = False
            else:
                same = True if self.is_same(record, folder, right, text) else None
        if self.half == "first":
            # To be read by a person.
            before = self.program(record, record["buggy_solution"])
            print(f"--- {name}: {same}\n{before}\n--- after:\n{text}", flush=True)
        return same

    def is_same(self, _record, _folder, _right, _text):
        return True


def written(folder, files):
    for path, text in files.items():
        (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / path).write_text(text)


class Python(Functions):
    """One test function an assertion, for pytest."""

    data, source = "python", "small.py"
    files: ClassVar = {}
    command = (sys.executable, "-m", "pytest", "-q", "-x")

    def program(self, record, body):
        return record["declaration"].lstrip() + body.rstrip() + "\n"

    def assertions(self, record):
        checks = [record["test"], record["example_test"]]
        found = []
        for text in checks:
            functions = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
            check = next(each for each in functions if each.name == "check")
            if all(isinstance(each, ast.Assert) for each in check.body):
                found += [f"    {ast.unparse(each)}" for each in check.body]
            else:
                found.append("\n".join(f"    {line}" for each in check.body for line in ast.unparse(each).splitlines()))
        return list(dict.fromkeys(found))

    def tests(self, record, assertions):
        tests = "".join(f"\n\ndef test_{number}():\n{each}\n" for number, each in enumerate(assertions))
        # Names that begin with `test` are not for pytest to run.
        imports = "import math\nimport random\n" if "math." in tests or "random." in tests else ""
        return {"test_small.py": f"{imports}from small import *\n{tests}"}

    def is_same(self, record, folder, right, text):
        name = record["entry_point"]
        recorder = (
            f"\n_real = {name}\ndef {name}(*given):\n    import json\n"
            "    open('inputs', 'a').write(json.dumps(given) + '\\n')\n    return _real(*given)\n"
        )
        written(folder, {self.source: right + recorder})
        if ran(self.command, folder) is None:
            return True
        inputs = [json.loads(line) for line in (Path(folder) / "inputs").read_text().splitlines()]
        every = people.variations(distinct(inputs))
        wanted, found = people.returned(right, name, every, 0.2), people.returned(text, name, every, 2)
        return people.agree(wanted, found)


def distinct(inputs):
    return list({json.dumps(each): each for each in inputs if len(json.dumps(each)) < 400}.values())


class JavaScript(Functions):
    """One test an assertion, for `node --test`."""

    data, source = "js", "small.js"
    files: ClassVar = {"package.json": '{"scripts": {"test": "node --test"}}\n'}
    command = ("node", "--test")

    def program(self, record, body):
        return f"{record['declaration'].strip()}\n{body.strip()}\n\nmodule.exports = {{ {record['entry_point']} }}\n"

    def assertions(self, record):
        found = []
        for text in (record["test"], record["example_test"]):
            body = text[text.index("{") + 1 : text.rindex("}")].replace("\n  .", " .")
            statements = [each.strip(" \n;") for each in parts(body.replace(";\n", "\n"), "\n") if each.strip()]
            if all(each.startswith("console.assert(") for each in statements):
                found += [compared(inside(each)) for each in statements]
            else:
                found.append(body.strip().replace("console.assert(", "assert.ok("))
        return list(dict.fromkeys(found))

    def tests(self, record, assertions):
        name = record["entry_point"]
        head = "const assert = require('node:assert')\nconst { test } = require('node:test')\n"
        tests = "".join(
            f"\ntest('{name} {number}', () => {{\n  {each}\n}})\n" for number, each in enumerate(assertions)
        )
        return {"small.test.js": f"{head}const {{ {name} }} = require('./small.js')\n{tests}"}

    def is_same(self, record, folder, right, text):
        name = record["entry_point"]
        recorder = (
            f"const record = (...given) => {{ require('fs').appendFileSync('inputs', JSON.stringify(given) + '\\n'); "
            f"return {name}(...given) }}\nmodule.exports = {{ {name}: record }}\n"
        )
        written(folder, {self.source: right + recorder})
        if ran(self.command, folder) is None:
            return True
        inputs = [json.loads(line) for line in (Path(folder) / "inputs").read_text().splitlines()]
        every = people.variations(distinct(inputs))
        written(folder, {"right.js": right, "found.js": text})
        answers = []
        for each in ("right.js", "found.js"):
            given = json.dumps([str(Path(folder) / each), name, every])
            answer = ran(("node", "-e", CALL_JS), folder, given)
            if answer is None:
                return each == "right.js"
            answers.append(json.loads(answer))
        return people.agree(*answers)


def compared(condition):
    """`a === b` as people write it in tests."""
    for operator in ("===", "=="):
        sides = [each.strip() for each in parts(condition, operator)]
        if len(sides) == 2 and "&&" not in condition and "||" not in condition:
            if all(each.startswith("JSON.stringify(") for each in sides):
                left, right = (inside(each).rstrip().rstrip(",") for each in sides)
                return f"assert.deepStrictEqual({left}, {right})"
            return f"assert.strictEqual({sides[0]}, {sides[1]})"
    return f"assert.ok({condition})"


class Go(Functions):
    """One test function an assertion."""

    data, source = "go", "small.go"
    files: ClassVar = {"go.mod": "module example.com/small\n\ngo 1.22\n"}
    command = ("go", "test", "./...")

    def __init__(self, half):
        super().__init__(half)
        # greenlight keeps what it compiles, as it does for a user who has tested a project before.
        self.kept = tempfile.TemporaryDirectory()
        self.data_folder = self.kept.name

    def can(self, record):
        return "github.com" not in record["import"] and "golang.org" not in record["import"]

    def program(self, record, body):
        code = f"{record['declaration'].strip()}\n{body.rstrip()}\n"
        # Those that only the right function needs do not compile.
        named = [line.strip().removeprefix("import").strip() for line in record["import"].splitlines()]
        used = [name for name in named if name.endswith('"') and name.strip('"').rpartition("/")[2] + "." in code]
        imports = "".join(f"import {name}\n" for name in used)
        return f"package small\n\n{imports}\n{code}"

    def assertions(self, record):
        found = []
        for text in (record["test"], record["example_test"]):
            if not text:
                continue
            body = text[text.index("{") + 1 : text.rindex("}")].replace("assert := assert.New(t)", "")
            statements = [each.strip() for each in parts(body, "\n") if each.strip()]
            if all(each.startswith("assert.Equal(") for each in statements):
                found += [asserted(inside(each)) for each in statements]
        return list(dict.fromkeys(found))

    def tests(self, record, assertions):
        tests = "".join(
            f"\nfunc Test{number}(t *testing.T) {{\n\t{each}\n}}\n" for number, each in enumerate(assertions)
        )
        used = [each for each in ("math", "reflect", "testing") if f"{each}." in tests]
        imports = "".join(f'\t"{each}"\n' for each in used)
        return {"small_test.go": f"package small\n\nimport (\n{imports})\n{tests}"}


def asserted(arguments):
    want, got = (each.strip() for each in parts(arguments, ","))
    # `nil` and numbers without a type become what the function returns.
    return (
        f"if got, want := {got}, {want}; !reflect.DeepEqual(any(got), any(want)) "
        '{\n\t\tt.Errorf("got %v, want %v", got, want)\n\t}'
    )


class Rust(Functions):
    """One test function an assertion, in a file of tests."""

    data, source = "rust", "src/lib.rs"
    files: ClassVar = {"Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n'}
    command = ("cargo", "test", "--offline", "--quiet")

    def can(self, record):
        text = record["declaration"] + record["buggy_solution"] + record["test"]
        return not any(each in text.replace("use rand::Rng;", "") for each in ("rand::", "Regex::", "md5::"))

    def program(self, record, body):
        skipped = ("use rand", "use regex", "use md5", "fn main")
        lines = [line for line in record["declaration"].splitlines() if not line.startswith(skipped)]
        declared = (
            "\n".join(lines).strip().replace(f"\nfn {record['entry_point']}", f"\npub fn {record['entry_point']}")
        )
        return f"#![allow(unused, deprecated)]\n{declared}\n{body.strip()}\n"

    def assertions(self, record):
        text = record["test"]
        start = text.index("{", text.index("fn ", text.index("#[test]")))
        body = text[start + 1 : text.rindex("}", 0, text.rindex("}"))].strip()
        statements = [each.strip() for each in parts(body, ";\n") if each.strip()]
        if all(each.startswith(("assert!(", "assert_eq!(")) for each in statements):
            return [each.rstrip(";") + ";" for each in statements]
        return [body]

    def tests(self, record, assertions):
        tests = "".join(
            f"\n    #[test]\n    fn works_{number}() {{\n        {each}\n    }}\n"
            for number, each in enumerate(assertions)
        )
        return {
            "tests/small.rs": f"use small::*;\n\nmod tests {{\n    use super::*;\n{tests}}}\n",
        }


class Java(Functions):
    """One JUnit test an assertion, in a Maven project."""

    data, source = "java", "src/main/java/Solution.java"
    files: ClassVar = {"pom.xml": people_java.POM, ".gitignore": "target/\n"}
    # Judged without Maven, which takes seconds to start.
    command = (
        "sh",
        "-c",
        "classes=$(ls ~/.m2/repository/junit/junit/4.13.2/*.jar ~/.m2/repository/org/hamcrest/hamcrest-core/1.3/*.jar"
        " | tr '\\n' ':')built && mkdir -p built && javac -nowarn -cp $classes -d built $(find src -name '*.java')"
        " && java -cp $classes org.junit.runner.JUnitCore Solution_TEST",
    )

    def can(self, record):
        return "org.javatuples" not in record["declaration"] and "java.security" not in record["declaration"]

    def program(self, record, body):
        return f"{record['declaration'].strip()}\n{body.rstrip()}\n"

    def assertions(self, record):
        found = []
        for text in (record["test"], record["example_test"]):
            before, marked, after = text.partition("List<Boolean> correct = Arrays.asList(")
            if not marked or not before.rstrip().endswith("{\n        Solution s = new Solution();"):
                raise ValueError("there is more than assertions")
            checks = inside(parts(f"({after}", ";")[0])
            found += [java_asserted(each.strip()) for each in parts(checks, ",")]
        return list(dict.fromkeys(found))

    def tests(self, record, assertions):
        tests = "".join(
            f"\n    @Test\n    public void works{number}() {{\n        {each}\n    }}\n"
            for number, each in enumerate(assertions)
        )
        imports = "import static org.junit.Assert.*;\n\nimport java.util.*;\nimport org.junit.Test;\n"
        code = f"{imports}\npublic class Solution_TEST {{\n    Solution s = new Solution();\n{tests}}}\n"
        return {"src/test/java/Solution_TEST.java": code}


def java_asserted(condition):
    """`x.equals(y)` and `x == y` as people write them in tests."""
    if condition.startswith("Objects.equals("):
        got, want = (each.strip() for each in parts(inside(condition), ","))
        return f"assertEquals({want}, {got});"
    if condition.endswith(")") and not condition.startswith("!"):
        got, *rest = parts(condition, ".equals(")
        if len(rest) == 1 and rest[0].endswith(")"):
            return f"assertEquals({rest[0][:-1]}, {got});"
    got, *rest = parts(condition, " == ")
    if len(rest) == 1 and "&&" not in condition and "||" not in condition:
        return f"assertEquals((Object) ({rest[0]}), (Object) ({got}));"
    return f"assertTrue({condition});"


LANGUAGES = {each.data: each for each in (Python, JavaScript, Go, Rust, Java)}

if __name__ == "__main__":
    language, half = sys.argv[1:3]
    del sys.argv[1:3]
    people.main(LANGUAGES[language](half), __doc__)
