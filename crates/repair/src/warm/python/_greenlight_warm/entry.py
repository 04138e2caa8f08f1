"""Handles greenlight's requests, and answers in pieces that fit into one cell."""

import json
import os
import sys

from .behaviour import behave
from .code_cache import keep_compiled
from .forks import Refused, quiet
from .frameworks import load, watched
from .judge import Judge
from .line_coverage import Followed
from .tree import Tree

PIECE = 40_000
LONGEST = 8 << 20


class Piece:
    """A value whose `repr` is its JSON text."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


class Desk:
    """The state kept between requests."""

    def __init__(self):
        self.tests = None
        self.judge = None
        self.answer = "{}"

    def hear(self, request):
        if request["op"] == "more":
            return self.piece(request["from"])
        try:
            value = getattr(self, "op_" + request["op"])(request)
        except Refused as refused:
            value = {"why": str(refused)[:500]}
        except Exception as error:
            value = {"why": f"{type(error).__name__}: {error}"[:500]}
        except SystemExit as error:
            value = {"why": f"the tests ended the process: {str(error)[:400]}"}
        self.answer = json.dumps(value)
        if len(self.answer) > LONGEST:
            self.answer = json.dumps({"why": "the answer is too long"})
        return self.piece(0)

    def piece(self, start):
        # Quoting doubles the number of quotes.
        text = self.answer[start : start + PIECE // 2]
        return Piece(json.dumps({"text": text, "total": len(self.answer)}))

    def op_start(self, request):
        prepare()
        root = os.path.realpath(os.environ.pop("GREENLIGHT_UP", "."))
        tree = Tree(root)
        with quiet():
            keep_compiled()
            self.tests = watched(tree, lambda: load(tree, request["argv"], request["framework"]))
            self.judge = Judge(tree, self.tests)
            words = request["failing"], request["passing"], request["limit_ms"] / 1000
            return self.judge.start(*words, request.get("was_ended", False))

    def ready(self):
        if self.judge is None:
            raise Refused("the tests were not loaded")
        return self.judge

    def op_spectrum(self, request):
        judge = self.ready()
        if judge.starting.issuperset(judge.failing):
            raise Refused("programs that the tests start cannot be traced")
        return Followed(judge).answer(request["wall_ms"] / 1000)

    def op_judge(self, request):
        return {"verdicts": self.ready().verdicts(request["candidates"], request["limit_ms"] / 1000)}

    def op_behave(self, request):
        return behave(self.ready(), request["candidates"], request["wall_ms"] / 1000)


def prepare():
    """Makes paths in tracebacks absolute, as with the test command."""
    here = os.getcwd()
    whole = [os.path.join(here, part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    if whole:
        os.environ["PYTHONPATH"] = os.pathsep.join(os.path.normpath(part) for part in whole)
    sys.path[:] = [os.path.normpath(os.path.join(here, part)) for part in sys.path]
    sys.dont_write_bytecode = True


def start():
    """Returns a function that answers requests, both as text."""
    desk = Desk()
    return lambda text: desk.hear(json.loads(text))
