"""Loads the tests with the framework itself, and runs some of them in this process."""

import dis
import os
import sys

from .code_cache import keep_rewritten
from .code_objects import FUNCTION
from .forks import Fork, Refused, quiet
from .progress import Point, point

# Time limit in seconds for opening a second session.
OPENING = 10
# Maximum number of calls during loading for which the module being loaded is determined.
MOST_CALLS = 20_000


def load(tree, argv, framework):
    words = [word.rsplit("/", 1)[-1] for word in argv]
    if framework == "pytest":
        for at, word in enumerate(words):
            if word in ("pytest", "py.test"):
                by_module = at > 0 and argv[at - 1] == "-m"
                return Pytest(tree, argv[at + 1 :], by_module)
    if framework == "unittest" and "unittest" in words and argv[words.index("unittest") - 1] == "-m":
        return Unittest(tree, argv[words.index("unittest") + 1 :])
    raise Refused("the command cannot be run in one process")


def watched(tree, load):
    """Loads the tests, and records the files and functions that ran meanwhile."""
    seen, here, lines, files, others = {}, set(), set(), set(), set()
    calls = 0

    def profile(frame, event, _):
        nonlocal calls
        if event != "call":
            return
        code = frame.f_code
        if code not in seen:
            path = tree.path(code.co_filename)
            seen[code] = path if code.co_flags & FUNCTION == FUNCTION else None
            if path:
                files.add(path)
            if seen[code]:
                here.add((tree.whole(path), code.co_firstlineno, code.co_name))
                lines.update((tree.whole(path), row) for _, row in dis.findlinestarts(code) if row)
        path = seen[code]
        if path and path not in others:
            calls += 1
            if calls > MOST_CALLS or loading(tree, frame) not in (path, None):
                others.add(path)

    sys.setprofile(profile)
    try:
        tests = load()
    finally:
        sys.setprofile(None)
    tests.at_import, tests.lines_at_import = here, lines
    # The files with functions that other files called while loading.
    tests.files, tests.run_by_others = files, others
    return tests


def loading(tree, frame):
    """The project file that is being loaded, or None."""
    while frame is not None:
        path = tree.path(frame.f_code.co_filename)
        if path and frame.f_code.co_name == "<module>":
            return path
        frame = frame.f_back
    return None


class Noted:
    """What pytest says of the failure that it last reported, in whichever session."""

    def __init__(self):
        self.forget()

    def forget(self):
        self.traceback = self.compared = None

    def failure(self, traceback):
        self.traceback = self.traceback or traceback
        return "failed"

    def comparison(self, config=None, op="", left=None, right=None, **_):
        self.compared = (left, right) if op == "==" else None


NOTED = Noted()


class Pytest:
    """Tests collected by pytest."""

    # Where the last test failed.
    point = Point()

    def __init__(self, tree, arguments, by_module):
        self.tree = tree
        if not by_module:
            # `pytest`, unlike `python -m pytest`, does not search the current directory for modules.
            here, listed = os.getcwd(), os.environ.get("PYTHONPATH", "").split(os.pathsep)
            if here not in listed and here in sys.path:
                sys.path.remove(here)
        self.options = ["-s", "-ocache_dir=/tmp/pytest_cache", "--color=no"]
        self.options += [option for name, option in (("pytest_cov", "--no-cov"), ("xdist", "-n0")) if has(name)]
        self.options += ["-p", "no:randomly", "-p", "no:random_order", "-p", "no:faulthandler"]
        self.arguments = arguments
        self.reports = self.spare = None
        keep_rewritten()
        self.collect(arguments)
        if not self.items:
            raise Refused("pytest collected no tests")
        self.named = list(getattr(self.config.option, "file_or_dir", []) or [])
        self.kept = [word for word in arguments if word not in self.named]
        self.ids = [self.whole(item) for item in self.items]

    def collect(self, arguments):
        self.open(arguments)
        self.gather()

    def open(self, arguments):
        """Prepares a session without collecting tests."""
        import _pytest.assertion.util
        import _pytest.config
        import _pytest.main
        import _pytest.nodes

        # Nobody reads the representation of a failure, and making it takes longer than most tests.
        _pytest.nodes.Node._repr_failure_py = lambda _, failure, *__, **___: NOTED.failure(failure.tb)
        _pytest.assertion.util.assertrepr_compare = NOTED.comparison
        self.config = _pytest.config._prepareconfig(arguments + self.options, [self])
        self.config._do_configure()
        self.session = _pytest.main.Session.from_config(self.config)
        self.config.hook.pytest_sessionstart(session=self.session)

    def gather(self):
        self.config.hook.pytest_collection(session=self.session)
        self.items = list(self.session.items)

    def pytest_runtest_logreport(self, report):
        if self.reports is not None:
            self.reports.append((report.when, report.outcome))

    def whole(self, item):
        file, _, rest = item.nodeid.partition("::")
        root = self.config.rootpath if hasattr(self.config, "rootpath") else self.config.rootdir
        return os.path.join(str(root), file) + "::" + rest

    def file(self, at):
        return self.ids[at].partition("::")[0]

    def find(self, name):
        """The tests that a name from a report refers to."""
        file, _, rest = name.partition("::")
        wanted = os.path.normpath(os.path.join(os.getcwd(), file)) + "::" + rest
        found = [at for at, known in enumerate(self.ids) if known == wanted]
        return found or [at for at, known in enumerate(self.ids) if known.partition("::")[2] == rest and rest]

    def run(self, chosen, done):
        """Runs tests until `done(test, passed)` returns false."""
        for position, at in enumerate(chosen):
            item = self.items[at]
            following = self.items[chosen[position + 1]] if position + 1 < len(chosen) else None
            self.reports = []
            self.point = Point()
            NOTED.forget()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            called = [outcome for when, outcome in self.reports if when == "call"]
            bad = [outcome for _, outcome in self.reports if outcome == "failed"]
            # A skipped test neither passes nor fails.
            self.failed = bool(bad)
            if NOTED.traceback is not None:
                self.point = point(self.tree, self.file(at), NOTED.traceback, NOTED.compared)
                NOTED.forget()
            if not done(at, bool(called) and not bad and "passed" in called):
                if following is not None:
                    self.tear_down()
                return

    def tear_down(self):
        """Tears down the fixtures that were kept for the next test."""
        try:
            self.session._setupstate.teardown_exact(None)
        except BaseException:
            # The fixtures' own errors do not matter here.
            pass

    def again(self, chosen):
        """Collects the same tests with reloaded project modules; only used in a fork."""
        wanted = [self.ids[at] for at in chosen]
        order = list(dict.fromkeys(self.file(at) for at in chosen))
        # Collecting whole files is faster than collecting hundreds of names.
        names = wanted if len(wanted) < 50 else order
        fresh = self.spare or self.unopened()
        if self.spare:
            fresh.config.args = names
            fresh.gather()
        else:
            fresh.collect(self.kept + names)
        known = {fresh.whole(item): item for item in fresh.items}
        fresh.items = [known[name] for name in wanted]
        fresh.ids = wanted
        return fresh

    def unopened(self):
        fresh = Pytest.__new__(Pytest)
        fresh.tree, fresh.options, fresh.reports = self.tree, self.options, None
        return fresh

    def get_ready(self):
        """Opens the session that forks collect in, unless a plugin of the project must be reloaded for that."""
        plugins = [getattr(plugin, "__file__", None) for plugin in self.config.pluginmanager.get_plugins()]
        if any(self.tree.path(file) for file in plugins if isinstance(file, str)):
            return
        words = self.kept + self.named

        def work(say):
            self.unopened().open(words)
            say(b"o")

        # Plugins may do anything in it, but it must not take the process down.
        with Fork(work) as fork:
            said, _ = fork.all(OPENING)
        if said == b"o":
            spare = self.unopened()
            with quiet():
                spare.open(words)
            self.spare = spare


