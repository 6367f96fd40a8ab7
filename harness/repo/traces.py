"""Where a cited line of a history is at a later commit: the same, moved, renamed or gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import RLock
from typing import Literal, NamedTuple, Protocol

from harness.repo.history import History

State = Literal["same", "moved", "renamed", "gone", "dangling", "elsewhere"]


@dataclass(frozen=True)
class Trace:
    """Where a cited line is at a head.

    same: the path still says it at that line. renamed: the file was renamed, and the new one says it. moved: it
    stands at another line of the path, or in a file that is not its rename. gone: it stands nowhere. dangling: the
    cited commit never said it. elsewhere: it said it, in another repository than the head's. `by` is the first commit
    after the cited one at which it stood nowhere (gone), or no longer stood where it was cited (moved, renamed); None
    if the head does not descend from the cited commit.
    """

    state: State
    path: str | None = None
    line: int | None = None
    by: str | None = None


class Changes(NamedTuple):
    """What a commit did to the names of files: those that it touched, and old name -> new name of those it renamed."""

    touched: frozenset[str]
    renamed: Mapping[str, str]


class _Git(Protocol):
    """Runs git in the repository and gives what it wrote. FixtureError: it failed."""

    def __call__(self, *words: str, stdin: bytes = b"") -> bytes: ...


class Tracer:
    """Follows lines through a history. Thread-safe; what was followed once stays in memory."""

    def __init__(self, history: History, files: Callable[[str], Mapping[str, str]], ask: _Git) -> None:
        self._history, self._files, self._ask = history, files, ask
        self._places: dict[str, Mapping[str, Sequence[tuple[str, int]]]] = {}
        self._changes: dict[str, Changes] = {}
        self._traces: dict[tuple[str, str, int, str], Trace] = {}
        self._lock = RLock()

    def read_line(self, commit: str, path: str, line: int) -> str | None:
        """As `Repo.line`."""
        # backends cite what they like, whatever the types say; a bool is an int to `isinstance`
        if (
            not (isinstance(commit, str) and isinstance(path, str) and type(line) is int)
            or commit not in self._history.parents
        ):
            return None
        lines = split_lines(self._files(commit).get(path, ""))
        return lines[line - 1] if 1 <= line <= len(lines) else None

    def trace(self, commit: str, path: str, line: int, head: str) -> Trace:
        """As `Repo.trace`."""
        cited = self.read_line(commit, path, line)
        if cited is None:
            return Trace("dangling")
        key = commit, path, line, head
        with self._lock:
            if key not in self._traces:
                self._traces[key] = self._follow(cited.strip(), commit, path, line, head)
            return self._traces[key]

    def rename(self, commit: str, path: str, head: str) -> str:
        """As `Repo.rename`."""
        later = self._history.list_later(commit, head)
        with self._lock:
            changes = self._find_changes(later)
        for each in later:
            path = changes[each].renamed.get(path, path)
        return path

    def _find_changes(self, commits: Sequence[str]) -> Mapping[str, Changes]:
        """By git's own detection of renames, step by step; a merge against each of its parents."""
        new = [commit for commit in commits if commit not in self._changes]
        if new:
            words = self._ask(
                "diff-tree", "--stdin", "-r", "-m", "-z", "--root", "-M", "--name-status",
                stdin="".join(f"{commit}\n" for commit in new).encode(),
            ).split(b"\0")[:-1]  # fmt: skip
            touched: dict[str, set[str]] = {commit: set() for commit in new}
            renamed: dict[str, dict[str, str]] = {commit: {} for commit in new}
            rest, commit, digits = iter(words), "", len(new[0])
            for word in rest:
                # a status is shorter than a hash; names, which may be longer, are taken along with their status
                if len(word) >= digits:
                    commit = word[:digits].decode("ascii")
                    continue
                path = os.fsdecode(next(rest))
                touched[commit].add(path)
                if word.startswith(b"R"):
                    renamed[commit][path] = os.fsdecode(next(rest))
                    touched[commit].add(renamed[commit][path])
            self._changes.update({each: Changes(frozenset(touched[each]), renamed[each]) for each in new})
        return self._changes

    def _index(self, commit: str) -> Mapping[str, Sequence[tuple[str, int]]]:
        """What a line says -> where it stands, in the order of paths and lines."""
        if commit not in self._places:
            places: dict[str, list[tuple[str, int]]] = {}
            for path, text in self._files(commit).items():
                for at, line in enumerate(split_lines(text), 1):
                    places.setdefault(line.strip(), []).append((path, at))
            self._places[commit] = places
        return self._places[commit]

    def _follow(self, text: str, commit: str, path: str, line: int, head: str) -> Trace:
        found = self._locate(text, commit, path, line, head)
        if found.state == "same" or not self._history.contains(head, commit):
            return found
        later, place = self._history.list_later(commit, head), path
        changes = self._find_changes(later)
        for each in later:
            if place not in changes[each].touched:  # so the line still stands there
                continue
            seen = self._locate(text, commit, path, line, each)
            if seen.state == "gone" or (found.state != "gone" and seen.state != "same"):
                return Trace(found.state, found.path, found.line, each)
            place = seen.path or path
        return found

    def _locate(self, text: str, commit: str, path: str, line: int, head: str) -> Trace:
        """Whole trees are read only for a line that its own file, or the one it was renamed to, no longer says."""
        files = self._files(head)

        def nearest(file: str) -> int | None:
            said = enumerate(split_lines(files.get(file, "")), 1)
            return min((at for at, one in said if one.strip() == text), key=lambda at: abs(at - line), default=None)

        here = nearest(path) if path in files else None
        if here is not None:
            return Trace("same" if here == line else "moved", path, here)
        renamed = self.rename(commit, path, head)
        there = nearest(renamed) if renamed in files else None
        if there is not None:
            return Trace("renamed", renamed, there)
        # `}` or an empty line elsewhere is another line, not this one.
        if len(text) > 3 and any(letter.isalpha() for letter in text) and (places := self._index(head).get(text)):
            return Trace("moved", *places[0])
        return Trace("gone")


@lru_cache(maxsize=64)  # a few files are cited again and again
def split_lines(text: str) -> tuple[str, ...]:
    """Lines as git and editors count them: only a line feed ends one."""
    lines = tuple(line.removesuffix("\r") for line in text.split("\n"))
    return lines if lines[-1] else lines[:-1]
