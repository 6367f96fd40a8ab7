"""The drill of keeping, as a sound backend answers it but for one change, and what its measures say then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.adapter import Hit, Item, Layer, Scope, Source, to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Handled, Looked, Op
from harness.metrics.trust import fields, keeping, replacing, writes
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure
from tests.support.drill_player import measured
from tests.support.transcripts import transcript

METRICS = (*writes.METRICS, *keeping.METRICS, *fields.METRICS, *replacing.METRICS)

HOME, SIBLING = Scope("shop", "acme"), Scope("shop-admin", "acme")
FIRST, LIVE = ("right", "like", "odd", "old", "past", "bare"), ("right", "odd", "bare", "new", "next")
FAULT = Fault(kind="crashed", op="recall", message="no more")
Change = Callable[[str, Op, str, Hit], Hit | None]
"""(step, operation, piece, the hit as it should be) -> as it is; None: it does not come back."""


def piece(name: str, role: str, text: str, scope: Scope = HOME, **more: Any) -> Piece:
    bare = role == "bare"
    source = None if bare else Source("c" * 40, f"docs/{name}.md", 3, f"session-{name}")
    day = 9 if role == "edit" else len(name)
    item = Item(text, scope, f"2026-01-0{day}T09:00:00+01:00", "project", source, None if bare else 0.5)
    return Piece(name=name, role=role, item=item, **more)


PLAN = Plan(
    pieces=(
        piece("right", "answer", "Old logs go after 3 nights", query="How long are logs kept?"),
        piece("like", "look-alike", "Logs are kept for 9 days", SIBLING, twin="right"),
        piece("odd", "odd", "two\n\n  lines of \x1b[31mred"),
        piece("old", "plain", "The port is 1"),
        piece("past", "plain", "The host is one"),
        piece("bare", "bare", "Nobody knows who said this"),
        piece("new", "edit", "The port is 2", twin="old"),
        piece("next", "successor", "The host is two", twin="past"),
    )
)
IDS = {name: f"id-{name}" for name in PLAN.by_name} | {"new": "id-old"}


def sound(step: str, op: Op, name: str, hit: Hit) -> Hit | None:
    return hit


class Play:
    """The whole drill as a sound backend answers it, but for the change. failing: "step operation" of what fails.

    unknown: what comes to the question to which nothing is known.
    """

    def __init__(
        self,
        change: Change = sound,
        *,
        unacknowledged: str = "",
        failing: tuple[str, ...] = (),
        unknown: tuple[str, ...] = (),
    ) -> None:
        self.change, self.failing, self.events = change, failing, list[Event]()
        acks = [{"ids": [] if name == unacknowledged else [IDS[name]]} for name in FIRST]
        self.call("written", "remember", FIRST, acks)
        self.call("written", "settle", [], True)
        self.listing("written", HOME, [name for name in FIRST if name != "like"])
        self.listing("written", SIBLING, ["like"])
        for name in FIRST:
            self.recall("own", name, [name])
        self.recall("asked", "right", ["right", "odd"])
        self.recall("unknown", "right", unknown)
        self.call("revised", "update", ["new"], {"ids": ["id-old"]}, memory_id="id-old")
        self.call("revised", "supersede", ["next"], {"ids": ["id-next"]}, memory_ids=["id-past"])
        self.listing("revised", HOME, LIVE)
        self.events.append(Handled(step="revised", what="closed"))
        self.events.append(Looked(step="closed", layer=Layer("file", "a.db", "file"), files=1, bytes=600))
        self.events.append(Handled(step="reopened", what="opened"))
        self.listing("reopened", HOME, LIVE)

    def call(self, step: str, op: Op, about: Any, answer: Any, **request: Any) -> None:
        fault = FAULT if f"{step} {op}" in self.failing else None
        self.events.append(
            Called(
                step=step, op=op, about=tuple(about), request=request, answer=None if fault else answer, fault=fault,
                took=0.25,
            )
        )  # fmt: skip

    def hits(self, step: str, op: Op, names: Any) -> list[Any]:
        found = (self.change(step, op, name, whole(name)) for name in names)
        return [to_wire(hit) for hit in found if hit is not None]

    def listing(self, step: str, scope: Scope, names: Any) -> None:
        self.call(step, "entries", names, self.hits(step, "entries", names), scope=to_wire(scope))

    def recall(self, step: str, name: str, names: Sequence[str]) -> None:
        scope = to_wire(PLAN.by_name[name].item.scope)
        self.call(step, "recall", [name], self.hits(step, "recall", names), scope=scope, k=5, query="?")

    def line(self, step: str, op: Op, at: int = 0) -> str:
        """The nth call of this kind, after the opening."""
        lines = [
            f"L{number}"
            for number, event in enumerate(self.events, 2)
            if isinstance(event, Called) and (event.step, event.op) == (step, op)
        ]
        return lines[at]

    def measures(self, folder: Path, lacks: Mapping[str, str] = {}) -> Mapping[str, Measure]:
        return measured(METRICS, transcript(folder, PLAN, self.events, drill="keeping", lacks=lacks))


def whole(name: str) -> Hit:
    item = PLAN.by_name[name].item
    return Hit(IDS[name], item.text, 0.9, item.source, item.at, item.scope, confidence=item.confidence)


def changed(op: Op, name: str, how: Callable[[Hit], Hit | None], *steps: str) -> Change:
    def change(step: str, of: Op, which: str, hit: Hit) -> Hit | None:
        return how(hit) if (of, which) == (op, name) and step in (steps or (step,)) else hit

    return change


GOOD: Mapping[str, tuple[int, int]] = {
    "writes_not_acknowledged": (0, 6),
    "writes_kept": (6, 6),
    "writes_listed": (6, 6),
    "entries_unaccounted": (0, 6),
    "settled": (1, 1),
    "settled_too_early": (0, 6),
    "odd_texts_exact": (1, 1),
    "self_reachability": (6, 6),
    "own_text_first": (6, 6),
    "answer_among_look_alikes": (1, 1),
    "recalls_malformed": (0, 7),
    "unknown_answered_with_silence": (1, 1),
    "source_survives_writing": (5, 5),
    "date_survives_writing": (6, 6),
    "confidence_survives_writing": (5, 5),
    "scope_survives_writing": (6, 6),
    "kept_after_reopening": (5, 5),
    **{f"{field}_survives_{op}": (1, 1) for field in fields.FIELDS for op in ("update", "supersede")},
    **{f"{field}_survives_reopening": (4, 4) for field in ("source", "confidence")},
    **{f"{field}_survives_reopening": (5, 5) for field in ("date", "scope")},
    "texts_whole": (13, 13),
    "scores_out_of_order": (0, 1),
    "answers_invented": (0, 2),
    "calls_failed": (0, 18),
}


def lost(hit: Hit) -> None:
    return None


def under(**fields: Any) -> Callable[[Hit], Hit]:
    return lambda hit: replace(hit, **fields)
