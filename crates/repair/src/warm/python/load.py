"""Imports a package from texts, and leaves none of its modules in the interpreter's tables.

The project under test runs in the same interpreter later. Its modules cannot replace modules of the package, nor
clash with them if they have the same names: the package is found first, and forgotten once it is imported.
"""

import importlib
import importlib.util
import sys


class Loader:
    """Finds and loads modules by their full names."""

    def __init__(self, package, sources):
        self.package = package
        self.sources = {package if name == "__init__" else package + "." + name: text for name, text in sources.items()}

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=name == self.package)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        # No project has a file with such a name.
        filename = f"<greenlight {module.__name__}>"
        code = compile(self.sources[module.__name__], filename, "exec", dont_inherit=True)
        exec(code, module.__dict__)


def load(package, sources, entry):
    """Returns the module `entry` of a package, given the texts of its modules by name."""
    loader = Loader(package, sources)
    sys.meta_path.insert(0, loader)
    try:
        return importlib.import_module(package + "." + entry)
    finally:
        sys.meta_path.remove(loader)
        for name in loader.sources:
            sys.modules.pop(name, None)
