"""Timelines: the trials of a run told in story time, bad ones in full, the others packed by scenario.

Both are bounded; what is left out is counted and said.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from harness import metrics
from harness.compare import headline
from harness.log import Log
from harness.metrics.view import View
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
    """A trial with its cells."""

    log: Log
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


def collect(results: Results, logs: Sequence[Log]) -> Timelines:
    """Every trial that was played. Bad ones are in full, from every backend in turn, until a bound is reached."""
    trials = _trials(results, logs)
    bad = _fairly(results, [each for each in trials if wrong.brief(each.cells)])
    by_story: dict[str, list[_Trial]] = {}
    for trial in trials:
        by_story.setdefault(trial.cells[0].scenario, []).append(trial)
    wanted, room = {trial.id for trial in bad[:BOUND]}, PACKED // max(1, len(by_story))
    told = [_told(results, by_story[story], wanted, room) for story in sorted(by_story)]
    trees = {name: tree for each in told for name, tree in each.full.items()}
    full = _fitting([(trial.id, trees[trial.id]) for trial in bad[:BOUND]])
    blocks, rich = _chosen(told)
    block_of = {name: number for number, block in enumerate(blocks) for name in block.trials}
    shown = [each.timeline(full[each.id], block_of.get(each.id)) for each in bad if each.id in full]
    folded = [each for each in trials if each.id in block_of and each.id not in full]
    packed = [each.timeline(node("p", "quiet", "Unfolds by script."), block_of[each.id]) for each in folded]
    here = frozenset(block_of) | frozenset(full)
    says = _says(len(full), len(bad), len(packed), len(trials) - len(here), rich=rich)
    return Timelines(tuple(shown), tuple(packed), tuple(block.data for block in blocks), here, says)


def _trials(results: Results, logs: Sequence[Log]) -> list[_Trial]:
    """Those that were played, in the order of the results."""
    known = {log.trial.id: log for log in logs}
    cells: dict[str, list[Cell]] = {}
    for cell in results.cells:
        if cell.trial in known and cell.status != "unsupported":
            cells.setdefault(cell.trial, []).append(cell)
    return [_Trial(known[name], tuple(own)) for name, own in cells.items()]


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


class _Told(NamedTuple):
    """One story. full: trees of the trials that may stand in full. packings: of all its trials, the richest first:
    with what each question brought in rows that the headline compares; without it; cut to the room of one story."""

    full: Mapping[str, Node]
    packings: tuple[_Block, _Block, _Block]


def _told(results: Results, trials: Sequence[_Trial], wanted: Collection[str], room: int) -> _Told:
    """What is computed of a story's logs is let go with it. Its controls, then other noise, are the first to be cut."""
    noise = results.run.conditions.headline_noise
    order = sorted(trials, key=lambda trial: (_tier(results, trial), trial.cells[0].noise != noise))
    views: dict[str, View] = {}
    for view in metrics.views([trial.log for trial in trials]):
        views.setdefault(view.log.trial.id, view)
    brief = {trial.id: _tree(views[trial.id], trial.cells, whole=False) for trial in order}
    compared = [trial for trial in order if _tier(results, trial) == 0]
    rich = brief | {trial.id: _tree(views[trial.id], trial.cells, whole=True) for trial in compared}
    full = {name: tree for name, tree in brief.items() if name in wanted}
    return _Told(full, (_block(rich), _block(brief), _block(brief, room)))


def _tree(view: View, cells: Sequence[Cell], *, whole: bool) -> Node:
    """All that is told of a trial, of which `view` is any cell: they share one record."""
    telling = Telling(view, whole)
    folded = None if whole else node("p", "quiet", "What each question brought is not shown here, jobs aside.")
    log = shlex.quote(f"logs/{cells[0].log}")
    commands = node("pre", "", f"{wrong.again(view.log)}\nsed -n 1p {log}  # L1; any line of the log")
    told = [*wrong.told(view.record, cells), *telling.sessions(), folded]
    return node("div", "", *told, node("p", "quiet", "Play it again and keep its store, or read its log:"), commands)


def _block(trees: Mapping[str, Node], room: int | None = None) -> _Block:
    while len(data := pack(trees)) > (room or len(data)) and trees:
        trees = dict(list(trees.items())[: min(len(trees) - 1, len(trees) * (room or 0) // len(data))])
    return _Block(data, tuple(trees))


def _chosen(told: Sequence[_Told]) -> tuple[list[_Block], bool]:
    """A block a story, all of the same richness: the richest that the page has room for; and whether it is the rich."""
    rich, brief, least = ([each.packings[nth] for each in told] for nth in range(3))
    for blocks in (rich, brief):
        if sum(len(block.data) for block in blocks) <= PACKED:
            return blocks, blocks is rich
    return least, False


def _fitting(trees: Sequence[tuple[str, Node]]) -> dict[str, Node]:
    """Of the trees in turn those that fit into what room the ones before them left."""
    full: dict[str, Node] = {}
    room = IN_FULL
    for name, tree in trees:
        size = len(markup(tree))
        if size <= room:
            full[name], room = tree, room - size
    return full


def _says(full: int, bad: int, packed: int, left: int, *, rich: bool) -> tuple[str, ...]:
    none = "In no trial was a stale rule acted on, a deleted secret found again, or a source left unproven."
    some = (
        f"In full: {full:,} of the {words.plural(bad, 'trial')} in which something went wrong, every kind of it from "
        "every backend in turn, without what single questions brought."
    )
    more = f"Packed, and unfolded by script: {words.plural(packed, 'timeline')}."
    if rich:
        more += " Those of the rows that the headline compares also tell what each question brought."
    rest = (
        f"Left out to keep the page small, controls first: {words.plural(left, 'timeline')}; each trial's events stand "
        "in its log."
    )
    return tuple(filter(None, [some if bad else none, more if packed else "", rest if left else ""]))
