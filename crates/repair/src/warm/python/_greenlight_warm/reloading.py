"""Reloads the modules of the project, some of them with edits."""

import importlib
import importlib.machinery
import linecache
import os
import sys

from .tree import compiled


def reload(tree, edited):
    """Forgets the modules of the project, and replaces the contents of some of their files from now on."""
    for name in list(tree.modules()):
        del sys.modules[name]
    importlib.invalidate_caches()
    plain = importlib.machinery.SourceFileLoader.get_code

    def get_code(self, fullname):
        name = os.path.realpath(self.get_filename(fullname))
        if name in edited:
            return compiled(edited[name], self.get_filename(fullname), 0)
        return plain(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code
    for name, data in edited.items():
        linecache.cache[name] = (len(data), None, data.decode("utf-8", "replace").splitlines(True), name)
