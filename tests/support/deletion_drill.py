"""The drill of deletion, told look by look, and what its measures say of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.adapter import Item, Layer, to_wire
from harness.log.events import Event
from harness.log.parts import Sighting
from harness.log.transcript import Called, Ended, Handled, Looked, Op
from harness.metrics.trust.deletion import METRICS
from harness.metrics.trust.residue import matrix
from harness.model.backend import Fault
from harness.model.cells import LayerRow
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, NotMeasured
from harness.play.drills.deletion import AROUND, GONE, HOME, NARROWER, SIBLINGS, USERS, WIDER, own_words
from tests.support.transcripts import transcript

ROLES = {
    "forget": ("pin", "key"), "update": ("port",), "supersede": ("host",), "scope": ("plan", "map"), "expire": ("ban",),
    "lasting": ("law",), "killed": ("gun",), "same": ("cat", "dog"), "sibling": ("cow",), "user": ("fox",),
    "wider": ("elk",), "narrower": ("ant",),
}  # fmt: skip
PLACES = {"plan": GONE, "map": GONE, "cow": SIBLINGS[0], "fox": USERS[0], "elk": WIDER[0], "ant": NARROWER[0]}
PLAIN = ("map", "cat", "dog", "cow", "fox", "elk", "ant")
SOUGHT = ("pin", "key", "port", "host", "plan")
SHOWN = (*SOUGHT, "gun")
BYSTANDERS = ("cat", "dog", "cow", "fox", "elk", "ant")
COMPLETE = Ended(status="complete")
FAULT = Fault(kind="crashed", op="recall", message="no more")


def piece(name: str, role: str) -> Piece:
    canary = None if name in PLAIN else f"cw{name}"
    text = f"What is known of the {name} {canary or ''} is this"
    item = Item(text, PLACES.get(name, HOME), "2026-02-02T09:00:00+00:00", "project")
    twin = {"law": "ban"}.get(name)
    return Piece(name=name, role=role, item=item, canary=canary, query=canary and f"What of the {name}?", twin=twin)


KEY = piece("key", "forget").item.text
AGAIN = replace(piece("key", "forget").item, text=f"{KEY}, again")
REVISION = Piece(name="new-key", role="revision", item=AGAIN, canary="cwkey", twin="key")
ASKING = Item("Who? cwwho", HOME, "", "project")
WHO = Piece(name="who", role="question", item=ASKING, canary="cwwho", query=ASKING.text)
PLAN = Plan(pieces=(*(piece(name, role) for role, names in ROLES.items() for name in names), REVISION, WHO))


class Play:
    """The events of a drill; a memory may be named with a route (`search:pin`), to be seen there only."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def call(self, step: str, op: Op, about: Sequence[str] = (), answer: Any = None, **more: Any) -> Play:
        fault = more.pop("fault", None)
        self.events.append(Called(step=step, op=op, about=tuple(about), request=more, answer=answer, fault=fault))
        return self

    @property
    def line(self) -> str:
        """Where the last event stands in the file, after the opening."""
        return f"L{len(self.events) + 1}"

    def line_of(self, step: str, op: Op, name: str) -> str:
        lines = (
            f"L{at}"
            for at, event in enumerate(self.events, 2)
            if isinstance(event, Called) and (event.step, event.op, event.about) == (step, op, (name,))
        )
        return next(lines)

    def stored(self) -> Play:
        names = [each.name for each in PLAN.pieces]
        return self.call("before", "remember", names, [{"ids": [f"id-{name}"]} for name in names])

    def sought(self, step: str, *seen: str, faults: Collection[str] = (), skip: Collection[str] = ()) -> Play:
        """Every route for every target. seen, faults, skip: `name` for every route or `route:name`."""
        for name in SOUGHT:
            each = PLAN.by_name[name]
            asks: list[tuple[str, Op, dict[str, Any]]] = [("search", "recall", {"query": own_words(each)})]
            if each.role == "forget":
                asks += [("forbidden search", "recall", {"query": each.canary})]
                asks += [("paraphrase", "recall", {"query": each.query})]
            asks += [("get", "get", {}), ("history", "history", {})]
            for route, op, request in asks:
                if {name, f"{route}:{name}"} & set(skip):
                    continue
                there = {name, f"{route}:{name}"} & set(seen)
                hit = {"memory_id": f"id-{name}", "text": each.item.text}
                answer: Any = [each.item.text] if op == "history" else [hit] if op == "recall" else hit
                empty: Any = None if op == "get" else []
                fault = FAULT if {name, f"{route}:{name}"} & set(faults) else None
                self.call(step, op, [name], None if fault else answer if there else empty, fault=fault, **request)
        if step == "before":
            self.call(step, "recall", ["who"], [], query=WHO.query)
        return self.listed(step, *seen)

    def listed(self, step: str, *seen: str, superseded: Collection[str] = ()) -> Play:
        for scope in (HOME, GONE, *(scope for scopes in AROUND.values() for scope in scopes)):
            there = [
                {"memory_id": f"id-{each.name}", "text": each.item.text, "superseded": each.name in superseded}
                for each in PLAN.pieces
                if each.item.scope == scope and {each.name, f"listing:{each.name}"} & set(seen)
            ]
            self.call(step, "entries", (), there, scope=to_wire(scope))
        return self

    def expiring(self, *seen: str) -> Play:
        for name in ("ban", "law"):
            each = PLAN.by_name[name]
            hits = [{"memory_id": name, "text": each.item.text}] if name in seen else []
            self.call("before", "recall", [name], hits, query=own_words(each))
        return self

    def deleted(self, said: bool = True, unknown: bool = False, unknown_fault: Fault | None = None) -> Play:
        self.call("deleted", "forget", ["pin", "key"], [said, said], memory_ids=["id-pin", "id-key"])
        answer = None if unknown_fault else [unknown]
        self.call("deleted", "forget", [], answer, memory_ids=["id-nobody"], fault=unknown_fault)
        self.call("deleted", "update", ["port"], {"ids": ["id-port"]})
        self.call("deleted", "supersede", ["host"], {"ids": ["id-new"]})
        return self.call("deleted", "forget_scope", ["plan", "map"])

    def looked(
        self,
        step: str,
        *seen: str,
        layer: str = "db",
        form: str = "utf-8",
        place: str = "",
        problem: str | None = None,
        size: int = 9,
        path: str = "db",
    ) -> Play:
        sightings = tuple(
            Sighting(fact=name, path=path, form=form, count=1, offset=0, place=place) for name in seen
        )  # fmt: skip
        event = Looked(
            step=step, layer=Layer(layer, layer, "file"), declared=layer != "elsewhere", files=1, bytes=size,
            sightings=sightings, problem=problem,
        )  # fmt: skip
        self.events.append(event)
        return self

    def handled(self, step: str, what: Any, fault: Fault | None = None) -> Play:
        self.events.append(Handled(step=step, what=what, fault=fault))
        return self

    def measures(self, path: Path, lacks: Sequence[str] = (), ended: Ended = COMPLETE) -> dict[str, Measure]:
        made = transcript(path, PLAN, self.events, drill="deletion", lacks=dict.fromkeys(lacks, "why"), ended=ended)
        return {each.definition.name: each.measure(made) for each in METRICS}

    def rows(self, path: Path) -> dict[tuple[str, str, str], LayerRow]:
        rows = matrix(transcript(path, PLAN, self.events, drill="deletion"))
        return {(row.layer, row.place, row.kind): row for row in rows}


EVERYTHING = tuple(PLAN.by_name)


def ready() -> Play:
    """All is there and seen everywhere, and the backend was asked to delete."""
    return Play().stored().sought("before", *EVERYTHING).expiring("law").looked("before", *SHOWN).deleted()


def sound() -> Play:
    play = ready().sought("after", *BYSTANDERS).handled("closed", "closed").looked("closed")
    play.sought("reopened", *BYSTANDERS).call("killed", "forget", ["gun"], [True]).looked("killed").looked("churned")
    return play.handled("compacted", "compacted").looked("compacted").sought("compacted", *BYSTANDERS)


def reason(measure: Measure, status: str) -> str:
    assert isinstance(measure, NotMeasured) and measure.status == status, measure
    return measure.reason
