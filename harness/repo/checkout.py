"""A fixture -> a git repository with the same hashes everywhere; its texts at a commit; work trees.

No input of a scenario or a backend reaches a git command: commits are looked up in the history and paths in the
listing of a commit, so a hostile path, line or hash is simply not there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath
from threading import Lock, RLock
from typing import Any

from filelock import FileLock

from harness.machine import leftovers, shortage
from harness.repo.clone import Clone, borrow, configure
from harness.repo.history import History
from harness.repo.series import (
    MAIN,
    FixtureError,
    Series,
    check_room,
    find_standing,
    make,
    read,
    reason,
    refuse,
    run_git,
)
from harness.repo.traces import Trace, Tracer

__all__ = ["FixtureError", "Repo", "build"]

_PATIENCE = 300.0  # seconds to wait for another process that builds the same fixture

_AS_TRACKED = "* -text !eol -filter -ident !working-tree-encoding !diff\n"
"""A work tree holds the bytes that are tracked, whatever attributes ask for."""
LARGEST = 1_000_000
"""Bytes of the largest file that counts as text: what is larger was made by a machine, or nobody reads it whole."""

_opened: dict[Path, Repo] = {}
_borrowed: dict[tuple[Path, Clone], Repo] = {}
_opening = Lock()


class Repo:
    """A fixture that can be read. Thread-safe; what was read once stays in memory.

    path is a bare git directory; digest says the same of equal fixtures, wherever they are: the sha256 over the names
    and bytes of the patches, or over the pinned commit. stores are the folders whose objects a work tree reads.
    """

    def __init__(
        self,
        origin: Path | Clone,
        path: Path,
        digest: str,
        history: History,
        *,
        series: Sequence[Series] = (),
        borrowed: Sequence[Path] = (),
    ) -> None:
        self.name, self.path, self.digest, self.origin = origin.name, path, digest, origin
        self.history, self.stores = history, (path, *borrowed)
        self._series = series
        self._blobs: dict[str, str | None] = {}
        self._files: dict[str, _Files] = {}
        self._links: dict[str, frozenset[str]] = {}
        self._lock = RLock()
        self._tracer = Tracer(history, self.files, self._ask)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process builds it from the same patches, or finds it built."""
        return build, (self.origin, self.path.parent)

    @property
    def parts(self) -> Sequence[Repo]:
        """The fixtures that it is made of: itself, but for `Repos`, the story's own first."""
        return (self,)

    def find(self, commit: str) -> Repo:
        """The fixture whose commit it is: what somebody who works there can see."""
        return self

    def knows(self, commit: str) -> bool:
        # backends cite what they like, also what cannot be hashed
        return isinstance(commit, str) and commit in self.history.parents

    def find_newest(self, at: datetime) -> str | None:
        """The commit at which main was at a time; None: there was none yet."""
        listed = self._ask("rev-list", "-1", "--first-parent", f"--before={at.isoformat()}", f"refs/heads/{MAIN}")
        return listed.decode("ascii").strip() or None

    @property
    def commits(self) -> tuple[str, ...]:
        """Hashes, each after those of its parents: of main's series, then of each branch's own."""
        return self.history.commits

    @property
    def patches(self) -> Mapping[str, bytes]:
        """Path within the fixture's folder -> bytes: all that `build` needs of a series, on another machine too."""
        return {one.folder + file: data for one in self._series for file, data in one.patches}

    def resolve(self, named: str) -> str:
        """The hash of the commit that patch `named` made ("0007", on a branch "release-2.x/0003"); of a clone, the
        whole hash of which that is the start."""
        return self.history.resolve(named)

    def contains(self, commit: str, earlier: str) -> bool:
        """Whether `earlier` is `commit` or an ancestor of it."""
        return self.history.contains(commit, earlier)

    def files(self, commit: str) -> Mapping[str, str]:
        """The tracked UTF-8 text files of a commit, path -> text; no symbolic links, none above LARGEST bytes.

        What is asked for is read, and all of them where they are counted or listed.
        """
        with self._lock:
            if commit not in self._files:
                self._files[commit] = self._read(commit)
            return self._files[commit]

    def links(self, commit: str) -> frozenset[str]:
        """The tracked symbolic links of a commit, none of which leads out of the tree. FixtureError: one does."""
        self.files(commit)
        return self._links[commit]

    def line(self, commit: str, path: str, line: int) -> str | None:
        """What a line (1-based) says at a commit, without its end; None if commit, path or line does not exist."""
        return self._tracer.read_line(commit, path, line)

    def trace(self, commit: str, path: str, line: int, head: str) -> Trace:
        """Where the cited line is at `head`; texts are compared without the white space around them."""
        return self._tracer.trace(commit, path, line, head)

    def rename(self, commit: str, path: str, head: str) -> str:
        """What a file of a commit is called at `head`, or was when it went; by git's own detection of renames."""
        return self._tracer.rename(commit, path, head)

    @contextmanager
    def worktree(self, commit: str) -> Iterator[Path]:
        """A private checkout in a temporary folder: the branch of `commit` at it, history up to there, nothing later.

        It borrows the fixture's objects and shares nothing else, so many may live at once, and none writes here.
        """
        with leftovers.make_temporary() as root:
            self._lay(root, commit)
            try:
                yield root
            except Exception:
                self._require()
                raise
            self._require()  # git may have failed in a check, which counts as the job's doing

    def check_out(self, commit: str, tree: Path) -> None:
        """Makes a folder a checkout as `worktree` does, or brings the one that is there to another commit. It borrows
        nothing, so that who sees nothing else can ask git about it."""
        self._lay(tree, commit)
        self.part(tree)

    def _lay(self, tree: Path, commit: str) -> None:
        self.files(commit)  # refuses links that lead out
        ref, store = f"refs/heads/{self.history.find_branch(commit)}", tree / ".git"
        for folder in (store / "objects" / "info", store / "info", (store / ref).parent):
            folder.mkdir(parents=True, exist_ok=True)
        (store / "objects" / "info" / "alternates").write_text(f"{self.path / 'objects'}\n")
        (store / "config").write_text(configure(commit, bare=False))
        (store / "info" / "attributes").write_text(_AS_TRACKED)
        (store / "HEAD").write_text(f"ref: {ref}\n")
        (store / ref).write_text(f"{commit}\n")
        self._ask("read-tree", "--reset", "-u", "HEAD", at=store, tree=tree)

    def part(self, tree: Path) -> None:
        """Makes a work tree hold the objects of its own history, and borrow none: those of later commits are gone."""
        # without -l, objects that are borrowed are packed as well, so the alternates can go after it
        self._ask("repack", "-a", "-d", "-q", at=tree / ".git")
        (tree / ".git" / "objects" / "info" / "alternates").unlink()

    def _ask(self, *words: str, stdin: bytes = b"", at: Path | None = None, tree: Path | None = None) -> bytes:
        done = run_git(*words, at=at or self.path, stdin=stdin, tree=tree)
        if done.returncode:
            self._require()
            if at is not None:  # what is written is a work tree, never this repository
                check_room(at)
            raise FixtureError(
                f"fixture {self.name}: git {words[0]} failed: {reason(done)}; delete {self.path}, it is rebuilt"
            )
        return done.stdout

    def _require(self) -> None:
        """Raises Lacking if it is no longer there."""
        if not (self.path / "objects").is_dir():  # what every work tree borrows
            raise shortage.Lacking(f"the cache {self.path} was removed during the run: leave it until the end")

    def _read(self, commit: str) -> _Files:
        self.history.contains(commit, commit)  # refuses what is none
        named: dict[str, str] = {}
        links: dict[str, str] = {}
        for row in self._ask("ls-tree", "-r", "-z", "-l", "--full-tree", commit).split(b"\0")[:-1]:
            head, _, path = row.partition(b"\t")
            mode, _, blob, size = head.decode("ascii").split()
            if mode.startswith("100") and not size.isdigit():
                raise self._lack(blob)
            try:
                plain = path.decode("utf-8")
            except UnicodeDecodeError:  # a log could not name it
                plain = ""
            if mode.startswith("100") and plain and int(size) <= LARGEST:
                named[plain] = blob
            elif mode == "120000":
                links[os.fsdecode(path)] = blob
        for link, target in zip(links, self._contents(list(links.values())) if links else (), strict=True):
            if target is None or _leads_out(link, target):
                raise FixtureError(
                    f"fixture {self.name}: the link '{link}' leads to '{target}', outside of the work tree; take it out"
                )
        self._links[commit] = frozenset(links)
        return _Files(named, self._read_blobs)

    def _read_blobs(self, blobs: Sequence[str]) -> Mapping[str, str | None]:
        """All texts that are known, those of these blobs among them."""
        with self._lock:
            new = sorted({blob for blob in blobs if blob not in self._blobs})
            if new:
                self._blobs.update(zip(new, self._contents(new), strict=True))
            return self._blobs

    def _contents(self, blobs: Sequence[str]) -> Iterator[str | None]:
        """The texts of blobs in order; None is not UTF-8 text."""
        data = self._ask("cat-file", "--batch", "--buffer", stdin="".join(f"{blob}\n" for blob in blobs).encode())
        at = 0
        for blob in blobs:
            end = data.index(b"\n", at)
            size = data[at:end].rsplit(b" ", 1)[1]
            # of an object that is not there git says `missing` in the place of a size
            if not size.isdigit():
                raise self._lack(blob)
            content = data[end + 1 : end + 1 + int(size)]
            at = end + int(size) + 2
            try:
                yield None if b"\0" in content else content.decode("utf-8")
            except UnicodeDecodeError:
                yield None

    def _lack(self, blob: str) -> FixtureError:
        return FixtureError(f"fixture {self.name}: the object {blob} is missing; clone the repository anew")


