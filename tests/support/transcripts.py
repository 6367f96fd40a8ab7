"""Transcripts made by hand, for tests of measures: written to disk and read back as any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.adapter import CAPABILITIES, Item, Scope
from harness.log.blobs import Blobs
from harness.log.events import Event
from harness.log.lines import Writer
from harness.log.transcript import Drilled, Ended, Transcript, read
from harness.model.backend import Backend, Declared
from harness.model.drill import DrillName, DrillTrial, Piece, Plan

HOME = Scope("tidewater")


def text(name: str) -> str:
    """Of a memory of `plan`, with its canary."""
    return f"The tide table import was fixed for {name} cw{name}"


def plan(roles: Mapping[str, str]) -> Plan:
    """Memories of one scope and day by their roles."""

    def item(name: str) -> Item:
        return Item(text(name), HOME, "2026-02-02T09:00:00Z", "project")

    return Plan(
        pieces=tuple(Piece(name=name, role=role, item=item(name), canary=f"cw{name}") for name, role in roles.items())
    )


def transcript(
    folder: Path,
    plan: Plan,
    events: Sequence[Event],
    *,
    drill: DrillName,
    lacks: Mapping[str, str] = {},
    ended: Ended | None = Ended(status="complete"),  # noqa: B008  frozen
    backend: str = "made",
    extracts: bool = False,
    served: bool = False,
) -> Transcript:
    """A transcript whose line 1 is the opening, so that the first of `events` is line 2. lacks: capability -> why."""
    blobs = Blobs(folder / "blobs")
    support = {
        word: Declared(level="unsupported", note=lacks[word]) if word in lacks else Declared(level="native")
        for word in CAPABILITIES
        if word not in ("extracts", "masks")
    }
    support["extracts"] = Declared(level="native" if extracts else "unsupported")
    opening = Drilled(
        trial=DrillTrial(backend=backend, drill=drill, size=max(1, len(plan.pieces)), seed=1, k=5),
        backend=Backend(name=backend, version="1", support=support, served=served),
        plan=blobs.put(plan.model_dump_json().encode()),
        digests={},
    )
    path = folder / "made.1.jsonl"
    with Writer(path) as log:
        for event in [opening, *events, *([ended] if ended else [])]:
            log.append(event)
    return read(path, blobs)
