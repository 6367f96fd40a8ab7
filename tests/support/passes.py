"""Tests that passed under the very same conditions are not played again.

A pass is kept below COLDWARM_PROOFS, by the digest of all that may decide how the test ends: the files that it reaches,
what is installed, the machine, and what our variables say. Without that variable everything is played, with
COLDWARM_FRESH=1, too, and kept anew. What failed, was skipped or was expected to fail is never kept; nor is what read a
file of the checkout that it is not known to reach.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from harness import paths
from harness.machine.sealed import SealedEntries, SealedEntry
from harness.model.trial import digest
from harness.play import sources
from tests.support.reached import Checkout, lies_in

FORM = 1
BEFORE = "passed before under the same conditions"
DAYS = 30
SECONDS = 5.0
"""Between two looks for edits."""
_INPUT = "coldwarm_passes"
_OURS = ("COLDWARM_PROOFS", "COLDWARM_FRESH")
_ALSO = ("CI", "LANG", "LC_ALL", "TZ")
_REPORTS, _UNREACHED = pytest.StashKey[list[bool]](), pytest.StashKey[set[str]]()


class Pass(SealedEntry):
    """An entry: one test that passed."""

    test: str


class PassCache(SealedEntries):
    """A folder of passes."""

    suffix: ClassVar[str] = ".pass"


class Reached(NamedTuple):
    """The files that a test module reaches, and the digest of their names and of what they hold."""

    files: list[str]
    digest: str


class Conditions:
    """What decides how the tests of a checkout end, as it was when the first of them was asked for."""

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._checkout = Checkout(root)
        self._facts = [FORM, sources.digest_conditions(), _describe_node(), os.geteuid(), _list_ours(environment)]
        self._files = dict[str, str]()
        self._reached = dict[tuple[str, frozenset[str]], Reached]()
        self._stamps = {each: sources.stamp([root / each]) for each in self._checkout.files}

    def make_key(self, item: pytest.Item) -> str | None:
        """Equal for two plays of a test that must end alike; None: who knows."""
        if self._facts[1] is None:
            return None
        return digest([*self._facts, item.nodeid, self._find_reached(item).digest])

    def find_edited(self) -> set[str]:
        """Files that were edited meanwhile."""
        root = self._checkout.root
        return {each for each, before in self._stamps.items() if sources.stamp([root / each]) != before}

    def reach(self, item: pytest.Item, files: set[str]) -> bool:
        """Whether any of these files decides how a test ends."""
        return bool(files and not files.isdisjoint(self._find_reached(item).files))

    def find_unreached(self, item: pytest.Item, read: AbstractSet[str]) -> set[str]:
        """Files of the checkout among those that were read which are not known to decide how a test ends."""
        root = f"{self._checkout.root}{os.sep}"
        ours = {each.removeprefix(root) for each in read if each.startswith(root)} & self._stamps.keys()
        return {
            each for each in ours.difference(self._find_reached(item).files) if not lies_in(each, _list_apart(item))
        }

    def _find_reached(self, item: pytest.Item) -> Reached:
        test = item.path.relative_to(self._checkout.root).as_posix()
        apart = _list_apart(item)
        if (test, apart) not in self._reached:
            files = self._checkout.find_reached(test, apart)
            self._reached[test, apart] = Reached(files, digest([[each, self._digest(each)] for each in files]))
        return self._reached[test, apart]

    def _digest(self, file: str) -> str:
        if file not in self._files:
            self._files[file] = hashlib.sha256((self._checkout.root / file).read_bytes()).hexdigest()
        return self._files[file]


class Reads:
    """The files that this process opens to read."""

    def __init__(self) -> None:
        self.found = set[str]()
        sys.addaudithook(self._hear)  # for good: none can be taken away

    def _hear(self, event: str, facts: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(facts[0], str):
            file, mode, flags = facts
            if mode[0] == "r" if mode else flags & os.O_ACCMODE == os.O_RDONLY:
                self.found.add(file if file.startswith("/") else str(Path(file).absolute()))


class Passes:
    """The plugin.

    Args:
        kept: None: everything is played, and nothing is kept.
        fresh: Everything is played, and kept.
        environment: As it was before the tests set something.
    """

    def __init__(
        self, kept: Path | None, *, fresh: bool = False, root: Path = paths.ROOT, environment: Mapping[str, str]
    ) -> None:
        self._kept, self._fresh, self._root, self._environment = kept, fresh, root, environment
        self._passed, self._kept_at = list[pytest.Item](), 0.0
        self._reads = Reads() if kept else None
        self._module: Path | None = None

    @classmethod
    def of(cls, config: pytest.Config, environment: Mapping[str, str]) -> Passes:
        """Those that the variables name; in a worker, those of whoever started it."""
        folder, fresh = environment.get("COLDWARM_PROOFS"), environment.get("COLDWARM_FRESH", "")
        folder, fresh = getattr(config, "workerinput", {_INPUT: (folder, fresh)})[_INPUT]
        kept = Path(folder).absolute() / "tests" if folder else None
        return cls(kept, fresh=fresh not in ("", "0"), environment=environment)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_INPUT] = tuple(self._environment.get(each, "") for each in _OURS)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        item.stash[_REPORTS] = []
        if self._reads and self._module != item.path:  # what its fixtures read counts for all tests of a module
            self._module = item.path
            self._reads.found.clear()
        key = self._make_key(item)
        if key and not self._fresh and (found := self._cache.find_entry(key, Pass)):
            pytest.skip(f"{BEFORE} ({found.made}, {key[:16]})")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        done = item.stash.setdefault(_REPORTS, [])
        done.append(report.outcome == "passed" and not hasattr(report, "wasxfail"))
        if report.when == "setup" and report.skipped and BEFORE in str(report.longrepr):
            report.before = True
        if report.when == "teardown" and done == [True] * 3:
            if self._reads and self._make_key(item):
                item.stash[_UNREACHED] = self._conditions.find_unreached(item, self._reads.found)
            self._passed.append(item)
            if time.monotonic() - self._kept_at > SECONDS:
                self._keep()
        return report

    def _keep(self) -> None:
        """Keeps what passed since the last time: to look for edits after each quick test would take longer than it."""
        keys = [(item, key) for item in self._passed if (key := self._make_key(item))]
        edited = self._conditions.find_edited() if keys else set[str]()
        for item, key in keys:
            if not self._conditions.reach(item, edited) and item.stash.get(_UNREACHED, None) == set():
                self._cache.keep_entry(Pass(key=key, test=item.nodeid))
        self._passed.clear()
        self._kept_at = time.monotonic()

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        return (BEFORE, "b", "BEFORE") if getattr(report, "before", False) else None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._kept is None:
            return
        self._keep()
        if not hasattr(session.config, "workerinput"):
            self._cache.prune(most_seconds=DAYS * 86400.0)

    def _make_key(self, item: pytest.Item) -> str | None:
        if self._kept is None:
            return None
        try:
            return self._conditions.make_key(item)
        except (OSError, subprocess.CalledProcessError):  # no git, or a file that is gone
            return None

    @cached_property
    def _conditions(self) -> Conditions:
        return Conditions(self._root, self._environment)

    @cached_property
    def _cache(self) -> PassCache:
        assert self._kept is not None
        return PassCache(self._kept)


def _list_apart(item: pytest.Item) -> frozenset[str]:
    return frozenset(name for mark in item.iter_markers("apart") for name in mark.args)


def _describe_node() -> str:
    node = shutil.which("node")
    return subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout if node else ""


def _list_ours(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """What our variables say, and those that every program heeds."""
    names = {name for name in environment if name.startswith("COLDWARM_")} - {*_OURS} | {*_ALSO}
    return sorted((name, environment[name]) for name in names if environment.get(name))
