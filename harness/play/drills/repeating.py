"""What the first time does not show: asked again, changed again, asked in a word, for many, and on later days.

Every part has a scope of its own in the store of the drill of keeping; the days, which must not go back, a store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from harness.adapter import Item, Scope, Source
from harness.model.drill import Piece
from harness.play.drills.durability import WRITTEN, write_lesson
from harness.play.drills.reading import read_back
from harness.play.drills.stage import NOW, DrillSession

AGAIN = Scope(repo="storefront-again", org="acme")
APART = Scope(repo="storefront-again-api", org="acme")
SHORT = Scope(repo="storefront-glossary", org="acme")
DAYS = Scope(repo="storefront-diary", org="acme")
FEW, VERSIONS = 3, 26
"""Memories of each part or day; texts of one memory, which at last is given its second one again."""
FIRST = 5
"""Versions that an earlier process writes."""
ECHO = "echo"
"""The role of a memory elsewhere whose text is the last one of those versions: what it said before is another's."""
CHANGED = ("update", "forget")
"""What is done to a memory between two equal questions."""
RETOLD = (Source(session="session-first", path="docs/first.md", line=3), Source(session="session-then"))
"""Where the same text is said to come from, first and then."""
SURE, DOUBTED = 0.9, 0.35
"""How sure of it one is at first, and at last, from the same source."""
PASSING = "passing"
"""The role of what is written on the first of the days and forgotten on the next one, and the step."""
AFTER = (0, 1, 3, 10)
"""Days after the first on which something is written, and asked for, with one memory of each day before."""
ANEW = (1, 10)
"""Days on which another process opens the store."""
AT_LAST = (11, 400)
"""Days on which all of it is asked for."""
TERMS = (
    ("kubeconfig", "The kubeconfig of the staging cluster is renewed by hand every ninety days"),
    ("postgres port", "Postgres listens on port 6432 behind the pooler, not on its own"),
    ("CORS", "CORS is answered by the edge proxy, so the service must not set it again"),
    ("tarpaulin", "A tarpaulin is counted as a spare part in the export of the depot"),
    ("feature flags", "Feature flags are read once at the start and kept for the whole request"),
    ("webhook retries", "Webhook retries stop after the fifth and leave a line in the dead letters"),
    ("Straßenmaß", "The Straßenmaß of a parcel is its longest side, and the carrier bills by it"),
    ("İzmir", "İzmir has a depot of its own, whose stock is counted on Fridays"),
    ("миграция", "миграция is what the old admin pages call a move between two depots"),
    ("", "The nightly report is mailed before the currency table is rebuilt"),
    ("", "Invoices are rounded line by line, the sum is never rounded"),
    ("", "Ask Brigid before the label printer gets another driver"),
    ("", "The image resizer runs out of memory above forty megapixels"),
    ("", "Vouchers end at midnight of the shop, whatever the customer's clock says"),
    ("", "The search box strips accents before it compares anything"),
    ("", "Two people have to look at a change of the tax rules"),
    ("", "The sitemap is written by the worker and never by hand"),
)
"""The question of one or two words that is in a memory, in that of the first ones; some have letters beyond
ASCII, whose case is not folded alike everywhere."""
LOCKERS = Scope(repo="storefront-lockers", org="acme")
ALIKE, MANY = 60, 100
"""Memories that fit one question alike, and how many are asked for: more than the usual pages of 10, 25 and 50."""
WHICH = "Which lockers of the night shift are opened by a code?"


def plan(seed: int) -> Iterator[Piece]:
    for number in range(1, FEW + 1):
        yield _make_piece(f"late-{number}", "late", seed)
        told = _make_piece(f"told-{number}", "told", seed)
        first, then = (replace(told.item, source=source, confidence=SURE) for source in RETOLD)
        yield replace(told, item=first)
        yield Piece(f"retold-{number}", "retold", then, told.canary, twin=told.name)
        yield Piece(f"rated-{number}", "rated", replace(then, confidence=DOUBTED), told.canary, twin=f"retold-{number}")
    for op in CHANGED:
        yield _make_piece(f"once-{op}", "once", seed)
    yield _make_piece("once-new", "once new", seed, twin="once-update")
    versions = [_make_piece(f"version-{number}", "version", seed) for number in range(1, VERSIONS + 1)]
    yield from versions
    yield replace(versions[1], name=f"version-{VERSIONS + 1}")
    yield replace(versions[1], name=ECHO, role=ECHO, item=replace(versions[1].item, scope=APART))
    for number, (word, text) in enumerate(TERMS):
        item = Item(text, SHORT, WRITTEN, "project")
        yield Piece(f"term-{number}", "term" if word else "other term", item, query=word or None)
    for number in range(1, ALIKE + 1):
        # by primes, so that no code comes twice
        text = f"Locker {number} of the night shift is opened by code {number * 7919 % 9973}"
        yield Piece(f"locker-{number}", "locker", Item(text, LOCKERS, WRITTEN, "project"), query=WHICH)
    for day in AFTER:
        for number in range(1, FEW + 1):
            piece = _make_piece(f"day-{day}.{number}", f"day {day}", seed, DAYS)
            yield replace(piece, item=replace(piece.item, at=_date(day)))
    yield _make_piece(PASSING, PASSING, seed, DAYS)


def _make_piece(name: str, role: str, seed: int, scope: Scope = AGAIN, twin: str | None = None) -> Piece:
    item, canary = write_lesson("keeping", seed, f"again {name}", scope)
    return Piece(name=name, role=role, item=item, canary=canary, twin=twin)


def _date(day: int) -> str:
    return (datetime.fromisoformat(NOW) + timedelta(days=day)).isoformat()


