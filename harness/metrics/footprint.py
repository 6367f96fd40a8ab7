"""Times of calls and bytes of storage by the number of memories, on the machine that played.

These are no measures: times differ between equal runs, so the results do not hold them. They can be read from the logs
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from harness.log.events import Forgot, Recalled, Retired, Scanned, Wrote
from harness.log.reader import Log
from harness.log.transcript import Transcript

What = Literal["recall", "write", "storage"]


class Sample(NamedTuple):
    """recall: seconds of one call. write: seconds of one call / its memories. storage: bytes of the store.

    Attributes:
        memories: In the store at that time, before the write; of storage, those that were stored.
        noise: Of the trial; None: of a drill.
    """

    backend: str
    what: What
    memories: int
    value: float
    noise: int | None = None


def of_trial(log: Log) -> Iterator[Sample]:
    """Recalls that were answered, writes that were acknowledged, and the files of the store after closing.

    Logs that do not tell these have the declared layers instead, where a story looked at them before it deleted.
    """
    name, noise, alive, looks = log.trial.backend or "", log.trial.noise, set[str](), list[Scanned]()
    for event in log.events:
        # a filtered recall is another call, with a time of its own
        if isinstance(event, Recalled) and event.where is None and event.took is not None and event.fault is None:
            yield Sample(name, "recall", event.pool, event.took, noise)
        elif isinstance(event, Wrote) and event.ids is not None:
            if event.op == "remember" and event.ids and event.took is not None:
                yield Sample(name, "write", len(alive), event.took / len(event.ids), noise)
            alive.difference_update(event.replaces)
            alive.update(each for ids in event.ids for each in ids)
        elif isinstance(event, Forgot | Retired) and event.said is not None:
            if isinstance(event, Forgot) or event.op == "forget":  # what is deprecated stays
                alive.difference_update(event.ids)
        elif isinstance(event, Scanned) and event.stage == "before":
            looks.append(event)
            # bound wherever `looks` is not empty, which is where the last branch needs it
            stored = len(alive)
    if log.closed is not None and log.closed.stored is not None:
        yield Sample(name, "storage", len(alive), log.closed.stored, noise)
    elif looks and not any(look.problem for look in looks):
        yield Sample(name, "storage", stored, sum(look.bytes for look in looks), noise)


def of_drill(transcript: Transcript) -> Iterator[Sample]:
    """Footprint of the drill `keeping`: recalls at the trial's k, the first writes, and the look after closing."""
    trial, stored = transcript.trial, 0
    if trial.drill != "keeping":
        return
    for _, call in transcript.calls("remember", "written"):
        if ids := [each for each in transcript.ids(call) if each]:
            if call.took is not None:
                yield Sample(trial.backend, "write", stored, call.took / len(ids))
            stored += len(ids)
    for _, call in transcript.calls("recall"):
        if call.took is not None and call.fault is None and call.request["k"] == trial.k:
            yield Sample(trial.backend, "recall", stored, call.took)
    looks = [look for _, look in transcript.looks("closed")]
    if looks and not any(look.problem for look in looks):
        yield Sample(trial.backend, "storage", stored, sum(look.bytes for look in looks))
