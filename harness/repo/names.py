"""What a person calls a commit of a repository on this machine -> its hash, without git reading its configuration."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from harness.repo.clone import URL, Clone, count_digits, find_folders, find_objects, make_directory, read_small
from harness.repo.reftable import STACK, Stacks
from harness.repo.series import FixtureError, run_git

_HASH = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_SHORT = re.compile(r"[0-9a-f]{7,64}")
_NAMED = re.compile(r"(?P<name>[^~^:?*\[\\\s]+)(?P<steps>[~^][~^\d]*)?")
"""A branch, tag or hash, and the steps back from there: HEAD~20, v1.2^."""
_FOLDERS = ("refs/tags/", "refs/heads/", "refs/remotes/", "refs/", "")
_CHECKED_OUT = ("HEAD", "@")
_LINKS = 5
"""References that may name one another."""


def find_head(location: str) -> str:
    """The commit that a repository on this machine has checked out.

    Raises FixtureError: no repository, or none with a commit.
    """
    return find_commit(location, "HEAD")


def find_commit(location: str, named: str) -> str:
    """The hash of a commit: a branch, a tag, HEAD or seven digits of its hash, and steps back from there.

    Of a URL only whole hashes are known. Raises FixtureError, one line, for a name of nothing.
    """
    clone = Clone(location, "")
    if URL.fullmatch(location):
        if _HASH.fullmatch(named):
            return named
        raise FixtureError(
            f"fixture {clone.name}: {location}: is a URL, of which only whole hashes are known, not '{named}'; "
            "write all of its digits, or clone it"
        )
    objects = find_objects(clone)  # says what is no whole repository
    parts = _NAMED.fullmatch(named)
    digits = count_digits(Path(location))
    start = _find_start(Path(location), parts["name"], digits) if parts else ""
    why = f"knows no commit '{named}'; name a branch, a tag or a hash, as in HEAD~20"
    if parts and start:
        with tempfile.TemporaryDirectory() as folder:  # a directory of our own, as git would read theirs
            # a branch has to hold a whole hash, whether or not there is such a commit
            make_directory(Clone(location, start.ljust(digits, "0")), Path(folder), objects)
            asked = f"{start}{parts['steps'] or ''}^{{commit}}"
            done = run_git("rev-parse", "--verify", "--quiet", asked, at=Path(folder))
            lost = run_git("cat-file", "-e", start, at=Path(folder)).returncode != 0
        if _HASH.fullmatch(commit := done.stdout.decode("ascii", "replace").strip()):
            return commit
        if lost and start == parts["name"]:
            why = f"{start} is not there; fetch it, or name another commit (a forced push takes commits away)"
        elif lost:
            why = f"'{parts['name']}' is {start}, which is not there; clone it anew"
    elif parts and parts["name"] in _CHECKED_OUT:
        why = "its HEAD names no commit; make one, or name another commit"
    raise FixtureError(f"fixture {clone.name}: {location}: {why}")


def _find_start(path: Path, name: str, digits: int) -> str:
    """What a name without steps stands for; empty: nothing."""
    if len(name) == digits and _HASH.fullmatch(name):
        return name
    folder, common = find_folders(path)
    stacks = Stacks(folder, common, "0" * digits) if (common / STACK).is_dir() else None
    if name in _CHECKED_OUT:
        return stacks.find_head() if stacks else _follow(_read_line(folder / "HEAD"), common)
    # the name is looked up as a path below the git directory
    if ".." in name or name.startswith(("/", "-")):
        return ""
    # only below refs/: with an empty prefix any file of a git directory could be named
    named = (f"{prefix}{name}" for prefix in _FOLDERS if f"{prefix}{name}".startswith("refs/"))
    refs = (stacks.find(each) if stacks else _follow(f"ref: {each}", common) for each in named)
    return next(filter(None, refs), name if _SHORT.fullmatch(name) else "")


def _follow(said: str, common: Path) -> str:
    said = _find_reference(said, common)
    return said if _HASH.fullmatch(said) else ""


def _find_reference(said: str, common: Path) -> str:
    """What a reference says at last, which should be a hash."""
    for _ in range(_LINKS):
        name = said.removeprefix("ref:").strip()
        if ".." in name or not said.startswith("ref:"):
            break
        said = _read_line(common / name) or _find_packed(common / "packed-refs", name)
    return said


def _read_line(file: Path) -> str:
    try:
        return read_small(file)
    except (OSError, ValueError):
        return ""


def _find_packed(file: Path, name: str) -> str:
    rows = (row.split(" ") for row in _read_line(file).splitlines())
    # other rows are the head and, behind a tag, what it leads to
    return next((row[0] for row in rows if len(row) == 2 and row[1] == name), "")
