"""Runs cells of Python one after another in one namespace.

Each line of the pipe `requests` is `<id> <base64 of the code>`; each is answered with two lines in the pipe
`responses`: `<id> run` when it begins, and `<id> ok|err|int <base64 of the value or of the error>`. The output of cells
goes elsewhere.

A cell calls greenlight with `_call_tool`: `<id> call <number> <base64 of JSON>`, answered by
`=<number> <base64 of a text>`. It runs under Python 3.7 and later.
"""

import ast
import base64
import json
import linecache
import os
import signal
import sys
import threading
import traceback
import types

LONGEST = 64 << 10

loop = None


def main(directory):
    responses = os.open(directory + "/responses", os.O_WRONLY)
    requests = Lines(os.open(directory + "/requests", os.O_RDONLY))
    signal.signal(signal.SIGINT, ignore)
    session = os.getpid()

    def leave():
        os.close(requests.pipe)
        os.close(responses)

    os.register_at_fork(after_in_child=leave)

    # Cells run as a separate `__main__` module in the directory where the session started.
    cells = types.ModuleType("__main__")
    cells.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = cells
    sys.argv = [""]
    sys.path[0] = os.getcwd()
    calls = Calls(requests, responses, session)
    cells.__dict__["_call_tool"] = calls.call

    answer(responses, "0", "ok", "")
    for line in requests:
        if line.startswith(b"="):
            # Nobody is waiting for it any more.
            continue
        number, _, code = line.partition(b" ")
        number = number.decode()
        calls.cell = number
        status, text, code = perform(cells, responses, number, base64.b64decode(code).decode())
        if os.getpid() != session:
            # The cell forked, and this is the child, which has reached its end.
            if status != "ok":
                os.write(2, encode(text))
            os._exit(code)
        with calls.lock:
            calls.cell = None
        answer(responses, number, status, text)


class Lines:
    """The lines of a pipe, until all writers have closed it."""

    def __init__(self, pipe):
        self.pipe, self.unread, self.complete = pipe, b"", []

    def __iter__(self):
        return self

    def __next__(self):
        while not self.complete:
            chunk = os.read(self.pipe, 1 << 16)
            if not chunk:
                raise StopIteration
            *complete, self.unread = (self.unread + chunk).split(b"\n") if b"\n" in chunk else (self.unread + chunk,)
            self.complete = complete[::-1]
        return self.complete.pop()


class Calls:
    """The calls that cells make to greenlight, one at a time."""

    def __init__(self, requests, responses, session):
        self.requests, self.responses, self.session = requests, responses, session
        self.lock, self.cell, self.last = threading.Lock(), None, 0

    def call(self, name, arguments):
        text = json.dumps({"name": name, "arguments": arguments}).encode()
        if len(text) > LONGEST:
            raise ValueError("the arguments are too long")
        if os.getpid() != self.session:
            raise RuntimeError("tools cannot be called in another process")
        with self.lock:
            if self.cell is None:
                raise RuntimeError("tools can only be called while a block runs")
            # Interrupts are delayed, so that they cannot split a message.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self.last += 1
                line = b"%s call %d %s\n" % (self.cell.encode(), self.last, base64.b64encode(text))
                while line:
                    line = line[os.write(self.responses, line) :]
                for line in self.requests:
                    if line.startswith(b"=%d " % self.last):
                        return base64.b64decode(line.partition(b" ")[2]).decode()
                os._exit(0)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def answer(responses, number, status, text):
    respond(responses, b"%s %s %s\n" % (number.encode(), status.encode(), base64.b64encode(encode(text))))


def respond(responses, line):
    while line:
        line = line[os.write(responses, line) :]


def encode(text):
    text = text.encode("utf-8", "backslashreplace")
    if len(text) > LONGEST:
        half = LONGEST // 2 - 16
        text = text[:half] + b"\n[...]\n" + text[-half:]
    return text


def ignore(*_):
    """Ignores a signal. Unlike SIG_IGN, other programs do not inherit this."""


def perform(cells, responses, number, code):
    """Runs one cell; all code that may call back into it can be interrupted."""
    status, text, exit_code = "ok", "", 0
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        respond(responses, b"%s run\n" % number.encode())
        try:
            value = evaluate(cells, f"<cell {number}>", code)
            text = "" if value is None else repr(value)
        except BaseException as error:
            status, exit_code = "int" if isinstance(error, KeyboardInterrupt) else "err", 1
            if isinstance(error, SystemExit):
                exit_code = error.code if isinstance(error.code, int) else int(error.code is not None)
            text = describe(error)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        signal.signal(signal.SIGINT, ignore)
    except KeyboardInterrupt:
        status = "int"
    except BaseException:
        status, text = "err", "an error that cannot be shown"
    signal.signal(signal.SIGINT, ignore)
    return status, text, exit_code & 255


def evaluate(cells, name, code):
    """Returns the value of the last statement if it is an expression."""
    # Tracebacks look up the lines of the cell here.
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    await_allowed = getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
    tree = compile(code, name, "exec", ast.PyCF_ONLY_AST | await_allowed, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    run(cells, compile(tree, name, "exec", await_allowed, dont_inherit=True))
    if last is not None:
        return run(cells, compile(ast.Expression(last.value), name, "eval", await_allowed, dont_inherit=True))
    return None


def run(cells, code):
    if not code.co_flags & 0x80:  # CO_COROUTINE
        return eval(code, cells.__dict__)
    global loop  # noqa: PLW0603, one for all cells
    import asyncio

    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    task = loop.create_task(eval(code, cells.__dict__))
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:
        if task.cancel():
            # Lets it clean up and see the interrupt.
            loop.run_until_complete(asyncio.wait([task], timeout=0.2))
        raise


def describe(error):
    """The traceback from the first line of a cell on."""
    first = error.__traceback__
    while first is not None and not first.tb_frame.f_code.co_filename.startswith("<cell "):
        first = first.tb_next
    return "".join(traceback.format_exception(type(error), error, first)).rstrip("\n")


if __name__ == "__main__":
    main(sys.argv[1])
