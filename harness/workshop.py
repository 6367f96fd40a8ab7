"""Where jobs are done for real: edits and commands in a work tree, then the checks. Equal work is done once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from harness.events import Check
from harness.model import digest
from harness.repo import Repo
from harness.scenario import Edit, Job

SECONDS = 60
OUTPUT_LIMIT = 20_000
RAN = "run"
"""Stands for the decision in the record of a command that belongs to the whole job."""


@dataclass(frozen=True)
class Work:
    """What a job left behind: the diff of the work tree, its commands, its checks."""

    diff: str
    ran: tuple[Check, ...]
    checks: tuple[Check, ...]


class Workshop:
    """Does jobs; the same edits and commands on the same commit are done once for all trials of a run."""

    def __init__(self) -> None:
        self._done: dict[str, Future[Work]] = {}
        self._lock = threading.Lock()

    def do(self, repo: Repo, commit: str, job: Job, values: Mapping[str, str | None]) -> Work:
        """Applies the edits of every decided value, runs the job's commands, then every check."""
        key = digest([repo.digest, commit, job.model_dump(mode="json"), dict(values)])
        with self._lock:
            first = key not in self._done
            future = self._done.setdefault(key, Future())
        if first:
            try:
                future.set_result(_work(repo, commit, job, values))
            except BaseException as error:
                future.set_exception(error)
        return future.result()


def _work(repo: Repo, commit: str, job: Job, values: Mapping[str, str | None]) -> Work:
    with repo.worktree(commit) as tree:
        for decision in job.decisions:
            value = values.get(decision.id)
            for edit in decision.edits if value is not None else ():
                _apply(tree, edit, value or "")
        ran = tuple(_command(tree, RAN, command) for command in job.run)
        checks = tuple(_command(tree, decision.id, decision.check) for decision in job.decisions)
        return Work(_diff(tree), ran, checks)


def _apply(tree: Path, edit: Edit, value: str) -> None:
    """The loader has proven that the edit fits; a value is text in a file, never a command."""
    path = tree / edit.path.replace("{value}", value)
    new = edit.new.replace("{value}", value)
    if edit.old is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(new, encoding="utf-8")
    else:
        path.write_text(path.read_text("utf-8").replace(edit.old.replace("{value}", value), new, 1), encoding="utf-8")


def _command(tree: Path, decision: str, command: Sequence[str]) -> Check:
    """Runs one command without network keys or a home; the value seen is its last line of standard output."""
    try:
        done = subprocess.run(
            command, cwd=tree, env=_environment(tree), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
        )
        code, out, err = done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        code, out, err = 124, "", f"no end within {SECONDS} s"
    except OSError as error:
        code, out, err = 127, "", f"{command[0]}: {error.strerror}"
    lines = out.strip().splitlines()
    value = lines[-1].strip() if code == 0 and lines else None
    output = (out + err).replace(str(tree), ".")[:OUTPUT_LIMIT]
    return Check(decision=decision, command=tuple(command), exit=code, value=value or None, output=output)


def _environment(tree: Path) -> dict[str, str]:
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(tree),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
    }


def _diff(tree: Path) -> str:
    """The tracked changes and new files, as git shows them."""
    env = {**_environment(tree), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "add", "--intent-to-add", "--all"], cwd=tree, env=env, check=True, capture_output=True)
    shown = subprocess.run(["git", "diff", "--no-color"], cwd=tree, env=env, check=True, capture_output=True)
    return shown.stdout.decode("utf-8", "replace")
