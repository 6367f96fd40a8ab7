"""What the suite is: its version, the digest of its content, and which scenarios are held back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from harness import paths
from harness.model.results import Suite
from harness.model.scenario import MINED, Scenario
from harness.model.trial import Split, digest
from tasks.loader import ScenarioError

SUITE_VERSION = "4"
"""Of the scenarios beside this file; raised with any change that changes their digest."""
DEEP_VERSION = "deep-4"
"""Of those in the folder `deep`."""
SUITE_DATE = "2026-11-22"
"""On which this version was published; it stands in the metadata of exports."""
PRIVATE = "private"
"""The version of every other folder of scenarios."""
HELD = 3
"""One in so many scenarios is held."""


def name(file: Path) -> str:
    """The id of a scenario file: its folder, which is its kind, and its name."""
    return f"{file.absolute().parent.name}/{file.stem}"


def held(ids: Iterable[str], seed: int = 0) -> frozenset[str]:
    """The held ones of a suite: of each kind the third whose ids have the smallest digests, and at least one. Kinds of
    one scenario are drawn from together.

    Decided by ids alone, so that neither an edit nor a scenario of another kind that has several moves one to the other
    split. Another seed draws others, which nobody can have tuned on.
    """
    kinds: dict[str, set[str]] = {}
    for each in ids:
        kinds.setdefault(each.partition("/")[0], set()).add(each)
    alone = {each for own in kinds.values() if len(own) == 1 for each in own}
    groups = [*(own for own in kinds.values() if len(own) > 1), *([alone] if alone else [])]
    place = partial(_place, seed=seed)
    return frozenset(each for own in groups for each in sorted(own, key=place)[: max(1, len(own) // HELD)])


def _place(each: str, seed: int) -> str:
    return hashlib.sha256(f"{seed} {each}".encode() if seed else each.encode()).hexdigest()


def of_split(files: Sequence[Path], tasks: Path, split: Split, seed: int = 0) -> list[Path]:
    """Those of some files that are in a split of the suite in a folder; a file from elsewhere counts as part of it.

    Raises ScenarioError, one line, where none is left.
    """
    back = held((name(file) for file in (*_suite(tasks), *files)), seed)
    chosen = [file for file in files if split == "all" or (name(file) in back) == (split == "held")]
    if not chosen:
        raise ScenarioError(f"{tasks}: split: no scenario of the split '{split}' is among those asked for")
    return chosen


def _suite(tasks: Path) -> list[Path]:
    return sorted(tasks.glob("*/*.toml"))


def identity(scenarios: Sequence[Scenario], tasks: Path, split: Split, seed: int = 0) -> Suite:
    """Which scenarios a run plays: equal digests, equal content of each, its commits included."""
    ids = [scenario.id for scenario in scenarios]
    return Suite(
        version=_version(scenarios, tasks),
        digest=digest({scenario.id: digest(scenario) for scenario in scenarios}),
        split=split,
        held=tuple(sorted(held([*map(name, _suite(tasks)), *ids], seed).intersection(ids))),
    )


def _version(scenarios: Sequence[Scenario], tasks: Path) -> str:
    if tasks.resolve() == paths.TASKS.resolve():
        return SUITE_VERSION
    if tasks.resolve() == paths.DEEP.resolve():
        return DEEP_VERSION
    return MINED if scenarios and all(each.kind == MINED for each in scenarios) else PRIVATE
