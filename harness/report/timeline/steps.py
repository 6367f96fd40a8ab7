"""Steps of a session on its timeline: what was said, what a model did, what was deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from harness.log.calls import ModelCall, ToolUse
from harness.log.events import (
    Corrected,
    Drafted,
    Forgot,
    Retired,
    RetiringRule,
    Round,
    Route,
    Scanned,
    Sought,
    Stage,
    Withheld,
)
from harness.metrics.rounds import list_wrong
from harness.metrics.view import Record
from harness.model.canary import memory_word
from harness.model.job import Job
from harness.model.scenario import Session
from harness.model.transcript import Message
from harness.report import words
from harness.report.timeline.nodes import BLOCK, Node, draw_note, format_fact, make_node, quote, show
from harness.report.timeline.repeat import repeat

# --- what was said, as far as it tells, takes back or mentions a fact of the story ------------------------------------

LONGEST = 400
"""Characters of a message that are shown."""


def tell_transcript(session: Session) -> Iterator[Node]:
    """One list to open; nothing of a session without a transcript."""
    anchored = [(at, message) for at, message in enumerate(session.transcript, 1) if message.anchored]
    if not session.transcript:
        return
    heading = words.format_count(len(session.transcript), "message")
    summary = f"{len(anchored)} of them tell, take back or mention a fact"
    rows = [
        make_node(
            "li",
            "",
            make_node("b", "", f"{at} {message.role} "),
            quote(message.text, LONGEST),
            draw_note(*_tell_anchors(message)),
        )
        for at, message in anchored
    ]
    yield make_node(
        "details",
        "",
        make_node("summary", "quiet", f"what was said: {heading}", draw_note(summary)),
        make_node("ul", "", *rows),
    )


def _tell_anchors(message: Message) -> Iterator[str]:
    for word, names in (("tells", message.tells), ("takes back", message.retracts), ("mentions", message.mentions)):
        if names:
            yield f"{word} {words.join_words(list(names))}"


# --- what a chat model did in a job, step by step, and what it made of a transcript -----------------------------------


def tell_steps(record: Record, works: Sequence[Round], *, whole: bool) -> Iterator[Node]:
    """Of each work that a model did by tools; a job that did not come to its end says why, whether `whole` or not."""
    for work in works:
        # A call for a single decision is told beside it.
        steps = [call for call in record.log.calls(work) if not call.decision]
        if not steps:
            continue
        last = steps[-1]
        if not last.answered:
            yield make_node("p", "bad", f"\u2715 the model did not end its job, {last.outcome}: {show(last.why, 400)}")
        elif last.why:
            yield make_node("p", "q", f"the job was ended, but {show(last.why, 400)}")
        if whole or not last.answered:
            refused = sum(use.refused for step in steps for use in step.uses)
            notes = [f"{refused} refused" if refused else "", _count_tokens(steps)]
            heading = f"what {show(last.model or 'the model', 60)} did: {words.format_count(len(steps), 'step')}"
            parts = [part for number, step in enumerate(steps, 1) for part in _tell_step(number, step)]
            if work.printed is not None:
                printed = work.printed if isinstance(work.printed, str) else record.log.blobs.text(work.printed)
                parts.append(_block(f"the program told of itself:\n{printed}"))
            yield make_node("details", "", make_node("summary", "quiet", heading, draw_note(*notes)), *parts)


def tell_rounds(record: Record, job: Job, *, whole: bool) -> Iterator[Node]:
    """The rounds of a job after the first: what a reviewer said before each, what was done, and what the checks saw."""
    for event in (event for _, event in record.of(Corrected) if event.job == job.id):
        wrong = list_wrong(job, event)
        note = f"not right yet: {', '.join(wrong)}" if wrong else "every check sees what is right"
        yield make_node("p", "bad" if wrong else "q", f"round {event.number}: ", draw_note(note))
        if whole or wrong:
            yield make_node(
                "details", "", make_node("summary", "quiet", "what the reviewer said"), _block(event.review)
            )
        yield from tell_steps(record, [event], whole=whole or bool(wrong))


def tell_drafting(record: Record, drafted: Drafted, *, whole: bool) -> Iterator[Node]:
    """What a chat writer made of a transcript; an answer that kept nothing says why, whether `whole` or not."""
    calls, drafts = record.log.calls(drafted), record.log.drafts(drafted)
    if not calls[-1].answered:
        yield make_node("p", "bad", f"\u2715 the model wrote nothing, {calls[-1].outcome}: {show(calls[-1].why, 400)}")
    if whole or not calls[-1].answered:
        lines = words.format_count(len(record.log.told(drafted)), "line")
        heading = f"what {show(calls[-1].model or 'the model', 60)} remembered: {len(drafts)} of {lines}"
        parts = [part for number, call in enumerate(calls, 1) for part in _tell_step(number, call)]
        yield make_node("details", "", make_node("summary", "quiet", heading, draw_note(_count_tokens(calls))), *parts)


def _tell_step(number: int, step: ModelCall) -> Iterator[Node]:
    yield make_node("p", "q", f"{number} {step.outcome}", draw_note(_count_tokens([step]), show(step.why)))
    if step.prompt:
        yield _block(f"told:\n{step.prompt}")
    if step.answer:
        yield _block(f"said:\n{step.answer}")
    yield from map(_tell_use, step.uses)


def _tell_use(use: ToolUse) -> Node:
    mark = "\u2715 " if use.refused else ""
    return _block(f"{mark}{use.tool} {use.arguments}\n{use.result}")


def _block(text: str) -> Node:
    return make_node("pre", "", words.make_visible(text, BLOCK, lines=True))


def _count_tokens(steps: Sequence[ModelCall]) -> str:
    prompt, completion = (sum(getattr(each, name) for each in steps) for name in ("prompt_tokens", "completion_tokens"))
    return f"{prompt:,} + {completion:,} tokens"


# --- what an agent's way of writing deletes by its own rule, or keeps back --------------------------------------------

_WHY: Mapping[RetiringRule, str] = {
    "expired": "it has outlived its kind", "gone": "the line that it cites is gone",
    "replaced": "a new one says otherwise",
}  # fmt: skip
_HOW = {"forget": "deleted", "deprecate": "marked as ended", "expire": "told that it has expired",
    "lapse": "told at the write when it expires",
}  # fmt: skip


def tell_rules(record: Record, session: Session) -> Iterator[tuple[int, Node]]:
    """An item of the list of writes for each, with its line."""
    for line, retired in record.of(Retired):
        if retired.session == session.id:
            yield line, _tell_retired(retired)
    for line, withheld in record.of(Withheld):
        if withheld.session == session.id:
            for each in withheld.items:
                yield (
                    line,
                    make_node("li", "", "\u2212 ", quote(each.item.text), draw_note("kept back until it is confirmed")),
                )


def _tell_retired(retired: Retired) -> Node:
    own = [name.partition(":")[2] for name in retired.names if not name.startswith("noise:")]
    others = len(retired.names) - len(own)
    what = words.join_words([*own, *([words.format_count(others, "unrelated text")] if others else [])])
    why = f"{_HOW[retired.op]}: {_WHY[retired.rule]}"
    if retired.fault is not None:
        why = f"{retired.fault.kind}: {show(retired.fault.message)}"
    return make_node("li", "", make_node("b", "bad", "\u2715 ") if retired.fault else "\u2212 ", what, draw_note(why))


# --- a deletion: who was asked to forget what, and where each secret was seen before it and after ---------------------

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


def describe_deletions(record: Record) -> Iterator[Node]:
    """What a trial's deletions left; nothing if it was never asked to delete."""
    targets = list(dict.fromkeys(event.fact for _, event in record.of(Forgot)))
    if not targets:
        return
    yield make_node("ul", "writes", *(_describe_request(record, event) for _, event in record.of(Forgot)))
    rows = [*_draw_routes(record, targets), *_draw_layers(record, targets)]
    head = make_node("tr", "", *(make_node("th", "", name) for name in HEADS))
    yield make_node("table", "matrix", make_node("thead", "", head), make_node("tbody", "", *rows))
    remaining = [*_draw_returned(record, targets), *_describe_sightings(record, targets)]
    if remaining:
        yield make_node("p", "bad", "\u2715 still there, and how to see it in the folder of a run with --keep")
        yield make_node("ul", "writes", *remaining[:SEEN])
        if len(remaining) > SEEN:
            yield make_node("p", "quiet", f"\u2026 and {len(remaining) - SEEN:,} more places, in the log")


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
        # `get`, as indexing a defaultdict would add an entry where nobody looked.
        seen = [looks.get((route, stage)) for stage in STAGES]
        if any(seen):
            before = {fact for fact in targets if (seen[0] or {}).get(fact)}
            counts = [_count_found(targets, each) for each in seen]
            yield make_node("tr", "", make_node("th", "row", name), *_make_cells(len(before), counts, len(targets)))


def _count_found(targets: list[str], seen: dict[str, bool | None] | None) -> tuple[int, str] | None:
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
                item = make_node("li", "", make_node("b", "", seen.fact), draw_note(note), command)
                places.setdefault(seen.fact, []).append(item)
    for turn in zip_longest(*places.values()):
        yield from (each for each in turn if each is not None)
