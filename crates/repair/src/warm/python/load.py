"""Imports a package whose sources come as text, and leaves nothing of it in the tables of the interpreter.

The project under test runs in the same interpreter later. Its modules can neither stand for modules of the package nor
get in their way by having the same names: the package is found first, and forgotten once all of it is imported.
"""

import importlib
import importlib.util
import sys


class Loader:
    """Finds and loads modules by their whole names."""

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
        # No file of any project has such a name.
        filename = f"<greenlight {module.__name__}>"
        code = compile(self.sources[module.__name__], filename, "exec", dont_inherit=True)
        exec(code, module.__dict__)


def load(package, sources, entry):
    """The module `entry` of a package, given the texts of its modules by their names."""
    loader = Loader(package, sources)
    sys.meta_path.insert(0, loader)
    try:
        return importlib.import_module(package + "." + entry)
    finally:
        sys.meta_path.remove(loader)
        for name in loader.sources:
            sys.modules.pop(name, None)
