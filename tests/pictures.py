"""Pictures of the terminal for the manual: `just terminal-pictures`.

Types commands into a real terminal (tmux) with the program that is given, and draws what the screen shows as SVG.
"""

import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

TUTORIAL = Path("docs/tutorial.md")
PATIENCE = 120
# The colours of a common dark terminal.
THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
    [
        (110, 118, 129),
        (255, 161, 152),
        (86, 211, 100),
        (227, 179, 65),
        (121, 192, 255),
        (210, 168, 255),
        (86, 212, 221),
        (255, 255, 255),
    ],
)
# Without rich's window and its font from the network.
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="TITLE">
<style>
.{unique_id}-matrix {{
  font: {char_height}px/{line_height}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#161b22"/>
<g transform="translate({terminal_x}, {terminal_y})">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def blocks(language):
    """The code blocks of the tutorial in this language."""
    parts = TUTORIAL.read_text().split("```")[1::2]
    return [part.removeprefix(f"{language}\n") for part in parts if part.startswith(f"{language}\n")]


class Terminal:
    """A tmux of its own, which reads nobody's settings."""

    def __init__(self, folder, columns, lines, program):
        self.socket = f"{folder}/tmux"
        shell = (
            f"env -i PATH={program.parent}:/usr/local/bin:/usr/bin:/bin HOME={folder} GREENLIGHT_DATA_DIR={folder}/data"
        )
        shell += " TERM=tmux-256color LANG=C.UTF-8 PS1='$ ' bash --norc --noprofile"
        self.tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", f"{columns}", "-y", f"{lines}", "-c", f"{folder}/fares", shell
        )

    def tmux(self, *words):
        """What tmux prints."""
        command = ["tmux", "-S", self.socket, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def types(self, line):
        """Types a line and Enter."""
        self.tmux("send-keys", "-l", line)
        self.tmux("send-keys", "Enter")

    def shows(self, part):
        """Waits until the screen shows this."""
        end = time.monotonic() + PATIENCE
        while part not in (screen := self.tmux("capture-pane", "-p")):
            if time.monotonic() > end:
                raise TimeoutError(f"{part!r} is not on the screen:\n{screen}")
            time.sleep(0.1)

    def draws(self, file, title):
        """Writes the screen to a file, up to its last line that is not empty."""
        screen = self.tmux("capture-pane", "-e", "-p").rstrip().removesuffix("$").rstrip()
        width = max(Text.from_ansi(line).cell_len for line in screen.split("\n")) + 1
        console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
        console.print(Text.from_ansi(screen), soft_wrap=True, highlight=False)
        console.save_svg(file, theme=THEME, code_format=SVG.replace("TITLE", title), unique_id="terminal")

    def ends(self):
        """Ends this tmux."""
        self.tmux("kill-server")


def main(program, target):
    """Plays the tutorial and `greenlight init`, and draws both."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        project = Path(folder) / "fares"
        project.mkdir()
        code, test = blocks("python")
        (project / "fare.py").write_text(code)
        (project / "test_fare.py").write_text(test)
        terminal = Terminal(folder, 88, 60, program)
        try:
            terminal.shows("$")
            terminal.types("greenlight fix .")
            terminal.shows("[y]es")
            terminal.types("y")
            terminal.shows("written to the working tree")
            terminal.shows("runs the tests\n$")
            terminal.draws(f"{target}/terminal-fix.svg", "greenlight fix, in a terminal")
        finally:
            terminal.ends()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
