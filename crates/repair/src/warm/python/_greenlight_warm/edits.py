"""Requested edits: compiled and compared with the current code, or temporarily written to the disk."""

from .code_objects import Swap
from .forks import Refused


class Edited:
    """One candidate, compiled."""

    def __init__(self, tree, candidate):
        self.file = tree.file(candidate["path"])
        self.start, self.end, self.text = candidate["start"], candidate["end"], candidate["text"]
        if not 0 <= self.start <= self.end <= len(self.file.data):
            raise Refused("the range is not in the file")
        self.swap = self.compare(self.file.part(self.start, self.end))

    def compare(self, part):
        try:
            new = self.file.compiled(part, self.start, self.end, self.text)
        except SyntaxError:
            if part is None:
                raise
            # The statement may continue in the next one.
            return self.compare(None)
        swap = Swap()
        swap.compare(self.file.original(part), new, [])
        return swap

    def added(self, files):
        """How many lines it adds. None if it is in one of these files."""
        if self.file.name in files:
            return None
        return self.text.count("\n") - self.file.data[self.start : self.end].count(b"\n")

    def data(self):
        return self.file.edited(self.start, self.end, self.text)


class Written:
    """Writes an edit to its file for a while."""

    def __init__(self, edit):
        self.edit = edit

    def __enter__(self):
        self.write(self.edit.data())

    def __exit__(self, *_):
        self.write(self.edit.file.data)

    def write(self, data):
        with open(self.edit.file.name, "wb") as file:
            file.write(data)
