"""Checks of sessions that a backend captures by itself."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from harness.adapter import Ack, Message, Scope, Source
from harness.backend.client import RemoteMemory
from harness.conformance.bench import SHOP, Bench, check, equal, expect, find, holds, list_sides

EARLIER = "2025-11-04T09:30:00+02:00"
RULE, HABIT, REPORT = (
    "Deploy with scripts/ship --target blimp, never by hand.",
    "Invoices are numbered by the clerk of the north harbour.",
    "The staging gate answers on port 47113.",
)
SESSION = (Message("user", RULE), Message("assistant", f"{HABIT}\ncalls read: gate.toml"), Message("tool", REPORT))
CHATTER = tuple(Message(("user", "assistant")[turn % 2], f"Step {turn} is done, go on.") for turn in range(1, 25))
"""More messages than a careless store looks back at."""
CODE, ABROAD, END = (
    "retry_limit = 47",
    "Паром уходит в полдень.",
    "Nothing to report but 62 barrels for the night barge.",
)
MIDDLE = (
    Message("user", f"Set it like this:\n```toml\n{CODE}\n```"),
    Message("user", ABROAD),
    Message("tool", "Nothing to report.\n" * 500 + END),
)
"""Said half-way, where and how a careless store does not look."""
WORD, CORRECTION = "Do not forget the tide table of pier 9.", REPORT.replace("47113", "47114")
NEXT = (Message("user", WORD), Message("tool", CORRECTION))
"""Of the same place as the session, on the day after."""
OTHER = (Message("user", "Deploy with scripts/ship --target raft, always by hand."),)
BESIDE = replace(SHOP, repo="storefront-admin")


def _capture(
    memory: RemoteMemory, messages: tuple[Message, ...] = SESSION, scope: Scope = SHOP, session: str = "monday"
) -> Ack:
    ack = memory.observe(messages, scope, EARLIER, session)
    memory.settle(20)
    return ack


def _list_wanted_texts(bench: Bench) -> tuple[str, ...]:
    """A model inside may leave out what a tool said, and keep of an answer what it will."""
    return (RULE,) if bench.offers("extracts") else (RULE, HABIT, REPORT)


@check("observe", "persistent")
def finds_what_was_said(bench: Bench) -> None:
    """brings what each message of a captured session says, long as it or they went on, now and after reopening"""
    with bench.open() as memory:
        _capture(memory, (SESSION[0], *CHATTER[:12], *MIDDLE, *CHATTER[12:], *SESSION[1:]))
    wanted = _list_wanted_texts(bench)
    for _ in range(2):
        with bench.open() as memory:
            for text in wanted if bench.offers("extracts") else (*wanted, CODE, ABROAD, END):
                expect(holds(find(memory, text), text), f"not found: {text}")


@check("observe", "persistent")
def keeps_the_session_before(bench: Bench) -> None:
    """brings what a session said that is not corrected by the next one of its place, and the correction"""
    with bench.open() as memory:
        _capture(memory)
        _capture(memory, NEXT, session="tuesday")
    wanted = (RULE, WORD) if bench.offers("extracts") else (RULE, HABIT, WORD, CORRECTION)
    with bench.open() as memory:
        memory.settle(20)
        for text in wanted:
            expect(holds(find(memory, text), text), f"not found: {text}")


@check("observe", "persistent", "entries", verbatim=True)
def adds_nothing_to_what_was_said(bench: Bench) -> None:
    """lists, of each session, memories in its own words alone, which name it and cite no file"""
    listed = set[str]()
    with bench.open() as memory:
        for session, messages in (("monday", SESSION), ("tuesday", NEXT)):
            _capture(memory, messages, session=session)
            session_words = _list_words(*(f"{each.role} {each.content}" for each in messages))
            # those of the session before were judged by what their own session said
            for hit in [hit for hit in memory.entries(SHOP) if hit.memory_id not in listed]:
                listed.add(hit.memory_id)
                words = _list_words(hit.text)
                expect(len(words & session_words) >= len(words) / 2, f"not said on {session}: {hit.text!r}")
                source = hit.source or Source()
                expect(not bench.offers("source") or session in (source.session or ""), f"{source} is not {session}")
                expect(source.path is None, f"{source} cites a file")
    expect(bool(listed), "nothing is listed")


def _list_words(*texts: str) -> set[str]:
    return {*re.findall(r"\w+", " ".join(texts).lower())}


@check("observe", "persistent", "get")
def names_what_it_captured(bench: Bench) -> None:
    """has each memory whose id it told of a session, and tells none of one in which nothing was said"""
    with bench.open() as memory:
        ack = _capture(memory)
        # a backend that captures a session itself may tell no id
        expect(all(memory.get(SHOP, name) for name in ack.ids), "an id that it told is not there")
        equal(_capture(memory, (Message("user", " "),)).ids, (), "ids of a blank session")
        equal(_capture(memory, ()).ids, (), "ids of an empty session")


@check("observe", "persistent", "scope_repo")
def keeps_sessions_apart(bench: Bench) -> None:
    """brings what was said at one place at no other one, in each declared respect"""
    with bench.open() as memory:
        for at, (mine, other) in enumerate(list_sides(bench)):
            sides = ((mine, f"oak-{at}", f"elm-{at}"), (other, f"elm-{at}", f"oak-{at}"))
            for scope, own, _ in sides:
                messages = tuple(replace(each, content=f"{own}: {each.content}") for each in SESSION)
                _capture(memory, messages, scope, f"monday-{at}")
            for scope, own, foreign in sides:
                # in the words of both sides: some backends find whole phrases only, and a leak by no other words
                queries = [f"{side}: {text}" for text in (RULE, HABIT, REPORT) for side in (own, foreign)]
                hits = [hit for text in queries for hit in find(memory, text, scope)]
                expect(holds(hits, own), f"{scope} does not find what was said there")
                expect(not holds(hits, foreign), f"{scope} is shown what was said elsewhere")


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
            hits = [hit for text in _list_wanted_texts(bench) for hit in find(memory, text)]
            hits += memory.entries(SHOP) if bench.offers("entries") else []
            expect(not any(holds(hits, text) for text in _list_wanted_texts(bench)), "what was deleted came back")
            # without repositories both sessions are of one scope, and go together
            expect(
                not bench.offers("scope_repo") or holds(find(memory, "raft", BESIDE), "raft"), "the neighbour is gone"
            )


@check("observe", "persistent", "forget")
def captures_nothing_forgotten(bench: Bench) -> None:
    """brings nothing of a session that was deleted by its id when the next session is captured"""
    with bench.open() as memory:
        _capture(memory)
        gone = [hit.memory_id for hit in find(memory, RULE) if RULE in hit.text]
        expect(bool(gone), "not found")
        memory.forget(SHOP, gone)
        _capture(memory, NEXT, session="tuesday")
    with bench.open() as memory:
        memory.settle(20)
        expect(not holds(find(memory, RULE), RULE), "what was deleted came back")
        expect(holds(find(memory, WORD), WORD), "the next session is not found")


@check("observe", "persistent")
def keeps_a_session_through_a_kill(bench: Bench) -> None:
    """loses nothing of a captured session when its process is killed"""
    # not bench.open(), which would close it before the kill
    memory = bench.site.open()
    try:
        _capture(memory)
    finally:
        memory.kill()
    with bench.open() as memory:
        for text in _list_wanted_texts(bench):
            expect(holds(find(memory, text), text), f"not found after the kill: {text}")


@check("observe", "persistent", "created")
def dates_what_was_said(bench: Bench) -> None:
    """dates all that it captured with the time of the session"""
    with bench.open() as memory:
        _capture(memory)
        for text in _list_wanted_texts(bench):
            dates = [hit.created for hit in find(memory, text) if text in hit.text]
            expect(bool(dates), f"not found: {text}")
            expect(all(map(_is_earlier, dates)), f"created are {dates}, the session was at {EARLIER!r}: {text}")


def _is_earlier(date: str | None) -> bool:
    try:
        # as moments, since a store may give one back in another zone
        return datetime.fromisoformat(date or "") == datetime.fromisoformat(EARLIER)
    except ValueError:
        return False
