"""Where an agent works: the repository, branch and commit of its working folder, as git says."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from harness.adapter import Scope, Source
from harness.machine import files
from harness.repo.clone import URL
from harness.repo.series import explain

SECONDS = 10
_NONE, _OUTSIDE = b"not a git repository", b"must be run in a work tree"
"""What git says where no repository is, or one that is damaged; and beside the work tree of one."""
_ORIGIN = re.compile(r"(?:[^/]*@)?(\[[^]]*\]|[^/:]*)(?::\d*)?/+(.+)")
"""Host and path of a URL, behind its scheme."""
_BY_SSH = re.compile(r"(?:git\+)?ssh(?:\+git)?")
_HOSTNAME = re.compile(r"^hostname (.+)$", re.MULTILINE)
_ASIDE = re.compile(r"(?:alt)?ssh\.(?=[^.]+\.)")
"""How GitHub, GitLab and Bitbucket call the host that takes ssh at the port of https."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
MOST = 1_000
"""Commits that are looked up at once."""
_OWNED = re.compile(r"(?!_git/)[^/]+/[^/]+")


class PlaceError(ValueError):
    """A path that a memory may not cite, or a repository that git cannot read. One line."""


@dataclass(frozen=True)
class Place:
    """The checkout around a working folder; outside of one, the folder itself.

    Attributes:
        repo: Owner and name, where the path of the origin's URL is these two. Any other path is whole and follows its
            host. Without an origin on a server the name of the folder that holds the repository, which all of its work
            trees share, and a digest of its path: other folders have that name, too.
        branch, commit: None outside of a repository, on a detached head, before the first commit.
        origin: Host and path, equal for all URLs of one repository; None without an origin on a server.
    """

    root: Path
    repo: str
    branch: str | None = None
    commit: str | None = None
    origin: str | None = None

    @property
    def scope(self) -> Scope:
        return Scope(repo=self.repo, branch=self.branch)

    def cite(self, path: str | None, line: int | None) -> Source:
        """A source at this commit. Raises PlaceError for a path outside of the repository, links followed, and for what
        the commit does not hold."""
        if path is None:
            if line is not None:
                raise PlaceError(f"line {line} is of no file: say its path, or leave out the line")
            return Source(commit=self.commit)
        if not path:
            raise PlaceError("the path is empty: name a file of the repository, or leave out the path")
        target = Path(os.path.realpath(self.root / path))
        if not target.is_relative_to(os.path.realpath(self.root)):
            raise PlaceError(f"{path} is not inside of the repository: cite a file of it, or none")
        if not target.exists():
            raise PlaceError(f"{path} is not there: cite a file of the repository, or none")
        if line is not None:
            self._check_line(target, path, line)
        inside = target.relative_to(os.path.realpath(self.root))
        if self.commit:
            self._check_commit(target, f"{self.commit}:{'' if inside == Path() else inside}", path, line)
        return Source(commit=self.commit, path=str(inside), line=line)

    def holds_any(self, commits: Iterable[str]) -> bool:
        """Whether the repository has one of these commits; also if there are none. Raises PlaceError."""
        # each becomes a word of a git command: an option must not pass for a commit
        asked = [*islice(filter(_COMMIT.fullmatch, dict.fromkeys(commits)), MOST)]
        if not asked:
            return True
        done = _run(self.root, "git", "rev-list", "--no-walk", "--ignore-missing", *asked)
        if done is None or done.returncode:
            raise PlaceError("git does not say which commits are here: try again")
        return bool(done.stdout)

    def _check_commit(self, file: Path, blob: str, path: str, line: int | None) -> None:
        """A line in the middle of edits may have another number there, so that its text is compared."""
        if _run_git(self.root, "rev-parse", "--verify", "-q", blob) is None:
            raise PlaceError(f"{path} is not in the last commit: commit it before you cite it, or cite none")
        if line is None:
            return
        done = _run(self.root, "git", "cat-file", "blob", blob)
        committed_lines = done.stdout.removesuffix(b"\n").split(b"\n")[line - 1 : line] if done else []
        with file.open("rb") as lines:
            current = next(islice(lines, line - 1, None), b"")
        if current.rstrip() not in [each.rstrip() for each in committed_lines]:
            raise PlaceError(f"line {line} of {path} is not in the last commit as it is: commit it, or cite no line")

    @staticmethod
    def _check_line(file: Path, path: str, line: int) -> None:
        if line < 1:
            raise PlaceError(f"line {line} is none: lines count from 1")
        lines, last = 0, b"\n"
        try:
            for piece in files.read_pieces(file):
                lines, last = lines + piece.count(b"\n"), piece[-1:]
        except OSError as error:
            raise PlaceError(f"{path} has no lines: {error.strerror}") from None
        if line > (there := lines + (last != b"\n")):
            raise PlaceError(f"{path} has {there:,} lines, so that line {line} is not there")


