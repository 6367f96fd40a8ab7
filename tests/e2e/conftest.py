"""The program as users start it, with a cache that all tests share."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness import paths
from harness.cli import commands
from harness.log.folder import Folder
from harness.log.reader import Log

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("-s", "forgotten-runbook", "-n", "0", "--write", "append", "--drill", "none")
"""One scenario without noise and drills: a few seconds."""
COMMANDS = (
    "harness/conformance", "harness/mine", "harness/published", "harness/pytest_plugin", "harness/regress",
    "harness/selftest", "harness/serving",
)  # fmt: skip
PAGE = ("harness/report/charts", "harness/report/model", "harness/report/text", "harness/report/timeline")
PLAYED = pytest.mark.apart(*COMMANDS, *PAGE, "harness/report/outputs")
"""Of a module that asserts what was played and measured: nothing on other commands, and nothing on what is shown."""
MEASURED = pytest.mark.apart(*COMMANDS, *PAGE)
"""Of one that also asserts what `calibrate` prints."""


def environment(cache: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Without what a CI server sets: pytest and coldwarm write more there, and a test says so where it wants that."""
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("GITHUB_")}
    return {**kept, "COLDWARM_CACHE": str(cache), "COLUMNS": "200", "NO_COLOR": "1", **(more or {})}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Embeddings of the checkout, where there are any: each text is embedded once for all tests of a worker."""
    folder = tmp_path_factory.mktemp("cache")
    known = paths.ROOT / ".cache" / "embeddings.sqlite"
    if known.exists():  # somebody may be writing to it
        with closing(sqlite3.connect(known)) as link, closing(sqlite3.connect(folder / known.name)) as copy:
            link.backup(copy)
    return folder


@pytest.fixture(scope="session")
def cli(cache: Path) -> Cli:
    """Runs a command in this process, which saves the imports."""

    def run(*words: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "argv", ["coldwarm", *map(str, words)])
            done = CliRunner(env=environment(cache, env)).invoke(commands, list(map(str, words)))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def program(cache: Path) -> Cli:
    """Runs `python -m harness` to its end, in a process of its own."""

    def run(*words: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "harness", *map(str, words)],
            cwd=paths.ROOT, env=environment(cache, env), capture_output=True, text=True, timeout=110, check=False,
        )  # fmt: skip

    return run


def only(out: Path) -> Path:
    """The one run below a folder."""
    (found,) = (path for path in out.iterdir() if not path.is_symlink())
    return found


def one_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The error that a command ended with: one line, no traceback."""
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("coldwarm: ") and "Traceback" not in done.stdout
    return line


def resumable(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    """The error of a run that was broken off: one line, and the command that goes on by itself, to be copied."""
    assert done.returncode == 3, done.stderr
    line, hint = done.stderr.splitlines()
    assert line.startswith("coldwarm: ") and hint == f"coldwarm run --resume {folder}"
    assert line.endswith("; finished trials are kept. Resume the run with:") and "Traceback" not in done.stdout
    return line


def bytes_of(folder: Path, pattern: str = "logs/*.jsonl") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


def results(folder: Path) -> dict[str, Any]:
    """What a run wrote for programs."""
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


def find_log(folder: Path, backend: str | None) -> Log:
    """The one log of a backend; None: the cold one's."""
    logs, problems = Folder(folder).logs()
    assert not problems
    (found,) = (each for each in logs.values() if each.trial.backend == backend)
    return found
