"""Records the contents of the project's modules, and restores them."""

import functools
import sys
import types

# Maximum number of containers that are restored, and their maximum length.
MOST_KEPT = 5_000
LONGEST_KEPT = 1_000


class ModuleState:
    """The lists, sets and dictionaries of modules, and of the objects in them."""

    def __init__(self, tree):
        self.containers, self.caches = [], []
        self.seen = set()
        self.own = set(tree.modules())
        for name in self.own:
            module = sys.modules.get(name)
            self.keep(vars(module))
            for value in list(vars(module).values()):
                self.look(value)
                if isinstance(value, type) and vars(value).get("__module__") == name:
                    for inner in list(vars(value).values()):
                        self.look(inner)

    def look(self, value):
        if isinstance(value, functools._lru_cache_wrapper):
            self.caches.append(value)
        elif type(value) in (list, dict, set, bytearray):
            self.keep(value)
        elif type(value) is types.FunctionType:
            for default in value.__defaults__ or ():
                if type(default) in (list, dict, set):
                    self.keep(default)
        elif type(value).__module__ in self.own and type(getattr(value, "__dict__", None)) is dict:
            # The attributes of a project's object, one level deep.
            self.keep(vars(value))
            for inner in list(vars(value).values()):
                if type(inner) in (list, dict, set, bytearray):
                    self.keep(inner)

    def keep(self, value):
        if id(value) not in self.seen and len(value) <= LONGEST_KEPT and len(self.containers) < MOST_KEPT:
            self.seen.add(id(value))
            self.containers.append((value, value.copy(), held(value)))

    def restore(self):
        for cache in self.caches:
            cache.cache_clear()
        for value, copy, before in self.containers:
            if held(value) == before:
                continue
            if isinstance(value, (dict, set)):
                value.clear()
                value.update(copy)
            else:
                value[:] = copy


def held(value):
    """The identities of the objects in a container, in order."""
    if isinstance(value, dict):
        return list(value), list(map(id, value.values()))
    return bytes(value) if type(value) is bytearray else list(map(id, value))
