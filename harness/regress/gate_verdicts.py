"""Does a run hold what its team demands? One verdict for each gate and backend, in one line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from harness.model.backend import SOUND
from harness.model.regression import Change, GateVerdict
from harness.model.results import Against, Pooled, Results
from harness.model.trial import Measure, Measured, NotMeasured
from harness.regress import pairing
from harness.regress.baseline import DEFINITIONS, Baseline, select_policies
from harness.regress.drills import SLACK
from harness.regress.gates import COUNT, Bound, Gate, Gates, Placed
from harness.regress.policies import Policies
from harness.report import words

DemandVerdict = Literal["held", "broken", "not-measured"]
RANK: Mapping[DemandVerdict, int] = {"broken": 0, "not-measured": 1, "held": 2}


@dataclass(frozen=True)
class GateFinding:
    """What one demand of a gate came to."""

    verdict: DemandVerdict
    why: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgedFigure:
    """A measured number of one backend, or why there is none.

    Attributes:
        measures: Its cells.
    """

    pooled: Pooled | None
    missing: str
    measures: Mapping[str, Measure]


class Since:
    """What changed since a baseline, under the policies of each gate."""

    def __init__(self, before: Baseline, results: Results) -> None:
        self._before, self._results = before, results
        # of this object alone: a cache on the method would keep every object alive
        self._compare = cache(self._compare_under)

    def compare(self, gate: Gate, backend: str) -> tuple[Against, Change | None]:
        """What it is compared with, and how: None where neither side has a number."""
        against, changes = self._compare(gate.policies(self._results.run.conditions) if gate.conditioned else None)
        return against, changes.get((backend, gate.measure))

    def keeps(self, gate: Gate) -> bool:
        """Whether the baseline has what the gate is about: an older coldwarm kept the primary policies only."""
        policies = gate.policies(self._results.run.conditions)
        return not gate.conditioned or bool(self._before.under(policies).rows)

    def _compare_under(self, policies: Policies | None) -> tuple[Against, Mapping[tuple[str, str], Change]]:
        if policies is None:
            assert self._results.baseline is not None
            against, changes = self._results.baseline, self._results.changes
        else:
            then, now = self._before.under(policies), select_policies(self._results, policies)
            against, changes = pairing.judge_comparability(then, now), pairing.list_changes(then, now)
        return against, {(each.backend, each.measure): each for each in changes}


def judge(gates: Gates, results: Results, before: Baseline | None = None) -> tuple[GateVerdict, ...]:
    """All gates in the order of the file, each for its backends by name.

    Args:
        results: With their changes since `before`, without which no gate may have a margin.
    """
    since = Since(before, results) if before else None
    return tuple(
        _judge(gates.name, placed, backend, results, since)
        for placed in gates.placed
        for backend in placed.gate.named or _list_tested(results, placed.gate)
    )


def _list_tested(results: Results, gate: Gate) -> list[str]:
    """What is under test, with what could not run although it was asked for; never nobody."""
    rows = {name for name, row in results.backends.items() if not row.control}
    drilled = {cell.backend for cell in results.trust if cell.backend not in results.backends} - {SOUND}
    absent = {each.backend for each in results.run.unplayed if not each.allowed}
    # a gate that is judged for no row would pass by having no verdict
    return sorted(rows | drilled | absent) or ["*"]


def _judge(name: str, placed: Placed, backend: str, results: Results, since: Since | None) -> GateVerdict:
    gate = placed.gate
    # of several demands, the gravest finding stands for the gate
    finding = min(_list_findings(gate, backend, results, since), key=lambda each: RANK[each.verdict])
    word = {"held": "held", "broken": "broken", "not-measured": "not measured"}[finding.verdict]
    where = f"; see cell {finding.cells[0]}" if finding.cells and finding.verdict != "held" else ""
    more = f" and {len(finding.cells) - 1} more" if where and len(finding.cells) > 1 else ""
    return GateVerdict(
        gate=gate.name,
        backend=backend,
        measure=gate.measure,
        line=placed.line,
        file=name,
        verdict=finding.verdict,
        says=f"gate '{gate.name}' {word}: {backend}{_describe_policies(gate)}: "
        f"{finding.why} ({name}:{placed.line}){where}{more}",
        cells=finding.cells,
        relative=gate.at_least is None and gate.at_most is None,
    )


def _describe_policies(gate: Gate) -> str:
    """The policies that a gate names."""
    policies = {"write": gate.write, "read": gate.read, "noise": gate.noise}
    return "".join(f", {key} {value}" for key, value in policies.items() if value is not None)


def _list_findings(gate: Gate, backend: str, results: Results, since: Since | None) -> Iterator[GateFinding]:
    if gate.at_least is not None or gate.at_most is not None:
        figure = _find_figure(gate, backend, results)
        for bound, sign in ((gate.at_least, 1), (gate.at_most, -1)):
            if bound is not None:
                yield _judge_bound(gate, figure, bound, sign)
    if gate.margin is not None:
        assert since is not None
        yield _judge_margin(gate, gate.margin, backend, results, since)


# --- against a number ---------------------------------------------------------------------------------------------


def _find_figure(gate: Gate, backend: str, results: Results) -> JudgedFigure:
    """The pooled number of the row, of a contrast, or of the one cell of a drill."""
    reasons = {each.backend: each.reason for each in results.run.unplayed}
    absent = f"could not run: {reasons[backend]}" if backend in reasons else "was not played"
    if gate.measure in results.trust_definitions:
        for cell in results.trust:
            if cell.backend == backend and gate.measure in cell.measures:
                own = {cell.id: cell.measures[gate.measure]}
                return JudgedFigure(Pooled.of_one(own[cell.id]), "", own)
        return JudgedFigure(None, f"{absent} in the drill", {})
    if gate.conditioned:
        wanted = gate.policies(results.run.conditions)
        shown = next(
            (
                each.measures[gate.measure]
                for each in results.contrasts
                if each.backend == backend and (each.write_policy, each.read_policy, each.noise) == wanted
            ),
            None,
        )
        absent += f" with write {wanted.write}, read {wanted.read}, noise {wanted.noise}"
    else:
        shown = results.backends[backend].measures.get(gate.measure) if backend in results.backends else None
    ids = set(shown.cells) if shown else set()
    own = {cell.id: cell.measures[gate.measure] for cell in results.cells if cell.id in ids}
    return JudgedFigure(shown, absent, own)


def _judge_bound(gate: Gate, figure: JudgedFigure, bound: Bound, sign: int) -> GateFinding:
    """Judges a value against a bound.

    Args:
        sign: 1 if the value must be at least the bound, -1 if at most.
    """
    shown = bound if isinstance(bound, str) else f"{bound:g}"
    demand = f"{'at least' if sign > 0 else 'at most'} {shown} demanded"
    pooled = figure.pooled
    if pooled is None:
        return GateFinding("not-measured", f"{gate.measure} {figure.missing}, {demand}")
    # a number over the cells that came through must not hold for those that did not
    if pooled.value is None or pooled.failed or pooled.not_run or pooled.unsupported:
        missed = ", ".join(f"{words.format_count(n, 'cell')} {word}" for word, n in words.count_missed(pooled))
        why = f" ({pooled.reasons[0]})" if pooled.reasons else ""
        return GateFinding("not-measured", f"{gate.measure} has {missed}{why}, {demand}", _list_unmeasured(figure))
    limit, value = _limit(bound), pooled.value
    sentence = f"{gate.measure} {_format(pooled)}"
    if isinstance(bound, str):
        if pooled.hits is None or not pooled.of:
            return GateFinding("not-measured", f"{sentence} is no count, {demand}")
        # a count demands a share of cases, which the mean over scenarios is not
        value, cases = pooled.hits / pooled.of, int(bound.split()[-1])
        if pooled.of < cases:
            return GateFinding("not-measured", f"{sentence}: only {pooled.of} of {cases} cases counted, {demand}")
    broken = sign * value < sign * limit
    if pooled.at_least and broken is (sign > 0):  # what is missing could only make it more
        return GateFinding("not-measured", f"{sentence}: a part of it is unknown, {demand}")
    cells = _list_worst(figure, limit, sign) if broken else ()
    return GateFinding("broken" if broken else "held", f"{sentence}, {demand}", cells)


def _limit(bound: Bound) -> float:
    if isinstance(bound, float):
        return bound
    count = COUNT.match(bound)
    assert count is not None
    return int(count[1]) / int(count[2])


def _format(pooled: Pooled) -> str:
    """The value that is judged, and the count behind it."""
    text = words.value(pooled)
    mean = words.format_number(pooled.value or 0.0)
    over = f", mean {mean} over {words.format_count(pooled.scenarios, 'scenario')}" if pooled.scenarios > 1 else ""
    return text if text == mean else f"{text}{over}"


def _list_worst(figure: JudgedFigure, limit: float, sign: int) -> tuple[str, ...]:
    """The cells that fall short by themselves, the worst first."""
    short = {
        name: sign * measure.value
        for name, measure in figure.measures.items()
        if isinstance(measure, Measured) and sign * measure.value < sign * limit
    }
    return tuple(sorted(short, key=lambda name: (short[name], name)))


def _list_unmeasured(figure: JudgedFigure) -> tuple[str, ...]:
    return tuple(
        name
        for name, measure in figure.measures.items()
        if isinstance(measure, NotMeasured) and measure.status != "not-applicable"
    )


# --- against the baseline -----------------------------------------------------------------------------------------


def _judge_margin(gate: Gate, margin: float, backend: str, results: Results, since: Since) -> GateFinding:
    before, change = since.compare(gate, backend)
    allowed = f"a margin of {margin:g} allowed"
    if before.differs:
        return GateFinding(
            "not-measured", f"{gate.measure} is not comparable with baseline {before.run}: {before.differs[0]}"
        )
    if not since.keeps(gate):
        return GateFinding("not-measured", f"baseline {before.run} holds nothing under these policies: save it again")
    if change is None:
        return GateFinding("not-measured", f"{gate.measure} has no number in this run, nor in baseline {before.run}")
    # first, as a regression stands before a number that is gone
    if change.difference is not None and _exceeds_margin(gate, margin, change):
        return GateFinding("broken", f"{_tell(change, before.run)}, {allowed}", change.broken)
    if change.vanished:
        reason = f"{gate.measure}: {change.reason}; baseline {before.run}"
        return GateFinding("broken" if _is_gone(change, results) else "not-measured", reason, change.vanished)
    if change.difference is None:
        return GateFinding("not-measured", f"{gate.measure}: {change.reason or change.verdict}; baseline {before.run}")
    return GateFinding("held", f"{_tell(change, before.run)}, {allowed}")


def _exceeds_margin(gate: Gate, margin: float, change: Change) -> bool:
    """Whether a row is worse than the margin allows: all of the interval, or without one the difference itself; of what
    varies by run, only if it is more than that."""
    assert change.difference is not None
    if DEFINITIONS[gate.measure].varies and change.verdict != "worse":
        return False
    low, high = (change.interval.low, change.interval.high) if change.interval else (change.difference,) * 2
    return low > margin + SLACK if gate.lower_is_better else high < -margin - SLACK


def _is_gone(change: Change, results: Results) -> bool:
    """Whether the backend was played and a number is gone for that, not only for want of playing."""
    measures = {cell.id: cell.measures for cell in results.cells} | {cell.id: cell.measures for cell in results.trust}
    found = (measures.get(name, {}).get(change.measure) for name in change.vanished)
    played = any(each is not None and each.status != "not-run" for each in found)
    return played and change.verdict in ("vanished", "worse")


def _tell(change: Change, run: str) -> str:
    def side(value: float | None, count: tuple[float, int] | None) -> str:
        return words.count(*count) if count else format_number(value or 0.0)

    beside = f" ({words.format_interval(change.interval)})" if change.interval else ""
    moved = (
        f" over {words.format_count(change.scenarios, 'scenario')}, "
        f"{words.format_count(len(change.broken), 'cell')} worse and "
        f"{len(change.mended)} better"
        if change.scenarios
        else ""
    )
    sides = f"{side(change.new, change.new_count)} against {side(change.old, change.old_count)}"
    difference = format_number(change.difference or 0.0)
    return f"{change.measure} {sides} in baseline {run}{moved}, difference {difference}{beside}"


def format_number(value: float) -> str:
    """A number as it is written everywhere, but a small difference is not rounded to none."""
    return words.format_number(value) if not value or abs(value) >= 0.1 else f"{value:.2g}"
