"""A work tree that somebody else works in: it lists, reads, searches, edits and runs what it may, and nothing else.

Whoever sits at it is not trusted. Each path is walked without following a link, commands are those of the job, and what
comes back has a length. What is asked for and is not to be had raises Refusal, which says why.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import paths
from harness.log.parts import Check
from harness.machine import command, leftovers
from harness.model.job import Job
from harness.repo import checks, inside, programs
from harness.repo.checkout import Repo
from harness.repo.checks import RAN, Work, WorkError
from harness.repo.traces import split_lines

LARGEST = 400_000
"""Characters of a file that can be read or written."""
FILES, LINES = 2_000, 200
"""Files that are walked, and lines that are listed or found, at most."""
SHOWN = 300
"""Characters of a line that was found."""
EDITS = 200
SPOILT = 125
COPY_SECONDS = 300


class Refusal(Exception):  # noqa: N818  an answer to who works here, not a fault of ours
    """What was asked for is not done. One line."""


class Desk:
    """A work tree and what may be done in it.

    Attributes:
        tree: Where it is.
        commands: That may be run, by their number from 1: those of the job, its visible tests, and checks of values.
        edited: How many edits were made.
    """

    def __init__(self, tree: Path, job: Job, repo: Repo) -> None:
        self.tree, self._job, self._repo = tree, job, repo
        before = checks.wrap(tree, repo, hidden=(paths.TASKS, paths.FIXTURES))
        self._before = [*before, *command.hold()]
        self.commands = tuple(job.list_commands())
        self.edited = 0

    def list_files(self, path: str = ".") -> list[str]:
        """The files below a folder, by name; of a file, itself."""
        return [name for name, _ in self._walk(path)]

    def read_file(self, path: str) -> str:
        try:
            with inside.open_file(self.tree, path, os.O_RDONLY) as file:
                # a character takes four bytes at most, and one more shows that there is more
                data = file.read(4 * LARGEST + 1)
            # a longer one was cut, perhaps within a character
            text = data.decode("utf-8") if len(data) <= 4 * LARGEST else None
        except (OSError, ValueError) as error:
            raise _refuse(path, error) from None
        if text is None or len(text) > LARGEST:
            raise Refusal(f"{path}: longer than {LARGEST:,} characters")
        return text

    def search_text(self, text: str, path: str = ".") -> list[str]:
        """The lines that hold a text, whatever its case, each after path and number; below a folder, or of a file."""
        if not text.strip():
            raise Refusal("the text to search for is empty")
        wanted, found = text.casefold(), list[str]()
        for name, size in self._walk(path):
            try:
                said = self.read_file(name) if size <= LARGEST else ""
            except Refusal:
                continue
            for at, line in enumerate(split_lines(said), 1):
                # a place in the folded line, where ß is two letters: what is shown may begin a little late
                if (place := line.casefold().find(wanted)) >= 0:
                    found.append(f"{name}:{at}: {_show_around(line, place)}")
            if len(found) >= LINES:
                return [*found[:LINES], f"(cut after {LINES} lines)"]
        return found

    def edit_file(self, path: str, old: str, new: str) -> None:
        """Puts `new` in the place of `old`, which has to stand there exactly once; an empty `old` makes a new file."""
        if self.edited >= EDITS:
            raise Refusal(f"{EDITS} edits were made: no more are")
        if old:
            before = self.read_file(path)
            count = before.count(old)
            if count != 1:
                raise Refusal(f"{path}: `old` stands there {count} times, not once: give more of what is around it")
            new = before.replace(old, new)
        if len(new) > LARGEST:
            raise Refusal(f"{path}: would be longer than {LARGEST:,} characters")
        how = os.O_WRONLY | (os.O_TRUNC if old else os.O_CREAT | os.O_EXCL)
        try:
            # before the file is opened, which empties it: a text that is no UTF-8 must not cost the old one
            data = new.encode()
            with inside.open_file(self.tree, path, how) as file:
                file.write(data)
        except FileExistsError:
            raise Refusal(f"{path!r}: it is there already: `old` has to be what is replaced in it") from None
        except (OSError, ValueError) as error:
            raise _refuse(path, error) from None
        self.edited += 1

    def run_check(self, number: int) -> Check:
        """Runs one of the commands."""
        if not 1 <= number <= len(self.commands):
            raise Refusal(f"there is no command {number}: they are 1 to {len(self.commands)}")
        return checks.run(self.tree, RAN, self.commands[number - 1], self._before)

    def finish(self, *, visible: bool = False) -> Work:
        """What was left behind, judged as all work is; what cannot be judged has failed."""
        try:
            return checks.judge(self.tree, self._job, self._before, visible=visible)
        except (WorkError, OSError) as error:
            return self._spoil(str(error))

    def judge_copy(self) -> Work:
        """As `finish`, visible tests too, in a copy of the tree: who goes on working here finds no hidden test, nor
        what one left."""
        with leftovers.make_temporary() as copy:
            # `/.` takes hidden files along; -a copies a link as one, whatever it leads to
            words = ("cp", "-a", f"{self.tree}/.", str(copy))
            copied = command.run(words, self.tree, {"PATH": programs.list_path(), "LC_ALL": "C.UTF-8"}, COPY_SECONDS)
            if copied.code:
                return self._spoil("the job left a work tree that cannot be copied")
            return Desk(copy, self._job, self._repo).finish(visible=True)

    def _spoil(self, why: str) -> Work:
        failed = (Check(decision=each.id, command=each.check, exit=SPOILT, output=why) for each in self._job.decisions)
        return Work("", (), tuple(failed))

    def _walk(self, path: str) -> Iterator[tuple[str, int]]:
        """The plain files below a folder and their sizes in bytes, in order; no links, nothing of git. A plain file is
        one itself."""
        try:
            parts = inside.split(path)
            try:
                at = inside.open_folder(self.tree, parts)
            except NotADirectoryError:
                with inside.open_file(self.tree, path, os.O_RDONLY) as file:
                    size = os.fstat(file.fileno()).st_size
                yield str(Path(*parts)), size
                return
        except (OSError, ValueError) as error:
            raise _refuse(path, error) from None
        above, seen = Path(*parts), 0
        try:
            # by descriptors: a command that still runs may put a link in the place of a folder
            for root, folders, files, here in os.fwalk(dir_fd=at, follow_symlinks=False):
                folders[:] = sorted(each for each in folders if each != ".git")
                for each in sorted(files):
                    facts = os.stat(each, dir_fd=here, follow_symlinks=False)
                    if stat.S_ISREG(facts.st_mode) and each != ".git":
                        seen += 1
                        if seen > FILES:
                            return
                        yield str(above / root / each), facts.st_size
        except OSError:
            return  # a command that is still at work took it away
        finally:
            os.close(at)


@contextmanager
def open_desk(repo: Repo, commit: str, job: Job) -> Iterator[Desk]:
    """In a copy of the work tree of a commit, gone afterwards. No command there finds the stories: their hidden
    tests and answers may lie beside our packages."""
    with repo.worktree(commit) as tree:
        yield Desk(tree, job, repo)


def _show_around(line: str, place: int) -> str:
    start = max(0, min(place - SHOWN // 3, len(line) - SHOWN))
    return f"{'...' if start else ''}{line[start : start + SHOWN]}"


def _refuse(path: str, error: OSError | ValueError) -> Refusal:
    """In our words: those of the system may name places of this machine."""
    if isinstance(error, UnicodeError):
        return Refusal(f"{path!r}: no UTF-8 text")
    if isinstance(error, OSError) and error.errno is None:
        return Refusal(str(error))
    return Refusal(f"{path!r}: {getattr(error, 'strerror', None) or error}")
