"""Timelines: the trials of a run told in story time, bad ones in full, the others packed by scenario.

Both are bounded; what is left out is counted and said.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from harness import metrics
from harness.compare.statements import headline
from harness.log.reader import Log
from harness.metrics import broken
from harness.metrics.view import View
from harness.model.results import Cell, Results
from harness.report import tables, words, wrong
from harness.report.packed import Node, markup, node, pack
from harness.report.telling import Telling

BOUND, IN_FULL, PACKED = 60, 280_000, 850_000
"""Timelines in full, at most; their characters of HTML; the characters of all packed blocks."""


@dataclass(frozen=True)
class Timeline:
    """One trial.

    Attributes:
        id: Of the trial, and the anchor.
        said: In a few words what went wrong, or nothing.
        body: What is shown without script.
        block: Where the whole of it is packed, if it is.
    """

    id: str
    title: str
    said: str
    body: Node
    block: int | None


@dataclass(frozen=True)
class Timelines:
    """All trials of a run, told for the page.

    Attributes:
        shown: In full.
        packed: The others.
        of: The trials with an anchor.
        says: What is where, and what is nowhere.
        blocks: Of each scenario the packed trees by trial id (`harness.report.packed`).
    """

    shown: tuple[Timeline, ...]
    packed: tuple[Timeline, ...]
    blocks: tuple[str, ...]
    of: frozenset[str]
    says: tuple[str, ...]


@dataclass(frozen=True)
class _TrialCells:
    """A trial that was played, by its cells."""

    cells: tuple[Cell, ...]

    @property
    def id(self) -> str:
        return self.cells[0].trial

    def timeline(self, body: Node, block: int | None) -> Timeline:
        cell = self.cells[0]
        parts = [
            words.visible(cell.backend or "cold", 60),
            cell.scenario,
            cell.write_policy or "",
            f"noise {cell.noise}",
        ]
        title = ", ".join(filter(None, [*parts, f"seed {cell.seed}" if cell.seed != 1 else ""]))
        return Timeline(self.id, title, wrong.brief(self.cells), body, block)


class Teller:
    """Every trial that was played. Bad ones are in full, from every backend in turn, until a bound is reached."""

    def __init__(self, results: Results) -> None:
        """What is told of whom is settled by the results; the logs may then come story by story."""
        self._results = results
        self._trials = {trial.id: trial for trial in _trials(results)}
        self._bad = _fairly(results, [trial for trial in self._trials.values() if wrong.brief(trial.cells)])
        self._wanted = {trial.id for trial in self._bad[:BOUND]}
        self._room, self._left = PACKED, len(results.stories)
        self._told: list[_StoryTimelines] = []

    def hear(self, logs: Sequence[Log]) -> None:
        """All logs of one story, which gets its share of the room that the ones before it left.

        What is computed of the logs is let go, and so may they be.
        """
        views: dict[str, View] = {}
        for view in metrics.views(logs):
            views.setdefault(view.log.trial.id, view)
        played = [trial for name, trial in self._trials.items() if name in views]
        if not played:
            return
        noise = self._results.run.conditions.headline_noise
        tiers = {trial.id: _tier(self._results, trial) for trial in played}
        order = sorted(played, key=lambda trial: (tiers[trial.id], trial.cells[0].noise != noise))

        def tree(trial: _TrialCells, *, whole: bool = False) -> Node:
            return _tree(views[trial.id], trial.cells, whole=whole)

        block = _block({trial.id: tree(trial, whole=tiers[trial.id] == 0) for trial in order})
        room = self._room // max(1, self._left)
        rich = len(block.data) <= room
        if not rich:
            block = _block({trial.id: tree(trial) for trial in order}, room)
        self._room, self._left = self._room - len(block.data), self._left - 1
        full = {trial.id: tree(trial) for trial in played if trial.id in self._wanted}
        self._told.append(_StoryTimelines(played[0].cells[0].scenario, full, block, rich))

    def timelines(self) -> Timelines:
        """Of all that was heard."""
        told = sorted(self._told, key=lambda each: (each.story, each.block.trials))
        full = _fit(self._bad, {name: tree for each in told for name, tree in each.full.items()})
        block_of = {name: number for number, each in enumerate(told) for name in each.block.trials}
        folded = [trial for name, trial in self._trials.items() if name in block_of and name not in full]
        shown = [each.timeline(full[each.id], block_of.get(each.id)) for each in self._bad if each.id in full]
        packed = [each.timeline(node("p", "quiet", "Unfolds by script."), block_of[each.id]) for each in folded]
        here = frozenset(block_of) | frozenset(full)
        rich = sum(each.rich for each in told), len(told)
        says = _says(len(full), len(self._bad), len(packed), len(self._trials) - len(here), rich)
        return Timelines(tuple(shown), tuple(packed), tuple(each.block.data for each in told), here, says)


def _trials(results: Results) -> list[_TrialCells]:
    """Those that were played, in the order of the results."""
    cells: dict[str, list[Cell]] = {}
    for cell in results.cells:
        if cell.status not in ("unsupported", "not-run"):
            cells.setdefault(cell.trial, []).append(cell)
    return [_TrialCells(tuple(own)) for own in cells.values()]


def _fairly(results: Results, trials: Sequence[_TrialCells]) -> list[_TrialCells]:
    """Every kind of fault of every backend in turn; what the headline counts comes first, controls last."""
    queues: dict[tuple[int, str, str], list[_TrialCells]] = {}
    for trial in trials:
        kinds = dict.fromkeys(measure for measure, _ in wrong.cases(trial.cells))
        for kind in kinds or {"": None}:
            queues.setdefault((_tier(results, trial), kind, trial.cells[0].backend or ""), []).append(trial)
    order: dict[str, _TrialCells] = {}
    for tier in range(3):
        mine = [queue for key, queue in sorted(queues.items()) if key[0] == tier]
        order |= {each.id: each for turn in zip_longest(*mine) for each in turn if each and each.id not in order}
    return list(order.values())


def _tier(results: Results, trial: _TrialCells) -> int:
    if tables.group_of(results, trial.cells[0]) != "ranked":
        return 2
    return 0 if any(headline(cell, results.run.conditions) for cell in trial.cells) else 1


class _Block(NamedTuple):
    data: str
    trials: tuple[str, ...]


class _StoryTimelines(NamedTuple):
    """One story.

    Attributes:
        full: Trees of the trials that may stand in full.
        block: Of all its trials, of which controls, then other noise are the first to be cut.
        rich: The block tells what each question brought in rows that are compared.
    """

    story: str
    full: Mapping[str, Node]
    block: _Block
    rich: bool


def _tree(view: View, cells: Sequence[Cell], *, whole: bool) -> Node:
    """All that is told of a trial, of which `view` is any cell: they share one record."""
    try:
        return _tell(view, cells, whole=whole)
    except Exception as error:
        return node("p", "", f"This trial cannot be shown: {broken.describe(error)}")


def _tell(view: View, cells: Sequence[Cell], *, whole: bool) -> Node:
    telling = Telling(view, whole)
    folded = None if whole else node("p", "quiet", "What each question brought is not shown here, jobs aside.")
    log = shlex.quote(f"logs/{cells[0].log}")
    commands = node("pre", "", f"{wrong.again(view.log)}\nsed -n 1p {log}  # L1; any line of the log")
    told = [*wrong.describe_cases(view.record, cells), *telling.sessions(), folded]
    return node("div", "", *told, node("p", "quiet", "Play it again and keep its store, or read its log:"), commands)


def _block(trees: Mapping[str, Node], room: int | None = None) -> _Block:
    while len(data := pack(trees)) > (room or len(data)) and trees:
        trees = dict(list(trees.items())[: min(len(trees) - 1, len(trees) * (room or 0) // len(data))])
    return _Block(data, tuple(trees))


def _fit(bad: Sequence[_TrialCells], trees: Mapping[str, Node]) -> dict[str, Node]:
    """Of the trees in turn those that fit into what room the ones before them left."""
    full: dict[str, Node] = {}
    room = IN_FULL
    for name in (trial.id for trial in bad if trial.id in trees):
        size = len(markup(trees[name]))
        if size <= room:
            full[name], room = trees[name], room - size
    return full


def _says(full: int, bad: int, packed: int, left: int, rich: tuple[int, int]) -> tuple[str, ...]:
    none = "In no trial was a stale rule acted on, a deleted secret found again, or a source left unproven."
    some = (
        f"In full: {full:,} of the {words.plural(bad, 'trial')} in which something went wrong, every kind of it from "
        "every backend in turn, without what single questions brought."
    )
    more = f"Packed, and unfolded by script: {words.plural(packed, 'timeline')}."
    if rich[0]:
        where = "" if rich[0] == rich[1] else f", in {rich[0]} of {rich[1]} stories"
        more += f" Those of the rows that the headline compares also tell what each question brought{where}."
    rest = (
        f"Left out to keep the page small, controls first: {words.plural(left, 'timeline')}; each trial's events stand "
        "in its log."
    )
    return tuple(filter(None, [some if bad else none, more if packed else "", rest if left else ""]))
