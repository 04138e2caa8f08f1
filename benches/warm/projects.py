"""The small projects in `projects/` that `run.py` measures: one per ecosystem, with two functions and two tests."""

from dataclasses import dataclass

NPM = ("npm", "install", "--silent", "--no-audit", "--no-fund")


@dataclass
class Project:
    """A project, in the folder of its name."""

    name: str
    # The file whose operator is replaced.
    source: str
    # The test command that a person would type.
    command: tuple[str, ...]
    # What a person runs once before.
    install: tuple[str, ...] = ()
    # The programs it takes.
    needs: tuple[str, ...] = ()


PROJECTS = [
    Project("pytest", "calc.py", ("python3", "-m", "pytest", "-q"), needs=("python3",)),
    Project("jest", "calc.js", ("npm", "test", "--silent"), NPM, needs=("node", "npm")),
    Project("vitest", "calc.ts", ("npm", "test", "--silent"), NPM, needs=("node", "npm")),
    # Go remembers that a test passed, unless it is told to run it again.
    Project("go", "calc.go", ("go", "test", "-count=1", "./..."), needs=("go",)),
    Project("cargo", "src/lib.rs", ("cargo", "test", "--quiet"), ("cargo", "fetch", "--quiet"), needs=("cargo",)),
    Project(
        "maven",
        "src/main/java/calc/Calc.java",
        ("mvn", "-q", "-o", "test"),
        ("mvn", "-q", "test"),
        needs=("mvn", "java"),
    ),
]
