"""Calls that did not do what the protocol promises, counted from the logs by operation.

A fault says nothing about the memories, so it is counted beside all measures and replaces none. A drill provokes some
refusals on purpose (an awkward or missing scope name, an odd text, another embedder, an update of what was deleted):
they are no faults if the same operation answers for ordinary input.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from harness.log.events import (
    Changed,
    Closed,
    Corrected,
    Drafted,
    Event,
    Forgot,
    Listed,
    Metered,
    Recalled,
    Retired,
    Round,
    Settled,
    Sought,
    Worked,
    Wrote,
)
from harness.log.reader import Log
from harness.log.transcript import Called, Ended, Handled, Transcript
from harness.model.backend import NOBODYS, Fault, FaultKind
from harness.model.cells import Faults

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
"""Scope names that no store may refuse."""
TOO_LATE = "too late"
"""The step of the drill `deletion` that updates what was deleted."""
HANDLING = {"opened": "open", "closed": "close", "compacted": "compact"}


class Call(NamedTuple):
    """A call as it was logged.

    Attributes:
        subject: What it was about, if that could be a reason to refuse it; None if not.
    """

    line: int
    op: str
    fault: Fault | None
    subject: str | None = None


def of_trial(log: Log) -> list[Faults]:
    """Faults of a story; the cold arm and the controls with gold make no call to a backend. Reader and writer stand
    beside backends with the calls to their chat models, the writer as `writer:chat@MODEL`.
    """
    name = log.trial.backend
    own = _count(name, log.trial.id, list(_list_calls(log.events))) if name and not _is_nobodys(log.end) else []
    own += _count(log.trial.reader, log.trial.id, list(_list_model_calls(log, Worked, Corrected)))
    return own + _count(f"writer:{log.trial.writer}", log.trial.id, list(_list_model_calls(log, Drafted)))


def count_calls(log: Log | Transcript) -> Counter[str]:
    """Backend, reader or writer -> the calls that were made of it."""
    if isinstance(log, Transcript):
        return Counter({log.trial.backend: len(calls(log))})
    # the cold arm has no backend, and drops out by its empty name
    made = {
        log.trial.backend or "": _list_calls(log.events),
        log.trial.reader: _list_model_calls(log, Worked, Corrected),
        f"writer:{log.trial.writer}": _list_model_calls(log, Drafted),
    }
    return Counter({name: sum(1 for _ in own) for name, own in made.items() if name})


def of_drill(transcript: Transcript) -> list[Faults]:
    if _is_nobodys(transcript.end):
        return []
    return _count(transcript.trial.backend, transcript.trial.id, calls(transcript))


def calls(transcript: Transcript) -> list[Call]:
    """Every call of a drill. What ended it is a call of its own, if the last one before does not tell it."""
    found: list[Call] = []
    for line, event in enumerate(transcript.events, 1):
        if isinstance(event, Called):
            found.append(Call(line, event.op, event.fault, _awkward(transcript, event)))
        elif isinstance(event, Handled) and event.what in HANDLING:
            found.append(Call(line, HANDLING[event.what], event.fault, _name_switch(transcript, event)))
        elif isinstance(event, Ended) and event.status == "failed" and event.fault:
            found += _list_end(line, event.fault, found[-1].fault if found else None)
    return found


def _is_nobodys(end: Closed | Ended | None) -> bool:
    """Whether the machine ended it, which may have failed calls before: they are nobody's, and it is played again."""
    return end is not None and end.fault is not None and end.fault.kind in NOBODYS


def drop_provoked(found: list[Call]) -> Iterator[Call]:
    """The calls that failed, without those that a drill provoked."""
    provoked = _provoked_by(found)
    return (call for call in found if call.fault and not provoked(call))


def _list_calls(events: Iterable[Event]) -> Iterator[Call]:
    last: Fault | None = None
    for line, event in enumerate(events, 1):
        if isinstance(event, Closed):
            if event.status == "failed" and event.fault:
                yield from _list_end(line, event.fault, last)
            return
        if op := _op(event):
            last = getattr(event, "fault", None)
            yield Call(line, op, last)


