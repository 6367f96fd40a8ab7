"""The answer in sentences, each backend with its own number, and no sentence that a reader could take for false.

A difference that was shown names the better side first. What was not shown is no sameness: it could be chance. Where a
test could not have shown anything, or where there is nothing to test, as a deleted text is there or not, it is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from harness import metrics
from harness.compare.rows import COLD, LOOKED_UP
from harness.metrics.deletion import DELETED_FROM_BYTES
from harness.metrics.tokens import TOKENS_PER_JOB, TOKENS_TOTAL
from harness.model.results import Comparison, Results
from harness.model.trial import Better, WritePolicy
from harness.report import tables, words

Formatter = Callable[[float], str]
MARGIN = 0.05
"""Differences of a proportion that are smaller than this matter to nobody: fixed here, before any run."""
MORE: Mapping[Better, str] = {"higher": "more", "lower": "fewer", "neither": "more"}
"""What the side has that the verdict calls better."""
BROUGHT = {
    name: metrics.words_of(name).brought_by
    for name in metrics.list_placed(lambda words: words.place if words.brought_by else None)
}
"""What still brings a deleted secret where a measure is below a perfect score."""
ANSWERING = tuple(name for name in metrics.FIRST if metrics.words_of(name).answers)
"""The measures that are compared or counted to answer the question of their topic."""
CURATED = "Written with a look-up first (curated)"


@dataclass(frozen=True)
class Sentence:
    """One sentence of the report.

    Attributes:
        fine: The statistics that go on with it.
        shown: It tells more than chance, or plain counts.
    """

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
    found = [
        Answer(topic.id, topic.label or topic.title, tuple(_answer(results, measure, could)))
        for measure in ANSWERING
        for topic in [metrics.words_of(measure).topic]
        if measure in results.definitions
    ]
    return [answer for answer in found if answer.sentences]


def lines(results: Results) -> list[str]:
    """The same for where there are no columns: one line a question."""
    return [f"{each.label}: {' '.join(map(str, each.sentences))}" for each in answers(results)]


def sentence(comparison: Comparison, results: Results) -> str:
    """One pair in words. Swapping the sides says the same; swapping the names swaps them in it."""
    if comparison.verdict == "no-difference-shown":
        return str(_open(results, [[comparison]]))
    return str(_describe_shown(results, [comparison]))


def _answer(results: Results, measure: str, could: set[str]) -> Iterator[Sentence]:
    mine = {name for name in results.backends if tables.group(results, name) in ("ranked", "cold")}
    yield from _plainly(results, measure)
    compared = [
        each for each in results.list_comparisons() if each.measure == measure and {each.left, each.right} <= mine
    ]
    told = list(_compare(results, compared, could))
    yield from (said for said in told if said.shown)
    if measure != DELETED_FROM_BYTES:  # told above
        named = {name for each in compared if each.able for name in (each.left, each.right)}
        yield from _alone(results, measure, mine - named)
    if measure in LOOKED_UP and results.run.conditions.headline_write != "curated":
        family = results.list_comparisons("curated")
        compared = [each for each in family if each.measure == measure and {each.left, each.right} <= mine]
        curated = list(_compare(results, compared, could))
        for at, said in enumerate(curated):
            told.append(replace(said, text=f"{'Curated' if at else CURATED}: {_inside(said.text)}"))
            if said.shown:
                yield told.pop()
        if not curated:
            yield from _describe_curated(results, measure)
    yield from _merge_open([said for said in told if not said.shown])


def _merge_open(told: Sequence[Sentence]) -> Iterator[Sentence]:
    """All that could be chance in one sentence, the statistics of each part in the same order."""
    if told:
        first, *others = told
        text = "; ".join([first.text, *(each.text[0].lower() + each.text[1:] for each in others)])
        yield Sentence(text, "; ".join(filter(None, (each.fine for each in told))), shown=False)


def _compare(results: Results, compared: Sequence[Comparison], could: set[str]) -> Iterator[Sentence]:
    """What differs by more than chance, one sentence for all pairs of which it holds; then the others in one."""
    able = [each for each in compared if each.able]
    shown = [each for each in able if each.verdict != "no-difference-shown"]
    for group in min((_merge(shown, 0), _merge(shown, 1)), key=len):
        yield _describe_shown(results, group)
    if groups := list(_cliques([each for each in able if each.verdict == "no-difference-shown"])):
        yield _open(results, groups, could)


def _inside(text: str) -> str:
    """As it stands behind a colon: what begins with a word of ours, small."""
    return text[0].lower() + text[1:] if text.startswith(("What ", "No memory ")) else text


def _alone(results: Results, measure: str, names: set[str]) -> Iterator[Sentence]:
    """Plain counts where there is no pair to compare; of trust with what is worse than them, by its name."""
    told = []
    for name in sorted(names, key=_cold_last):
        own = results.backends[name].measures
        pooled = own.get(measure)
        if pooled is None or pooled.value is None:
            continue
        found = tables.show_family(results.definitions, own, measure)
        worse = (
            f" (but {words.label(found.measure)} {words.value(found.pooled)})"
            if found and found.measure != measure
            else ""
        )
        told.append(f"{tables.name_row(results, name)} {words.value(pooled)}{worse}")
    if told:
        said = words.measure_name(measure)
        yield Sentence(f"{said[0].upper()}{said[1:]}: {words.join_words(told)}")


def _plainly(results: Results, measure: str) -> Iterator[Sentence]:
    """What happened in counts that no comparison tells: what a job done has cost, whose secrets are still there."""
    ranked = [name for name in tables.names(results) if tables.group(results, name) == "ranked"]
    if measure == TOKENS_TOTAL:
        yield from _paid(results, (*ranked, COLD), None, "Tokens for each job done, failures paid too")
        yield from _paid(results, ranked, "curated", CURATED)
    if measure == DELETED_FROM_BYTES:
        held = [(name, results.backends[name].measures[measure]) for name in ranked]
        kept = [
            f"{tables.name_row(results, name)} {words.count(pooled.of - pooled.hits, pooled.of)}"
            for name, pooled in held
            if pooled.hits is not None and pooled.of
        ]
        if kept:
            yield Sentence(f"Deleted secrets that are still in the stored bytes: {words.join_words(kept)}")
        if brought := [told for name in ranked if (told := _brought(results, name))]:
            yield Sentence(f"Deleted secrets that are still brought: {words.join_words(brought)}")


def _brought(results: Results, name: str) -> str:
    """How many deleted secrets a route still brings, and which brings the most; empty if none does."""
    own = {each: results.backends[name].measures.get(each) for each in BROUGHT}
    left = {
        each: (pooled.of - pooled.hits, pooled.of)
        for each, pooled in own.items()
        if pooled and pooled.hits is not None and pooled.of and pooled.hits < pooled.of
    }
    if not left:
        return ""
    worst = max(left, key=lambda each: left[each][0] / left[each][1])
    return f"{tables.name_row(results, name)} {words.count(*left[worst])} by {BROUGHT[worst]}"


def _paid(results: Results, names: Sequence[str], write: WritePolicy | None, says: str) -> Iterator[Sentence]:
    told = []
    for name in names:
        row = results.backends.get(name)
        own = tables.contrast(results, name, write) if write else row.measures if row else None
        pooled = own.get(TOKENS_PER_JOB) if own else None
        if pooled is not None:
            jobs = words.plural(pooled.of or 0, "job") if pooled.value is not None else "no job"
            told.append(f"{tables.name_row(results, name)} {words.value(pooled)} ({jobs})")
    if told:
        yield Sentence(f"{says}: {words.join_words(told)}")


def _describe_curated(results: Results, measure: str) -> Iterator[Sentence]:
    """What changes if the same is written with a look-up first, where there is no pair to compare."""
    told = []
    for name in tables.names(results):
        own = tables.contrast(results, name, "curated")
        pooled = own.get(measure) if own and tables.group(results, name) == "ranked" else None
        if pooled and pooled.value is not None:
            told.append(f"{tables.name_row(results, name)} {words.value(pooled)}")
    if told:
        yield Sentence(f"{CURATED}: {words.measure_name(measure)} {words.join_words(told)}")


# --- pairs that say the same --------------------------------------------------------------------------------------


def _merge(shown: Sequence[Comparison], by: int) -> list[list[Comparison]]:
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


def _describe_shown(results: Results, group: Sequence[Comparison]) -> Sentence:
    """Pairs of which one side is better by more than chance."""
    measure = group[0].measure
    definition = results.definitions[measure]
    show = words.share if definition.unit == "proportion" else words.number
    firsts, seconds = ({_sides(each)[side] for each in group} for side in (0, 1))
    did = (metrics.words_of(measure).did or f"has {{}} {words.measure_name(measure)}").format(MORE[definition.better])
    small = f", by less than {words.share(MARGIN)}" if _near(results, group) else ""
    p = f"{'at most ' if len(group) > 1 else ''}{max(each.adjusted_p for each in group):.2g}"
    text = f"{_name(results, group, firsts)} {did} than {_name(results, group, seconds)}{small}"
    text = f"N{text[1:]}" if text.startswith("no memory") else text
    return Sentence(text, f"{_difference(group, show)}adjusted p {p}")


def _open(results: Results, groups: Sequence[Sequence[Comparison]], told: set[str] | None = None) -> Sentence:
    """Pairs of which neither side is better by more than chance, those together of which every pair is so.

    Args:
        told: What was said that this run could have shown.
    """
    pairs = [each for group in groups for each in group]
    measure = pairs[0].measure
    show = words.share if results.definitions[measure].unit == "proportion" else words.number
    alike, near, far = list[str](), list[str](), list[str]()
    for group in groups:
        names = {name for each in group for name in (each.left, each.right)}
        same = all(each.left_value == each.right_value for each in group)
        (alike if same else near if _near(results, group) else far).append(_name(results, group, names))
    thing = words.measure_name(measure)
    parts = [f"{each} have equally many {thing}" for each in alike]
    parts += [f"{each} are within {words.share(MARGIN)} of each other in {thing}" for each in near]
    if far:
        parts.append(f"what differs in {thing} between {', and between '.join(far)} could be chance")
    text = "; ".join(parts)
    new = [each for each in dict.fromkeys(each.detectable for each in pairs) if each not in (told or ())]
    if told is not None:
        told.update(new)
    could = f"this run could have shown {words.join_words(new)}" if new and far else ""
    fine = "; ".join(filter(None, [_compatible(pairs, show) if far else "", could]))
    return Sentence(
        f"{text[0].upper()}{text[1:]}" if text.startswith(("what", "no memory")) else text, fine, shown=False
    )


def _near(results: Results, group: Sequence[Comparison]) -> bool:
    """Whether all intervals of the differences lie within MARGIN; never of what is no proportion."""
    ends = [abs(end) for each in group if each.interval for end in (each.interval.low, each.interval.high)]
    known = all(each.interval for each in group) and results.definitions[group[0].measure].unit == "proportion"
    return known and max(ends) < MARGIN


def _name(results: Results, group: Sequence[Comparison], names: set[str]) -> str:
    """Each with its own number, no memory last."""
    ordered = sorted(names, key=_cold_last)
    return words.join_words([f"{tables.name_row(results, name)} ({_side(results, group, name)})" for name in ordered])


def _cold_last(name: str) -> tuple[bool, str]:
    return name == COLD, name


def _side(results: Results, group: Sequence[Comparison], name: str) -> str:
    """The counts of a side where they cover the compared scenarios, else its mean."""
    own = next(each for each in group if name in (each.left, each.right))
    primary = own.write_policy == results.run.conditions.headline_write or name == COLD
    elsewhere = None if primary else tables.contrast(results, name, own.write_policy)
    pooled = (elsewhere or results.backends[name].measures)[own.measure]
    if pooled.hits is not None and pooled.of and pooled.scenarios == own.scenarios:
        return words.count(pooled.hits, pooled.of)
    return words.number(own.left_value if own.left == name else own.right_value)


def _orient(comparison: Comparison) -> tuple[float, float, float]:
    """First minus second, and its interval; the first is the better one."""
    assert comparison.interval is not None
    mean, low, high = (
        comparison.right_value - comparison.left_value, comparison.interval.low, comparison.interval.high
    )  # fmt: skip
    return (mean, low, high) if _sides(comparison)[0] == comparison.right else (-mean, -high, -low)


def _difference(group: Sequence[Comparison], show: Formatter) -> str:
    known = [_orient(each) for each in group if each.interval]
    if len(known) < len(group):
        return ""
    low, high = min(low for _, low, _ in known), max(high for _, _, high in known)
    means = sorted(mean for mean, _, _ in known)
    if len(known) == 1:
        ends = f"{words.show_signed(low, show)} to {words.show_signed(high, show)}"
        return f"difference {words.show_signed(means[0], show)} ({ends}), "
    span = f"{words.show_signed(means[0], show)} to {words.show_signed(means[-1], show)}"
    return f"differences {span} (intervals within {words.show_signed(low, show)} to {words.show_signed(high, show)}), "


def _compatible(group: Sequence[Comparison], show: Formatter) -> str:
    known = [each.interval for each in group if each.interval]
    if len(known) < len(group):
        return ""
    widest = max(abs(end) for each in known for end in (each.low, each.high))
    return f"compatible with differences of up to {show(widest)} either way"
