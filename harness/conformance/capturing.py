"""Checks of sessions that a backend captures by itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from harness.adapter import Ack, Hit, Message, Scope
from harness.backend.client import RemoteMemory
from harness.conformance.bench import AT, SHOP, Bench, check, equal, expect, find, holds

EARLIER = "2025-11-04T09:30:00+00:00"
RULE, HABIT, REPORT = (
    "Deploy with scripts/ship --target blimp, never by hand.",
    "Invoices are numbered by the clerk of the north harbour.",
    "The staging gate answers on port 47113.",
)
SESSION = (Message("user", RULE), Message("assistant", f"{HABIT}\ncalls read: gate.toml"), Message("tool", REPORT))
CHATTER = tuple(Message(("user", "assistant")[turn % 2], f"Step {turn} is done, go on.") for turn in range(1, 25))
"""More messages than a careless store looks back at."""
OTHER = (Message("user", "Deploy with scripts/ship --target raft, always by hand."),)
BESIDE = replace(SHOP, repo="storefront-admin")


def _capture(memory: RemoteMemory, said: tuple[Message, ...] = SESSION, scope: Scope = SHOP) -> Ack:
    ack = memory.observe(said, scope, EARLIER, "monday")
    memory.settle(20)
    return ack


def _told(bench: Bench) -> tuple[str, ...]:
    """A model inside may leave out what a tool said, and keep of an answer what it will."""
    return (RULE,) if bench.offers("extracts") else (RULE, HABIT, REPORT)


@check("observe", "persistent")
def finds_what_was_said(bench: Bench) -> None:
    """brings what each message of a captured session says, long as it went on, now and after reopening"""
    with bench.open() as memory:
        _capture(memory, (SESSION[0], *CHATTER, *SESSION[1:]))
    for _ in range(2):
        with bench.open() as memory:
            for text in _told(bench):
                expect(holds(find(memory, text), text), f"not found: {text}")


@check("observe", "persistent", "get")
def names_what_it_captured(bench: Bench) -> None:
    """has each memory whose id it told of a session, and tells none of one in which nothing was said"""
    with bench.open() as memory:
        ack = _capture(memory)
        expect(all(memory.get(SHOP, name) for name in ack.ids), "an id that it told is not there")
        equal(_capture(memory, (Message("user", " "),)).ids, (), "ids of a blank session")
        equal(_capture(memory, ()).ids, (), "ids of an empty session")


@check("observe", "persistent", "scope_repo")
def keeps_sessions_apart(bench: Bench) -> None:
    """brings what was said in one repository in no other one"""
    with bench.open() as memory:
        _capture(memory)
        _capture(memory, OTHER, BESIDE)
        theirs = OTHER[0].content
        here, there = find(memory, RULE), find(memory, theirs, BESIDE)
        expect(holds(here, "blimp") and holds(there, "raft"), "what was said is not found where it was said")
        here, there = [*here, *find(memory, theirs)], [*there, *find(memory, RULE, BESIDE)]
        expect(not (holds(here, "raft") or holds(there, "blimp")), "what was said elsewhere is found")


@check("observe", "persistent", "forget_scope")
def forgets_what_was_said(bench: Bench) -> None:
    """brings nothing of a session when its scope was deleted, also after reopening, and keeps its neighbour's"""
    with bench.open() as memory:
        _capture(memory)
        _capture(memory, OTHER, BESIDE)
        memory.forget_scope(SHOP)
    for _ in range(2):
        with bench.open() as memory:
            memory.settle(20)
            left = [hit for text in _told(bench) for hit in find(memory, text)]
            left += memory.entries(SHOP) if bench.offers("entries") else []
            expect(not any(holds(left, text) for text in _told(bench)), "what was deleted came back")
            expect(
                not bench.offers("scope_repo") or holds(find(memory, "raft", BESIDE), "raft"), "the neighbour is gone"
            )


@check("observe", "persistent", "created")
def dates_what_was_said(bench: Bench) -> None:
    """dates what it captured with the time of the session"""
    with bench.open() as memory:
        _capture(memory)
        hits = [hit for hit in find(memory, RULE) if RULE in hit.text]
        expect(bool(hits), "not found")
        expect(
            all(map(_is_earlier, hits)), f"created is {hits[0].created!r}, the session was at {EARLIER!r}, not {AT!r}"
        )


def _is_earlier(hit: Hit) -> bool:
    try:
        return datetime.fromisoformat(hit.created or "") == datetime.fromisoformat(EARLIER)
    except ValueError:
        return False
