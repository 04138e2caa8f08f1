"""Every mutant of a library as an independent tool makes it: path, text with the fault, operator, and function.

cosmic-ray and its operators are used as a library; cargo-mutants and Stryker's instrumenter list their mutants. None
of them runs the tests here: `make_cases.py` does that in the same way for all languages.
"""

import ast
import json
import os
import subprocess
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
# These operators replace a whole body, so no small edit undoes them. The same holds for mutants that remove more
# lines than the maximum below.
ERASURES = {"FnValue", "BlockStatement"}
MAX_LINES = 10


def sources(library, tree):
    names = {str(path.relative_to(tree)) for pattern in library["sources"] for path in tree.glob(pattern)}
    return sorted(name for name in names if not Path(name).name.startswith("test"))


def of(library, tree):
    """The tool with its version, and its mutants."""
    return {"python": python, "javascript": javascript, "rust": rust}[library["language"]](library, tree)


def mutant(path, text, operator, line, function, lines=1):
    group = operator.split("_")[0].removeprefix("core/")
    kind = "erasure" if group in ERASURES or lines > MAX_LINES else "edit"
    return {
        "path": path,
        "text": text,
        "operator": operator,
        "group": group,
        "kind": kind,
        "line": line,
        "function": function,
    }


def python(library, tree):
    import cosmic_ray.ast
    import cosmic_ray.mutating
    import cosmic_ray.plugins

    found = []
    names = [name for name in cosmic_ray.plugins.operator_names() if "Variable" not in name]
    for path in sources(library, tree):
        text = (tree / path).read_text()
        spans = [
            (node.lineno, node.end_lineno)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        nodes = list(cosmic_ray.ast.ast_nodes(cosmic_ray.ast.get_ast(text)))
        for name in names:
            operator = cosmic_ray.plugins.get_operator(name)()
            positions = [position for node in nodes for position in operator.mutation_positions(node)]
            for occurrence, ((line, _), _) in enumerate(positions):

                def make(text=text, operator=operator, occurrence=occurrence):
                    return cosmic_ray.mutating.mutate_code(text, operator, occurrence)

                found.append(mutant(path, make, name, line, innermost(spans, line)))
    return ("cosmic-ray", version("cosmic-ray")), found


def innermost(spans, line):
    around = [span for span in spans if span[0] <= line <= span[1]]
    return min(around, key=lambda span: span[1] - span[0], default=None)


def replaced(text, start, end, replacement):
    """Converts lines and columns from 0 to offsets."""
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return text[: offsets[start[0]] + start[1]] + replacement + text[offsets[end[0]] + end[1] :]


def javascript(library, tree):
    home = os.environ.get("STRYKER_HOME", "/tmp/stryker")
    installed = Path(home) / "node_modules/@stryker-mutator/instrumenter/package.json"
    found = []
    for path in sources(library, tree):
        text = (tree / path).read_text()
        listed = subprocess.run(
            ["node", HERE / "stryker.mjs", tree / path],
            cwd=home,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        read = json.loads(listed.stdout)
        for each in read["mutants"]:
            start, end = ((each["location"][at]["line"], each["location"][at]["column"]) for at in ["start", "end"])

            def make(text=text, start=start, end=end, new=each["replacement"]):
                return replaced(text, start, end, new)

            line = start[0] + 1
            found.append(
                mutant(path, make, each["mutatorName"], line, innermost(read["functions"], line), end[0] - start[0])
            )
    return ("@stryker-mutator/instrumenter", json.loads(installed.read_text())["version"]), found


def rust(library, tree):
    said = subprocess.run(["cargo", "mutants", "--version"], capture_output=True, text=True, check=True, timeout=60)
    listed = subprocess.run(
        ["cargo", "mutants", "--list", "--json"], cwd=tree, capture_output=True, text=True, check=True, timeout=120
    )
    wanted = set(sources(library, tree))
    found = []
    for each in json.loads(listed.stdout):
        if each["file"] not in wanted:
            continue
        text = (tree / each["file"]).read_text()
        start, end = ((each["span"][at]["line"] - 1, each["span"][at]["column"] - 1) for at in ["start", "end"])

        def make(text=text, start=start, end=end, new=each["replacement"]):
            return replaced(text, start, end, new)

        span = (each.get("function") or {}).get("span")
        function = span and (span["start"]["line"], span["end"]["line"])
        found.append(mutant(each["file"], make, each["genre"], start[0] + 1, function, end[0] - start[0]))
    return ("cargo-mutants", said.stdout.split()[-1]), found
