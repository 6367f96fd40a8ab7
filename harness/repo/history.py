"""The commits of a fixture: what a story calls them, and which came before which."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.repo.series import MAIN, FixtureError, Series

_SHORTEST = 7  # characters of an abbreviated hash
_HEADS = 8
"""Commits whose ancestors are remembered."""


@dataclass(frozen=True)
class History:
    """What is known of commits without a look at their files.

    Attributes:
        name: Of the fixture, for messages.
        parents: Commit -> its parents; each commit stands after all of them.
        numbers: The number of a patch -> the commit that it made; empty where commits are named by their hashes.
        branches: Commit -> its branch, for those that are on another one than main.
        spans: Where the numbers begin and end, for messages.
    """

    name: str
    parents: Mapping[str, Sequence[str]]
    numbers: Mapping[str, str]
    branches: Mapping[str, str]
    spans: str = ""

    @classmethod
    def of_series(cls, name: str, series: Sequence[Series], made: Sequence[Sequence[str]]) -> History:
        """Of the commits that a patch series made: main's, then each branch's own, each oldest first."""
        parents: dict[str, Sequence[str]] = {}
        branches: dict[str, str] = {}
        numbers: dict[str, str] = {}
        for one, commits in zip(series, made, strict=True):
            before = made[0][series[0].numbers.index(one.start)] if one.start is not None else None
            for number, commit in zip(one.numbers, commits, strict=True):
                parents[commit] = () if before is None else (before,)
                branches[commit], numbers[number], before = one.branch, commit, commit
        spans = ", ".join(f"from {one.numbers[0]} to {one.numbers[-1]}" for one in series)
        return cls(name, parents, numbers, branches, spans)

    @property
    def commits(self) -> tuple[str, ...]:
        """Each after its parents."""
        return tuple(self.parents)

    def resolve(self, named: str) -> str:
        """The hash of the commit that a story names: by the number of a patch, or by its hash or the start of it."""
        if self.numbers:
            if named not in self.numbers:
                raise FixtureError(f"fixture {self.name}: no patch {named!r}; the series goes {self.spans}")
            return self.numbers[named]
        if len(named) < _SHORTEST or named.strip("0123456789abcdef"):
            raise FixtureError(
                f"fixture {self.name}: {named!r} is no hash of a commit; write {_SHORTEST} or more digits of it, 0 to f"
            )
        at = bisect_left(self._commits_in_order, named)
        # a second one is enough to see that the start is ambiguous
        found = [commit for commit in self._commits_in_order[at : at + 2] if commit.startswith(named)]
        if not found:
            raise FixtureError(
                f"fixture {self.name}: no commit {named!r} in the history of the pinned one; pin a later commit"
            )
        if len(found) > 1:
            raise FixtureError(f"fixture {self.name}: several commits begin with {named!r}; write more of the hash")
        return found[0]

    def find_branch(self, commit: str) -> str:
        return self.branches.get(commit, MAIN)

    def contains(self, commit: str, earlier: str) -> bool:
        """Whether `earlier` is `commit` or an ancestor of it."""
        self._check_known(commit)
        self._check_known(earlier)
        pair = commit, earlier
        if pair not in self._contained:
            self._contained[pair] = commit == earlier or self._leads_back(commit, earlier)
        return self._contained[pair]

    def _leads_back(self, commit: str, earlier: str) -> bool:
        """Looks at nothing that stands before `earlier`, as no way from there leads to it."""
        first, seen, rest = self._places[earlier], {commit}, [commit]
        while rest:
            new = {each for each in self.parents[rest.pop()] if self._places[each] >= first} - seen
            if earlier in new:
                return True
            seen |= new
            rest += new
        return False

    def list_later(self, commit: str, head: str) -> Sequence[str]:
        """The commits that lead to `head` since its line held `commit`, or since their lines parted; oldest first."""
        reached = self._list_ancestors(head)
        if commit not in reached:
            before = self._list_ancestors(commit)
            return [each for each in self.parents if each in reached and each not in before]
        heirs, found = {commit}, []
        for each in self.parents:
            if each in reached and not heirs.isdisjoint(self.parents[each]):
                heirs.add(each)
                found.append(each)
        return found

    @cached_property
    def _commits_in_order(self) -> Sequence[str]:
        return sorted(self.parents)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {commit: at for at, commit in enumerate(self.parents)}

    @cached_property
    def _contained(self) -> dict[tuple[str, str], bool]:
        return {}

    @cached_property
    def _ancestors(self) -> dict[str, frozenset[str]]:
        return {}

    def _list_ancestors(self, commit: str) -> frozenset[str]:
        """A commit and all its ancestors."""
        self._check_known(commit)
        known = self._ancestors.get(commit)
        if known is None:
            found, rest = {commit}, [commit]
            while rest:
                new = [parent for parent in self.parents[rest.pop()] if parent not in found]
                found.update(new)
                rest += new
            while len(self._ancestors) >= _HEADS:  # each is as large as the history
                # with defaults, as another thread may take them away at the same moment
                self._ancestors.pop(next(iter(self._ancestors), ""), None)
            self._ancestors[commit] = known = frozenset(found)
        return known

    def _check_known(self, commit: str) -> None:
        if commit not in self.parents:
            raise FixtureError(f"fixture {self.name}: no commit {commit!r}; it is not in the history of this fixture")
