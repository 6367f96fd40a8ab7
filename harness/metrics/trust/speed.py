"""Times of calls: the median, the 95th and 99th percentile, the first answer after an opening, and processor time.

A time depends on the machine that played and differs between equal runs. The first question after an opening pays for
what an SDK loads late. A median does not show what is slow once in twenty calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from statistics import median

from harness.log.transcript import Called, Handled, Op, Transcript
from harness.metrics import columns
from harness.metrics.metric import amount, not_applicable
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.view import READS, lacks
from harness.metrics.trust.writes import KEEPING
from harness.model.trial import Measure

RECALL_SECONDS = "recall_seconds"
MANY = 1_000
"""Calls; one takes less than the hundredth of a second by which a processor's time is counted."""
_VARIES = "it is a time"
_OPTIONAL: tuple[Op, ...] = ("forget", "update", "entries")


def take_median(transcript: Transcript, op: Op) -> Measure:
    if lacking := lacks(transcript, *(each for each in _OPTIONAL if each == op)):
        return lacking
    times = [*_list_times(transcript, op)]
    return amount(median(times), len(times)) if times else not_applicable(f"no {op} was answered and timed")


def take_slowest(transcript: Transcript, op: Op, of: int) -> Measure:
    """The time that one call of so many exceeds, by nearest rank; of fewer calls it would be the slowest of all."""
    times = sorted(_list_times(transcript, op))
    if len(times) < of:
        return not_applicable(f"{len(times)} calls were answered and timed, of the {of} that this needs")
    return amount(times[math.ceil(len(times) * (of - 1) / of) - 1], len(times))


def _list_times(transcript: Transcript, op: Op) -> Iterator[float]:
    """Of what was answered, and of recalls, those of the trial's k. A write or deletion is divided by its memories."""
    for _, call in transcript.calls(op):
        if call.fault is None and call.took is not None and (op != "recall" or call.request["k"] == transcript.trial.k):
            yield call.took / (1 if op in READS else max(1, len(call.about)))


def first_answer_seconds(transcript: Transcript) -> Measure:
    if lacking := lacks(transcript, "persistent"):
        return lacking
    times = [*_list_first_answers(transcript)]
    return amount(median(times), len(times)) if times else not_applicable("no store was opened again and then asked")


def _list_first_answers(transcript: Transcript) -> Iterator[float]:
    """Seconds of each later opening and of the first recall behind it; the first opening finds nothing to load."""
    opening, seen = None, False
    for event in transcript.events:
        if isinstance(event, Handled) and event.what == "opened":
            opening = event.took if seen and event.fault is None else None
            seen = True
        elif isinstance(event, Called) and event.op == "recall" and opening is not None:
            if event.fault is None and event.took is not None:
                yield opening + event.took
            opening = None


def processor_seconds(transcript: Transcript) -> Measure:
    if transcript.drilled.backend.served:
        return not_applicable("its server works for others, too")
    opened: Handled | None = None
    worked, calls, counted = 0.0, 0, 0
    for event in transcript.events:
        if isinstance(event, Handled):
            if event.what == "closed" and opened and opened.worked is not None and event.worked is not None:
                worked, counted = worked + event.worked - opened.worked, counted + calls
            # a process that was killed told no time at its end: its calls do not count
            opened, calls = (event if event.what == "opened" else None), 0
        elif isinstance(event, Called):
            calls += max(1, len(event.about)) if event.op in ("remember", "forget") else 1
    return amount(worked / counted * MANY, counted) if counted else not_applicable("the system does not tell it")


_RECALL = (
    "time inside the adapter of a recall at the trial's k, the endpoint's embedding of the question included, beside "
    "the trial's number of memories"
)
_WRITE = "time inside the adapter of a write, the endpoint's embedding included / its memories"
_WORK = (
    "processor seconds of the backend's process and of all that it has started, from opening to closing / calls in "
    "between, of a thousand; a write or deletion counts as its memories, and what a model or service elsewhere does is "
    "left out"
)
UNSTEADY = (
    "recall_seconds_p95", "recall_seconds_p99", "write_seconds_p95", "first_answer_seconds", "processor_seconds",
)  # fmt: skip
"""Times that one hiccup of the machine moves, or its neighbours: equal work can take four times the processor time."""
_TIMES = (
    (RECALL_SECONDS, f"median {_RECALL}", partial(take_median, op="recall"), "time of one recall"),
    ("recall_seconds_p95", f"95th percentile of the {_RECALL}", partial(take_slowest, op="recall", of=20),
     "slowest recall of 20"),
    ("recall_seconds_p99", f"99th percentile of the {_RECALL}", partial(take_slowest, op="recall", of=100),
     "slowest recall of 100"),
    ("write_seconds", f"median {_WRITE}", partial(take_median, op="remember"), "time of one write"),
    ("write_seconds_p95", f"95th percentile of the {_WRITE}", partial(take_slowest, op="remember", of=20),
     "slowest write of 20"),
    ("update_seconds", "median time inside the adapter of an update, the endpoint's embedding included",
     partial(take_median, op="update"), "time of one update"),
    ("delete_seconds", "median time inside the adapter of a deletion by id / its memories",
     partial(take_median, op="forget"), "time of one deletion"),
    ("list_seconds", "median time inside the adapter of a listing of a scope", partial(take_median, op="entries"),
     "time of one listing"),
    ("first_answer_seconds",
     "median time of an opening, in a new process, of a store that was there before, and of its first recall",
     first_answer_seconds, "time from opening to the first answer"),
    ("processor_seconds", _WORK, processor_seconds, "processor time of 1,000 calls"),
)  # fmt: skip
METRICS: tuple[TrustMetric, ...] = tuple(
    trust(
        name, KEEPING, "lower", "seconds", f"{formula}; a timing, which differs between equal runs", measure,
        varies=_VARIES, label=label, column=columns.SPEED.at(),
    )
    for name, formula, measure, label in _TIMES
)  # fmt: skip
