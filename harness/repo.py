"""A fixture -> a git repository with the same hashes everywhere; work trees; what path:line says at a commit.

No input of a scenario or a backend reaches a git command: commits are looked up in the series and paths in the
listing of a commit, so a hostile path, line or hash is simply not there.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from types import MappingProxyType
from typing import Literal

from filelock import FileLock

State = Literal["same", "moved", "renamed", "gone", "dangling"]

# Nothing of the user's, the system's or the file system's choosing may reach a hash or a work tree.
_CONFIG = {
    "core.attributesFile": os.devnull,
    "core.fileMode": "true",
    "core.fsync": "none",
    "core.hooksPath": os.devnull,
    "core.ignoreCase": "false",
    "core.logAllRefUpdates": "false",
    "core.precomposeUnicode": "false",
    "core.symlinks": "true",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "safe.directory": "*",
}
_ENVIRONMENT = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_COMMITTER_EMAIL": "fixtures@example.com",
    "GIT_COMMITTER_NAME": "coldwarm fixtures",
    "GIT_CONFIG_COUNT": str(len(_CONFIG)),
    **{f"GIT_CONFIG_KEY_{at}": key for at, key in enumerate(_CONFIG)},
    **{f"GIT_CONFIG_VALUE_{at}": value for at, value in enumerate(_CONFIG.values())},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
    "TZ": "UTC",
}
_AM = (
    "am", "--quiet", "--committer-date-is-author-date", "--patch-format=mbox", "--keep-cr", "--keep-non-patch",
    "--no-3way", "--no-gpg-sign", "--no-message-id", "--no-scissors", "--whitespace=nowarn",
)  # fmt: skip
_PATCH = re.compile(r"(\d{4})-[A-Za-z0-9._-]+\.patch")
_MAIL = re.compile(rb"^From [0-9a-f]{40} ", re.MULTILINE)
_SERIES = "series"  # in a built repository: its commits, one a line, oldest first
_PATIENCE = 300.0  # seconds to wait for another process that builds the same fixture

_opened: dict[Path, Repo] = {}
_opening = Lock()


class FixtureError(Exception):
    """A fixture that cannot be built or asked. One line: which fixture, what, git's reason, what to do."""


@dataclass(frozen=True)
class Trace:
    """Where a cited line is at a head.

    same: the path still says it at that line. renamed: the file was renamed, and the new one says it. moved: it
    stands at another line of the path, or in a file that is not its rename. gone: it stands nowhere. dangling: the
    cited commit never said it. `by` is the first commit after the cited one at which it stood nowhere (gone), or
    no longer stood where it was cited (moved, renamed).
    """

    state: State
    path: str | None = None
    line: int | None = None
    by: str | None = None


