"""Where a session was: its repository, if that is on this machine, and the commit that its branch had then.

Git never opens the repository itself: what it configures does not run.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from datetime import datetime
from functools import cache
from pathlib import Path, PurePosixPath

from harness.machine import files
from harness.machine.shortage import Lacking
from harness.repo.clone import Clone, find_folders, find_objects, make_directory
from harness.repo.names import find_commit
from harness.repo.series import FixtureError, run_git
from harness.sessions.recorded import Heading

_MOVED = re.compile(r"[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\t]*> (\d{1,12}) [+-]\d{4}(?:\t|\Z)")
_MOST = 16_000_000
"""Bytes of a reflog that is read."""


def find_root(cwd: str) -> Path | None:
    """The work tree that a folder of this machine is in."""
    folder = Path(cwd)
    if not folder.is_absolute():
        return None
    # ValueError: what was recorded may hold a null, which no path may
    with suppress(OSError, ValueError):
        return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    return None


def name_repository(heading: Heading) -> str:
    """By its URL, else by its folder; the same for all its work trees. Empty: nothing is recorded."""
    if heading.remote:
        return Clone(heading.remote, "").name
    root = find_root(heading.cwd)
    if root is not None:
        with suppress(OSError, ValueError):
            common = find_folders(root)[1].resolve()
            # that of a submodule or of a bare repository is no folder in a work tree
            root = common.parent if common.name == ".git" else root
        return Clone(str(root), "").name
    last = PurePosixPath(heading.cwd.replace("\\", "/")).name
    return Clone(last, "").name if last else ""


def find_commit_then(heading: Heading) -> str:
    """The recorded commit, else the newest one of the branch at that time, else the one that the work tree had then, by
    its reflog; empty: it is not known.
    """
    root = find_root(heading.cwd)
    if heading.commit or heading.at is None or root is None:
        return heading.commit
    # HEAD is what is recorded where no branch is checked out
    if heading.branch and heading.branch != "HEAD":
        return _find_newest(root, heading.branch, heading.at)
    return _find_checked_out(root, heading.at)


def _find_checked_out(root: Path, at: datetime) -> str:
    """From lines of `old new Name <address> seconds zone<tab>what was done`."""
    then = ""
    with suppress(OSError):
        log = files.read(find_folders(root)[0] / "logs" / "HEAD", _MOST).decode("utf-8", "replace")
        for line in log.splitlines():
            if (entry := _MOVED.match(line)) and int(entry[2]) <= at.timestamp():
                then = entry[1]
    return then


def _find_newest(root: Path, branch: str, at: datetime) -> str:
    tip = _find_tip(root, branch)
    if not tip:
        return ""
    with suppress(FixtureError, Lacking, OSError), tempfile.TemporaryDirectory() as folder:
        clone = Clone(str(root), tip)
        make_directory(clone, Path(folder), find_objects(clone))
        done = run_git("rev-list", "-1", f"--before={at.isoformat()}", tip, "--", at=Path(folder))
        return done.stdout.decode("ascii", "replace").strip()
    return ""


@cache
def _find_tip(root: Path, branch: str) -> str:
    try:
        return find_commit(str(root), branch)
    except (FixtureError, Lacking, OSError, ValueError):
        return ""
