"""What went wrong in one trial, by the receipts of its cells: the head of its timeline, and the words of its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from harness import metrics
from harness.log.events import Forgot, Recalled, Scanned, Sought
from harness.log.receipts import Receipt, read
from harness.metrics.acting import STALE_USE
from harness.metrics.view import Record
from harness.model.cells import Cell
from harness.model.trial import Measured, NotMeasured, ReadPolicy
from harness.report import words
from harness.report.timeline.entries import check_source, describe, draw_note, make_proof, place, quote, show
from harness.report.timeline.packed import Node, make_node

BAD: Mapping[str, str] = {
    name: case.called
    for name in metrics.list_placed(lambda words: words.case.place if words.case else None)
    if (case := metrics.words_of(name).case)
}
"""Measures of which every receipt is a bad case, and what such a case is called."""
MOST = 12
"""Cases that one timeline lists; the rest is counted."""


def explain_broken(cells: Sequence[Cell]) -> str:
    """Why a trial did not get to its end; empty if it did."""
    cell = cells[0]
    return f"{cell.status}: {show(cell.reason, 200)}" if cell.status in ("failed", "incomplete") else ""


def group_cases(cells: Sequence[Cell]) -> dict[tuple[str, str], list[Cell]]:
    """Measure and receipt of each bad case, with the cells that cite it; the receipt of a failure shows no case."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for measure in BAD:
        for cell in cells:
            judged = cell.measures.get(measure)
            for ref in judged.receipts if isinstance(judged, Measured) else ():
                found.setdefault((measure, ref), []).append(cell)
    return found


def describe_briefly(cells: Sequence[Cell]) -> str:
    """In a few words, with counts; empty if nothing went wrong."""
    counts: dict[str, int] = {}
    for measure, _ in group_cases(cells):
        counts[measure] = counts.get(measure, 0) + 1
    named = [f"{BAD[measure]} ({n})" if n > 1 else BAD[measure] for measure, n in counts.items()]
    return "; ".join(filter(None, [explain_broken(cells), *named]))


def describe_cases(record: Record, cells: Sequence[Cell]) -> Iterator[Node]:
    """Each case in one line, a measure's deleted secrets in one; and what was not measured."""
    lines: dict[object, tuple[str, list[Node | str | None], list[str]]] = {}
    for measure, (line, what, note) in _merge(record, cells):
        many = isinstance(record.log.events[line - 1], Sought | Forgot)
        known = lines.setdefault(measure if many else (measure, line, note), (measure, [], []))
        known[1].extend([", ", *what] if known[1] else what)
        known[2].append(f"{note} \u00b7 L{line}" if note else f"L{line}")
    listed = [
        make_node(
            "li", "", make_node("b", "", f"\u2715 {BAD[measure]}: "), *what, draw_note(", ".join(dict.fromkeys(notes)))
        )
        for measure, what, notes in list(lines.values())[:MOST]
    ]
    if why := explain_broken(cells):
        listed.insert(0, make_node("li", "", make_node("b", "", f"\u2715 {why}")))
    if len(lines) > MOST:
        listed.append(make_node("li", "quiet", f"\u2026 and {len(lines) - MOST} more"))
    if listed:
        yield make_node("ul", "wrong", *listed)
    asked = [each for each in BAD if metrics.words_of(each).answers and each in cells[0].measures]
    missing = [f"{words.measure_name(each)} {word}" for each in asked if (word := _word(cells[0], each))]
    if missing:
        yield make_node("p", "quiet", f"Not measured here: {'; '.join(missing)}.")


def _word(cell: Cell, measure: str) -> str:
    found = cell.measures[measure]
    if isinstance(found, NotMeasured):
        return f"{words.NOT_MEASURED[found.status]} ({show(found.reason, 160)})"
    return ""


_Case = tuple[int, list[Node | str | None], str]
"""The line of the log, what it was, and where."""


def _merge(record: Record, cells: Sequence[Cell]) -> Iterator[tuple[str, _Case]]:
    """Bad cases; a decision stands once, by whichever entry of the same question each reader took it."""
    known: dict[tuple[str, str], list[Cell]] = {}
    for (measure, ref), cited in group_cases(cells).items():
        known.setdefault((measure, ref.partition(":")[0] if measure == STALE_USE else ref), []).extend(cited)
    told = [(measure, _draw_case(record, measure, ref, cited)) for (measure, ref), cited in known.items()]
    yield from sorted(told, key=lambda each: (list(BAD).index(each[0]), each[1][0]))


def _draw_case(record: Record, measure: str, ref: str, cited: Sequence[Cell]) -> _Case:
    found = read(ref) or Receipt(1)
    line, entry = min(found.line, len(record.log.events)), found.entry
    event = record.log.events[line - 1]
    if isinstance(event, Recalled) and measure == STALE_USE:
        readers = [policy for policy in record.log.opened.reads if policy in {cell.read_policy for cell in cited}]
        where = f"{event.at:%Y-%m-%d}, session {event.session}, reading {words.join_words(readers)}"
        return line, _draw_decision(record, event, readers), where
    if isinstance(event, Recalled) and entry is not None and entry < len(record.entries(line, event)):
        back = record.entries(line, event)[entry]
        git = check_source(record, event.session, back.hit.source)
        seen = make_proof(record, back.hit.source)
        shown_by = make_node("code", "", seen.command) if seen else None
        return (
            line,
            [quote(back.text), shown_by],
            f"cites {place(back.hit.source)}; {describe(git) or 'git was not asked'}",
        )
    if isinstance(event, Scanned):
        facts = {sighting.fact for sighting in event.sightings} & {each.fact for _, each in record.of(Forgot)}
        return line, [found.memory or words.join_words(sorted(facts))], f"layer {show(event.layer.name, 80)}"
    return line, [event.fact if isinstance(event, Sought | Forgot) else event.__class__.__name__.lower()], ""


def _draw_decision(record: Record, event: Recalled, readers: Sequence[ReadPolicy]) -> list[Node | str | None]:
    """The question, the values that were taken, the right one."""
    job, _, name = event.ref.partition("/")
    works = [work for policy in readers for _, work in record.works(policy) if work.job == job]
    values = [each.value or "" for work in works for each in work.choices if each.decision == name]
    known = next(each for _, each in record.scenario.jobs() if each.id == job)
    decision = next(each for each in known.decisions if each.id == name)
    taken = show(words.join_words(list(dict.fromkeys(values))), 160)
    right = f" {taken}, where {show(decision.right.value, 160)} is right"
    return [make_node("bdi", "", show(decision.question, 200)), make_node("bdi", "", right)]
