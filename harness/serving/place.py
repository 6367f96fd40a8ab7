"""Where an agent works: the repository, branch and commit of its working folder, as git says."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.adapter import Scope, Source

SECONDS = 10
_TAIL = re.compile(r"([^/:]+/)?[^/:]+?(?:\.git)?/*$")


class PlaceError(ValueError):
    """A path that a memory may not cite. One line."""


@dataclass(frozen=True)
class Place:
    """The checkout around a working folder; outside of one, the folder itself.

    Attributes:
        repo: Owner and name from the origin's URL, else the folder's name.
        branch, commit: None outside of a repository, on a detached head, before the first commit.
    """

    root: Path
    repo: str
    branch: str | None = None
    commit: str | None = None

    @property
    def scope(self) -> Scope:
        return Scope(repo=self.repo, branch=self.branch)

    def cite(self, path: str | None, line: int | None) -> Source:
        """A source at this commit. Raises PlaceError for a path outside of the repository, links followed."""
        if path is None:
            return Source(commit=self.commit)
        found = Path(os.path.realpath(self.root / path))
        if not found.is_relative_to(os.path.realpath(self.root)):
            raise PlaceError(f"{path} is not inside of the repository: cite a file of it, or none")
        if line is not None and line < 1:
            raise PlaceError(f"line {line} is none: lines count from 1")
        return Source(commit=self.commit, path=str(found.relative_to(os.path.realpath(self.root))), line=line)


def find_place(folder: Path) -> Place:
    """Looks anew, as an agent changes branches while its memory is open."""
    root = _git(folder, "rev-parse", "--show-toplevel")
    if root is None:
        return Place(folder, folder.name or "root")
    top = Path(root)
    origin = _TAIL.search(_git(top, "remote", "get-url", "origin") or "")
    repo = origin[0].removesuffix("/").removesuffix(".git") if origin else top.name
    return Place(top, repo, _git(top, "branch", "--show-current"), _git(top, "rev-parse", "--verify", "-q", "HEAD"))


def _git(folder: Path, *words: str) -> str | None:
    """What git prints; None if it fails or prints nothing."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None if done.returncode == 0 else None
