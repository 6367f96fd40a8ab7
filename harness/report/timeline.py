"""Timelines: the trials of a run told in story time, bad ones in full, the others packed by scenario.

Both are bounded; what is left out is counted and said.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from harness.compare import headline
from harness.metrics.view import View
from harness.model import CellKey
from harness.report import tables, words, wrong
from harness.report.packed import Node, markup, node, pack
from harness.report.telling import Telling
from harness.results import Cell, Results

BOUND, IN_FULL, PACKED = 60, 280_000, 1_000_000
"""Timelines in full, at most; their characters of HTML; the characters of all packed blocks."""


@dataclass(frozen=True)
class Timeline:
    """One trial. id: of the trial, and the anchor. said: in a few words what went wrong, or nothing.

    body: what is shown without script. block: where the whole of it is packed, if it is.
    """

    id: str
    title: str
    said: str
    body: Node
    block: int | None


@dataclass(frozen=True)
class Timelines:
    """shown: in full. packed: the others. of: the trials with an anchor. says: what is where, and what is nowhere.

    blocks: of each scenario the packed trees by trial id (`harness.report.packed`).
    """

    shown: tuple[Timeline, ...]
    packed: tuple[Timeline, ...]
    blocks: tuple[str, ...]
    of: frozenset[str]
    says: tuple[str, ...]


@dataclass(frozen=True)
class _Trial:
    """A trial with its cells and one of their views; all of them have one record."""

    view: View
    cells: tuple[Cell, ...]

    @property
    def id(self) -> str:
        return self.cells[0].trial

    @property
    def log(self) -> str:
        return shlex.quote(f"logs/{self.cells[0].log}")

    def tree(self, *, whole: bool) -> Node:
        """All that is told of it."""
        telling = Telling(self.view, whole)
        folded = None if whole else node("p", "quiet", "What each question brought is not shown here, jobs aside.")
        commands = node("pre", "", f"{wrong.again(self.view)}\nsed -n 1p {self.log}  # L1; any line of the log")
        told = [*wrong.told(self.view, self.cells), *telling.sessions(), folded]
        return node(
            "div", "", *told, node("p", "quiet", "Play it again and keep its store, or read its log:"), commands
        )

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


def collect(results: Results, views: Sequence[View]) -> Timelines:
    """Every trial that was played. Bad ones are in full, from every backend in turn, until a bound is reached."""
    trials = _trials(results, views)
    bad = _fairly(results, [each for each in trials if wrong.brief(each.cells)])
    full: dict[str, Node] = {}
    room = IN_FULL
    for trial in bad[:BOUND]:
        tree = trial.tree(whole=False)
        size = len(markup(tree))
        if size <= room:
            full[trial.id], room = tree, room - size
    by_story: dict[str, list[_Trial]] = {}
    for trial in trials:
        by_story.setdefault(trial.cells[0].scenario, []).append(trial)
    blocks, whole = _blocks(results, [by_story[story] for story in sorted(by_story)])
    block_of = {name: number for number, block in enumerate(blocks) for name in block.trials}
    shown = [each.timeline(full[each.id], block_of.get(each.id)) for each in bad if each.id in full]
    folded = [each for each in trials if each.id in block_of and each.id not in full]
    packed = [each.timeline(node("p", "quiet", "Unfolds by script."), block_of[each.id]) for each in folded]
    here = frozenset(block_of) | frozenset(full)
    says = _says(len(full), len(bad), len(packed), len(trials) - len(here), whole=whole)
    return Timelines(tuple(shown), tuple(packed), tuple(block.data for block in blocks), here, says)


def _trials(results: Results, views: Sequence[View]) -> list[_Trial]:
    """Those that were played, in the order of the results."""
    known: dict[str, View] = {}
    for view in views:
        known.setdefault(CellKey(trial=view.log.trial, arm=view.arm, read_policy=view.read_policy).id, view)
    cells: dict[str, list[Cell]] = {}
    for cell in results.cells:
        if cell.id in known and cell.status != "unsupported":
            cells.setdefault(cell.trial, []).append(cell)
    return [_Trial(known[each[0].id], tuple(each)) for each in cells.values()]


def _fairly(results: Results, trials: Sequence[_Trial]) -> list[_Trial]:
    """Every kind of fault of every backend in turn; what the headline counts comes first, controls last."""
    queues: dict[tuple[int, str, str], list[_Trial]] = {}
    for trial in trials:
        kinds = dict.fromkeys(measure for measure, _ in wrong.cases(trial.cells))
        for kind in kinds or {"": None}:
            queues.setdefault((_tier(results, trial), kind, trial.cells[0].backend or ""), []).append(trial)
    order: dict[str, _Trial] = {}
    for tier in range(3):
        mine = [queue for key, queue in sorted(queues.items()) if key[0] == tier]
        order |= {each.id: each for turn in zip_longest(*mine) for each in turn if each and each.id not in order}
    return list(order.values())


def _tier(results: Results, trial: _Trial) -> int:
    if tables.group_of(results, trial.cells[0]) != "ranked":
        return 2
    return 0 if any(headline(cell, results.run.conditions) for cell in trial.cells) else 1


class _Block(NamedTuple):
    data: str
    trials: tuple[str, ...]


def _blocks(results: Results, stories: Sequence[Sequence[_Trial]]) -> tuple[list[_Block], bool]:
    """A block a story, and whether what each question brought is told of the rows that the headline compares.

    If that is too much it is told of none; if this still is, trials are left out: controls, then other noise, first.
    """
    for whole in (True, False):
        blocks = [_block(results, trials, whole=whole) for trials in stories]
        if sum(len(block.data) for block in blocks) <= PACKED:
            return blocks, whole
    return [_block(results, trials, whole=False, room=PACKED // len(stories)) for trials in stories], False


def _block(results: Results, trials: Sequence[_Trial], *, whole: bool, room: int | None = None) -> _Block:
    noise = results.run.conditions.headline_noise
    order = sorted(trials, key=lambda trial: (_tier(results, trial), trial.cells[0].noise != noise))
    trees = {trial.id: trial.tree(whole=whole and _tier(results, trial) == 0) for trial in order}
    while len(data := pack(trees)) > (room or len(data)) and trees:
        trees = dict(list(trees.items())[: min(len(trees) - 1, len(trees) * (room or 0) // len(data))])
    return _Block(data, tuple(trees))


def _says(full: int, bad: int, packed: int, left: int, *, whole: bool) -> tuple[str, ...]:
    none = "In no trial was a stale rule acted on, a deleted secret found again, or a source left unproven."
    some = (
        f"In full: {full:,} of the {words.plural(bad, 'trial')} in which something went wrong, every kind of it from "
        "every backend in turn, without what single questions brought."
    )
    more = f"Packed, and unfolded by script: {words.plural(packed, 'timeline')}."
    if whole:
        more += " Those of the rows that the headline compares also tell what each question brought."
    rest = (
        f"Left out to keep the page small, controls first: {words.plural(left, 'timeline')}; each trial's events stand "
        "in its log."
    )
    return tuple(filter(None, [some if bad else none, more if packed else "", rest if left else ""]))
