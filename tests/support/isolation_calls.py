"""The calls of an isolation drill, made by hand: one pair of scopes, four places, and what the measures say of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from harness.adapter import Hit, Scope, to_wire
from harness.log.receipts import Receipt, read
from harness.log.transcript import Called, Op
from harness.metrics.trust.isolation import METRICS
from harness.metrics.trust.places import DIRECTIONS
from harness.model.backend import Fault
from harness.model.drill import Plan
from harness.model.trial import Measure
from harness.play.drills import scopes
from harness.play.drills.isolation import plan
from tests.support.drill_player import measured
from tests.support.transcripts import transcript

NAMES = ("api", "api-internal")


def one_pair(pair: tuple[str, Scope, Scope] = ("prefix-repo-3", Scope(repo=NAMES[0]), Scope(repo=NAMES[1]))) -> Plan:
    with (
        patch.object(scopes, "make_pairs", lambda: iter([pair])),
        patch.object(scopes, "make_places", lambda: iter(PLACES)),
    ):
        return plan(5, 1)


PLACES = (
    ("lattice.", Scope()), ("lattice.org", Scope(org="o")), ("lattice.org+user", Scope(org="o", user="u")),
    ("lattice.org+user!user", Scope(org="o", user="v")),
)  # fmt: skip
PLAN: Plan = one_pair()
"""One pair, the repositories `api` and `api-internal`; and four places."""
BY_ROLE = {piece.name if piece.role == "place" else piece.role: piece for piece in PLAN.pieces}
A, B, NOWHERE = BY_ROLE["near"].item.scope, BY_ROLE["far"].item.scope, Scope()
NEVER = Scope(repo="never-written")
BEYOND = ("far", "edited", "dropped", "replaced", "overwrite", "revision", "heir")
SEARCH = "leaks_by_prefix"
AROUND = {f"{direction}_scope_forgotten" for direction in DIRECTIONS}


def call(step: str, op: Op, scope: Scope, about: tuple[str, ...], *shown: str, fault: bool = False) -> Called:
    """A call that is about these roles and shows those."""
    hits = [to_wire(Hit(role, BY_ROLE[role].item.text, scope=BY_ROLE[role].item.scope)) for role in shown]
    return Called(
        step=step,
        op=op,
        about=tuple(BY_ROLE[role].name for role in about),
        request={"scope": to_wire(scope)},
        answer=None if fault else hits,
        fault=Fault(kind="crashed", op=op, message="gone") if fault else None,
    )


def wrote(*roles: str, stored: int = 1) -> Called:
    acks = [{"ids": [role][:stored]} for role in roles]
    return Called(step="write", op="remember", about=tuple(BY_ROLE[role].name for role in roles), answer=acks)


SOUND: Mapping[str, Called] = {
    "write A": wrote("near"),
    "write B": wrote("far", "edited", "dropped"),
    "write all": wrote("everywhere"),
    "search A": call("own", "recall", A, ("near",), "near", "everywhere"),
    "cross A": call("cross", "recall", A, ("far",), "near", "everywhere"),
    "list A": call("listed", "entries", A, ("near",), "near"),
    "get A": call("own", "get", A, ("near",), "near"),
    "cross get A": call("cross", "get", A, ("far",)),
    "search B": call("own", "recall", B, ("far",), "far", "edited", "dropped"),
    "cross B": call("cross", "recall", B, ("near",), "far"),
    "list B": call("listed", "entries", B, BEYOND, "far", "edited", "dropped"),
    "get B": call("own", "get", B, ("far",), "far"),
    "cross get B": call("cross", "get", B, ("near",)),
    "search all": call("own", "recall", NOWHERE, ("everywhere",), "everywhere"),
    "crowd": call("crowd", "recall", A, ("near",), "near"),
    "wider": call("wider", "recall", A, ("everywhere",), "everywhere"),
    "empty": call("empty", "recall", NOWHERE, ("far",), "everywhere"),
    "unwritten": call("unwritten", "recall", NEVER, ("far",), "everywhere"),
    "list all": call("empty", "entries", NOWHERE, ("everywhere",), "everywhere"),
    "list never": call("unwritten", "entries", NEVER, ()),
    "cross update": call("cross", "update", A, ("edited", "overwrite")),
    "cross forget": call("cross", "forget", A, ("dropped",)),
    "crossed": call("cross written", "entries", B, BEYOND, "far", "edited", "dropped"),
    "own update": call("own", "update", B, ("edited", "revision")),
    "own forget": call("own", "forget", B, ("dropped",)),
    "changed": call("own written", "entries", B, BEYOND, "far", "revision"),
    "before": call("before forget_scope", "entries", B, BEYOND, "far", "revision"),
    "forget_scope": call("across", "forget_scope", A, ("near",)),
    "after A": call("after forget_scope", "entries", A, ("near",)),
    "after B": call("after forget_scope", "entries", B, BEYOND, "far", "revision"),
}
LINES = {name: f"L{line}" for line, name in enumerate(SOUND, 2)}


def found(
    folder: Path, changes: Mapping[str, Called | None] | None = None, lacks: Mapping[str, str] | None = None
) -> dict[str, Measure]:
    """What the measures say of the sound transcript with some calls changed, or left out."""
    calls = {**SOUND, **(changes or {})}
    events = [event for event in calls.values() if event]
    return measured(METRICS, transcript(folder, PLAN, events, drill="isolation", lacks=lacks or {}))


def places(measure: Measure) -> list[Receipt]:
    return [place for place in map(read, measure.receipts) if place]


def lines(measure: Measure) -> list[str]:
    """Of its receipts the line alone."""
    return [f"L{place.line}" for place in places(measure)]


def asked_for(name: str, *shown: str) -> Called:
    return call("place", "recall", BY_ROLE[name].item.scope, (name,), name, *shown)


FULL, OPEN, OTHER, ALL = "lattice.org+user", "lattice.org", "lattice.org+user!user", "lattice."
PLACED = {name: asked_for(name) for name in (FULL, OPEN, OTHER, ALL)}
