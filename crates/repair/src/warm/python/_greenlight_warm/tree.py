"""The files of the project, and their compiled code with edits."""

import __future__

import ast
import os
import sys
import warnings

from .forks import Refused

FOREIGN = ("site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox", "node_modules", ".git")
LONGEST_FILE = 4 << 20


class Tree:
    """Tells which code belongs to the project."""

    def __init__(self, root):
        self.root = root
        self.below = root.rstrip("/") + "/"
        self.files = {}
        self.named = {}

    def path(self, filename):
        """The path of a project file relative to the root, or None."""
        if filename not in self.named:
            self.named[filename] = self._path(filename)
        return self.named[filename]

    def _path(self, filename):
        real = os.path.realpath(filename)
        if filename.startswith("<") or not real.startswith(self.below):
            return None
        path = real[len(self.below) :]
        return None if any(part in FOREIGN for part in path.split("/")) else path

    def whole(self, path):
        return self.below + path

    def file(self, path):
        if path not in self.files:
            self.files[path] = File(self, path)
        return self.files[path]

    def modules(self):
        """The names of the project's loaded modules."""
        for name, module in list(sys.modules.items()):
            try:
                filename = getattr(module, "__file__", None)
            except Exception:
                continue
            if isinstance(filename, str) and name != "__main__" and self.path(filename):
                yield name


class File:
    """The text of one file, split into its top-level statements."""

    def __init__(self, tree, path):
        self.path, self.name = path, tree.whole(path)
        if tree.path(self.name) != path or not path.endswith(".py"):
            raise Refused("not a source file of the project")
        with open(self.name, "rb") as file:
            self.data = file.read(LONGEST_FILE + 1)
        if len(self.data) > LONGEST_FILE:
            raise Refused("the file is too long")
        self.flags = 0
        # Some versions of Python compile calls of imported names differently.
        self.imports = b""
        self.parts = []
        # Whether the parts cover the whole file.
        self.is_whole = False
        self.codes = {}
        self.runnables = {}
        try:
            self.split()
        except (SyntaxError, ValueError, RecursionError):
            pass

    def split(self):
        """Records the byte ranges of statements that share no line with others."""
        body = ast.parse(self.data).body
        names = sorted(imported(body))
        self.imports = b"\nimport " + ", ".join(names).encode() + b"\n" if names else b""
        plain = not (b"\r" in self.data or b"\f" in self.data or self.data.startswith(b"\xef\xbb\xbf"))
        self.data.decode()
        starts = [0]
        while True:
            at = self.data.find(b"\n", starts[-1])
            if at < 0:
                break
            starts.append(at + 1)
        starts.append(len(self.data))
        last = 0
        for statement in body:
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                for alias in statement.names:
                    self.flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
            decorators = [decorator.lineno for decorator in getattr(statement, "decorator_list", [])]
            first = min([*decorators, statement.lineno])
            if first <= last:
                if self.parts:
                    self.parts.pop()
            elif plain:
                end = starts[min(statement.end_lineno, len(starts) - 1)]
                self.parts.append((starts[first - 1], end, first))
            last = statement.end_lineno
        self.is_whole = len(self.parts) == len(body)

    def part(self, start, end):
        """The statement that contains an edit; None means the whole file."""
        for part in self.parts:
            if part[0] <= start and end < part[1]:
                return part
        return None

    def edited(self, start, end, text):
        return self.data[:start] + text.encode() + self.data[end:]

    def compiled(self, part, start=0, end=0, text=""):
        """The code of a statement, or of the file, with an edit."""
        if part is None:
            return compiled(self.edited(start, end, text), self.name, 0)
        return self.compiled_part(part, (start, end, text), self.imports)

    def compiled_part(self, part, edit, more):
        low, high, first = part
        start, end, text = edit
        data = self.data[low:start] + text.encode() + self.data[end:high] if end or text else self.data[low:high]
        return compiled(b"\n" * (first - 1) + data + more, self.name, self.flags)

    def runnable(self, part, edit=None):
        """The code of a statement, to be run in its module."""
        if edit:
            return self.compiled_part(part, edit, b"")
        if part not in self.runnables:
            self.runnables[part] = self.compiled_part(part, (0, 0, ""), b"")
        return self.runnables[part]

    def original(self, part):
        if part not in self.codes:
            self.codes[part] = compiled(self.data, self.name, 0) if part is None else self.compiled(part)
        return self.codes[part]


def imported(body):
    """The names that a module imports, excluding imports inside functions."""
    names, left = set(), list(body)
    while left:
        node = left.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if getattr(node, "module", None) != "__future__":
                names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            left.extend(ast.iter_child_nodes(node))
    return names - {"*"}


def compiled(data, name, flags):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(data, name, "exec", flags, dont_inherit=True)
