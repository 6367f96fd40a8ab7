"""Tables of what was set side by side: pairs of backends, ways to write and read, this run and its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.metrics.acting import STALE_USE
from harness.metrics.provenance import SOURCE_VERIFIED
from harness.metrics.recall import RECALL
from harness.metrics.tokens import TOKENS_TOTAL
from harness.model.results import Comparison, Family, Results
from harness.report import words
from harness.report.model import table, ways
from harness.report.model.table import Figure, figure, group, list_ranked, show_name


@dataclass(frozen=True)
class Changed:
    """One measure of one backend against the baseline, in words."""

    rank: int
    backend: str
    measure: str
    verdict: str
    old: str
    new: str
    difference: str
    p: str
    note: str
    cells: tuple[str, ...]


CHANGES = ("worse", "vanished", "not-comparable", "better", "appeared", "no-difference-shown")
"""Verdicts in the order in which they are read."""


def list_changes(results: Results) -> Iterator[Changed]:
    """What became of the baseline, the bad first. cells: those that went with it."""
    for each in sorted(results.changes, key=lambda change: CHANGES.index(change.verdict)):
        amounts = [
            words.count(*count) if count else words.format_number(value) if value is not None else "\u2013"
            for count, value in ((each.old_count, each.old), (each.new_count, each.new))
        ]
        span = f" ({words.format_interval(each.interval)})" if each.interval else ""
        moved = (
            f"{words.show_signed(each.difference, words.format_number)}{span}" if each.difference is not None else ""
        )
        yield Changed(
            rank=CHANGES.index(each.verdict),
            backend=words.make_visible(each.backend, 60),
            measure=each.measure if not each.drill else f"{each.measure} (drill {each.drill})",
            verdict=each.verdict.replace("-", " "),
            old=amounts[0],
            new=amounts[1],
            difference=moved,
            p=f"{each.adjusted_p:.2g}" if each.adjusted_p is not None else "",
            note=words.make_visible(each.reason, 300),
            cells=(*each.broken, *each.vanished, *each.mended),
        )


@dataclass(frozen=True)
class Contrasted:
    """One way to write and read at one noise level, for one backend."""

    name: str
    write: str
    read: str
    noise: int
    primary: bool
    cells: tuple[str, ...]
    figures: tuple[Figure, ...]


def list_contrasts(results: Results) -> Iterator[Contrasted]:
    """How each backend fares under each write and read policy and noise level; controls are not contrasted."""
    for each in results.contrasts:
        if each.backend in results.backends and group(results, each.backend) != "ranked":
            continue
        measures = each.measures
        yield Contrasted(
            name=show_name(results, each.backend),
            write=each.write_policy,
            read=each.read_policy,
            noise=each.noise,
            primary=each.primary,
            cells=next(iter(measures.values())).cells,
            figures=tuple(figure(name, pooled, measures.get(RECALL)) for name, pooled in measures.items()),
        )


def describe_verified(results: Results) -> Iterator[str]:
    """Of each backend that returns sources: what a reader who checks them was spared, and what he paid for it."""
    conditions = results.run.conditions
    for name in list_ranked(results):
        if results.backends[name].measures[SOURCE_VERIFIED].value is None:
            continue
        told = {
            each.read_policy: each.measures
            for each in results.contrasts
            if (each.backend, each.write_policy, each.noise)
            == (name, conditions.headline_write, conditions.headline_noise)
        }
        trusting, verifying = (
            [told[policy][measure] for measure in (STALE_USE, TOKENS_TOTAL)] if policy in told else []
            for policy in ("trusting", "verifying")
        )
        if all(each.value is not None for each in (*trusting, *verifying)) and trusting and verifying:
            yield (
                f"{words.make_visible(name, 40)}: a reader who checks the cited line at HEAD acted on a stale rule in "
                f"{words.value(verifying[0])} decisions, one who takes the first entry in {words.value(trusting[0])}; "
                f"tokens a story {words.value(verifying[1])} against {words.value(trusting[1])}."
            )


FAMILIES: Mapping[Family, str] = {
    "cold": "with no memory", "writes": "append with look-up", "pairs": "between backends", "dump": "with full_context",
}  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """One pair on one measure, in words and figures that are ready to stand in a table."""

    family: str
    measure: str
    write: str
    read: str
    left: str
    right: str
    left_value: str
    right_value: str
    left_better: int
    right_better: int
    scenarios: int
    p: str
    adjusted_p: str
    compared: int
    verdict: str
    difference: str


def describe(results: Results, each: Comparison) -> Compared:
    """One comparison, shown or not."""
    left, right = (table.name_row(results, name) for name in (each.left, each.right))
    if each.family == "writes":
        left, right = f"{left}, {ways.WRITES['append']}", f"{right}, {ways.WRITES[each.write_policy]}"
    verdicts = {"left-better": f"{left} better", "right-better": f"{right} better"}
    show = words.share if results.definitions[each.measure].unit == "proportion" else words.format_number
    ends = (
        f"{words.show_signed(each.interval.low, show)} to {words.show_signed(each.interval.high, show)}"
        if each.interval
        else ""
    )
    return Compared(
        family=FAMILIES[each.family],
        measure=each.measure,
        write=each.write_policy,
        read=each.read_policy,
        left=left,
        right=right,
        left_value=show(each.left_value),
        right_value=show(each.right_value),
        left_better=each.left_better,
        right_better=each.right_better,
        scenarios=each.scenarios,
        p=f"{each.p:.2g}" if each.able else "",
        adjusted_p=f"{each.adjusted_p:.2g}" if each.able else "",
        compared=each.compared,
        verdict=verdicts.get(each.verdict, "could be chance" if each.able else "too few stories to tell"),
        difference=ends,
    )
