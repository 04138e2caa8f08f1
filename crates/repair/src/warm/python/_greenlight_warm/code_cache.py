"""Caches compiled sources for forks that reload modules: few of them contain an edit."""

import os
from importlib.machinery import SourceFileLoader

MOST_KEPT = 5_000


def keep_compiled():
    """Installs the cache. What a fork compiles is lost with it."""
    compiled, plain = {}, SourceFileLoader.source_to_code

    def source_to_code(self, data, path, **options):
        known = compiled.get(path)
        if known is None or known[0] != data:
            known = (data, plain(self, data, path, **options))
            if len(compiled) < MOST_KEPT:
                compiled[path] = known
        return known[1]

    SourceFileLoader.source_to_code = source_to_code


def keep_rewritten():
    """Does the same for pytest, which rewrites assertions, as long as a file is unchanged."""
    from _pytest.assertion import rewrite

    plain = getattr(rewrite, "_rewrite_test", None)
    if plain is None:
        return
    rewritten = {}

    def rewrite_test(path, config):
        stat = os.stat(path)
        key = (str(path), stat.st_mtime_ns, stat.st_size)
        if key not in rewritten and len(rewritten) < MOST_KEPT:
            rewritten[key] = plain(path, config)
        return rewritten.get(key) or plain(path, config)

    rewrite._rewrite_test = rewrite_test
