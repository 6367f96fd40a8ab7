"""Where jobs are done for real: edits and commands in a work tree, then the checks. Equal work is done once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from harness.log.events import Check
from harness.machine import bubblewrap
from harness.model.scenario import Edit, Job
from harness.model.trial import digest
from harness.repo.checkout import Repo
from harness.repo.series import reason

SECONDS = 60
OUTPUT_LIMIT = 20_000
RAN = "run"
"""Stands for the decision in the record of a command that belongs to the whole job."""


class WorkError(Exception):
    """What a job did to its work tree leaves nothing to judge. One line."""


@dataclass(frozen=True)
class Work:
    """What a job left behind: the diff of the work tree, its commands, its checks."""

    diff: str
    ran: tuple[Check, ...]
    checks: tuple[Check, ...]


class WorkTrees:
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
        before = bubblewrap.wrap(tree, repo.stores)
        ran = tuple(_command(tree, RAN, command, before) for command in job.run)
        checks = tuple(_command(tree, decision.id, decision.check, before) for decision in job.decisions)
        return Work(_diff(tree, before), ran, checks)


def _apply(tree: Path, edit: Edit, value: str) -> None:
    """The loader has proven that the edit fits; a value is text in a file, never a command. OSError behind a link."""
    path = edit.path.replace("{value}", value)
    new = edit.new.replace("{value}", value)
    if edit.old is None:
        with _open(tree, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(new.encode())
    else:
        with _open(tree, path, os.O_RDWR) as file:
            text = file.read().decode().replace(edit.old.replace("{value}", value), new, 1)
            file.seek(0)
            file.truncate()
            file.write(text.encode())


def _open(tree: Path, path: str, how: int) -> BinaryIO:
    """A file of the tree, its folders made if it may be; no part of its path is a link or leads up."""
    *folders, name = PurePosixPath(path).parts
    if PurePosixPath(path).is_absolute() or ".." in (*folders, name):
        raise OSError(f"'{path}' is not a plain path inside the work tree")
    at = os.open(tree, os.O_DIRECTORY)
    try:
        for folder in folders:
            if how & os.O_CREAT:
                with suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=at)
            above, at = at, os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(above)
        return os.fdopen(os.open(name, how | os.O_NOFOLLOW, 0o644, dir_fd=at), "r+b" if how & os.O_RDWR else "wb")
    finally:
        os.close(at)


def _command(tree: Path, decision: str, command: Sequence[str], before: Sequence[str]) -> Check:
    """Runs one command without network keys or a home; the value seen is its last line of standard output."""
    try:
        done = subprocess.run(
            [*before, *command],
            cwd=tree,
            env=_environment(tree),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
        )
        code = bubblewrap.translate_exit(done.returncode, done.stderr) if before else done.returncode
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
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


def _diff(tree: Path, before: Sequence[str]) -> str:
    """The tracked changes and new files, as git shows them; a command may have told git to run something, too.

    Submodules are empty folders, and git would stumble over a .gitmodules that is none.
    """
    env = {**_environment(tree), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env["GIT_DIR"], env["GIT_WORK_TREE"] = str(tree / ".git"), str(tree)  # never a repository further up
    for words in (("add", "--intent-to-add", "--all"), ("diff", "--no-color", "--ignore-submodules=all")):
        shown = subprocess.run([*before, "git", *words], cwd=tree, env=env, check=False, capture_output=True)
        if shown.returncode:
            raise WorkError(f"the job left a work tree in which git {words[0]} fails: {reason(shown)}")
    return shown.stdout.decode("utf-8", "replace")
