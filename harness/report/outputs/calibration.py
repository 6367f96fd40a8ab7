"""`coldwarm calibrate`: a model's decisions beside the scripted reader's, as a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness.compare.calibration import Calibration, Condition, PolicyFit, Row
from harness.model.job import DecisionOutcome
from harness.model.trial import READ_POLICIES, Interval
from harness.report import words
from harness.report.outputs.summary import format_code

SHOWN: Mapping[DecisionOutcome, str] = {
    "right": "right", "stale": "stale", "lure": "lure", "other": "other", "unresolved": "open", "failed": "failed",
}  # fmt: skip


def page(found: Sequence[Calibration]) -> str:
    """The whole page."""
    return "\n".join(line for each in found for line in _lines(each)) + "\n"


def _lines(each: Calibration) -> Iterator[str]:
    yield from (f"# {format_code(each.reader, 60)} beside the scripted reader", "")
    yield from _summary(each)
    yield from ("", "## Decision by decision", "")
    yield "Decisions are " + " / ".join(SHOWN.values()) + ". Equal: both took the same value, or both none."
    yield ""
    heads = [f"{policy}{column}" for policy in READ_POLICIES for column in ("", ": equal")]
    yield _format_row(["backend, writing, noise", "asked", "model", *heads])
    yield _format_row(["---", *["---:"] * (2 + len(heads))])
    yield from (_format_row(_format_cells(row)) for row in each.rows)
    yield from ("", "## Which policy, and in which order", "")
    yield (
        "Equal decisions are a mean over scenarios. The order is that of the rows without controls by right decisions: "
        "Kendall's tau-b, 1 if both readers rank them alike, -1 if the other way round. The interval of a share is one "
        "of 95 %, over scenarios. That of tau is the middle 95 % of what it is in resampled scenarios. It holds the "
        "true tau less often than that, the fewer scenarios there are: chance pulls tau towards 0. So read its side of "
        "0 alone; it tells of these rows, not of others."
    )
    yield ""
    yield _format_row(["policy", "equal", "mean share", "interval", "tau", "interval", "ranks the rows"])
    yield _format_row(["---", *["---:"] * 5, "---"])
    yield from (_format_row(_describe(fit)) for fit in each.fits)
    yield ""


def _summary(each: Calibration) -> Iterator[str]:
    decisions = sum(row.decisions for row in each.rows)
    how = "in jobs that the model did" if each.jobs else "that the model was asked for"
    yield (
        f"{words.format_count(decisions, 'decision')} {how}, in "
        f"{words.format_count(each.scenarios, 'scenario')} and "
        f"{words.format_count(each.conditions, 'condition')} beside controls."
    )
    best = max(each.fits, key=lambda fit: fit.share)
    if each.nearest:
        yield f"The scripted policy nearest to the model is **{each.nearest}** ({best.equal} of {best.of} decisions)."
    else:
        yield (
            f"Cannot say which scripted policy is nearest to the model: {best.policy} has most in common with it "
            f"({best.equal} of {best.of} decisions), but its lead is not beyond doubt."
        )
    why = "did not both come to them" if each.jobs else "were shown other entries"
    left = {
        "were not asked for, as nothing came back": each.unasked,
        f"are left out, as the two readers {why}": each.otherwise,
    }
    yield from (f"{words.format_count(count, 'more decision')} {what}." for what, count in left.items() if count)
    if each.jobs:
        yield (
            "The model asked the memory in words of its own, in stories with salted names, so it may have been shown "
            "other entries than the scripted reader."
        )
    if each.unpaired:
        yield f"{words.format_count(each.unpaired, 'trial')} of the model have no scripted one beside them."


def _format_cells(row: Row) -> list[str]:
    beside = [
        cell
        for policy in READ_POLICIES
        for cell in (_outcomes(row.scripted[policy]), f"{row.equal[policy]} of {row.decisions}")
    ]
    return [_name(row.condition), str(row.decisions), _outcomes(row.model), *beside]


def _name(condition: Condition) -> str:
    if condition.write is None:
        return "cold: no memory"
    control = " (control)" if condition.control else ""
    return f"{format_code(condition.backend, 60)}{control}, {condition.write}, {condition.noise}"


def _outcomes(counts: Mapping[DecisionOutcome, int]) -> str:
    return " / ".join(str(counts.get(outcome, 0)) for outcome in SHOWN)


def _describe(fit: PolicyFit) -> list[str]:
    says = {"alike": "alike", "otherwise": "the other way round", "cannot-say": f"cannot say: {fit.why}"}
    return [
        fit.policy, f"{fit.equal} of {fit.of}", f"{fit.share:.2f}", _interval(fit.interval),
        "" if fit.tau is None else f"{fit.tau:.2f}", _interval(fit.tau_interval), says[fit.ranks],
    ]  # fmt: skip


def _interval(bounds: Interval | None) -> str:
    return f"{bounds.low:.2f} to {bounds.high:.2f}" if bounds else ""


def _format_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
