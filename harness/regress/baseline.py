"""A baseline: what a run measured, small enough to commit. Two runs are compared by their baselines alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field

from harness import metrics
from harness.compare.rows import CONTRASTED, is_headline
from harness.metrics import trust
from harness.model.cells import Cell
from harness.model.drill import DrillName
from harness.model.results import Conditions, Results, Suite
from harness.model.trial import (
    Definition,
    Measure,
    Measured,
    Model,
    NotMeasured,
    ReadPolicy,
    WritePolicy,
    digest,
)  # fmt: skip
from harness.regress.policies import Policies

Word = Literal["failed", "not-run", "unsupported", "not-applicable"]
WORDS: tuple[Word, ...] = ("failed", "not-run", "unsupported", "not-applicable")
"""The worst first: it is the one that stands for a scenario whose cells say different ones."""
DEFINITIONS: Mapping[str, Definition] = {**metrics.DEFINITIONS, **trust.DEFINITIONS}
ABSENT = "not played in the new run"
StoredCount = tuple[float, Annotated[int, Field(ge=1)]]
StoredValue = StoredCount | float | Word | None
"""Of one scenario: hits and cases; another number; why there is none; or None where nothing was planned."""


class RegressError(Exception):
    """Results, a baseline or gates that cannot be used: which file, where, why, what to do. One line."""


class StoredStory(Model):
    id: str
    digest: str


class Entrant(Model):
    """A backend with the cells of its row: of each scenario, in the order of `stories`, their ids."""

    backend: str
    version: str | None
    cells: tuple[tuple[str, ...], ...] = ()


class StoryRow(Model):
    """One measure of one backend under the primary conditions: a point a scenario, in the order of `stories`.

    Attributes:
        reasons: Why there is no number, by word.
        at_least: Some number is only a lower bound.
    """

    backend: str
    measure: str
    points: tuple[StoredValue, ...]
    reasons: Mapping[str, str] = {}
    at_least: bool = False


class ContrastRow(StoryRow):
    """A row under other policies, or at another level of noise, than the primary ones."""

    write: WritePolicy
    read: ReadPolicy
    noise: int


class TrustRow(Model):
    """One measure of one drill. `cell` names backend, size, seed, k and the release that handed its store over, so that
    equal cells were played alike."""

    backend: str
    drill: DrillName
    measure: str
    cell: str
    point: StoredValue
    reasons: Mapping[str, str] = {}
    at_least: bool = False


class Baseline(Model):
    """What a run measured of the backends under test; controls are no part of it.

    Attributes:
        contrasts: Of the measures that are shown by policy; none in a file of a coldwarm that did not keep them.
        definitions: Measure -> version of its formula.
        programs: The agent programs that did the jobs, each with its release.
        digest: Of all the rest; empty if it was never saved.
    """

    schema_: Literal[1] = Field(1, alias="schema")
    run: str
    version: str
    commit: str | None
    protocol: int
    suite: Suite | None
    conditions: Conditions
    definitions: Mapping[str, int]
    entrants: tuple[Entrant, ...]
    stories: tuple[StoredStory, ...]
    rows: tuple[StoryRow, ...]
    trust: tuple[TrustRow, ...]
    contrasts: tuple[ContrastRow, ...] = Field((), exclude_if=lambda rows: not rows)  # so that old files keep theirs
    programs: tuple[str, ...] = Field((), exclude_if=lambda programs: not programs)
    digest: str = ""

    def under(self, policies: Policies) -> Baseline:
        """The rows of this baseline as if these policies were the primary ones."""
        if policies == Policies.of(self.conditions):
            return self
        mine = (row for row in self.contrasts if (row.write, row.read, row.noise) == policies)
        # a StoryRow forbids the policies that a ContrastRow has besides
        rows = (row.model_dump(include={*StoryRow.model_fields}) for row in mine)
        return self.model_copy(
            update={
                "conditions": policies.hold(self.conditions),
                # these name the cells of the policies that were primary
                "entrants": tuple(each.model_copy(update={"cells": ()}) for each in self.entrants),
                "rows": tuple(map(StoryRow.model_validate, rows)),
                "trust": (),
            }
        )


def make_baseline(results: Results) -> Baseline:
    """The baseline that a run makes: equal results give the same one, its digest included."""
    baseline = _make_rows(results, results.run.conditions)
    trust = [
        _trust(cell.backend, cell.drill, name, cell.id, measure)
        for cell in results.trust
        if cell.backend in results.list_tested()
        for name, measure in cell.measures.items()
        if name in results.trust_definitions and _has_direction(results, name)
    ]
    # sorted, so that equal results have one digest
    trust.sort(key=lambda row: (row.backend, row.drill, row.measure))
    baseline = baseline.model_copy(update={"trust": tuple(trust), "contrasts": tuple(_list_contrasts(results))})
    return baseline.model_copy(update={"digest": find_digest(baseline)})


def select_policies(results: Results, policies: Policies) -> Baseline:
    """The stories of a run as if these policies were the primary ones."""
    return _make_rows(results, policies.hold(results.run.conditions))


def _make_rows(results: Results, conditions: Conditions) -> Baseline:
    """What the stories say; `conditions` tell which cells are a backend's row."""
    tested = results.list_tested()
    own = defaultdict[tuple[str, str], list[Cell]](list)
    for cell in results.cells:
        if cell.backend in tested and is_headline(cell, conditions):
            own[cell.backend, cell.scenario].append(cell)
    # a story that was not played has cells, and no digest
    digests = {cell.scenario: "" for cell in results.cells} | {story.id: story.digest for story in results.stories}
    stories = sorted(digests)
    return Baseline(
        run=results.run.id,
        version=results.run.version,
        commit=results.run.commit,
        protocol=results.run.protocol,
        suite=results.run.suite,
        conditions=conditions,
        definitions={
            name: each.version
            for name, each in sorted({**results.definitions, **results.trust_definitions}.items())
            if each.better != "neither"
        },
        entrants=tuple(_make_entrant(results, name, [own[name, story] for story in stories]) for name in tested),
        stories=tuple(StoredStory(id=name, digest=digests[name]) for name in stories),
        rows=tuple(
            _make_row(backend, name, [own[backend, story] for story in stories])
            # a defaultdict keeps an empty list for each key that was only looked up
            for backend in sorted({backend for backend, _ in own if own[backend, _]})
            for name in sorted(results.definitions)
            if _has_direction(results, name)
        ),
        trust=(),
        programs=results.run.programs,
    )


