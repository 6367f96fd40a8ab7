"""What a chat model did in a job, step by step, and what it made of a transcript: what it was told and said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.log.calls import ModelCall, ToolUse
from harness.log.events import Corrected, Drafted, Round
from harness.metrics.rounds import list_wrong
from harness.metrics.view import Record
from harness.model.job import Job
from harness.report import words
from harness.report.timeline.entries import BLOCK, draw_note, show
from harness.report.timeline.packed import Node, make_node


def tell_steps(record: Record, works: Sequence[Round], *, whole: bool) -> Iterator[Node]:
    """Of each work that a model did by tools; a job that did not come to its end says why, whether `whole` or not."""
    for work in works:
        steps = [call for call in record.log.calls(work) if not call.decision]
        if not steps:
            continue
        last = steps[-1]
        if not last.answered:
            yield make_node("p", "bad", f"\u2715 the model did not end its job, {last.outcome}: {show(last.why, 400)}")
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
        found = f"not right yet: {', '.join(wrong)}" if wrong else "every check sees what is right"
        yield make_node("p", "bad" if wrong else "q", f"round {event.number}: ", draw_note(found))
        if whole or wrong:
            yield make_node(
                "details", "", make_node("summary", "quiet", "what the reviewer said"), _block(event.review)
            )
        yield from tell_steps(record, [event], whole=whole or bool(wrong))


def tell_drafting(record: Record, drafted: Drafted, *, whole: bool) -> Iterator[Node]:
    """What a chat writer made of a transcript; an answer that kept nothing says why, whether `whole` or not."""
    calls, kept = record.log.calls(drafted), record.log.drafts(drafted)
    if not calls[-1].answered:
        yield make_node("p", "bad", f"\u2715 the model wrote nothing, {calls[-1].outcome}: {show(calls[-1].why, 400)}")
    if whole or not calls[-1].answered:
        lines = words.format_count(len(record.log.told(drafted)), "line")
        heading = f"what {show(calls[-1].model or 'the model', 60)} remembered: {len(kept)} of {lines}"
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
