"""Finds out what modules import from each other, and which imported names they use while they are loaded."""

import ast
import importlib.util
import sys

# How many modules names are followed through.
MOST_ROUNDS = 8
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Uses:
    """The imports of one module."""

    def __init__(self, body, package):
        self.package = package
        # By local name: the module that it comes from, and its name there; None for the module itself.
        self.taken = {}
        # Modules whose names are all imported.
        self.whole = set()
        # Names that are read while the module is loaded, and their attributes if only those are read.
        self.read, self.parts = set(), {}
        left = list(body)
        while left:
            node = left.pop()
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.take(node)
            elif isinstance(node, SCOPES):
                # Its body runs later.
                left.extend(getattr(node, "decorator_list", []))
                left.extend(default for default in node.args.defaults + node.args.kw_defaults if default)
            elif isinstance(node, ast.AnnAssign):
                left.extend(part for part in (node.target, node.value) if part)
            elif isinstance(node, ast.Attribute) and is_read(node) and isinstance(node.value, ast.Name):
                self.parts.setdefault(node.value.id, set()).add(node.attr)
            else:
                if isinstance(node, ast.Name) and is_read(node):
                    self.read.add(node.id)
                left.extend(ast.iter_child_nodes(node))

    def take(self, node):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self.taken[alias.asname or name] = (name, None)
            return
        try:
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), self.package)
        except (ImportError, ValueError):
            return
        for alias in node.names:
            if alias.name == "*":
                self.whole.add(source)
            else:
                self.taken[alias.asname or alias.name] = (source, alias.name)


def is_read(node):
    return isinstance(node.ctx, ast.Load)


def of_modules(tree):
    """The imports of each module by name. None if a module's source is unreadable."""
    found = {}
    for name in tree.modules():
        module = sys.modules[name]
        try:
            body = ast.parse(tree.file(tree.path(module.__file__)).data).body
            found[name] = Uses(body, getattr(module, "__package__", None) or "")
        except Exception:
            found[name] = None
    return found


def derived(uses, source):
    """What modules import from one of them, directly or not: by module, its names and their origins."""
    found = {}
    for _ in range(MOST_ROUNDS):
        before = sum(map(len, found.values()))
        for name, own in uses.items():
            if name != source and own is not None:
                found.setdefault(name, {}).update(dict(taken_from(own, source, found)))
        if sum(map(len, found.values())) == before:
            break
    return {name: names for name, names in found.items() if names}


def read_at_load(own, source, names):
    """The names of another module that one module reads while it is loaded. None if it may read more than names."""
    read = set()
    for name, (module, there) in names.items():
        if module == source and there is None and name not in own.read:
            read |= own.parts.get(name, set())
        elif name in own.read or name in own.parts:
            if module != source or there is None:
                return None
            read.add(there)
    return read


def taken_from(own, source, found):
    for name, (module, there) in own.taken.items():
        # A module is also an attribute of the packages around it.
        is_module = there is None and (module == source or source.startswith(module + "."))
        is_part = there is not None and f"{module}.{there}" == source
        if is_module or is_part:
            yield name, (source if module == source or is_part else module, None)
        elif there is not None and (module == source or there in found.get(module, ())):
            yield name, (module, there)
    for module in own.whole:
        if module == source:
            names = [name for name in vars(sys.modules[source]) if not name.startswith("_")]
        else:
            names = found.get(module, ())
        yield from ((name, (module, name)) for name in names)
