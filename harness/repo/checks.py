"""Where jobs are done for real: edits and commands in a work tree, then the checks. Equal work is done once."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from harness.log.parts import Check
from harness.machine import bubblewrap, command, shortage
from harness.machine.processes import Killed
from harness.model.job import HIDDEN, Edit, Job
from harness.model.trial import digest
from harness.repo import inside, programs
from harness.repo.checkout import Repo
from harness.repo.series import explain

SECONDS = 60
OUTPUT_LIMIT = 20_000
DIFF_SECONDS, DIFF_BYTES = 300, 50_000_000
"""Of git, for what a job left behind."""
RAN = "run"
"""Stands for the decision in the record of a command that belongs to the whole job."""


class WorkError(Exception):
    """What a job did to its work tree leaves nothing to judge. One line."""


@dataclass(frozen=True)
class Work:
    """What a job left behind: the diff of the work tree, its commands, its checks; visible tests if they were run."""

    diff: str
    ran: tuple[Check, ...]
    checks: tuple[Check, ...]
    visible: tuple[Check, ...] = ()


class WorkTrees:
    """Does jobs; the same edits and commands on the same commit are done once for all trials of a run.

    Args:
        done: What was done before under the same conditions, by the digest of what was asked for.
    """

    def __init__(self, done: Mapping[str, Work] | None = None) -> None:
        self._done: dict[str, Future[Work]] = {}
        for key, work in (done or {}).items():
            self._done[key] = Future()
            self._done[key].set_result(work)
        self._lock = threading.Lock()

    @property
    def done(self) -> Mapping[str, Work]:
        """All that is done."""
        return {key: future.result() for key, future in self._done.items()}

    def do(self, repo: Repo, commit: str, job: Job, values: Mapping[str, str | None], *, visible: bool = False) -> Work:
        """Applies the edits of every decided value, runs the job's commands, then every check.

        Args:
            visible: The tests that the repository has are run as well, before the checks.
        """
        repo = repo.find(commit)
        key = digest([repo.digest, commit, job.model_dump(mode="json"), dict(values), visible])
        return self._do_once(key, lambda: _work_again_if_killed(repo, commit, job, values, visible))

    def repeat(self, repo: Repo, commit: str, job: Job, values: Mapping[str, str | None], times: int) -> Work:
        """Does a job once, and runs all of its checks over and over in that work tree."""
        repo = repo.find(commit)
        key = digest([repo.digest, commit, job.model_dump(mode="json"), dict(values), {"times": times}])
        return self._do_once(key, lambda: Work("", (), tuple(repeat(repo, commit, job, values, times))))

    def _do_once(self, key: str, work: Callable[[], Work]) -> Work:
        with self._lock:
            first = key not in self._done
            future = self._done.setdefault(key, Future())
        if first:
            try:
                future.set_result(work())
            # an interrupt, too: whoever waits for the future would wait for ever
            except BaseException as error:
                with self._lock:
                    del self._done[key]  # the machine may be in a better state for who asks next
                future.set_exception(error)
        return future.result()


def repeat(repo: Repo, commit: str, job: Job, values: Mapping[str, str | None], times: int) -> list[Check]:
    """What each check of a job says, over and over, in one work tree."""
    with repo.worktree(commit) as tree:
        _edit(tree, job, values)
        before = wrap(tree, repo)
        lay_hidden(tree, job)
        return [run(tree, each.id, each.check, before) for _ in range(times) for each in job.decisions]


def wrap(tree: Path, repo: Repo, hidden: Iterable[Path] = ()) -> list[str]:
    """The words before a command of a suite in a work tree, which contain it. Raises ProgramsError."""
    return bubblewrap.wrap(tree, [*repo.stores, *programs.list_reads()], hidden=hidden)


def _edit(tree: Path, job: Job, values: Mapping[str, str | None]) -> None:
    for decision in job.decisions:
        value = values.get(decision.id)
        for edit in decision.list_edits(value) if value is not None else ():
            _apply(tree, edit)


def _work_again_if_killed(repo: Repo, commit: str, job: Job, values: Mapping[str, str | None], visible: bool) -> Work:
    """Work in which a command was killed is done once more: one that kills itself does so again."""
    work = _work(repo, commit, job, values, visible)
    killed = any(-check.exit in shortage.KILLS for check in (*work.ran, *work.checks, *work.visible))
    return _work(repo, commit, job, values, visible) if killed else work


def _work(repo: Repo, commit: str, job: Job, values: Mapping[str, str | None], visible: bool) -> Work:
    with repo.worktree(commit) as tree:
        _edit(tree, job, values)
        return judge(tree, job, wrap(tree, repo), visible=visible)


def judge(tree: Path, job: Job, before: Sequence[str], *, visible: bool = False) -> Work:
    """Runs the job's commands, then every check, in a work tree as it was left. Raises WorkError.

    Hidden tests are laid in last: no command of the job sees them, and they are no part of the diff.

    Args:
        before: The words that contain a command.
        visible: The tests that the repository has are run as well, before all else.
    """
    seen = tuple(run(tree, RAN, words, before) for words in (job.visible if visible else ()))
    ran = tuple(run(tree, RAN, words, before) for words in job.run)
    diff = show_diff(tree, before) if job.hidden else None
    lay_hidden(tree, job)
    checks = tuple(run(tree, decision.id, decision.check, before) for decision in job.decisions)
    return Work(show_diff(tree, before) if diff is None else diff, ran, checks, seen)


def lay_hidden(tree: Path, job: Job) -> None:
    """Puts the hidden tests of a job into a work tree, in the place of whatever has their folder's name there."""
    if not job.hidden:
        return
    place = tree / HIDDEN
    # a link is removed itself, not the folder that it leads to
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    for name, text in job.hidden.items():
        with inside.open_file(tree, f"{HIDDEN}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            file.write(text.encode())


def _apply(tree: Path, edit: Edit) -> None:
    """The loader has proven that the edit fits; a value is text in a file, never a command. OSError behind a link."""
    if edit.old is None:
        with inside.open_file(tree, edit.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as file:
            file.write(edit.new.encode())
    else:
        with inside.open_file(tree, edit.path, os.O_RDWR) as file:
            text = file.read().decode().replace(edit.old, edit.new, 1)
            file.seek(0)
            file.truncate()
            file.write(text.encode())


def run(tree: Path, decision: str, words: Sequence[str], before: Sequence[str]) -> Check:
    """Runs one command without network keys or a home; the value seen is its last line of standard output.

    Raises Killed if its container was, or if it failed for want of what the machine lacks.
    """
    try:
        done = command.run([*before, *words], tree, _make_environment(tree), SECONDS)
        code = bubblewrap.translate_exit(done.code, done.err) if before else done.code
        out, err = done.out.decode("utf-8", "replace"), done.err.decode("utf-8", "replace")
    except OSError as error:
        if lack := shortage.explain_error(error, tree):
            raise Killed(lack) from None
        code, out, err = 127, "", f"{words[0]}: {error.strerror}"
    if code and (lack := shortage.find(out + err, tree)):
        raise Killed(f"{lack}; {words[0]} failed")
    lines = out.strip().splitlines()
    value = lines[-1].strip() if code == 0 and lines else None
    # the tree is a temporary folder, whose name differs from run to run
    output = (out + err).replace(str(tree), ".")[:OUTPUT_LIMIT]
    return Check(decision=decision, command=tuple(words), exit=code, value=value or None, output=output)


def _make_environment(tree: Path) -> dict[str, str]:
    return {
        "PATH": programs.list_path(),
        "HOME": str(tree),
        "LC_ALL": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TZ": "UTC",
    }


def show_diff(tree: Path, before: Sequence[str]) -> str:
    """The tracked changes and new files, as git shows them; a command may have told git to run something, too.

    Submodules are empty folders, and git would stumble over a .gitmodules that is none. Raises WorkError.
    """
    env = {**_make_environment(tree), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env["GIT_DIR"], env["GIT_WORK_TREE"] = str(tree / ".git"), str(tree)  # never a repository further up
    # git shows a new file in a diff only if the index knows of it
    for words in (("add", "--intent-to-add", "--all"), ("diff", "--no-color", "--ignore-submodules=all")):
        shown = command.run([*before, "git", *words], tree, env, DIFF_SECONDS, DIFF_BYTES)
        if shown.code:
            why = explain(shown.err or shown.out, shown.code)
            if before:
                bubblewrap.translate_exit(shown.code, shown.err)
            raise WorkError(f"the job left a work tree in which git {words[0]} fails: {why}")
    return shown.out.decode("utf-8", "replace")
