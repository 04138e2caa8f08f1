"""Does work in a fork, within a time limit, and lets nothing of it come back but what it says."""

import contextlib
import os
import resource
import select
import signal
import time

# What one fork may say, and the memory that it may take on top.
MOST_SAID = 32 << 20
MEMORY = 1 << 30
# Seconds of processor time, also for what gets away from it.
PROCESSOR = 120
# How often a limit is drawn out for a fork that did not get the processor.
STARVED = 3
# How often it is looked at how much processor time a fork took, in seconds.
LOOK = 0.02
# What starts another program, as audit events are called.
STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system"}
FORKS = {"os.fork", "os.forkpty"}


class Refused(Exception):
    """Why there is no way to do what was asked for."""


@contextlib.contextmanager
def quiet():
    """Nothing is read from the terminal, nor printed to it."""
    kept = [os.dup(number) for number in (0, 1, 2)]
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        yield
    finally:
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nothing)


class Fork:
    """`work(say)` in a fork; `say` takes bytes."""

    def __init__(self, work):
        self.pipe, into = os.pipe()
        self.used = 0
        self.process = os.fork()
        if self.process == 0:
            code = 1
            try:
                os.close(self.pipe)
                enter()
                work(lambda data: write(into, data))
                code = 0
            except BaseException:
                pass
            finally:
                os._exit(code)
        os.close(into)
        try:
            os.setpgid(self.process, self.process)
        except OSError:
            pass
        self.poll = select.poll()
        self.poll.register(self.pipe, select.POLLIN | select.POLLHUP)

    def hear(self, limit, most=None):
        """The next bytes; empty at the end, None when the time is up, or with `most` so much processor time."""
        end, extended = time.monotonic() + limit, 0
        busy, first = self.busy(), True
        while True:
            if most and not first and self.busy() - busy > most:
                return None
            first = False
            left = end - time.monotonic()
            if left <= 0:
                # Not slow, but kept waiting by others.
                now = self.busy()
                if extended < STARVED and now - busy < limit / 2 and self.waits_for_processor():
                    extended += 1
                    end = time.monotonic() + limit
                    continue
                return None
            if self.poll.poll((min(left, LOOK) if most else left) * 1000):
                data = os.read(self.pipe, 1 << 16)
                self.used += len(data)
                return data if self.used < MOST_SAID else None

    def all(self, limit):
        """All that it says within the time, and whether it came to its end."""
        said, end = [], time.monotonic() + limit
        while True:
            data = self.hear(max(0.001, end - time.monotonic()))
            if not data:
                return b"".join(said), data is not None
            said.append(data)

    def stat(self):
        try:
            with open(f"/proc/{self.process}/stat", "rb") as file:
                return file.read().rpartition(b")")[2].split()
        except OSError:
            return []

    def busy(self):
        """The seconds of processor time that it took."""
        stat = self.stat()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK") if len(stat) > 12 else 0.0

    def waits_for_processor(self):
        return self.stat()[:1] == [b"R"]

    def end(self):
        """Kills what is left, and collects it."""
        os.close(self.pipe)
        for kill in (os.killpg, os.kill):
            try:
                kill(self.process, signal.SIGKILL)
            except OSError:
                pass
        try:
            os.waitpid(self.process, 0)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def enter():
    """What a fork is before it works."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    # The session closes its pipes in every fork, by numbers that are free here and would be taken by others.
    for _ in range(4):
        os.dup(nothing)
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (OSError, ValueError):
        pass


def write(into, data):
    while data:
        data = data[os.write(into, data) :]
