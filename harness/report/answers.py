"""The answer in sentences, all from one table: verdict x margin, in the direction in which the measure is better.

Counts come first and have one base; the better side is named first; what was not shown names both sides alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from harness.compare import COLD, LOOKED_UP
from harness.model import Better, WritePolicy
from harness.report import findings, tables, words
from harness.results import Comparison, Pooled, Results

Outcome = Literal["shown", "open"]
Margin = Literal["none", "inside", "beyond"]
Shown = Callable[[float], str]
MARGIN = 0.05
"""Differences of a proportion that are smaller than this matter to nobody: fixed here, before any run."""
SAYS: Mapping[tuple[Outcome, Margin], tuple[str, str]] = {
    ("shown", "none"): ("{first} {did} than {second}: {sides}", "{difference}adjusted p {p}"),
    ("shown", "beyond"): ("{first} {did} than {second}: {sides}", "{difference}adjusted p {p}"),
    ("shown", "inside"): ("{first} {did} than {second}, by less than {margin}: {sides}", "{difference}adjusted p {p}"),
    ("open", "none"): ("No difference shown between {names}: {sides}", "{compatible}"),
    ("open", "beyond"): ("No difference shown between {names}: {sides}", "{compatible}"),
    ("open", "inside"): ("Within {margin} of each other: {names}, {sides}", ""),
}
"""inside: all of the intervals of the differences lie within MARGIN; none: no interval, or no proportion."""
MORE: Mapping[Better, str] = {"higher": "more", "lower": "fewer", "neither": "more"}
"""What the side has that the verdict calls better."""
DID: Mapping[str, str] = {
    "decisions_right": "took {} right decisions",
    "stale_use": "acted on stale rules in {} decisions",
    "stale_exposure": "showed stale rules in {} updates",
    "recall": "brought back {} answers",
    "jobs_done": "got {} jobs done",
    "tokens_total": "took {} tokens a story",
    "source_verified": "proved {} sources",
    "deleted_from_bytes": "got {} deleted secrets out of the stored bytes",
}
"""What a side did; a measure without a line of its own `has more` of it."""
ASKED: tuple[tuple[str, str, str], ...] = (
    ("work", "Help", "decisions_right"),
    ("stale", "Stale", "stale_use"),
    ("recalled", "Recall", "recall"),
    ("cost", "Cost", "tokens_total"),
    ("proven", "Provenance", "source_verified"),
    ("deleted", "Deletion", "deleted_from_bytes"),
)
"""Topic of the page, label, and the measure that is compared."""
CURATED = "Written with a look-up first (curated)"


@dataclass(frozen=True)
class Sentence:
    """fine: the statistics that go on with it. shown: it tells more than chance, or plain counts."""

    text: str
    fine: str = ""
    shown: bool = True

    def __str__(self) -> str:
        return f"{self.text}; {self.fine}." if self.fine else f"{self.text}."


@dataclass(frozen=True)
class Answer:
    """What is said of one question; `topic` is the part of the page that goes on with it."""

    topic: str
    label: str
    sentences: tuple[Sentence, ...]


def answers(results: Results) -> list[Answer]:
    """One answer a question that has anything to say, in the order of the questions."""
    could: set[str] = set()
    found = [Answer(topic, label, tuple(_answer(results, measure, could))) for topic, label, measure in ASKED]
    return [answer for answer in found if answer.sentences]


def lines(results: Results) -> list[str]:
    """The same for where there are no columns: one line a question."""
    return [f"{each.label}: {' '.join(map(str, each.sentences))}" for each in answers(results)]


def sentence(comparison: Comparison, results: Results) -> str:
    """One pair in words. Swapping the sides says the same; swapping the names swaps them in it."""
    return str(_say(results, [comparison]))


def _answer(results: Results, measure: str, could: set[str]) -> Iterator[Sentence]:
    mine = {name for name in results.backends if tables.group(results, name) in ("ranked", "cold")}
    yield from _plainly(results, measure)
    if clauses := _clauses(results.compared(), measure, mine):
        for clause in clauses:
            yield _say(results, clause, told=could)
    else:
        yield from _alone(results, measure, sorted(mine))
    if measure in LOOKED_UP and results.run.conditions.headline_write != "curated":
        if clauses := _clauses(results.compared("curated"), measure, mine):
            for clause in clauses:
                yield _say(results, clause, told=could, lead=CURATED if clause is clauses[0] else "Curated")
        else:
            yield from _curated(results, measure)


def _alone(results: Results, measure: str, names: Sequence[str]) -> Iterator[Sentence]:
    """Plain counts where there is no pair to compare."""
    held = [(name, results.backends[name].measures[measure]) for name in names if name != COLD]
    told = [
        f"{tables.naming(results, name)} {words.value(pooled)}" for name, pooled in held if pooled.value is not None
    ]
    if told:
        yield Sentence(f"{words.measure_name(measure).capitalize()}: {words.listed(told)}")


def _plainly(results: Results, measure: str) -> Iterator[Sentence]:
    """What happened in counts that no comparison tells: what a job done has cost, whose secrets are still there."""
    ranked = [name for name in tables.names(results) if tables.group(results, name) == "ranked"]
    if measure == "tokens_total":
        yield from _paid(results, (*ranked, COLD), None, "Tokens for each job done, failures paid too")
        yield from _paid(results, ranked, "curated", CURATED)
    if measure == "deleted_from_bytes":
        kept = [
            f"{tables.naming(results, name)} {words.count(pooled.of - pooled.hits, pooled.of)}"
            for name in ranked
            if (pooled := results.backends[name].measures[measure]).hits is not None
            and pooled.of
            and pooled.hits < pooled.of
        ]
        if kept:
            yield Sentence(f"Deleted secrets that are still in the stored bytes: {words.listed(kept)}")


def _paid(results: Results, names: Sequence[str], write: WritePolicy | None, says: str) -> Iterator[Sentence]:
    told = []
    for name in names:
        row = results.backends.get(name)
        own = tables.contrast(results, name, write) if write else row.measures if row else None
        pooled = own.get(findings.PER_JOB) if own else None
        if pooled is not None:
            jobs = words.plural(pooled.of or 0, "job") if pooled.value is not None else "no job"
            told.append(f"{tables.naming(results, name)} {words.value(pooled)} ({jobs})")
    if told:
        yield Sentence(f"{says}: {words.listed(told)}")


def _curated(results: Results, measure: str) -> Iterator[Sentence]:
    """What changes if the same is written with a look-up first, where there is no pair to compare."""
    told = []
    for name in tables.names(results):
        own = tables.contrast(results, name, "curated")
        pooled = own.get(measure) if own and tables.group(results, name) == "ranked" else None
        if pooled and pooled.value is not None:
            told.append((tables.naming(results, name), pooled))
    if told:
        amounts = _amounts([(pooled.value or 0.0, pooled) for _, pooled in told])
        listed = words.listed([f"{name} {text}" for (name, _), text in zip(told, amounts.each, strict=True)])
        yield Sentence(f"{CURATED}: {listed}{amounts.base}")


# --- pairs that say the same --------------------------------------------------------------------------------------


def _clauses(compared: Iterable[Comparison], measure: str, names: set[str]) -> list[list[Comparison]]:
    """The pairs of a measure and of these rows, grouped so that one sentence holds for all of a group."""
    family = [each for each in compared if each.measure == measure and {each.left, each.right} <= names]
    shown = [each for each in family if each.verdict != "no-difference-shown"]
    alike = _cliques([each for each in family if each.verdict == "no-difference-shown"])
    return [*min((_merged(shown, 0), _merged(shown, 1)), key=len), *alike]


def _merged(shown: Sequence[Comparison], by: int) -> list[list[Comparison]]:
    """Pairs of equal winners (0) or losers (1) together, then those whose other side is the same, too."""
    groups: dict[str, list[Comparison]] = {}
    for each in shown:
        groups.setdefault(_sides(each)[by], []).append(each)
    merged: dict[tuple[str, ...], list[Comparison]] = {}
    for _, group in sorted(groups.items()):
        merged.setdefault(tuple(sorted(_sides(each)[1 - by] for each in group)), []).extend(group)
    return list(merged.values())


def _sides(comparison: Comparison) -> tuple[str, str]:
    """The better side first; by name if none is."""
    left, right = comparison.left, comparison.right
    if comparison.verdict == "no-difference-shown":
        return min(left, right), max(left, right)
    return (left, right) if comparison.verdict == "left-better" else (right, left)


def _cliques(pairs: Sequence[Comparison]) -> Iterator[list[Comparison]]:
    """Rows of which every pair is open, the most at a time; each pair is told once."""
    left = {frozenset((c.left, c.right)): c for c in pairs}
    while left:
        group: list[str] = []
        degree = {name: sum(name in pair for pair in left) for pair in left for name in pair}
        for name in sorted(degree, key=lambda name: (-degree[name], name)):
            if all(frozenset((name, other)) in left for other in group):
                group.append(name)
        yield [left.pop(pair) for pair in map(frozenset, combinations(sorted(group), 2))]


# --- one sentence -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Amounts:
    """each: a text a side; base: ` of 30` if all of them are counts of the same cases, else nothing."""

    each: tuple[str, ...]
    base: str
    range: str


def _say(results: Results, group: Sequence[Comparison], told: set[str] | None = None, lead: str = "") -> Sentence:
    """A group of pairs with one verdict as a sentence of SAYS. told: what was said that this run could have shown.

    lead: how the sentence begins.
    """
    measure = group[0].measure
    definition = results.definitions[measure]
    outcome: Outcome = "open" if group[0].verdict == "no-difference-shown" else "shown"
    firsts, seconds = ({_sides(each)[side] for each in group} for side in (0, 1))
    show = words.share if definition.unit == "proportion" else words.number
    p = max(each.adjusted_p for each in group)
    new = [each for each in dict.fromkeys(each.detectable for each in group) if each not in (told or ())]
    if told is not None and outcome == "open":
        told.update(new)
    could = f"this run could have shown {words.listed(new)}" if new else ""
    parts = {
        "first": _named(results, firsts),
        "second": _named(results, seconds),
        "names": _named(results, firsts | seconds),
        "did": DID.get(measure, f"has {{}} {words.measure_name(measure)}").format(MORE[definition.better]),
        "p": f"{'at most ' if len(group) > 1 else ''}{p:.2g}",
        "margin": words.share(MARGIN),
        "sides": _shown_sides(results, group, firsts, seconds, outcome),
        "difference": _difference(group, show) if outcome == "shown" else "",
        "compatible": "; ".join(filter(None, [_compatible(group, show), could])),
    }
    margin = _margin(group) if definition.unit == "proportion" else "none"
    text, fine = (part.format(**parts) for part in SAYS[outcome, margin])
    if lead:
        text = f"{lead}: {text[0].lower() + text[1:] if outcome == 'open' else text}"
    elif text.startswith("no memory"):
        text = f"N{text[1:]}"
    return Sentence(text, fine, outcome == "shown")


def _named(results: Results, names: set[str]) -> str:
    return words.listed([tables.naming(results, name) for name in sorted(names, key=lambda name: (name == COLD, name))])


def _margin(group: Sequence[Comparison]) -> Margin:
    ends = [end for each in group if each.interval for end in (each.interval.low, each.interval.high)]
    if not ends or any(each.interval is None for each in group):
        return "none"
    return "inside" if all(abs(end) < MARGIN for end in ends) else "beyond"


def _shown_sides(
    results: Results, group: Sequence[Comparison], firsts: set[str], seconds: set[str], outcome: Outcome
) -> str:
    held = {name: _side(results, group, name) for name in sorted(firsts | seconds)}
    if outcome == "open":
        every = _amounts(held.values())
        return every.range + every.base
    ours, theirs = _amounts(held[name] for name in sorted(firsts)), _amounts(held[name] for name in sorted(seconds))
    if ours.base == theirs.base:
        return f"{ours.range} against {theirs.range}{ours.base}"
    return f"{ours.range}{ours.base} against {theirs.range}{theirs.base}"


def _side(results: Results, group: Sequence[Comparison], name: str) -> tuple[float, Pooled | None]:
    """The mean of a side, with its counts where they cover the compared scenarios."""
    own = next(each for each in group if name in (each.left, each.right))
    primary = own.write_policy == results.run.conditions.headline_write or name == COLD
    elsewhere = None if primary else tables.contrast(results, name, own.write_policy)
    pooled = (elsewhere or results.backends[name].measures)[own.measure]
    counted = pooled.hits is not None and pooled.of and pooled.scenarios == own.scenarios
    return own.left_value if own.left == name else own.right_value, pooled if counted else None


def _amounts(sides: Iterable[tuple[float, Pooled | None]]) -> _Amounts:
    known = list(sides)
    counts = [(p.hits, p.of) for _, p in known if p is not None and p.hits is not None and p.of]
    if len(counts) < len(known):
        return _amounted([(mean, words.number(mean)) for mean, _ in known], "")
    if len({of for _, of in counts}) == 1:
        return _amounted([(hits, words.number(hits)) for hits, _ in counts], f" of {counts[0][1]:,}")
    return _amounted([(hits / of, words.count(hits, of)) for hits, of in counts], "")


def _amounted(each: Sequence[tuple[float, str]], base: str) -> _Amounts:
    (_, low), (_, high) = min(each), max(each)
    return _Amounts(tuple(text for _, text in each), base, low if low == high else f"{low} to {high}")


def _oriented(comparison: Comparison) -> tuple[float, float, float]:
    """First minus second, and its interval; the first is the better one."""
    assert comparison.interval is not None
    mean, low, high = (
        comparison.right_value - comparison.left_value, comparison.interval.low, comparison.interval.high
    )  # fmt: skip
    return (mean, low, high) if _sides(comparison)[0] == comparison.right else (-mean, -high, -low)


def _difference(group: Sequence[Comparison], show: Shown) -> str:
    known = [_oriented(each) for each in group if each.interval]
    if len(known) < len(group):
        return ""
    low, high = min(low for _, low, _ in known), max(high for _, _, high in known)
    means = sorted(mean for mean, _, _ in known)
    if len(known) == 1:
        return f"difference {words.signed(means[0], show)} ({words.signed(low, show)} to {words.signed(high, show)}), "
    span = f"{words.signed(means[0], show)} to {words.signed(means[-1], show)}"
    return f"differences {span} (intervals within {words.signed(low, show)} to {words.signed(high, show)}), "


def _compatible(group: Sequence[Comparison], show: Shown) -> str:
    known = [each.interval for each in group if each.interval]
    if len(known) < len(group):
        return ""
    widest = max(abs(end) for each in known for end in (each.low, each.high))
    return f"compatible with differences of up to {show(widest)} either way"
