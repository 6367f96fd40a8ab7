"""Rows that cannot be told apart: those with equal decisions everywhere, and those with the oracle's answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from harness.compare.rows import BETWEEN, GOLD
from harness.log.events import Metered
from harness.log.reader import Log
from harness.metrics import broken
from harness.metrics.view import View
from harness.model.cells import Cell
from harness.model.results import TwinGroup
from harness.model.trial import Measured, ReadPolicy, Trial, digest

ORACLE = GOLD[0]
SAME_VECTORS = "they store the same vectors of the same embedder"
ANSWERS = tuple(name for name in BETWEEN if not name.startswith("tokens"))
"""Measures of decisions and answers; what these cost is no part of them."""


class Fingerprint(NamedTuple):
    """What two rows have in common if they decide alike in a trial.

    Attributes:
        decisions: Read policy -> digest of each decision's value and outcome.
        embedded: Phase -> texts and tokens that the run's embedder turned into vectors.
    """

    decisions: Mapping[ReadPolicy, str]
    embedded: Mapping[str, tuple[int, int]]


def compute_fingerprint(log: Log, views: Iterable[View]) -> Fingerprint:
    """The fingerprint of a trial and its views; without decisions where these cannot be read."""
    decisions = {view.read_policy: broken.guard(_digest, view, lambda _: "") for view in views if view.read_policy}
    meters = log.list_events(Metered)
    counts = meters[-1].embeddings if meters else {}
    embedded = {phase: (count.get("texts", 0), count.get("tokens", 0)) for phase, count in counts.items()}
    return Fingerprint({policy: each for policy, each in decisions.items() if each}, embedded)


def _digest(view: View) -> str:
    """Empty if the trial came to no decision."""
    values = {
        (event.job, choice.decision): choice.value
        for _, event in view.record.works(view.read_policy)
        for choice in event.choices
    }
    decisions = [[*key, decision.verdict, values.get(key)] for key, decision in sorted(view.decided.items())]
    return digest(decisions) if decisions else ""


def find_twins(played: Iterable[tuple[Trial, Fingerprint]], ranked: Sequence[str]) -> list[TwinGroup]:
    """The groups of ranked rows that decide alike in every trial, in the order of their names."""
    rows = defaultdict[str, dict[str, Fingerprint]](dict)
    for trial, fingerprint in played:
        if trial.backend and trial.backend in ranked:
            # without the backend, so that the same trial of two rows has one key
            rows[trial.backend][digest(trial.model_copy(update={"backend": None}))] = fingerprint
    groups = defaultdict[str, list[str]](list)
    for name in sorted(rows):
        own = rows[name]
        # without decisions any two trials would look alike
        if all(each.decisions for each in own.values()):
            groups[digest({trial: own[trial].decisions for trial in sorted(own)})].append(name)
    return [
        TwinGroup(rows=tuple(names), reason=SAME_VECTORS if _embed_alike([rows[name] for name in names]) else "")
        for names in groups.values()
        if len(names) > 1
    ]


def _embed_alike(rows: Sequence[Mapping[str, Fingerprint]]) -> bool:
    """Whether in every trial all had the same amount of text embedded, in each phase of it."""
    first, *others = rows
    return all(each.embedded for each in first.values()) and all(
        own[trial].embedded == each.embedded for own in others for trial, each in first.items()
    )


def find_like_oracle(cells: Iterable[Cell], ranked: Sequence[str]) -> list[str]:
    """The ranked rows of which every cell has the oracle's decisions and answers: its adapter brought them along, or
    nothing in these stories was hard for it."""
    gold = dict[str, list[float | None]]()
    rows = defaultdict[str, list[Cell]](list)
    for cell in cells:
        if cell.backend == ORACLE:
            gold.setdefault(cell.scenario, _list_answers(cell))
        elif cell.backend and cell.backend in ranked:
            rows[cell.backend].append(cell)
    return sorted(
        name
        for name, own in rows.items()
        if all(_list_answers(cell) == gold.get(cell.scenario) for cell in own)
        and any(value is not None for cell in own for value in _list_answers(cell))
    )


def _list_answers(cell: Cell) -> list[float | None]:
    measures = (cell.measures.get(name) for name in ANSWERS)
    return [each.value if isinstance(each, Measured) else None for each in measures]
