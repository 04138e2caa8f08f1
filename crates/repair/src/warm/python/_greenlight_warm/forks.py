"""Does work in a fork within a time limit. Only what the fork reports comes back."""

import contextlib
import os
import resource
import select
import signal
import time

# Limits on the size of one fork's report, and on its additional memory, in bytes.
MOST_SAID = 32 << 20
MEMORY = 1 << 30
# Limit of processor time in seconds, also for processes that outlive the fork.
PROCESSOR = 120
# How often a time limit is extended for a fork that did not get the processor.
STARVED = 3
# How often a fork's processor time is checked, in seconds.
LOOK = 0.02
# The names of audit events for starting another program.
STARTS = {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system"}
FORKS = {"os.fork", "os.forkpty"}


class Refused(Exception):
    """The reason why a request cannot be handled."""


@contextlib.contextmanager
def quiet():
    """Redirects the terminal, so that nothing is read from it or printed to it."""
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
    """Runs `work(say)` in a fork; `say` sends bytes."""

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
        """Next bytes: empty at the end, None if the time is up or, with `most`, that much processor time is used."""
        end, extended = time.monotonic() + limit, 0
        busy, first = self.busy(), True
        while True:
            if most and not first and self.busy() - busy > most:
                return None
            first = False
            left = end - time.monotonic()
            if left <= 0:
                # It is not slow, but other processes keep it waiting.
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
        """Everything that it reports within the time, and whether it ended."""
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
        """The processor time that it used, in seconds."""
        stat = self.stat()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK") if len(stat) > 12 else 0.0

    def waits_for_processor(self):
        return self.stat()[:1] == [b"R"]

    def end(self):
        """Kills the remaining processes and reaps them."""
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


def undisturbed():
    """Seconds on a clock that stands still while this process waits for the processor, so that a busy machine makes
    no test look slow. Where the kernel does not count such waits, it never stands still."""
    now = time.monotonic()
    try:
        with open("/proc/self/schedstat", "rb") as file:
            return now - int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return now


def enter():
    """Prepares a fork for its work."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    # The session closes its pipes in every fork by number; these numbers are free here and must not be reused.
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
