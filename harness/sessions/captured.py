"""What was counted of sessions that were put to a backend, as lines and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from harness.gateway.meter import Meter
from harness.log.events import Event
from harness.log.transcript import Ended
from harness.machine import files
from harness.model.trial import Model
from harness.sessions.feed import Asked, Began, Fed, K, Seen

E = TypeVar("E", bound=Event)


class Captured(Model):
    """The figures of one backend. None: it was not measured.

    Attributes:
        memories: Ids that it told; one that captures a session itself may tell none.
        found: Messages of those `asked` that came back in the first K memories when asked for in their own words.
        tokens: Of what it was told, in our count.
        embedded, prompt, completion: What it asked the models for.
        secrets_told: Different invented ones that it was told; those of them that were `brought` back, that lie in its
            bytes, and that lie there after a deletion.
        unseen: What could not be searched.
    """

    backend: str
    version: str
    feed: str
    ended: bool
    sessions: int
    told: int
    memories: int
    asked: int
    found: int
    tokens: int
    embedded: int
    prompt: int
    completion: int
    seconds_told: float
    seconds_asked: float
    bytes: int | None
    secrets_told: int
    secrets_brought: int
    secrets_stored: int | None
    secrets_left: int | None
    unseen: str | None
    faults: tuple[str, ...]


def count(events: Sequence[Event], meter: Meter) -> Captured:
    [began], fed, questions = _take(events, Began), _take(events, Fed), _take(events, Asked)
    seen = {each.when: each for each in _take(events, Seen)}
    stored, remaining = seen.get("told"), seen.get("deleted")
    faults = [fault for event in events if (fault := getattr(event, "fault", None))]
    chat = meter.chat().values()
    return Captured(
        backend=began.backend,
        version=began.described.version,
        feed=began.feed,
        ended=any(each.status == "complete" for each in _take(events, Ended)),
        sessions=began.sessions,
        # an empty list of ids is an answer, too: it may capture nothing of a session
        told=sum(each.ids is not None for each in fed),
        # an id that comes again is one memory
        memories=len({name for each in fed for name in each.ids or ()}),
        asked=len(questions),
        found=sum(each.found for each in questions),
        tokens=sum(each.tokens for each in fed),
        embedded=sum(each.tokens for each in meter.counts().values()),
        prompt=sum(each.prompt for each in chat),
        completion=sum(each.completion for each in chat),
        seconds_told=round(sum(each.took or 0 for each in fed), 3),
        seconds_asked=round(sum(each.took or 0 for each in questions), 3),
        bytes=stored.bytes if stored else None,
        secrets_told=len({name for each in fed for name in each.secrets}),
        secrets_brought=len({name for each in questions for name in each.secrets}),
        secrets_stored=len(stored.secrets) if stored else None,
        secrets_left=len(remaining.secrets) if remaining else None,
        unseen=next((each.problem for each in seen.values() if each.problem), None),
        # the same fault may come with every call
        faults=tuple(sorted({f"{fault.op} {fault.kind}: {fault.message}"[:300] for fault in faults})),
    )


def _take(events: Sequence[Event], kind: type[E]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def list_lines(captures: Sequence[Captured]) -> Iterator[str]:
    for each in captures:
        yield (
            f"{each.backend}: sessions captured: {each.told:,} of {each.sessions:,}; memories: {each.memories:,}; "
            f"messages of users that come back among {K}, asked for in their own words: {each.found:,} of "
            f"{each.asked:,}"
        )
        models = f", {each.prompt:,} + {each.completion:,} tokens of a chat model" if each.prompt else ""
        measured = f"{each.bytes:,} bytes" if each.bytes else "nothing on disk"
        size = "bytes not measured" if each.bytes is None else measured
        yield (
            f"  costs: {each.tokens:,} tokens told, {each.embedded:,} embedded{models}; {each.seconds_told:,.1f} s to "
            f"tell, {each.seconds_asked:,.1f} s to ask; {size}"
        )
        yield f"  invented secrets in place of yours: {each.secrets_told:,}; {_tell_secrets(each)}"
        # captured.json has all of them
        yield from (f"  fault: {fault}" for fault in each.faults[:3])


def _tell_secrets(each: Captured) -> str:
    stored = "not searched" if each.secrets_stored is None else f"{each.secrets_stored:,} in its bytes"
    remaining = (
        "its deletion was not tried" if each.secrets_left is None else f"{each.secrets_left:,} left after deletion"
    )
    unseen = f" (not all could be searched: {each.unseen})" if each.unseen else ""
    return f"{each.secrets_brought:,} brought back, {stored}, {remaining}{unseen}"


def write(out: Path, captures: Sequence[Captured]) -> Path:
    data: dict[str, Any] = {"schema": 1, "k": K, "backends": [each.model_dump(mode="json") for each in captures]}
    path = out / "captured.json"
    files.write(path, json.dumps(data, indent=1) + "\n")
    return path
