"""A deletion on a timeline: who was asked to forget what, and where each secret was seen before it and after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest

from harness.log.events import Forgot, Route, Scanned, Sought, Stage
from harness.metrics.view import Record
from harness.model.canary import memory_word
from harness.report import words
from harness.report.timeline.entries import draw_note, format_fact, quote, show
from harness.report.timeline.packed import Node, make_node
from harness.report.timeline.repeat import repeat

STAGES: tuple[Stage, ...] = ("before", "after", "reopened")
HEADS = ("where", "before", "after", "closed, opened again")
SEEN = 12
"""Sightings told with the command that shows them; the rest is counted."""
STORE = "work/{trial}/store"
"""In the folder of a run that kept it."""
_ROUTES: dict[Route, str] = {
    "search": "search by the story\u2019s question",
    "forbidden": "search for the secret itself",
    "entries": "listing",
    "get": "by its id",
    "history": "audit history",
}


def describe(record: Record) -> Iterator[Node]:
    """What a trial's deletions left; nothing if it was never asked to delete."""
    targets = list(dict.fromkeys(event.fact for _, event in record.of(Forgot)))
    if not targets:
        return
    yield make_node("ul", "writes", *(_describe_request(record, event) for _, event in record.of(Forgot)))
    rows = [*_draw_routes(record, targets), *_draw_layers(record, targets)]
    head = make_node("tr", "", *(make_node("th", "", name) for name in HEADS))
    yield make_node("table", "matrix", make_node("thead", "", head), make_node("tbody", "", *rows))
    left = [*_draw_returned(record, targets), *_describe_sightings(record, targets)]
    if left:
        yield make_node("p", "bad", "\u2715 still there, and how to see it in the folder of a run with --keep")
        yield make_node("ul", "writes", *left[:SEEN])
        if len(left) > SEEN:
            yield make_node("p", "quiet", f"\u2026 and {len(left) - SEEN:,} more places, in the log")


def _describe_request(record: Record, event: Forgot) -> Node:
    if event.fault:
        answer = f"{event.fault.kind}: {show(event.fault.message)}"
    elif event.said is None:
        answer = "no answer"
    else:
        answer = ", ".join("gone" if each else "not gone" for each in event.said) or "nothing to delete"
    note = f"{event.fact} \u00b7 {words.format_count(len(event.ids), 'id')} \u00b7 the backend says: {answer}"
    return make_node("li", "", make_node("b", "", "\u2212 "), quote(format_fact(record, event.fact)), draw_note(note))


def _draw_routes(record: Record, targets: list[str]) -> Iterator[Node]:
    looks: defaultdict[tuple[Route, Stage], dict[str, bool | None]] = defaultdict(dict)
    for _, event in record.of(Sought):
        looks[event.route, event.stage][event.fact] = event.found
    for route, name in _ROUTES.items():
        seen = [looks.get((route, stage)) for stage in STAGES]
        if any(seen):
            before = {fact for fact in targets if (seen[0] or {}).get(fact)}
            counts = [_count(targets, each) for each in seen]
            yield make_node("tr", "", make_node("th", "row", name), *_make_cells(len(before), counts, len(targets)))


def _count(targets: list[str], seen: dict[str, bool | None] | None) -> tuple[int, str] | None:
    """Targets that were found, and a note on those that could not be told; None: nobody looked."""
    if seen is None:
        return None
    lost = sum(seen.get(name) is None for name in targets)
    return sum(seen.get(name) is True for name in targets), f", {lost} not told" if lost else ""


def _make_cells(before: int, counts: list[tuple[int, str] | None], of: int) -> Iterator[Node]:
    """Of each stage how many targets were seen; not seen after means something only where they were seen before."""
    for stage, count in zip(STAGES, counts, strict=True):
        if count is None:
            yield make_node("td", "quiet", "\u2013 not looked")
        elif stage == "before":
            yield make_node("td", "", f"{count[0]} of {of} seen{count[1]}")
        elif count[0]:
            yield make_node("td", "bad", f"\u2715 {count[0]} of {of} seen{count[1]}")
        elif not before:
            yield make_node("td", "quiet", f"\u2013 never seen here{count[1]}")
        else:
            yield make_node("td", "", f"\u25cb 0 of {of} seen{count[1]}")


def _draw_layers(record: Record, targets: list[str]) -> Iterator[Node]:
    """The bytes are looked at after the process that owned them has ended, so their later look is the last column."""
    scans: dict[str, dict[Stage, list[Scanned]]] = {}
    for _, event in record.of(Scanned):
        scans.setdefault(event.layer.name, {}).setdefault(event.stage, []).append(event)
    for name, stages in scans.items():
        some = next(iter(stages.values()))[0]
        title = make_node("th", "row", f"bytes: {show(name, 80)} ({some.layer.format})")
        before, after = (_count_bytes(targets, stages.get(stage, [])) for stage in ("before", "after"))
        yield make_node("tr", "", title, *_make_cells(before[0] if before else 0, [before, None, after], len(targets)))


def _count_bytes(targets: list[str], scans: list[Scanned]) -> tuple[int, str] | None:
    if not scans:
        return None
    problem = next((each.problem for each in scans if each.problem), None)
    facts = {sighting.fact for each in scans for sighting in each.sightings}
    return sum(name in facts for name in targets), f"; {show(problem, 120)}" if problem else ""


def _draw_returned(record: Record, targets: list[str]) -> Iterator[Node]:
    """What a route brought back, with the stages at which it did."""
    known: dict[tuple[str, Route, str], list[str]] = {}
    for _, event in record.of(Sought):
        if event.found and event.stage in ("after", "reopened") and event.fact in targets:
            stage = "after the deletion" if event.stage == "after" else "opened again"
            known.setdefault((event.fact, event.route, event.where), []).append(stage)
    for (name, route, where), stages in known.items():
        note = f"{name} \u00b7 {_ROUTES[route]} \u00b7 {words.join_words(stages)}"
        yield make_node("li", "", quote(where), draw_note(note))


def _describe_sightings(record: Record, targets: list[str]) -> Iterator[Node]:
    """Each place in which a target was seen, one of every target first."""
    store = STORE.format(trial=record.log.trial.id)
    places: dict[str, list[Node]] = {}
    for _, event in record.of(Scanned):
        for seen in event.sightings if event.stage == "after" else ():
            if seen.fact in targets:
                canary = memory_word(record.log.opened.canaries.get(seen.fact, ""))
                times = (
                    f"{words.format_count(seen.count, 'time')} as {show(seen.form, 40)}, first at byte {seen.offset:,}"
                )
                inside = f", {show(seen.place, 120)}" if seen.place else ""
                note = f"{canary} \u00b7 {times} of {show(seen.path, 160)}{inside}"
                command = make_node("code", "", repeat(event.layer, seen, canary, store))
                told = make_node("li", "", make_node("b", "", seen.fact), draw_note(note), command)
                places.setdefault(seen.fact, []).append(told)
    for turn in zip_longest(*places.values()):
        yield from (each for each in turn if each is not None)
