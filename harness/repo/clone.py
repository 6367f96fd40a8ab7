"""A repository of somebody else's as a fixture: pinned by a commit, read through a git directory of our own.

Git never opens the foreign repository: our directory borrows its objects, and has its own configuration, references
and hooks, which are none. So nothing that the repository configures runs, and nothing in it changes.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from harness.machine import files
from harness.repo.history import History
from harness.repo.series import MAIN, FixtureError, check_room, describe_cause, reason, refuse, run_git

URL = re.compile(r"[a-z][a-z0-9+.-]*://.+|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:.+")
SHA1, SHA256 = 40, 64
"""Digits of a whole hash."""
MOST = 64_000_000
"""Bytes of a file beside the objects of a repository, as its list of packed branches."""
_BELOW = ("pack", "info", "info/commit-graphs", "pack/multi-pack-index.d")
_DEEPEST = 6
"""How far git follows who borrows from whom."""
_SHA256 = re.compile(r"^\s*objectformat\s*=\s*\"?sha256", re.IGNORECASE | re.MULTILINE)
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_PATIENCE = 3600.0  # seconds to wait for another process that fetches the same repository
_PASSED = (
    "ALL_PROXY", "GIT_SSL_CAINFO", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSH_AUTH_SOCK", "SSL_CERT_DIR",
    "SSL_CERT_FILE", "all_proxy", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
"""What of our environment a fetch may know: how to reach a server."""


@dataclass(frozen=True)
class Clone:
    """Where a repository is, an absolute path or a URL, and the commit whose history is the fixture."""

    location: str
    commit: str

    @property
    def name(self) -> str:
        """Safe in a path and in a shell: the last part of the location."""
        last = re.split(r"[/:]", self.location.rstrip("/").removesuffix("/.git").removesuffix(".git"))[-1]
        return _ODD.sub("-", last).strip("-.") or "repository"

    @property
    def digest(self) -> str:
        """A commit says everything that it leads to, so the same pin is the same fixture wherever it was cloned."""
        return hashlib.sha256(f"commit {self.commit}\n".encode()).hexdigest()


def configure(commit: str, *, bare: bool, more: str = "") -> str:
    """The configuration of a directory of ours for commits like this one, whose hashes are SHA-1 or SHA-256.

    Args:
        more: Lines of what else git has to know of it.
    """
    more += "\tobjectformat = sha256\n" * (len(commit) == SHA256)
    # git heeds these extensions only in a repository of version 1
    core = f"[core]\n\trepositoryformatversion = {int(bool(more))}\n\tbare = {str(bare).lower()}\n"
    return f"{core}[extensions]\n{more}" if more else core


def count_digits(path: Path) -> int:
    """How many a whole hash of a repository has. May raise OSError."""
    config = find_folders(path)[1] / "config"
    return SHA256 if config.exists() and _SHA256.search(read_small(config)) else SHA1


def locate(named: str, beside: Path) -> str:
    """A location as a story writes it: a URL, or a path, from the folder of the story's file on."""
    return named if URL.fullmatch(named) else str((beside / Path(named).expanduser()).absolute())


def borrow(clone: Clone, cache: Path) -> tuple[Path, History, Sequence[Path]]:
    """Our git directory of a clone, what its pinned commit leads to, and the folders whose objects are borrowed.

    Raises FixtureError: no repository, not a whole one, or none that holds the commit.
    """
    target = cache.absolute() / f"{clone.name}-{clone.digest[:16]}"
    remote = URL.fullmatch(clone.location) is not None
    objects = None if remote else find_objects(clone)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(f".{target.name}.lock"), timeout=_PATIENCE):
            make_directory(clone, target, objects)
            if remote and run_git("cat-file", "-e", f"{clone.commit}^{{commit}}", at=target).returncode:
                _fetch(clone, target)
    except OSError as error:  # TimeoutError of the lock included
        refuse(clone.name, cache, error)
    return target, _read_history(clone, target), _list_borrowed(target)


def find_folders(path: Path) -> tuple[Path, Path]:
    """The git directory of a work tree, and the one that holds objects and branches. May raise OSError."""
    folder = path / ".git"
    if folder.is_file():  # a work tree of another repository, or a submodule
        pointer = read_small(folder)
        folder = path / pointer.removeprefix("gitdir:").strip()
    elif not folder.is_dir():
        folder = path
    common = folder / "commondir"
    return folder, folder / read_small(common) if common.is_file() else folder


def read_small(file: Path) -> str:
    """What a small file of somebody's repository says. Raises OSError, also for a pipe, and for a file without end."""
    return files.read(file, MOST).decode("utf-8", "replace").strip()