class Unittest:
    """Tests found by unittest."""

    point = Point()

    def __init__(self, tree, arguments):
        import unittest

        self.tree = tree
        self.found = None
        names = [word for word in arguments if word not in ("-f", "--failfast", "-c", "--catch", "-b", "--buffer")]
        unittest.main(module=None, argv=["python -m unittest", *names], testRunner=self, exit=False)
        self.items = list(leaves(self.found))
        self.ids = [test.id() for test in self.items]
        if not self.items:
            raise Refused("unittest found no tests")

    def __call__(self, *_, **__):
        return self

    def run_suite(self, suite):
        import unittest

        self.found = suite
        return unittest.TestResult()

    def file(self, at):
        module = sys.modules.get(type(self.items[at]).__module__)
        return getattr(module, "__file__", None) or ""

    def find(self, name):
        found = [at for at, known in enumerate(self.ids) if known == name]
        return found or [at for at, known in enumerate(self.ids) if known.startswith(name + ".")]

    def run(self, *arguments):
        # unittest calls this like a runner's method with all tests; the judge calls it with those to run.
        return self.run_suite(*arguments) if len(arguments) == 1 else self.run_chosen(*arguments)

    def run_chosen(self, chosen, done):
        import unittest

        tests = self
        tests.failed = False
        place = {id(self.items[at]): at for at in chosen}

        class Result(unittest.TestResult):
            bad = False

            def startTest(self, test):
                super().startTest(test)
                self.bad = tests.failed = False
                tests.point = Point()

            def stopTest(self, test):
                super().stopTest(test)
                if id(test) in place and not done(place[id(test)], not self.bad):
                    self.stop()

            def is_bad(self, test, error=None, *_, failed=True):
                self.bad, tests.failed = True, tests.failed or failed
                if isinstance(error, tuple) and id(test) in place:
                    tests.point = point(tests.tree, tests.file(place[id(test)]), error[2])
                # A failure of a class or module fixture is not a test, and fails all of its tests.
                if id(test) not in place and not hasattr(test, "test_case"):
                    tests.point = Point()
                    for at in place.values():
                        if not done(at, False):
                            self.stop()
                            break

            def addSubTest(self, test, subtest, error):
                self.bad = self.bad or error is not None
                tests.failed = tests.failed or error is not None

            def addSkip(self, test, reason):
                # A skipped test neither passes nor fails.
                self.is_bad(test, failed=False)

            addError = addFailure = addUnexpectedSuccess = is_bad

        unittest.TestSuite([self.items[at] for at in chosen]).run(Result())

    def get_ready(self):
        """No preparation is useful for every fork."""

    def again(self, chosen):
        """Like the method of the pytest class."""
        import unittest

        fresh = Unittest.__new__(Unittest)
        fresh.tree, fresh.ids = self.tree, [self.ids[at] for at in chosen]
        loader = unittest.TestLoader()
        fresh.items = [test for name in fresh.ids for test in leaves(loader.loadTestsFromName(name))]
        if [test.id() for test in fresh.items] != fresh.ids:
            raise ImportError("the tests have changed")
        return fresh


def leaves(suite):
    try:
        inner = list(suite)
    except TypeError:
        yield suite
        return
    for test in inner:
        if test is not None:
            yield from leaves(test)


def has(name):
    import importlib.util

    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