def write(stage: DrillSession) -> None:
    """The first versions of one memory: the next process writes the others."""
    first, *later = stage.plan.of("version")[:FIRST]
    if stage.supports("update"):
        stage.remember("version", [first])
        stage.settle("version")
        _write_versions(stage, later)


def play(stage: DrillSession) -> None:
    """Open before and after; between, the store is closed, compacted and reopened if it outlives its process."""
    _ask_again(stage)
    if stage.supports("update"):
        _tell_again(stage)
    _ask_shortly(stage)
    _ask_for_many(stage)
    if stage.supports("update", "history", "persistent"):
        stage.close("history reopened")
        if stage.supports("compact"):
            stage.compact("history reopened")
        stage.open("history reopened")
        _tell_history(stage, "history reopened")


def _ask_again(stage: DrillSession) -> None:
    """Before and after it is written; and before and after it is changed or deleted, with no other write between."""
    late, once = stage.plan.of("late"), stage.plan.of("once")
    # an answer that is kept for equal questions would go on bringing nothing
    _ask(stage, "not yet", late)
    stage.remember("late", [*late, *once])
    stage.settle("late")
    _ask(stage, "late", late)
    for piece, op in zip(once, CHANGED, strict=True):
        if not stage.supports(op) or not (ids := stage.ids.get(piece.name)):
            continue
        _ask(stage, "once", [piece])
        if op == "update":
            stage.change("once", "update", ids, stage.plan.by_name["once-new"])
        else:
            stage.call("once", "forget", AGAIN, list(ids), about=[piece])
        stage.settle("once")
        _ask(stage, "once more", [piece])


def _tell_again(stage: DrillSession) -> None:
    """The same text from another source, then with another confidence; and one memory changed again and again."""
    told, versions = stage.plan.of("told"), stage.plan.of("version")
    stage.remember("told", [*told, *stage.plan.of(ECHO)])
    stage.settle("told")
    read_back(stage, "told", AGAIN, told)
    if stage.supports("history"):
        # of the versions that another process wrote, before this one adds its own
        _tell_history(stage, "history before")
    for piece in stage.plan.of("retold"):
        if ids := stage.ids.get(piece.twin or ""):
            stage.change("retold", "update", ids, piece)
    _write_versions(stage, versions[FIRST:])
    stage.settle("retold")
    read_back(stage, "retold", AGAIN, stage.plan.of("retold"))
    for piece in stage.plan.of("rated"):
        if ids := stage.ids.get(piece.twin or ""):
            stage.change("rated", "update", ids, piece)
    stage.settle("rated")
    read_back(stage, "rated", AGAIN, stage.plan.of("rated"))
    if stage.supports("history"):
        _tell_history(stage, "history")


def _write_versions(stage: DrillSession, pieces: Sequence[Piece]) -> None:
    """Each in the place of the last one that was acknowledged."""
    for piece in pieces:
        # a version that was refused has no ids, and the one before is still the current one
        told = [ids for each in stage.plan.of("version") if (ids := stage.ids.get(each.name))]
        if told:
            stage.change("version", "update", told[-1], piece)


def _tell_history(stage: DrillSession, step: str) -> None:
    versions = stage.plan.of("version")
    # an update may keep the id or give a new one
    for memory_id in dict.fromkeys(each for piece in versions for each in stage.ids.get(piece.name, ())):
        stage.call(step, "history", AGAIN, memory_id, about=versions)
    for piece in stage.plan.of(ECHO):
        for memory_id in stage.ids.get(piece.name, ()):
            stage.call(step, "history", APART, memory_id, about=[piece])


def _ask_shortly(stage: DrillSession) -> None:
    stage.remember("short", stage.plan.of("term", "other term"))
    stage.settle("short")
    for piece in stage.plan.of("term"):
        stage.recall("short", piece.query or "", SHORT, about=[piece])


def _ask_for_many(stage: DrillSession) -> None:
    lockers = stage.plan.of("locker")
    stage.remember("many", lockers)
    stage.settle("many")
    stage.recall("many", WHICH, LOCKERS, about=lockers, k=MANY)


def play_days(stage: DrillSession) -> None:
    """A store that is told something on each of several days, and asked by one process after the other."""
    stage.renew()
    stage.open("day 0")
    before: list[Piece] = []
    for day in AFTER:
        if day in ANEW and stage.supports("persistent"):
            stage.close(f"day {day}")
            stage.open(f"day {day}")
        _ask(stage, f"day {day}", before[::FEW], day)
        own = stage.plan.of(f"day {day}")
        stage.remember(f"day {day}", own)
        stage.settle(f"day {day}")
        _ask(stage, f"day {day}", own, day)
        before += own
        _pass_by(stage, day)
    for day in AT_LAST:
        _ask(stage, f"day {day}", before, day)
        _pass_by(stage, day)
    stage.close("days")


def _pass_by(stage: DrillSession, day: int) -> None:
    """One is written on the first day, forgotten on the second, and asked for on all that follow."""
    pieces = stage.plan.of(PASSING) if stage.supports("forget") else ()
    if day == AFTER[0]:
        stage.remember(PASSING, pieces)
        stage.settle(PASSING)
        _ask(stage, PASSING, pieces, day)
    elif day == AFTER[1]:
        for piece in pieces:
            if ids := stage.ids.get(piece.name):
                stage.call(PASSING, "forget", DAYS, list(ids), about=[piece])
                stage.settle(PASSING)
    if day != AFTER[0]:
        _ask(stage, "passed", pieces, day)


def _ask(stage: DrillSession, step: str, pieces: Sequence[Piece], day: int = 0) -> None:
    for piece in pieces:
        stage.recall(step, piece.item.text, piece.item.scope, about=[piece], at=_date(day))
