"""Logs and transcripts with a few events damaged: a call failed, an answer emptied, turned round or another's.

What is made is what a log may hold: every event is validated as those that are read from a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.adapter import Ack, Hit
from harness.log.blobs import Ref, unpack
from harness.log.calls import CALLS
from harness.log.events import Event
from harness.log.parts import FOUND, HITS, WRITTEN
from harness.log.reader import Played
from harness.log.transcript import SIGHTINGS, Called, Transcript

P = TypeVar("P", bound=Played)
FAULTS = ("crashed", "timed-out", "breach", "refused")
SETTLED = frozenset({"kind", "step", "op", "who", "about", "session", "key", "job", "host", "took", "log_schema", "at"})
"""Fields that the player writes, not what it met."""
_PACKED: Mapping[str, TypeAdapter[Any]] = {
    "found": FOUND,
    "items": WRITTEN,
    "hits": HITS,
    "calls": CALLS,
    "sightings": SIGHTINGS,
}
_ANSWERS: Mapping[str, TypeAdapter[Any]] = {
    "hits": HITS, "hit": TypeAdapter(Hit), "remember": TypeAdapter(list[Ack]), "update": TypeAdapter(Ack),
    "supersede": TypeAdapter(Ack), "forget": TypeAdapter(list[bool]), "history": TypeAdapter(list[str]),
}  # fmt: skip
Place = tuple[Any, Any]
"""A list or an object, and the index or name of what stands in it."""


def damage(played: P, rng: Random, most: int = 3) -> P:
    """The same with one to `most` damages between its first event and its last."""
    events = list(played.events)
    for _ in range(rng.randint(1, most)):
        if len(events) < 3:
            break
        at = rng.randrange(1, len(events) - 1)
        made = _damage(played, events, at, rng)
        if made is None:
            del events[at]
        else:
            events[at] = made
    if rng.random() < 0.2:
        events[0] = _declare(events[0], rng)
    more: dict[str, Any] = (
        {"_hits": {}, "drilled": events[0]} if isinstance(played, Transcript) else {"opened": events[0]}
    )
    return replace(played, events=tuple(events), **more)


def _damage(played: Played, events: Sequence[Event], at: int, rng: Random) -> Event | None:
    """Another event in its place; None: nothing is there any more."""
    event = events[at]
    if len(events) > 9 and rng.random() < 0.1:
        return None
    if "fault" in type(event).model_fields and rng.random() < 0.25:
        fault = {"kind": rng.choice(FAULTS), "op": getattr(event, "op", "open"), "message": "no more"}
        return _read(event, {**_write(event), "fault": fault, **_nothing(event)})
    alike = [each for each in events if type(each) is type(event)]
    others = [_open(played, each) for each in rng.sample(alike, min(5, len(alike)))]
    for _ in range(20):
        data = _open(played, event)
        owner, name = _find_place(data, rng)
        owner[name] = _turn(owner[name], name, others, rng)
        if (made := _read(event, data)) is not None:
            return made
    return event


def _nothing(event: Event) -> Mapping[str, Any]:
    """What a call that failed brings."""
    empty: dict[str, Any] = {"answer": None, "ids": None, "found": {"hits": []}, "hits": []}
    return {name: value for name, value in empty.items() if name in type(event).model_fields}


def _declare(opening: Any, rng: Random) -> Any:
    """One capability more or less."""
    if opening.backend is None:
        return opening
    name = rng.choice(sorted(opening.backend.support))
    other = "unsupported" if opening.backend.support[name].supported else "native"
    declared = opening.backend.support[name].model_copy(update={"level": other, "note": "so it says"})
    support = {**opening.backend.support, name: declared}
    return opening.model_copy(update={"backend": opening.backend.model_copy(update={"support": support})})


def _find_place(data: dict[str, Any], rng: Random) -> Place:
    """A field, or something that stands in it."""
    owner: Any = data
    name: Any = rng.choice([key for key in data if key not in SETTLED])
    while isinstance(value := owner[name], dict | list) and value and rng.random() < 0.8:
        owner, name = value, rng.choice([*value] if isinstance(value, dict) else range(len(value)))
    return owner, name


def _turn(value: Any, name: Any, others: Sequence[Mapping[str, Any]], rng: Random) -> Any:
    """Something else that may stand there."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return rng.choice((0, value + 1, value * 2))
    if isinstance(value, list):
        ways = [[], value[::-1], value[1:], value[:1], value + value[:1]]
        return rng.choice(ways)
    same = [each[name] for each in others if name in each]
    if isinstance(value, str):
        cut = [value[: len(value) // 2]] if name == "text" else []
        return rng.choice([*cut, *(each for each in same if isinstance(each, str))] or [value])
    return rng.choice([None, *same])


def _open(played: Played, event: Event) -> dict[str, Any]:
    """An event as JSON, with what lies in blobs."""
    data = _write(event)
    for name, kind in _PACKED.items():
        if isinstance(getattr(event, name, None), Ref):
            data[name] = kind.dump_python(unpack(played.blobs, kind, getattr(event, name)), mode="json")
    if isinstance(event, Called) and isinstance(played, Transcript):
        data["answer"] = deepcopy(played.answer(event))
    return data


def _write(event: Event) -> dict[str, Any]:
    return event.model_dump(mode="json")


def _read(event: Event, data: Mapping[str, Any]) -> Event | None:
    try:
        made = type(event).model_validate_json(json.dumps(data))
    except ValidationError:
        return None
    return made if not isinstance(made, Called) or _answers(made) else None


def _answers(call: Called) -> bool:
    """Whether the answer has the form without which it would not be in a transcript."""
    answer: Any = call.answer
    if call.fault or answer is None:
        return answer is None and (call.fault is not None or call.op in ("get", "settle", "forget_scope", "restore"))
    kind = _ANSWERS.get("hit" if call.op == "get" else "hits" if call.op in ("recall", "entries") else call.op)
    try:
        found = kind.validate_python(answer, strict=call.op == "forget") if kind else ()
    except ValidationError:
        return False
    return call.op not in ("remember", "forget") or len(found) == len(call.about)