class _Files(Mapping[str, str]):
    """The text files of a commit, read when they are asked for."""

    def __init__(self, blobs: Mapping[str, str], read: Callable[[Sequence[str]], Mapping[str, str | None]]) -> None:
        self._blobs, self._read = blobs, read

    def __getitem__(self, path: str) -> str:
        blob = self._blobs[path]
        text = self._read([blob])[blob]
        if text is None:
            raise KeyError(path)
        return text

    def __iter__(self) -> Iterator[str]:
        known = self._read(list(self._blobs.values()))
        return (path for path, blob in self._blobs.items() if known[blob] is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def build(origin: Path | Clone, cache: Path) -> Repo:
    """The repository of a folder with a patch series (NNNN-slug.patch as `git format-patch` writes them), or a clone.

    A series is built once per cache: concurrent builders build once; a damaged repository in the cache is found, once
    per process, and rebuilt. Of a clone the cache holds where its objects are, or what was fetched.
    """
    if isinstance(origin, Clone):
        return _open(origin, cache)
    folder, name = origin, origin.name
    series = read(folder)
    total = hashlib.sha256()
    for one in series:
        for file, data in one.patches:
            # with lengths, so that no other series of patches gives the same bytes
            total.update(f"{one.folder}{file}\0{len(data)}\0".encode() + data)
    digest = total.hexdigest()
    target = cache.absolute() / f"{name}-{digest[:16]}"
    with _opening:
        # somebody may have cleared the cache since
        if target not in _opened or not target.is_dir():
            made = find_standing(target, series)
            if made is None:
                try:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with FileLock(target.with_name(f".{target.name}.lock"), timeout=_PATIENCE):
                        # once more, as another process may have built it while the lock was waited for
                        made = find_standing(target, series) or make(name, folder, series, target)
                except OSError as error:  # TimeoutError of the lock included
                    refuse(name, cache, error)
            history = History.of_series(name, series, made)
            _opened[target] = Repo(folder.absolute(), target, digest, history, series=series)
        return _opened[target]


def _open(clone: Clone, cache: Path) -> Repo:
    key = cache.absolute(), clone
    with _opening:
        if key not in _borrowed:
            path, history, borrowed = borrow(clone, cache)
            _borrowed[key] = Repo(clone, path, clone.digest, history, borrowed=borrowed)
        return _borrowed[key]


def _leads_out(path: str, target: str) -> bool:
    """Whether a link may lead to a place outside of its tree. Going up behind another link could lead anywhere."""
    parts = PurePosixPath(target).parts
    up = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return target.startswith("/") or ".." in parts[up:] or up > len(PurePosixPath(path).parts) - 1