def _list_contrasts(results: Results) -> Iterator[ContrastRow]:
    """Rows of every contrast that was played but the primary one."""
    shown = (each for each in results.contrasts if not each.primary)
    for policies in sorted({Policies(each.write_policy, each.read_policy, each.noise) for each in shown}):
        for row in select_policies(results, policies).rows:
            if row.measure in CONTRASTED:
                yield ContrastRow(**row.model_dump(), **policies._asdict())


def _has_direction(results: Results, measure: str) -> bool:
    """Whether one direction of a measure is the better one, so that it can become worse."""
    return (results.definitions.get(measure) or results.trust_definitions[measure]).better != "neither"


def _make_entrant(results: Results, name: str, cells: Iterable[Sequence[Cell]]) -> Entrant:
    """The version of a backend as stories and drills were played with it; a run that went on after
    an upgrade has two.
    """
    card = results.backends[name].backend if name in results.backends else None
    played = [card.version if card else None, *(cell.version for cell in results.trust if cell.backend == name)]
    return Entrant(
        backend=name,
        version=" and ".join(dict.fromkeys(filter(None, played))) or None,
        cells=tuple(tuple(sorted(cell.id for cell in own)) for own in cells),
    )


def _make_row(backend: str, name: str, cells: Iterable[Sequence[Cell]]) -> StoryRow:
    measures = [[cell.measures[name] for cell in own if name in cell.measures] for own in cells]
    return StoryRow(
        backend=backend,
        measure=name,
        points=tuple(map(_point, measures)),
        reasons=_list_reasons(each for own in measures for each in own),
        at_least=any(isinstance(each, Measured) and each.known == "at-least" for own in measures for each in own),
    )


def _trust(backend: str, drill: DrillName, name: str, cell: str, measure: Measure) -> TrustRow:
    return TrustRow(
        backend=backend,
        drill=drill,
        measure=name,
        cell=cell,
        point=_point([measure]),
        reasons=_list_reasons([measure]),
        at_least=isinstance(measure, Measured) and measure.known == "at-least",
    )


def _point(measures: Sequence[Measure]) -> StoredValue:
    """The mean of the cells (seeds) that measured; as a count where that says the same."""
    found = [each for each in measures if isinstance(each, Measured)]
    if not found:
        statuses = {each.status for each in measures if isinstance(each, NotMeasured)}
        return next((word for word in WORDS if word in statuses), None)
    value = fmean(each.value for each in found)
    hits: list[float] = [each.hits for each in found if each.hits is not None]
    cases: list[int] = [each.of for each in found if each.of]
    # where seeds have different numbers of cases, their sum is another share than their mean
    if len(hits) == len(cases) == len(found) and isclose(sum(hits) / sum(cases), value):
        return sum(hits), sum(cases)
    return value


def _list_reasons(measures: Iterable[Measure]) -> dict[str, str]:
    """The first reason of each word."""
    reasons: dict[str, str] = {}
    for each in measures:
        if isinstance(each, NotMeasured):
            reasons.setdefault(each.status, each.reason)
    return dict(sorted(reasons.items()))


def value(point: StoredValue) -> float | None:
    """The number of a point, if it has one."""
    if isinstance(point, tuple):
        return point[0] / point[1]
    return point if isinstance(point, float) else None


def compare_formulas(measure: str, old: Baseline, new: Baseline) -> str:
    """Why two numbers of a measure cannot be compared: another formula, or none that is known; empty if they can."""
    if measure not in DEFINITIONS:
        return "the measure is not known to this coldwarm"
    then, now = old.definitions.get(measure), new.definitions.get(measure)
    if then is None or now is None:
        sides = [word for word, version in (("old", then), ("new", now)) if version is None]
        return f"the {' and the '.join(sides)} run does not know the measure"
    return "" if then == now else f"its formula changed: version {then} then, {now} now"


def sign(measure: str) -> int:
    """1 if more of it is better, -1 if less is."""
    return -1 if DEFINITIONS[measure].better == "lower" else 1


def find_digest(baseline: Baseline) -> str:
    """The digest of all that a baseline holds but the digest itself."""
    return digest(baseline.model_copy(update={"digest": ""}))
