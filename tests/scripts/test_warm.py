"""The Python that judges edits: each of its modules can be imported alone, and a project gets in the way of none."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(__file__).parents[2] / "crates/repair/src/warm/python"
PACKAGE = "_greenlight_warm"
TEXTS = {path.stem: path.read_text() for path in (FOLDER / PACKAGE).glob("*.py")}
sys.path.insert(0, str(FOLDER))


class Modules(unittest.TestCase):
    def test_each_is_imported_alone(self):
        for name in sorted(TEXTS):
            with self.subTest(name):
                command = [sys.executable, "-c", f"import {PACKAGE}.{name}"]
                subprocess.run(command, check=True, timeout=60, env={**os.environ, "PYTHONPATH": str(FOLDER)})

    def test_what_is_loaded_from_texts_is_found_by_nobody(self):
        spec = importlib.util.spec_from_file_location("greenlight_load", FOLDER / "load.py")
        loader = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loader)
        finders = list(sys.meta_path)
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]
        entry = loader.load(PACKAGE, TEXTS, "entry")
        self.assertTrue(callable(entry.start()))
        self.assertEqual(entry.Judge.__init__.__code__.co_filename, f"<greenlight {PACKAGE}.judge>")
        self.assertEqual(sys.meta_path, finders)
        self.assertEqual([name for name in sys.modules if name.startswith(PACKAGE)], [])


class Swaps(unittest.TestCase):
    def swap(self, before, after):
        from _greenlight_warm.code_objects import Swap

        swap = Swap()
        swap.compare(*(compile(text, "a.py", "exec") for text in (before, after)), [])
        return swap

    def test_a_function_is_given_other_code(self):
        swap = self.swap("def f(a):\n    return a + 1\n", "def f(a):\n    return a - 1\n")
        self.assertTrue(swap.possible)
        self.assertEqual([old.co_name for old, _ in swap.pairs], ["f"])

    def test_what_a_module_does_itself_cannot_be_swapped(self):
        self.assertFalse(self.swap("LIMIT = 1\n", "LIMIT = 2\n").possible)


class Imports(unittest.TestCase):
    def test_names_are_followed_from_module_to_module(self):
        import ast

        from _greenlight_warm.imports import Uses, derived, read_at_load

        texts = {"b": "from a import LIMIT as most\n", "c": "import b\nDOUBLE = b.most * 2\n"}
        uses = {name: Uses(ast.parse(text).body, "") for name, text in texts.items()}
        found = derived(uses, "a")
        self.assertEqual(found["b"], {"most": ("a", "LIMIT")})
        self.assertEqual(read_at_load(uses["b"], "a", found["b"]), set())


if __name__ == "__main__":
    unittest.main()
