"""True memories that a way of writing holds back or removes.

A look-up replaces memories, expiry and following commits delete some, and a review holds some back. Texts are
classified; a text that asserts nothing does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.log.events import Retired, Withheld, Wrote
from harness.log.parts import Written
from harness.metrics.holding import list_confirmed
from harness.metrics.metric import StoryMetric, metric, not_applicable, proportion
from harness.metrics.view import Record, View, once
from harness.metrics.words import Words
from harness.model.trial import SCRIPTED, Measure

DROPPED = "true_memories_dropped"
Drop = tuple[int, bool]
"""Its line, and whether it was true then."""


@once
def find_drops(record: Record) -> tuple[Drop, ...]:
    """Each memory that was replaced, deleted by a rule, or held back, and that asserts a fact."""
    return tuple(_find(record))


def _find(record: Record) -> Iterator[Drop]:
    held: dict[str, Written] = {}
    for line, event in enumerate(record.log.events, 1):
        if isinstance(event, Wrote):
            items = record.log.items(event)
            # a write whose outcome nobody knows may have replaced nothing
            if event.ids is not None:
                old = [held.pop(each) for each in event.replaces if each in held]
                yield from _judge(record, line, event.session, old, items)
                held |= {name: each for each, names in zip(items, event.ids, strict=False) for name in names}
        elif isinstance(event, Retired):
            old = [held.pop(each) for each in list_confirmed(event) if each in held]
            yield from _judge(record, line, event.session, old, ())
        elif isinstance(event, Withheld):
            yield from _judge(record, line, event.session, event.items, ())


def _judge(
    record: Record, line: int, session: str, old: Iterable[Written], instead: Sequence[Written]
) -> Iterator[Drop]:
    """`instead`: what took its place, which may say the same."""
    scenario = record.scenario
    at = next(each.at for each in scenario.sessions if each.id == session)
    kept = {fact for each in instead for fact in record.classifier.read(each.item.text).asserted}
    for each in old:
        reading = record.classifier.read(each.item.text)
        if reading.unclear or not reading.asserted:
            continue
        homes = {fact: scenario.home(scenario.by_id[fact]) for fact in reading.asserted - kept}
        # no fact left means that what took its place says all of it: nothing true went
        yield line, any(scenario.find_standing(fact, at, home) == "current" for fact, home in homes.items())


def true_memories_dropped(view: View) -> Measure:
    trial = view.log.trial
    if trial.write_policy == "append":
        return not_applicable("an appending agent takes nothing out")
    if trial.writer != SCRIPTED:
        return not_applicable("a model decides what is replaced: writer_replaced_wrongly")
    drops = find_drops(view.record)
    lost = [f"L{line}" for line, true in drops if true]
    return proportion(len(lost), len(drops), lost, none="nothing was replaced, deleted by a rule, or held back")


METRICS: tuple[StoryMetric, ...] = (
    metric(
        DROPPED, "lower", "proportion",
        "memories that the agent's way of writing replaced, deleted by a rule of its own, or held back, that assert a "
        "fact which held then in its place and which nothing that took their place asserts / such memories that assert "
        "a fact; not what the story asks to delete; texts classified", true_memories_dropped, whole=True, version=2,
        aside="what a way of writing costs in true memories; what comes of it is recalled and acted on",
        words=Words(contrasted=18),
        label="true memories dropped by the way of writing",
    ),
)  # fmt: skip
