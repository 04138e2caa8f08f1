"""The agents that are compared: from which registry each comes, and how it is started without questions."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TASK = "The test fails. Correct the code, and run the tests with `python3 -m pytest -q`."
# How mini-swe-agent is told that nothing is left to do.
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@dataclass
class Agent:
    """An agent from a registry. `start` returns its command line and its variables."""

    name: str
    registry: str
    package: str
    version: str
    start: Callable[[Path, str, str], tuple[list[str], dict[str, str]]]
    # How it is told that nothing is left to do; see the script of the model.
    last: str | None = None
    # The version of the program, if the package has another.
    program: str | None = None

    def __str__(self):
        return f"{self.name} {self.program or self.version}"

    def install(self, root):
        """Installs it below a folder, if it is not there. `None`, or why it is unavailable."""
        folder = root / self.name
        mark = folder / f"installed-{self.version}"
        if mark.exists():
            return None
        folder.mkdir(parents=True, exist_ok=True)
        if self.registry == "PyPI":
            pip = [str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
            steps = [
                [sys.executable, "-m", "venv", str(folder)],
                [*pip, f"{self.package}=={self.version}"],
            ]
        else:
            npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
            steps = [[*npm, f"{self.package}@{self.version}"]]
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, timeout=1800, check=False)
            if done.returncode != 0:
                return (done.stderr or done.stdout).strip()[-300:] or f"{step[0]} failed"
        mark.touch()
        return None

    def megabytes(self, root):
        sizes = subprocess.run(["du", "-sm", str(root / self.name)], capture_output=True, text=True, check=False)
        return int(sizes.stdout.split()[0])


@dataclass
class Greenlight:
    """The program that the others are compared with."""

    binary: Path
    name = "greenlight"
    last = None

    def __str__(self):
        return self.name

    def install(self, _root):
        return None

    def start(self, _folder, url, data):
        words = [str(self.binary), "fix", "--yes", "--json", "."]
        return words, {
            "GREENLIGHT_DATA_DIR": data,
            "GREENLIGHT_MODEL": "scripted",
            "GREENLIGHT_MODEL_BASE_URL": f"{url}/v1",
            "GREENLIGHT_MODEL_API_KEY": "sk-scripted",
        }

    def megabytes(self, _root):
        return self.binary.stat().st_size / 1e6


def goose(folder, url, _home):
    binary = next(folder.glob("node_modules/@aaif/goose-binary-*/bin/goose"))
    words = [str(binary), "run", "--no-session", "--with-builtin", "developer", "--text", TASK]
    return words, {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted",
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_ENABLED": "false",
        "OPENAI_HOST": url,
        "OPENAI_API_KEY": "sk-scripted",
    }


def codex(folder, url, home):
    provider = f'{{name="scripted",base_url="{url}/v1",env_key="SCRIPTED_KEY",wire_api="responses"}}'
    words = [f"{folder}/node_modules/.bin/codex", "exec", "--dangerously-bypass-approvals-and-sandbox"]
    words += ["--skip-git-repo-check", "-c", 'model_provider="scripted"', "-c", f"model_providers.scripted={provider}"]
    return [*words, "--model", "gpt-5", TASK], {"CODEX_HOME": home, "SCRIPTED_KEY": "sk-scripted"}


def claude(folder, url, home):
    words = [f"{folder}/node_modules/.bin/claude", "--print", "--dangerously-skip-permissions", TASK]
    return words, {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "CLAUDE_CONFIG_DIR": home,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # It refuses to run as root without this.
        "IS_SANDBOX": "1",
    }


def mini(folder, url, home):
    words = [f"{folder}/bin/mini", "--yolo", "--exit-immediately", "--model", "openai/gpt-4o", "--task", TASK]
    return words, {
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": "sk-scripted",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_GLOBAL_CONFIG_DIR": home,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def aider(folder, url, _home):
    words = [f"{folder}/bin/aider", "--model", "openai/gpt-4o", "--openai-api-base", f"{url}/v1"]
    words += ["--openai-api-key", "sk-scripted", "--yes-always", "--no-auto-commits", "--no-check-update"]
    words += ["--no-show-model-warnings", "--analytics-disable", "--no-gitignore", "--edit-format", "diff"]
    words += ["--auto-test", "--test-cmd", "python3 -m pytest -q", "--message", TASK, "calc.py"]
    return words, {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


AGENTS = [
    Agent("goose", "npm", "@aaif/goose-sdk", "0.20.1", goose, program="1.34.0"),
    Agent("codex", "npm", "@openai/codex", "0.171.0", codex),
    Agent("claude-code", "npm", "@anthropic-ai/claude-code", "2.1.332", claude),
    Agent("mini-swe-agent", "PyPI", "mini-swe-agent", "2.4.6", mini, last=SUBMIT),
    Agent("aider", "PyPI", "aider-chat", "0.86.2", aider, last="text"),
]


def environment(variables, home):
    """What every agent gets: its own home, and none of the caller's keys."""
    return {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", **variables}
