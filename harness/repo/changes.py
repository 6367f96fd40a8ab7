"""What the commits of a clone changed, line by line, along the first parents: a merge brings its branch as one change.

Only files that were modified or renamed are compared: what arrived or left has no line before or after it. Files above
LARGEST bytes count as binary, so that no history costs more than its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from harness.repo.checkout import LARGEST, Repo
from harness.repo.series import FixtureError, reason, run_git

BATCH = 100
"""Commits that one call of git compares: more would hold more of a history in memory."""
FILES = 300
"""Files of the largest commit whose lines are compared: what touches more was made by a tool."""
TOUCHED = 600
"""Files of the commits that one call of git compares line by line."""
LINES = 2000
"""Changed lines of the largest file that is compared."""
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_FORMAT = "%H%x00%an%x00%ae%x00%ct%x00%s"


@dataclass(frozen=True)
class Commit:
    """One step of the first-parent history.

    Attributes:
        at: When it was committed, but later than the commit before it: the clocks of authors run back.
    """

    hash: str
    parent: str
    at: datetime
    author: str
    email: str
    subject: str


class Line(NamedTuple):
    """A line of a file and its number, from 1 on."""

    number: int
    text: str


class Hunk(NamedTuple):
    """Neighbouring lines that left, and those that came for them."""

    removed: Sequence[Line]
    added: Sequence[Line]


class FileChange(NamedTuple):
    """What a commit did to one file; no hunks: it was only renamed, or it is no text that is read, and then
    git does not always say its names."""

    old: str
    new: str
    hunks: Sequence[Hunk]
    unread: bool = False


class Change(NamedTuple):
    """What a commit did to files that were there before and after it.

    Attributes:
        touched: Files that it touched, those that arrived and left among them.
    """

    commit: Commit
    files: Sequence[FileChange]
    touched: int


class GitFolder(NamedTuple):
    """Where the objects of a repository are, and its name: all that a process of one's own needs to read them.

    Attributes:
        path: A git directory.
    """

    name: str
    path: Path


def list_commits(repo: Repo, amount: int, after: str | None = None) -> list[Commit]:
    """The newest `amount` first-parent commits that have a parent, oldest first; before them the one they started from.

    Args:
        after: What this commit leads back to is not read.
    """
    chain, at = list[tuple[str, str]](), repo.history.commits[-1]
    while (
        (parents := repo.history.parents[at])
        and len(chain) < amount
        and not (after is not None and repo.contains(after, at))
    ):
        chain.append((at, parents[0]))
        at = parents[0]
    chain.append((at, ""))  # what the oldest change changed
    chain.reverse()
    # unsorted, as git else puts the commits that it is asked for in order of time
    told = _ask(
        repo, "log", "--no-walk=unsorted", "--stdin", f"--format={_FORMAT}",
        stdin="".join(f"{commit}\n" for commit, _ in chain).encode(),
    ).decode("utf-8", "replace").split("\n")  # fmt: skip
    found, before = list[Commit](), datetime(1970, 1, 1, tzinfo=UTC)
    for (commit, parent), row in zip(chain, filter(None, told), strict=True):
        _, author, email, seconds, subject = row.split("\0", 4)
        since = int(seconds) if seconds.isdecimal() else 0  # no git wrote such a commit
        # a commit may claim a time that no datetime holds
        before = max(before + timedelta(seconds=1), datetime.fromtimestamp(min(since, 2**32), UTC))
        found.append(Commit(commit, parent, before, author, email, subject))
    return found


def walk(repo: GitFolder, commits: Sequence[Commit]) -> Iterator[Change]:
    """What each commit did, in order. Of one that touched more than FILES files only the number is told."""
    for start in range(0, len(commits), BATCH):
        part = [each for each in commits[start : start + BATCH] if each.parent]
        sizes = _count_touched(repo, part)
        small = [each for each in part if sizes[each.hash] <= FILES]
        files = {name: found for some in _split(small, sizes) for name, found in _compare(repo, some).items()}
        for each in part:
            yield Change(each, files.get(each.hash, ()), sizes[each.hash])


def _split(commits: Iterable[Commit], sizes: Mapping[str, int]) -> Iterator[list[Commit]]:
    """Parts of at most TOUCHED files, but for a larger commit: one call of git holds all lines of a part in memory."""
    part, files = list[Commit](), 0
    for each in commits:
        if part and files + sizes[each.hash] > TOUCHED:
            yield part
            part, files = [], 0
        part.append(each)
        files += sizes[each.hash]
    yield part


def read_texts(repo: Repo | GitFolder, places: Sequence[tuple[str, str]]) -> list[str | None]:
    """The texts of files, each by commit and path; None: it is not there, too large, or no UTF-8 text."""
    # git reads one name a line, so it cannot be asked for one that holds a line feed
    asked = [(commit, path) for commit, path in places if "\n" not in path]
    # sizes first, so that no large file is read
    sizes = _ask(repo, "cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin=_join_names(asked)).splitlines()
    fit = [
        place
        for place, row in zip(asked, sizes, strict=True)
        if row.startswith(b"blob ") and int(row.split()[1]) <= LARGEST
    ]
    data, at, texts = _ask(repo, "cat-file", "--batch", stdin=_join_names(fit)), 0, dict[tuple[str, str], str | None]()
    for place in fit:
        end = data.index(b"\n", at)
        size = int(data[at:end].rsplit(b" ", 1)[1])
        texts[place] = _decode(data[end + 1 : end + 1 + size])
        # a line feed ends the head, another one the content
        at = end + size + 2
    return [texts.get(place) for place in places]


def _join_names(places: Sequence[tuple[str, str]]) -> bytes:
    return "".join(f"{commit}:{path}\n" for commit, path in places).encode()


def _decode(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _ask(repo: Repo | GitFolder, *words: str, stdin: bytes) -> bytes:
    done = run_git(
        "-c", f"core.bigFileThreshold={LARGEST}", "-c", "core.quotePath=false", *words, at=repo.path, stdin=stdin
    )
    if done.returncode:
        raise FixtureError(f"{repo.name}: git {words[0]} failed: {reason(done)}; clone the repository anew")
    return done.stdout


def _list_pairs(commits: Sequence[Commit]) -> bytes:
    return "".join(f"{each.hash} {each.parent}\n" for each in commits).encode()


def _count_touched(repo: GitFolder, commits: Sequence[Commit]) -> dict[str, int]:
    found = dict.fromkeys((each.hash for each in commits), 0)
    commit = ""
    for row in _ask(repo, "diff-tree", "--stdin", "-r", "--raw", stdin=_list_pairs(commits)).split(b"\n"):
        if row.startswith(b":"):
            found[commit] += 1
        elif row:
            commit = row.split(b" ")[0].decode("ascii")
    return found


def _compare(repo: GitFolder, commits: Sequence[Commit]) -> dict[str, list[FileChange]]:
    data = _ask(
        repo, "diff-tree", "--stdin", "-r", "-p", "-U0", "-M", "--diff-filter=MR", "--no-ext-diff", "--no-textconv",
        "--no-color", stdin=_list_pairs(commits),
    )  # fmt: skip
    known = {each.hash.encode(): each.hash for each in commits}
    found: dict[str, list[FileChange]] = {}
    commit, block = "", list[bytes]()
    # one more head at the end, so that the last block is read as well
    for row in (*data.split(b"\n"), b"diff --git "):
        if row.startswith(b"diff --git "):
            if block:
                found[commit].extend(filter(None, [_read_file(block)]))
            block = [row]
        # no line of a diff is taken for a commit: lines of files have a sign in front
        elif name := known.get(row.split(b" ", 1)[0]):
            if block:
                found[commit].extend(filter(None, [_read_file(block)]))
            commit, block = name, []
            found[commit] = []
        elif block:
            block.append(row)
    return found


def _read_file(block: Sequence[bytes]) -> FileChange | None:
    """None: a link, a submodule, or a name that a story could not write down."""
    old = new = ""
    unread = False
    at = 1
    while at < len(block) and not block[at].startswith(b"@@"):
        row = block[at]
        at += 1
        if row.endswith((b" 120000", b" 160000")) and row.startswith((b"index ", b"old mode", b"new mode")):
            return None
        for start in (b"--- a/", b"rename from "):
            old = _name(row, start) or old
        for start in (b"+++ b/", b"rename to "):
            new = _name(row, start) or new
        # git quotes a name that holds quotes, backslashes or control characters
        if row.startswith((b'--- "', b'+++ "', b'rename from "', b'rename to "')):
            return None
        unread |= row.startswith(b"Binary files ")
    if not (old and new) and not unread:
        return None
    if unread or len(block) - at > LINES:
        return FileChange(old, new, (), unread=True)
    try:
        return FileChange(old, new, tuple(_read_hunks([row.decode("utf-8") for row in block[at:]])))
    except UnicodeDecodeError:
        return FileChange(old, new, (), unread=True)


def _name(row: bytes, start: bytes) -> str:
    if not row.startswith(start):
        return ""
    try:
        # git puts a tab behind a name that holds a blank
        return row.removeprefix(start).decode("utf-8").removesuffix("\t")
    except UnicodeDecodeError:
        return ""


def _read_hunks(rows: Sequence[str]) -> Iterator[Hunk]:
    removed, added, before, after = list[Line](), list[Line](), 0, 0
    # one more head, so that the last hunk is yielded as well
    for row in (*rows, "@@ -0 +0 @@"):
        if head := _HUNK.match(row):
            if removed or added:
                yield Hunk(tuple(removed), tuple(added))
            removed, added, before, after = [], [], int(head[1]), int(head[2])
        elif row.startswith("-"):
            removed.append(Line(before, row[1:].removesuffix("\r")))
            before += 1
        elif row.startswith("+"):
            added.append(Line(after, row[1:].removesuffix("\r")))
            after += 1
