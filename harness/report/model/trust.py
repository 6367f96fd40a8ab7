"""Cells of trust: of each column the gravest measure that went wrong, with its own cases; clean, its leading measure.

Stories and drills speak in the same column. Every number counts what went wrong, as the sentences do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isclose

from harness.metrics import columns
from harness.metrics.columns import Column
from harness.metrics.trust.promises import BROKEN_PROMISES
from harness.metrics.trust.speed import RECALL_SECONDS
from harness.model.cells import TrustCell
from harness.model.results import Pooled, Results
from harness.model.trial import Definition
from harness.report import words
from harness.report.model.score import DASH, Case, Number, Score, explain_none, is_hidden
from harness.report.model.work import Judge

BYTES = columns.DELETED.leads[:2]
"""Measures that look at stored bytes, of the drill first."""
PROMISES, SPEED = columns.PROMISES.id, columns.SPEED.id
"""Columns with rules of their own."""
ARROW, STEPS = " \u2192 ", 48
"""Between two steps of a sequence; characters of it that a cell shows."""
AT_ONCE, WAITING = 0.1, 1.0
"""Seconds of one recall: what feels immediate, and what keeps a train of thought (Nielsen 1993)."""


@dataclass(frozen=True)
class Member:
    """A measure of a column as one row has it."""

    definition: Definition
    pooled: Pooled
    drill: str = ""

    @property
    def wrong(self) -> float:
        """The share that went wrong, from 0 to 1; 0 without a number."""
        return share_bad(self.definition, self.pooled) or 0.0

    @property
    def case(self) -> Case:
        """How many went wrong, whichever of its cases the measure counts."""
        pooled, definition = self.pooled, self.definition
        of = pooled.of or 0
        hits = pooled.hits if pooled.hits is not None else (pooled.value or 0.0) * of
        wrong = hits if definition.better == "lower" else round(of - hits, 6)
        return Case(definition.name, words.describe_fault(definition), wrong, of, pooled.cells, self.drill)


def share_bad(definition: Definition, pooled: Pooled) -> float | None:
    """How much of it went wrong, from 0 to 1; None without a number, and of what has no best value."""
    best = {"higher": 1.0, "lower": 0.0}.get(definition.better)
    if pooled.value is None or best is None or definition.unit != "proportion":
        return None
    found = pooled.hits / pooled.of if pooled.hits is not None and pooled.of else pooled.value
    return 0.0 if isclose(found, best, abs_tol=1e-12) else abs(best - found)


def list_members(results: Results, key: str, column: str) -> list[Member]:
    """Every measure of a column that a row has, the gravest first."""
    found = list(_list_members(results, key, column))
    return sorted(found, key=lambda each: (each.definition.gravity or 0, -each.wrong, each.definition.name))


def _list_members(results: Results, key: str, column: str) -> Iterator[Member]:
    if key in results.backends:
        for name, pooled in results.backends[key].measures.items():
            if results.definitions[name].column == column:
                yield Member(results.definitions[name], pooled)
    for cell in list_drills(results, key):
        for name, measure in cell.measures.items():
            if results.trust_definitions[name].column == column:
                yield Member(results.trust_definitions[name], Pooled.of_one(measure), cell.id)


def list_drills(results: Results, key: str) -> list[TrustCell]:
    return [cell for cell in results.trust if cell.backend == key]


def tell_inspected(results: Results, key: str) -> str | None:
    """Why nobody could look at the bytes of a row, or nothing if somebody could; None if nobody tried."""
    looked = [each.pooled for each in list_members(results, key, columns.DELETED.id) if each.definition.name in BYTES]
    if any(each.value is not None for each in looked):
        return ""
    told = [reason for each in looked if each.unsupported or each.failed for reason in each.reasons]
    return words.make_visible(told[0], 120) if told else None


def judge(results: Results, key: str, column: Column) -> Score:
    """What went wrong, the gravest first; else what broke or could not be told; else the leading measure."""
    members = list_members(results, key, column.id)
    wrong = [each for each in members if each.wrong]
    if wrong:
        cases = tuple(each.case for each in wrong)
        return replace(_show(cases[0]), judgement="bad", word=cases[0].fault, cases=cases)
    missed = [each.pooled for each in members if each.pooled.failed or each.pooled.not_run]
    missed += [each.pooled for each in members if is_hidden(each.pooled)]
    if missed:
        return explain_none(missed[0])
    by_name = {each.definition.name: each for each in members}
    leads = [by_name[name] for name in column.leads if name in by_name]
    # What has no number for the question itself is not clean by what stands beside it.
    lead = next((each for each in leads or members if each.pooled.value is not None), None)
    if lead is None:
        return explain_none(next((each.pooled for each in (*leads, *members)), None))
    return replace(_show(lead.case), judgement="good", word=column.clean)


def _show(case: Case) -> Score:
    text = case.counted if case.of else words.share(case.wrong)
    value = case.wrong / case.of if case.of else case.wrong
    return Score((Number(text, case.cells),), drill=case.drill, measure=case.measure, value=value)


def judge_promises(results: Results, key: str, column: Column) -> Score:
    """Held over so many operations, or the shortest sequence that was not, in words."""
    for cell in list_drills(results, key):
        measure = cell.measures.get(BROKEN_PROMISES)
        if measure is None:
            continue
        pooled = Pooled.of_one(measure)
        if pooled.value is None:
            return explain_none(pooled)
        operations = words.format_count(pooled.of or 0, "operation")
        made = Score((Number(operations),), drill=cell.id, measure=BROKEN_PROMISES, value=pooled.of)
        if not pooled.value:
            return replace(made, judgement="good", word=column.clean)
        says = words.make_visible(cell.promise.says, 160) if cell.promise else ""
        if cell.promise and cell.promise.random:  # a sequence that shows it now and then is no receipt
            return replace(made, judgement="bad", word="broken, not every time", why=says)
        short = _shorten(words.make_visible(cell.promise.short)) if cell.promise else ""
        return replace(made, judgement="bad", word=f"broken: {short}" if short else "broken", why=says)
    return DASH


def _shorten(steps: str) -> str:
    """The first steps of a sequence, whole ones; the receipt has all."""
    if len(steps) <= STEPS:
        return steps
    return f"{steps[:STEPS].rpartition(ARROW)[0] or steps[:STEPS]}{ARROW}\u2026"


def judge_speed(results: Results, key: str, column: Column) -> Score:
    for cell in list_drills(results, key):
        if RECALL_SECONDS not in cell.measures:
            continue
        pooled = Pooled.of_one(cell.measures[RECALL_SECONDS])
        if pooled.value is None:
            return explain_none(pooled)
        seconds = pooled.value
        milliseconds = f"{seconds * 1000:,.0f} ms" if seconds >= 0.001 else "< 1 ms"
        text = milliseconds if seconds < 1 else f"{seconds:,.1f} s"
        why = f"{cell.size:,} memories in the store"
        made = Score((Number(text),), drill=cell.id, measure=RECALL_SECONDS, why=why, value=seconds)
        if seconds <= AT_ONCE:
            return replace(made, judgement="good", word="at once")
        if seconds <= WAITING:
            return replace(made, judgement="middling", word="noticed")
        return replace(made, judgement="bad", word="slow")
    return DASH


JUDGES: Mapping[str, Judge] = {PROMISES: judge_promises, SPEED: judge_speed}
