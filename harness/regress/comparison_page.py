"""Two runs side by side as one file: what got worse first, and behind each row the very cases that changed.

It is made of two baselines and, where they are there, the logs behind them: the same logs give the same bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.model.regression import Change
from harness.model.results import Against
from harness.regress import cases, pairing
from harness.regress.baseline import ABSENT, DEFINITIONS, Baseline, StoredValue, sign, value
from harness.regress.baseline_files import Side
from harness.regress.cases import Archive, Case
from harness.report import words
from harness.report.outputs.template import fill_template
from harness.report.timeline.nodes import write_markup

STYLES = ("style.css", "first.css", "timeline.css", "compare.css")
ROOM = 2_000_000
"""Characters of all cases together; what does not fit is counted."""
SCENARIOS = 40
"""Scenarios of one row that are listed."""
Tone = Literal["bad", "good", "open", "same"]
JUDGED: dict[str, tuple[str, Tone]] = {
    "worse": ("\u25b2 worse", "bad"),
    "vanished": ("\u2715 no number any more", "bad"),
    "not-comparable": ("? not comparable", "open"),
    "better": ("\u25cf better", "good"),
    "appeared": ("+ new", "open"),
}
OPEN = ("not-comparable", "appeared")
"""Verdicts that compare nothing."""


@dataclass(frozen=True)
class Moved:
    """One scenario of a row, in words."""

    scenario: str
    old: str
    new: str
    tone: Tone


@dataclass(frozen=True)
class Row:
    """One measure of one backend.

    Attributes:
        shares: Of a proportion what it was and is, for the line that is drawn of it.
        fine: The statistics behind "how sure?".
        left: Cases that are not shown.
    """

    id: str
    change: Change
    label: str
    means: str
    unit: str
    old: str
    new: str
    difference: str
    interval: str
    word: str
    tone: Tone
    shares: tuple[float, ...]
    fine: str
    moved: tuple[Moved, ...]
    cases: tuple[Case, ...] = ()
    left: int = 0


@dataclass(frozen=True)
class Lacking:
    """Measures of one backend that are alike: not comparable, new, or absent, for one reason."""

    backend: str
    word: str
    reason: str
    measures: tuple[str, ...]


def write_page(old: Side, new: Side, *, across: bool = False) -> str:
    """The whole file; `across`: whichever readers did the jobs."""
    against = pairing.judge_comparability(old.baseline, new.baseline, across=across)
    changes = pairing.list_changes(old.baseline, new.baseline, across=across)
    rows, lacking, same = _sort(old.baseline, new.baseline, changes)
    rows = list(_attach_cases(rows, old, new))
    return fill_template(
        "compare.html.j2",
        STYLES,
        old=old.baseline,
        new=new.baseline,
        against=against,
        versions=[(name, then, now) for name, (then, now) in against.versions.items()],
        hindered=explain_hindrance(against, old.baseline, new.baseline, across=across),
        verdict=_write_verdict(changes, rows),
        rows=rows,
        lacking=lacking,
        same=same,
        with_logs=bool(old.root and new.root),
        markup=write_markup,
    )


# --- what is on top -----------------------------------------------------------------------------------------------


def explain_hindrance(against: Against, old: Baseline, new: Baseline, *, across: bool = False) -> str:
    """One sentence on why the runs are not comparable, or only in part; empty if they are."""
    any_compared = any(each.verdict not in OPEN for each in pairing.list_changes(old, new))
    readers = [words.make_visible(side.conditions.reader, 200) for side in (old, new)]
    what = ["reader {} then, {} now".format(*readers)] if across and readers[0] != readers[1] else []
    if against.differs:
        what += [words.make_visible(each, 200) for each in against.differs]
    if against.retold:
        what.append(f"{words.format_count(len(against.retold), 'scenario')} of both tell another story now")
    then, now = ({each.id for each in side.stories} for side in (old, new))
    if alone := then ^ now:
        what.append(
            f"{words.format_count(len(alone), 'scenario')} {'is' if len(alone) == 1 else 'are'} in one run only"
        )
    if old.conditions.noise != new.conditions.noise and not any("headline noise" in each for each in what):
        levels = (", ".join(map(str, side.conditions.noise)) or "none" for side in (old, new))
        what.append("noise {} then, {} now".format(*levels))
    if not what:
        return ""
    if against.differs:
        rest = "only drills are compared" if any_compared else "nothing is compared"
        return f"Not comparable: {'; '.join(what)}; {rest}."
    return f"Comparable only in part: {'; '.join(what)}; what both measured alike is compared."


def _write_verdict(changes: Sequence[Change], rows: Sequence[Row]) -> list[tuple[Tone, str]]:
    """What happened, in a few sentences."""

    def of(verdict: str) -> list[Row]:
        return [row for row in rows if row.change.verdict == verdict]

    if all(each.verdict in OPEN for each in changes):
        return [("bad", "Nothing could be compared.")]
    sentences: list[tuple[Tone, str]] = []
    if worse := of("worse"):
        many = words.format_count(len(worse), "measure")
        sentences.append(("bad", f"{many} got worse, first of all {_tell_row(worse[0])}."))
    else:
        sentences.append(("good", "No measure was shown to be worse."))
    lost = sum(each.verdict == "vanished" for each in changes)
    if lost:
        sentences.append(
            (
                "bad",
                f"{words.format_count(lost, 'measure')} had a number and {'has' if lost == 1 else 'have'} none now.",
            )
        )
    if better := of("better"):
        # the worst row stands first, so the best stands last
        many = words.format_count(len(better), "measure")
        sentences.append(("good", f"{many} got better, most of all {_tell_row(better[-1])}."))
    open_ = of("no-difference-shown")
    if open_:
        sentences.append(
            ("open", f"{words.format_count(len(open_), 'measure')} moved by no more than chance can explain.")
        )
    same = sum(each.verdict == "no-difference-shown" for each in changes) - len(open_)
    if same:
        sentences.append(("same", f"{words.format_count(same, 'measure')} did not change."))
    return sentences


def _tell_row(row: Row) -> str:
    return f"{row.label} of {words.make_visible(row.change.backend, 60)}: {row.old} before, {row.new} now"


# --- rows ---------------------------------------------------------------------------------------------------------


def _sort(
    old: Baseline, new: Baseline, changes: Sequence[Change]
) -> tuple[list[Row], list[Lacking], dict[str, list[str]]]:
    """Rows with the worst regression first; what has no numbers on both sides, by reason; what did not change."""
    comparable, grouped, same = (
        list[Change](),
        defaultdict[tuple[str, str, str], list[str]](list),
        defaultdict[str, list[str]](list),
    )
    for each in changes:
        name = _label(each)
        if each.verdict == "no-difference-shown" and not each.difference and not (each.broken or each.mended):
            same[words.make_visible(each.backend, 60)].append(name)
        elif each.verdict in ("not-comparable", "appeared") or each.reason == ABSENT:
            word = JUDGED[each.verdict][0]
            grouped[words.make_visible(each.backend, 60), word, words.make_visible(each.reason, 300)].append(name)
        else:
            comparable.append(each)
    comparable.sort(key=_rank)
    lacking = [Lacking(*key, tuple(names)) for key, names in sorted(grouped.items())]
    return [_make_row(at, each, old, new) for at, each in enumerate(comparable, 1)], lacking, dict(sorted(same.items()))


def _rank(change: Change) -> tuple[int, float, str, str]:
    """What was shown to be worse, what has no number, what moved for the worse, for the better, what is better."""
    loss = _measure_loss(change)
    tier = {"worse": 0, "vanished": 1, "better": 4}.get(change.verdict, 2 if loss > 0 else 3)
    return tier, -loss, change.backend, change.measure


def _measure_loss(change: Change) -> float:
    """The loss of a row, as a share of cases, or of what it was; negative if it is better."""
    if change.difference is None:
        return 0.0
    unit = DEFINITIONS[change.measure].unit
    # never 0, by which nothing can be divided
    whole = 1.0 if unit in ("proportion", "difference") else max(abs(change.old or 0.0), abs(change.new or 0.0), 1e-9)
    return -sign(change.measure) * change.difference / whole


def _make_row(at: int, change: Change, old: Baseline, new: Baseline) -> Row:
    definition = DEFINITIONS[change.measure]
    proportion = definition.unit == "proportion"
    word, tone = _judge(change)
    ends = [each for each in (change.old, change.new) if each is not None] if proportion else []
    p = (
        f"p {change.p:.2g}, adjusted {change.adjusted_p:.2g}"
        if change.p is not None and change.adjusted_p is not None
        else ""
    )
    could = f"this comparison could have shown {change.detectable}" if change.detectable else ""
    over = f"over {words.format_count(change.scenarios, 'scenario')}" if change.scenarios else ""
    fixed = "" if p or change.scenarios else "the inputs of a drill are fixed, so a difference is a change and no draw"
    return Row(
        id=f"row-{at}",
        change=change,
        label=_label(change),
        means=definition.formula,
        unit="" if proportion else definition.unit,
        old=_format_amount(change.old, change.old_count, definition.unit),
        new=_format_amount(change.new, change.new_count, definition.unit),
        difference=""
        if change.difference is None
        else words.show_signed(change.difference, words.share if proportion else _choose_format(definition.unit)),
        interval=words.format_interval(change.interval) if change.interval else "",
        word=word,
        tone=tone,
        shares=tuple(min(max(each, 0.0), 1.0) for each in ends),
        fine="; ".join(filter(None, [words.make_visible(change.reason, 300), over, p, could, fixed])),
        moved=tuple(_list_moved(change, old, new)),
    )


def _label(change: Change) -> str:
    return f"{words.label(change.measure)}{f' (drill {change.drill})' if change.drill else ''}"


def _judge(change: Change) -> tuple[str, Tone]:
    if change.verdict in JUDGED:
        return JUDGED[change.verdict]
    loss = _measure_loss(change)
    if not loss:
        return "moved, and evens out", "open"
    way = "\u2198 down" if loss > 0 else "\u2197 up"
    return f"{way}, {'varies by run' if change.drill else 'could be chance'}", "open"


def _choose_format(unit: str) -> Callable[[float], str]:
    return words.format_seconds if unit == "seconds" else words.format_number


def _format_amount(number: float | None, count: tuple[float, int] | None, unit: str) -> str:
    if count is not None:
        return words.count(*count)
    if number is None:
        return "\u2013"
    return words.share(number) if unit == "proportion" else _choose_format(unit)(number)


def _list_moved(change: Change, old: Baseline, new: Baseline) -> Iterator[Moved]:
    """The scenarios that changed, the worst first."""
    ranked = []
    for scenario, then, now in _list_points(change, old, new):
        a, b = value(then), value(now)
        if a is not None and b is not None and a != b:
            ranked.append((sign(change.measure) * (b - a), scenario, then, now))
        elif a is not None and b is None and change.verdict == "vanished":
            # a number that is gone is worse than any loss
            ranked.append((float("-inf"), scenario, then, now))
    unit = DEFINITIONS[change.measure].unit
    for gain, scenario, then, now in sorted(ranked, key=lambda each: each[:2])[:SCENARIOS]:
        yield Moved(scenario, _point(then, unit), _point(now, unit), "bad" if gain < 0 else "good")


def _list_points(change: Change, old: Baseline, new: Baseline) -> Iterator[tuple[str, StoredValue, StoredValue]]:
    if change.drill:
        return
    sides = []
    for side in (old, new):
        row = next((r for r in side.rows if (r.backend, r.measure) == (change.backend, change.measure)), None)
        sides.append(dict(zip((story.id for story in side.stories), row.points, strict=True)) if row else {})
    digests = [{story.id: story.digest for story in side.stories} for side in (old, new)]
    for scenario in sorted(sides[0].keys() | sides[1].keys()):
        pair = [each.get(scenario, "") for each in digests]
        # a run that did not play a story has no digest of it to differ by
        if "" in pair or pair[0] == pair[1]:
            yield scenario, sides[0].get(scenario), sides[1].get(scenario)


def _point(point: StoredValue, unit: str) -> str:
    if isinstance(point, tuple):
        return words.count(*point)
    if isinstance(point, float | int):
        return words.share(point) if unit == "proportion" else _choose_format(unit)(point)
    return words.NOT_MEASURED.get(str(point), "not run")


# --- receipts -----------------------------------------------------------------------------------------------------


def _attach_cases(rows: Sequence[Row], old: Side, new: Side) -> Iterator[Row]:
    """Changes with their cases, in the order of the rows, so that the worst has its cases; an equal case of another row
    is shown again.
    """
    archives, room = (Archive(old), Archive(new)), ROOM
    for row in rows:
        shown, left_out = list[Case](), 0
        for each in _list_cases(row, *archives) if old.root and new.root else ():
            size = len(write_markup(each.then)) + len(write_markup(each.now))
            if len(shown) < cases.OF_EACH and size <= room:
                shown.append(each)
                room -= size
            else:
                left_out += 1
            # a case has to be drawn before it can be counted, so counting ends early, too
            if left_out > MOST_COUNTED or room <= 0:
                break
        yield replace(row, cases=tuple(shown), left=left_out)


MOST_COUNTED = 20
"""Cases beyond those shown are counted up to here."""


def _list_cases(row: Row, old: Archive, new: Archive) -> Iterator[Case]:
    change = row.change
    if change.drill:
        for cell in dict.fromkeys((*change.broken, *change.mended)):
            yield from cases.compare_drill(old, new, cell, change.measure)
        return
    for each in row.moved:
        yield from cases.compare_story(old, new, change.backend, change.measure, each.scenario)
