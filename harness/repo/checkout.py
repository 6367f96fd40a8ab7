"""A fixture -> a git repository with the same hashes everywhere; work trees; what path:line says at a commit.

No input of a scenario or a backend reaches a git command: commits are looked up in the series and paths in the
listing of a commit, so a hostile path, line or hash is simply not there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from threading import Lock, RLock
from types import MappingProxyType
from typing import Any, Literal

from filelock import FileLock

from harness.machine import leftovers
from harness.repo.series import FixtureError, Series, cause, find_standing, git, make, read, reason

__all__ = ["FixtureError", "Repo", "State", "Trace", "build"]

State = Literal["same", "moved", "renamed", "gone", "dangling"]

_PATIENCE = 300.0  # seconds to wait for another process that builds the same fixture

_opened: dict[Path, Repo] = {}
_opening = Lock()


@dataclass(frozen=True)
class Trace:
    """Where a cited line is at a head.

    same: the path still says it at that line. renamed: the file was renamed, and the new one says it. moved: it
    stands at another line of the path, or in a file that is not its rename. gone: it stands nowhere. dangling: the
    cited commit never said it. `by` is the first commit after the cited one at which it stood nowhere (gone), or
    no longer stood where it was cited (moved, renamed); None if the head does not descend from the cited commit.
    """

    state: State
    path: str | None = None
    line: int | None = None
    by: str | None = None


class Repo:
    """A built fixture. Thread-safe; what was read once stays in memory.

    path is a bare git directory, digest the sha256 over the names and bytes of the patches in folder, commits the
    hashes of main's series and then of each branch's own, each oldest first.
    """

    def __init__(
        self, folder: Path, path: Path, digest: str, series: Sequence[Series], made: Sequence[Sequence[str]]
    ) -> None:
        self.name, self.path, self.digest, self._folder = folder.name, path, digest, folder.absolute()
        self.commits = tuple(commit for commits in made for commit in commits)
        self._series = series
        self._numbers = dict(zip((number for one in series for number in one.numbers), self.commits, strict=True))
        self._branches: dict[str, tuple[str, Sequence[str]]] = {}  # commit -> its branch, and that from the root on
        self._order: dict[str, int] = {}  # commit -> its place there
        for one, commits in zip(series, made, strict=True):
            before = made[0][: series[0].numbers.index(one.start) + 1] if one.start is not None else ()
            line = (*before, *commits)
            for at, commit in enumerate(commits, len(before)):
                self._branches[commit], self._order[commit] = (one.branch, line), at
        self._blobs: dict[str, str | None] = {}
        self._files: dict[str, Mapping[str, str]] = {}
        self._links: dict[str, frozenset[str]] = {}
        self._places: dict[str, Mapping[str, Sequence[tuple[str, int]]]] = {}
        self._traces: dict[tuple[str, str, int, str], Trace] = {}
        self._lock = RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process builds it from the same patches, or finds it built."""
        return build, (self._folder, self.path.parent)

    @property
    def patches(self) -> Mapping[str, bytes]:
        """Path within the fixture's folder -> bytes: all that `build` needs, on another machine too."""
        return {one.folder + file: data for one in self._series for file, data in one.patches}

    def resolve(self, number: str) -> str:
        """The hash of the commit that patch `number` ("0007", on a branch "release-2.x/0003") made."""
        if number not in self._numbers:
            spans = ", ".join(f"from {one.numbers[0]} to {one.numbers[-1]}" for one in self._series)
            raise FixtureError(f"fixture {self.name}: no patch {number!r}; the series goes {spans}")
        return self._numbers[number]

    def contains(self, commit: str, earlier: str) -> bool:
        """Whether `earlier` is `commit` or an ancestor of it."""
        at = self._at(earlier)
        return at <= self._at(commit) and self._branches[commit][1][at] == earlier

    def files(self, commit: str) -> Mapping[str, str]:
        """The tracked UTF-8 text files of a commit, path -> text; no symbolic links."""
        with self._lock:
            if commit not in self._files:
                self._files[commit] = MappingProxyType(self._read(commit))
            return self._files[commit]

    def links(self, commit: str) -> frozenset[str]:
        """The tracked symbolic links of a commit, none of which leads out of the tree. FixtureError: one does."""
        self.files(commit)
        return self._links[commit]

    def line(self, commit: str, path: str, line: int) -> str | None:
        """What a line (1-based) says at a commit, without its end; None if commit, path or line does not exist."""
        if not (isinstance(commit, str) and isinstance(path, str) and type(line) is int) or commit not in self._order:
            return None
        lines = _lines(self.files(commit).get(path, ""))
        return lines[line - 1] if 1 <= line <= len(lines) else None

    def trace(self, commit: str, path: str, line: int, head: str) -> Trace:
        """Where the cited line is at `head`; texts are compared without the white space around them."""
        cited = self.line(commit, path, line)
        if cited is None:
            return Trace("dangling")
        key = commit, path, line, head
        with self._lock:
            if key not in self._traces:
                self._traces[key] = self._follow(cited.strip(), commit, path, line, head)
            return self._traces[key]

    @contextmanager
    def worktree(self, commit: str) -> Iterator[Path]:
        """A private checkout in a temporary folder: the branch of `commit` at it, history up to there, nothing later.

        It borrows the fixture's objects and shares nothing else, so many may live at once, and none writes here.
        """
        self.files(commit)  # refuses links that lead out
        ref = f"refs/heads/{self._branches[commit][0]}"
        with leftovers.temporary() as root:
            store = root / ".git"
            (store / "objects" / "info").mkdir(parents=True)
            (store / ref).parent.mkdir(parents=True)
            (store / "objects" / "info" / "alternates").write_text(f"{self.path / 'objects'}\n")
            (store / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
            (store / "HEAD").write_text(f"ref: {ref}\n")
            (store / ref).write_text(f"{commit}\n")
            self._ask("read-tree", "--reset", "-u", "HEAD", at=store, tree=root)
            yield root

    def _at(self, commit: str) -> int:
        if commit not in self._order:
            raise FixtureError(f"fixture {self.name}: no commit {commit!r}; it was not made by this patch series")
        return self._order[commit]

    def _ask(self, *words: str, stdin: bytes = b"", at: Path | None = None, tree: Path | None = None) -> bytes:
        done = git(*words, at=at or self.path, stdin=stdin, tree=tree)
        if done.returncode:
            raise FixtureError(
                f"fixture {self.name}: git {words[0]} failed: {reason(done)}; delete {self.path}, it is rebuilt"
            )
        return done.stdout

    def _read(self, commit: str) -> dict[str, str]:
        self._at(commit)
        named: dict[str, str] = {}
        links: dict[str, str] = {}
        for row in self._ask("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            head, _, path = row.partition(b"\t")
            mode, _, blob = head.decode("ascii").split(" ")
            if mode.startswith("100"):
                named[os.fsdecode(path)] = blob
            elif mode == "120000":
                links[os.fsdecode(path)] = blob
        for link, target in zip(links, self._contents(list(links.values())) if links else (), strict=True):
            if target is None or _leads_out(link, target):
                raise FixtureError(
                    f"fixture {self.name}: the link '{link}' leads to '{target}', outside of the work tree; take it out"
                )
        self._links[commit] = frozenset(links)
        new = sorted({blob for blob in named.values() if blob not in self._blobs})
        if new:
            self._blobs.update(zip(new, self._contents(new), strict=True))
        return {path: text for path, blob in named.items() if (text := self._blobs[blob]) is not None}

    def _contents(self, blobs: Sequence[str]) -> Iterator[str | None]:
        """The texts of blobs in order; None is not UTF-8 text."""
        data = self._ask("cat-file", "--batch", "--buffer", stdin="".join(f"{blob}\n" for blob in blobs).encode())
        at = 0
        for _ in blobs:
            end = data.index(b"\n", at)
            size = int(data[at:end].rsplit(b" ", 1)[1])
            content = data[end + 1 : end + 1 + size]
            at = end + size + 2
            try:
                yield None if b"\0" in content else content.decode("utf-8")
            except UnicodeDecodeError:
                yield None

    @cached_property
    def _renames(self) -> Mapping[str, Mapping[str, str]]:
        """Commit -> old path -> new path, by git's own detection, step by step."""
        words = self._ask(
            "diff-tree", "--stdin", "-r", "-z", "--root", "-M", "--diff-filter=R", "--name-status",
            stdin="".join(f"{commit}\n" for commit in self.commits).encode(),
        ).split(b"\0")[:-1]  # fmt: skip
        renames: dict[str, dict[str, str]] = {commit: {} for commit in self.commits}
        rest, commit = iter(words), ""
        for word in rest:
            if word.startswith(b"R"):
                old, new = os.fsdecode(next(rest)), os.fsdecode(next(rest))
                renames[commit][old] = new
            else:
                commit = word.decode("ascii")
        return renames

    def _index(self, commit: str) -> Mapping[str, Sequence[tuple[str, int]]]:
        """What a line says -> where it stands, in the order of paths and lines."""
        if commit not in self._places:
            places: dict[str, list[tuple[str, int]]] = {}
            for path, text in self.files(commit).items():
                for at, line in enumerate(_lines(text), 1):
                    places.setdefault(line.strip(), []).append((path, at))
            self._places[commit] = places
        return self._places[commit]

    def _later(self, commit: str, head: str) -> Sequence[str]:
        """The commits that lead to `head` since its line held `commit`, or since their lines parted; oldest first."""
        ours, theirs = self._branches[head][1][: self._at(head) + 1], self._branches[commit][1]
        at = self._at(commit)
        if not self.contains(head, commit):
            at = sum(one == other for one, other in zip(ours, theirs[: at + 1], strict=False)) - 1
        return ours[at + 1 :]

    def _follow(self, text: str, commit: str, path: str, line: int, head: str) -> Trace:
        found = self._locate(text, commit, path, line, head)
        if found.state == "same" or not self.contains(head, commit):
            return found
        for later in self._later(commit, head):
            state = self._locate(text, commit, path, line, later).state
            if state == "gone" or (found.state != "gone" and state != "same"):
                return Trace(found.state, found.path, found.line, later)
        return found

    def _locate(self, text: str, commit: str, path: str, line: int, head: str) -> Trace:
        places = self._index(head).get(text, ())

        def nearest(file: str) -> int | None:
            return min((at for where, at in places if where == file), key=lambda at: abs(at - line), default=None)

        here = nearest(path)
        if here is not None:
            return Trace("same" if here == line else "moved", path, here)
        renamed = path
        for later in self._later(commit, head):
            renamed = self._renames[later].get(renamed, renamed)
        there = nearest(renamed)
        if there is not None:
            return Trace("renamed", renamed, there)
        # `}` or an empty line elsewhere is another line, not this one.
        if places and len(text) > 3 and any(letter.isalpha() for letter in text):
            return Trace("moved", *places[0])
        return Trace("gone")


def build(folder: Path, cache: Path) -> Repo:
    """The repository of a patch series (NNNN-slug.patch as `git format-patch` writes them), built once per cache.

    Concurrent builders build once; a damaged repository in the cache is found, once per process, and rebuilt.
    """
    name = folder.name
    series = read(folder)
    total = hashlib.sha256()
    for one in series:
        for file, data in one.patches:
            total.update(f"{one.folder}{file}\0{len(data)}\0".encode() + data)
    digest = total.hexdigest()
    target = cache.absolute() / f"{name}-{digest[:16]}"
    with _opening:
        if target not in _opened or not target.is_dir():
            made = find_standing(target, series)
            if made is None:
                try:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with FileLock(target.with_name(f".{target.name}.lock"), timeout=_PATIENCE):
                        made = find_standing(target, series) or make(name, folder, series, target)
                except OSError as error:  # TimeoutError of the lock included
                    raise FixtureError(
                        f"fixture {name}: cannot be built in {cache}: {cause(error)}; name a writable folder"
                    ) from None
            _opened[target] = Repo(folder, target, digest, series, made)
        return _opened[target]


def _leads_out(path: str, target: str) -> bool:
    """Whether a link may lead to a place outside of its tree. Going up behind another link could lead anywhere."""
    parts = PurePosixPath(target).parts
    up = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return target.startswith("/") or ".." in parts[up:] or up > len(PurePosixPath(path).parts) - 1


def _lines(text: str) -> list[str]:
    """Lines as git and editors count them: only a line feed ends one."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]
