"""Somebody else's repository, made with plain git, and a history to mine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

CODE = "import time\n\nRETRIES = {retries}\n\n\ndef wait(pause={pause}):\n    time.sleep(pause)\n"
CONFIG = '[tool.shop]\nlane = "{lane}"\nbudget = {budget}\n'
DOCS = "# Shop\n\n## Running the tests\n\n```\n$ {command}\n```\n"


class Foreign:
    """Somebody else's repository, made with plain git."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=trunk")

    def git(self, *words: str) -> str:
        who = {
            f"GIT_{one}_{what}": value
            for one in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Ada Example"), ("EMAIL", "ada@example.com"))
        }
        there = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.path), **who}
        done = subprocess.run(
            ["git", *words], cwd=self.path, env={"PATH": os.environ["PATH"], **there}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, files: dict[str, str | bytes], author: str = "Ada Example") -> str:
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "A step", f"--author={author} <ada@example.com>")
        return self.git("rev-parse", "HEAD")


def live(foreign: Foreign) -> None:
    """A history in which four values change, one of them twice."""

    def files(retries: int, pause: str, lane: str, budget: int, command: str) -> dict[str, str | bytes]:
        return {
            "shop/waits.py": CODE.format(retries=retries, pause=pause),
            "pyproject.toml": CONFIG.format(lane=lane, budget=budget),
            "README.md": DOCS.format(command=command),
        }

    foreign.commit(files(3, "0.5", "harborline", 40, "make check"))
    foreign.commit(files(3, "0.5", "kestrelway", 40, "make check"))
    foreign.commit(files(7, "0.5", "kestrelway", 40, "make check"))
    foreign.commit(files(7, "0.5", "finchgate", 40, "make check"))
    foreign.commit(files(7, "2.5", "finchgate", 65, "make check"))
    foreign.commit(files(7, "2.5", "finchgate", 65, "pytest -n auto"))