def find_place(folder: Path) -> Place:
    """Looks anew, as an agent changes branches while its memory is open.

    Raises PlaceError where there is a repository and git does not read it: its memories would go by another name.
    """
    done = _run(folder, "git", "rev-parse", "--show-toplevel")
    if done and done.returncode and _OUTSIDE not in done.stderr:
        here = Path(os.path.realpath(folder))
        # lexists: a .git that leads nowhere is a repository, too, but a damaged one
        there = next((each for each in (here, *here.parents) if os.path.lexists(each / ".git")), None)
        if there or _NONE not in done.stderr:
            why = explain(done.stderr, done.returncode)
            raise PlaceError(f"git does not read the repository here: {why}; mend {there or here}, or work elsewhere")
    root = _read(done)
    if root is None:
        return Place(folder, _name_folder(folder))
    top = Path(root)
    repo, origin = _name_origin(top) or (_name_folder(_find_common(top)), None)
    branch, commit = _run_git(top, "branch", "--show-current"), _run_git(top, "rev-parse", "--verify", "-q", "HEAD")
    return Place(top, repo, branch, commit, origin)


def _name_origin(top: Path) -> tuple[str, str] | None:
    """How a place calls it, and its host and path; None: it is on no server."""
    origin = _run_git(top, "remote", "get-url", "origin") or ""
    scheme, mark, rest = origin.partition("://")
    # without a scheme it is ssh's short form, host:path
    found = _ORIGIN.fullmatch(rest if mark else origin.replace(":", "/", 1))
    if not found or not URL.fullmatch(origin) or origin.startswith("file:"):
        return None
    path = "/".join(filter(None, found[2].rstrip("/").removesuffix(".git").split("/")))
    if not path:
        return None
    host = _find_host(top, found[1]) if not mark or _BY_SSH.fullmatch(scheme) else found[1]
    name = path if _OWNED.fullmatch(path) else f"{found[1]}/{path}"
    return name, f"{_ASIDE.sub('', host.lower().rstrip('.'), count=1)}/{path}"


def _find_host(top: Path, named: str) -> str:
    """Behind an alias in the user's configuration of ssh; as it is named if ssh does not say."""
    done = _run(top, "ssh", "-G", "--", named)
    found = _HOSTNAME.search(done.stdout.decode("utf-8", "replace")) if done and done.returncode == 0 else None
    return found[1] if found else named


def _find_common(top: Path) -> Path:
    """The folder that holds the repository of a work tree; of a bare one, the repository itself."""
    common = Path(os.path.realpath(top / (_run_git(top, "rev-parse", "--git-common-dir") or ".git")))
    return common.parent if common.name == ".git" else common


def _name_folder(folder: Path) -> str:
    path = os.path.realpath(folder)
    name = Path(path).name.removesuffix(".git") or "root"
    return f"{name}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"


def _run_git(folder: Path, *words: str) -> str | None:
    """What git prints; None if it fails or prints nothing."""
    return _read(_run(folder, "git", *words))


def _read(done: subprocess.CompletedProcess[bytes] | None) -> str | None:
    return done.stdout.decode("utf-8", "replace").strip() or None if done and done.returncode == 0 else None


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes] | None:
    """None: there is no such program, or it does not come to an end."""
    # git sets such variables in its hooks, and would look at the repository that they name
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        # LC_ALL, as messages are compared; GIT_NO_LAZY_FETCH, as a partial clone would download what it lacks
        return subprocess.run(
            words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False,
            env={**environment, "LC_ALL": "C", "GIT_NO_LAZY_FETCH": "1"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