def _list_model_calls(log: Log, *made: type[Round | Drafted]) -> Iterator[Call]:
    """An answer that nobody can use is the model's doing, and a result; a call without an answer is a fault."""
    kinds: dict[str, FaultKind] = {"failed": "raised", "timed-out": "timed-out"}
    for line, event in (each for kind in made for each in log.of(kind)):
        for call in log.calls(event):
            kind = kinds.get(call.outcome)
            yield Call(line, "chat", Fault(kind=kind, op="chat", message=call.why) if kind else None)


def _op(event: Event) -> str | None:
    """Which operation of the protocol an event tells of."""
    if isinstance(event, Wrote):
        return event.op
    if isinstance(event, Sought):
        return "recall" if event.route in ("search", "forbidden") else event.route
    if isinstance(event, Retired):
        # what lapses was told its end when it was written: no call of its own
        return {"expire": "update", "lapse": None}.get(event.op, event.op)
    if isinstance(event, Forgot):
        return "forget"
    named = ((Settled, "settle"), (Recalled, "recall"), (Listed, "entries"), (Changed, "entries"), (Metered, "usage"))
    return next((op for kind, op in named if isinstance(event, kind)), None)


def _list_end(line: int, fault: Fault, last: Fault | None) -> list[Call]:
    """A lost child is told by the call that lost it and again by the end; what we or the machine broke is none."""
    return [] if fault == last or fault.kind in NOBODYS else [Call(line, fault.op, fault)]


# --- what was provoked ------------------------------------------------------------------------------------------------


def _awkward(transcript: Transcript, call: Called) -> str | None:
    """What a store may refuse: an odd text; another embedder; an update of what was deleted; or, where the drill is
    about scopes, a name that is not plain, or none.
    """
    if switched := _name_switch(transcript, call):
        return switched
    if call.step == TOO_LATE:
        return call.step
    pieces = [transcript.plan.by_name[name] for name in call.about]
    if transcript.trial.drill == "isolation":
        # a write has its scope in its items; without a scope and without items there is no name to refuse
        told = call.request.get("scope")
        named = told if isinstance(told, dict) else vars(pieces[0].item.scope) if pieces else {"": "plain"}
        names = [str(name) for name in named.values() if name is not None]
        return None if names and all(PLAIN.fullmatch(name) for name in names) else repr(names)
    odd = transcript.trial.drill == "keeping" and pieces and all(piece.role == "odd" for piece in pieces)
    return pieces[0].name if odd else None


def _name_switch(transcript: Transcript, event: Called | Handled) -> str | None:
    """Which other embedder answers, in the drill of that."""
    return event.step if transcript.trial.drill == "embedder" and event.step in ("another", "shorter") else None


def _provoked_by(found: list[Call]) -> Callable[[Call], bool]:
    """A subject is refused if an operation never answers for it, and does for what is plain."""
    answered = {(call.op, call.subject) for call in found if call.fault is None}

    def refused(call: Call) -> bool:
        return call.subject is not None and (call.op, call.subject) not in answered and (call.op, None) in answered

    return refused


# --- counting ---------------------------------------------------------------------------------------------------------


def _count(backend: str, trial: str, found: list[Call]) -> list[Faults]:
    """One row for each operation, kind, and whether it was provoked; the first to be seen first."""
    total, provoked = Counter(call.op for call in found), _provoked_by(found)
    groups: dict[tuple[str, FaultKind, bool], list[tuple[int, Fault]]] = {}
    for call in found:
        if call.fault:
            groups.setdefault((call.op, call.fault.kind, provoked(call)), []).append((call.line, call.fault))
    return [
        Faults(
            backend=backend,
            trial=trial,
            op=op,
            kind=kind,
            count=len(own),
            calls=total[op],
            message=own[0][1].line[:300],
            receipt=f"L{own[0][0]}",
            provoked=planned,
        )
        for (op, kind, planned), own in groups.items()
    ]