def find_objects(clone: Clone) -> Path:
    """Where a repository keeps its objects; found by hand, as git would read its configuration on the way."""
    path, name = Path(clone.location), f"fixture {clone.name}"
    try:
        folder = find_folders(path)[1]
        if not ((folder / "objects").is_dir() and (folder / "HEAD").exists()):
            around = next((each for each in path.absolute().parents if (each / ".git").exists()), None)
            what = "is no git repository" if path.exists() else "there is no such folder"
            instead = f"the one around it, {around}" if path.is_dir() and around else "a clone, or a URL as https://..."
            raise FixtureError(f"{name}: {path}: {what}; name {instead}")
        if (folder / "shallow").is_file():
            raise FixtureError(f"{name}: {path} is a shallow clone; complete it there: git fetch --unshallow")
        objects = (folder / "objects").resolve()
        if any(objects.glob("pack/*.promisor")):
            raise FixtureError(f"{name}: {path} is a partial clone, which lacks files; clone it without --filter")
        digits = count_digits(path)
        if clone.commit and len(clone.commit) != digits:
            raise FixtureError(f"{name}: {path}: its hashes have {digits} digits, not {len(clone.commit)}; pin one")
        _check_readable(objects, name)
    except OSError as error:
        raise FixtureError(f"{name}: {path}: cannot be read: {describe_cause(error)}") from None
    if "\n" in str(objects) or str(objects).startswith('"'):
        raise FixtureError(f"{name}: {path}: its path holds what git cannot write down; move it")
    return objects


def _check_readable(objects: Path, name: str, depth: int = 0) -> None:
    """Git would wait for a pipe, and read a device without end. Raises FixtureError and OSError."""
    for folder in (objects, *(objects / below for below in _BELOW), *objects.glob("[0-9a-f][0-9a-f]")):
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
            for each in entries:
                if not (each.is_file() or each.is_dir() or (each.is_symlink() and not Path(each.path).exists())):
                    raise FixtureError(f"{name}: {each.path}: is a pipe or a device, which git waits for; remove it")
    lent = objects / "info" / "alternates"
    for line in read_small(lent).splitlines() if depth < _DEEPEST and lent.is_file() else ():
        if line and not line.startswith("#"):
            _check_readable(objects / line, name, depth + 1)


def make_directory(clone: Clone, target: Path, objects: Path | None) -> None:
    """Makes our directory, or points it to where the repository is now."""
    (target / "objects" / "info").mkdir(parents=True, exist_ok=True)
    (target / "refs" / "heads").mkdir(parents=True, exist_ok=True)
    _write_at_once(target / "HEAD", f"ref: refs/heads/{MAIN}\n")
    _write_at_once(target / "config", configure(clone.commit, bare=True))
    _write_at_once(target / "refs" / "heads" / MAIN, f"{clone.commit}\n")
    if objects is not None:
        _write_at_once(target / "objects" / "info" / "alternates", f"{objects}\n")


def _write_at_once(file: Path, text: str) -> None:
    """At once, as others may read it."""
    if not file.exists() or file.read_text("utf-8") != text:
        files.write(file, text)


def _fetch(clone: Clone, target: Path) -> None:
    more = {key: value for key in _PASSED if (value := os.environ.get(key))}
    # BatchMode, as ssh else asks for a password at the terminal
    done = run_git(
        "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", clone.location,
        clone.commit, at=target, more={**more, "GIT_SSH_COMMAND": "ssh -o BatchMode=yes"},
    )  # fmt: skip
    if done.returncode:
        check_room(target)
        raise FixtureError(f"fixture {clone.name}: {clone.location} could not be fetched: {reason(done)}")


def _read_history(clone: Clone, target: Path) -> History:
    kind = run_git("cat-file", "-t", clone.commit, at=target)
    if kind.stdout.strip() != b"commit":
        what = "is no commit there" if kind.returncode == 0 else "is not there; fetch it, or pin another commit"
        raise FixtureError(f"fixture {clone.name}: {clone.location}: {clone.commit} {what}")
    # each commit after its parents, as `History` needs them
    listed = run_git("rev-list", "--topo-order", "--reverse", "--parents", clone.commit, "--", at=target)
    if listed.returncode:
        raise FixtureError(
            f"fixture {clone.name}: {clone.location}: its history is not complete: {reason(listed)}; clone it anew"
        )
    rows = (row.split(" ") for row in listed.stdout.decode("ascii").splitlines())
    return History(clone.name, {commit: tuple(parents) for commit, *parents in rows}, {}, {})


def _list_borrowed(target: Path) -> Sequence[Path]:
    """Borrowing goes on: a clone may borrow from another one."""
    rows = run_git("count-objects", "-v", at=target).stdout.splitlines()
    return [Path(os.fsdecode(row.removeprefix(b"alternate: "))) for row in rows if row.startswith(b"alternate: ")]
