"""Several fixtures in which one story plays: asked by commit as if they were one; a work tree is of one alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.repo.checkout import FixtureError, Repo
from harness.repo.traces import Trace


def join(first: Repo, *others: Repo) -> Repo:
    """A story's own fixture with those beside it. Raises FixtureError: two of its commits would have one name."""
    for each in others:
        if any(number.startswith(f"{each.name}/") for number in first.history.numbers):
            raise FixtureError(f"fixture {first.name}: has a branch named as the fixture {each.name}; rename it")
    return Repos(first, *others) if others else first


class Repos(Repo):
    """A story's own fixture and others, whose commits it names as "other/0007". The digest is of all of them."""

    def __init__(self, first: Repo, *others: Repo) -> None:
        total = hashlib.sha256("".join(f"{each.name}\0{each.digest}\0" for each in (first, *others)).encode())
        super().__init__(first.origin, first.path, total.hexdigest(), first.history)
        self._parts = (first, *others)

    def __reduce__(self) -> tuple[Any, ...]:
        # not as Repo does it, which would build the first fixture alone
        return Repos, self._parts

    @property
    def parts(self) -> Sequence[Repo]:
        return self._parts

    @property
    def commits(self) -> tuple[str, ...]:
        return tuple(commit for each in self._parts for commit in each.commits)

    def find(self, commit: str) -> Repo:
        first, *others = self._parts
        return next((each for each in others if each.knows(commit)), first)

    def resolve(self, named: str) -> str:
        first, *others = self._parts
        name, _, rest = named.partition("/")
        for each in others:
            if each.name == name:
                return each.resolve(rest)
        try:
            return first.resolve(named)
        except FixtureError as error:
            raise FixtureError(f"{error}; beside it {', '.join(each.name for each in others)}") from None

    def contains(self, commit: str, earlier: str) -> bool:
        """As of one repository; no commit of one leads to a commit of another."""
        here, there = self.find(commit), self.find(earlier)
        return here is there and here.contains(commit, earlier)

    def files(self, commit: str) -> Mapping[str, str]:
        return self.find(commit).files(commit)

    def links(self, commit: str) -> frozenset[str]:
        return self.find(commit).links(commit)

    def line(self, commit: str, path: str, line: int) -> str | None:
        return self.find(commit).line(commit, path, line)

    def trace(self, commit: str, path: str, line: int, head: str) -> Trace:
        """Elsewhere, if the line is of another repository than the head: nobody can look it up from there."""
        here, there = self.find(head), self.find(commit)
        if here is there or there.line(commit, path, line) is None:
            return here.trace(commit, path, line, head)
        return Trace("elsewhere")

    def rename(self, commit: str, path: str, head: str) -> str:
        return self.find(head).rename(commit, path, head)

    @contextmanager
    def worktree(self, commit: str) -> Iterator[Path]:
        with self.find(commit).worktree(commit) as tree:
            yield tree

    def check_out(self, commit: str, tree: Path) -> None:
        self.find(commit).check_out(commit, tree)