class Repo:
    """A built fixture. Thread-safe; what was read once stays in memory.

    path is a bare git directory, digest the sha256 over the names and bytes of the patches, commits the hashes of the
    series, oldest first.
    """

    def __init__(self, name: str, path: Path, digest: str, numbers: Sequence[str], commits: Sequence[str]) -> None:
        self.name, self.path, self.digest, self.commits = name, path, digest, tuple(commits)
        self._numbers = dict(zip(numbers, commits, strict=True))
        self._order = {commit: at for at, commit in enumerate(commits)}
        self._blobs: dict[str, str | None] = {}
        self._files: dict[str, Mapping[str, str]] = {}
        self._places: dict[str, Mapping[str, Sequence[tuple[str, int]]]] = {}
        self._traces: dict[tuple[str, str, int, str], Trace] = {}
        self._lock = RLock()

    def resolve(self, number: str) -> str:
        """The hash of the commit that patch `number` ("0007") made."""
        if number not in self._numbers:
            first, *_, last = [*self._numbers] * 2
            raise FixtureError(f"fixture {self.name}: no patch {number!r}; the series goes from {first} to {last}")
        return self._numbers[number]

    def contains(self, commit: str, earlier: str) -> bool:
        """Whether `earlier` is `commit` or an ancestor of it."""
        return self._at(earlier) <= self._at(commit)

    def files(self, commit: str) -> Mapping[str, str]:
        """The tracked UTF-8 text files of a commit, path -> text; no symbolic links."""
        with self._lock:
            if commit not in self._files:
                self._files[commit] = MappingProxyType(self._read(commit))
            return self._files[commit]

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
        """A private checkout in a temporary folder: branch main at `commit`, history up to there, nothing later.

        It borrows the fixture's objects and shares nothing else, so many may live at once, and none writes here.
        """
        self._at(commit)
        with tempfile.TemporaryDirectory(prefix="coldwarm-", ignore_cleanup_errors=True) as folder:
            root = Path(folder)
            git = root / ".git"
            (git / "objects" / "info").mkdir(parents=True)
            (git / "refs" / "heads").mkdir(parents=True)
            (git / "objects" / "info" / "alternates").write_text(f"{self.path / 'objects'}\n")
            (git / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
            (git / "HEAD").write_text("ref: refs/heads/main\n")
            (git / "refs" / "heads" / "main").write_text(f"{commit}\n")
            self._ask("read-tree", "--reset", "-u", "HEAD", git=git, tree=root)
            yield root

    def _at(self, commit: str) -> int:
        if commit not in self._order:
            raise FixtureError(f"fixture {self.name}: no commit {commit!r}; it was not made by this patch series")
        return self._order[commit]

    def _ask(self, *words: str, stdin: bytes = b"", git: Path | None = None, tree: Path | None = None) -> bytes:
        done = _git(*words, git=git or self.path, stdin=stdin, tree=tree)
        if done.returncode:
            raise FixtureError(
                f"fixture {self.name}: git {words[0]} failed: {_reason(done)}; delete {self.path}, it is rebuilt"
            )
        return done.stdout

    def _read(self, commit: str) -> dict[str, str]:
        self._at(commit)
        named: dict[str, str] = {}
        for row in self._ask("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            head, _, path = row.partition(b"\t")
            mode, _, blob = head.decode("ascii").split(" ")
            if mode.startswith("100"):
                named[os.fsdecode(path)] = blob
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

    def _follow(self, text: str, commit: str, path: str, line: int, head: str) -> Trace:
        found = self._locate(text, commit, path, line, head)
        if found.state == "same":
            return found
        for later in self.commits[self._at(commit) + 1 : self._at(head) + 1]:
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
        for later in self.commits[self._at(commit) + 1 : self._at(head) + 1]:
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
    patches = _patches(folder)
    total = hashlib.sha256()
    for file, data in patches:
        total.update(f"{file}\0{len(data)}\0".encode() + data)
    digest = total.hexdigest()
    target = cache.absolute() / f"{name}-{digest[:16]}"
    with _opening:
        if target not in _opened or not target.is_dir():
            commits = _standing(target, len(patches))
            if commits is None:
                try:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with FileLock(target.with_name(f".{target.name}.lock"), timeout=_PATIENCE):
                        commits = _standing(target, len(patches)) or _make(name, folder, patches, target)
                except OSError as error:  # TimeoutError of the lock included
                    raise FixtureError(
                        f"fixture {name}: cannot be built in {cache}: {_cause(error)}; name a writable folder"
                    ) from None
            _opened[target] = Repo(name, target, digest, [file[:4] for file, _ in patches], commits)
        return _opened[target]


def _patches(folder: Path) -> list[tuple[str, bytes]]:
    name = folder.name
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix == ".patch")
        patches = [(path.name, path.read_bytes()) for path in files]
    except OSError as error:
        raise FixtureError(f"fixture {name}: cannot be read: {_cause(error)}; it is the folder {folder}") from None
    if not patches:
        raise FixtureError(f"fixture {name}: no patches in {folder}; put NNNN-slug.patch files there")
    seen: dict[str, str] = {}
    for file, data in patches:
        if not _PATCH.fullmatch(file):
            raise FixtureError(f"fixture {name}: {file!r} is not named NNNN-slug.patch; rename it")
        if file[:4] in seen:
            raise FixtureError(f"fixture {name}: {seen[file[:4]]} and {file} have the same number; renumber one")
        seen[file[:4]] = file
        mails = [mail.start() for mail in _MAIL.finditer(data)]
        if mails != [0]:
            raise FixtureError(f"fixture {name}: {file} is not one mail of git format-patch; write it again with that")
    return patches


def _make(name: str, folder: Path, patches: Sequence[tuple[str, bytes]], target: Path) -> list[str]:
    """Applies the series beside the target and renames the result into place."""
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        git, tree = draft / "git", draft / "tree"
        tree.mkdir()

        def run(*words: str, tree: Path | None = None) -> bytes:
            done = _git(*words, git=git, tree=tree)
            if done.returncode:
                raise FixtureError(f"fixture {name}: git {words[0]} failed: {_reason(done)}")
            return done.stdout

        run("init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=sha1")
        done = _git(*_AM, "--", *(str(folder.absolute() / file) for file, _ in patches), git=git, tree=tree)
        if done.returncode:
            at = git / "rebase-apply" / "next"
            file = patches[int(at.read_text()) - 1][0] if at.exists() else patches[0][0]
            raise FixtureError(
                f"fixture {name}: {file} does not apply: {_reason(done)}; write the series again from a working history"
            )
        commits = run("rev-list", "--reverse", "main", "--").decode("ascii").split()
        if len(commits) != len(patches):
            raise FixtureError(
                f"fixture {name}: {len(patches)} patches made {len(commits)} commits; each must hold one mail"
            )
        run("repack", "-a", "-d", "--quiet")
        (git / _SERIES).write_text("".join(f"{commit}\n" for commit in commits))
        if target.exists():  # damaged
            target.rename(draft / "damaged")
        git.replace(target)
        return commits
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _standing(target: Path, count: int) -> list[str] | None:
    """The commits of an intact repository in the cache, else None."""
    try:
        series = (target / _SERIES).read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return None
    listed = _git("rev-list", "--reverse", "main", "--", git=target)
    if listed.returncode or listed.stdout.decode("ascii") != series or len(series.split()) != count:
        return None
    checked = _git("fsck", "--full", "--no-dangling", "--no-progress", git=target)
    return series.split() if checked.returncode == 0 else None


def _git(*words: str, git: Path, tree: Path | None = None, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    where = {"GIT_DIR": str(git), **({"GIT_WORK_TREE": str(tree)} if tree else {})}
    environment = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **where}
    try:
        return subprocess.run(["git", *words], cwd=tree, env=environment, input=stdin, capture_output=True)
    except FileNotFoundError:
        raise FixtureError("git was not found on the PATH; install git 2.31 or newer") from None


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """What git complained of, in one line, without its advice."""
    said = (done.stderr or done.stdout).decode("utf-8", "replace").splitlines()
    lines = [line.strip() for line in said if line.strip() and not line.startswith(("hint:", "When you", "If you"))]
    return "; ".join(lines[:3]) or f"exit status {done.returncode}"


def _cause(error: OSError) -> str:
    return error.strerror or str(error)


def _lines(text: str) -> list[str]:
    """Lines as git and editors count them: only a line feed ends one."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]
