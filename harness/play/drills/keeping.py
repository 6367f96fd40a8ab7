"""Keeping: what is written comes back, whole, under its own name, and ahead of what only looks like it.

The asked scope shares its store with sibling scopes full of look-alikes, which are nearer to each question than its
answer is: whoever cuts at k before the scope is applied has nothing left. Writing order, dates and relevance disagree.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import cycle, product
from typing import get_args

from harness.adapter import Item, Scope, Source
from harness.log.transcript import Op
from harness.model.drill import Piece, Plan
from harness.model.sequence import Part, make_filter
from harness.model.trial import digest
from harness.play.drills import bulk, deprecating, ending, filtering, growing, ranking, repeating, replacing, revising
from harness.play.drills.fillers import PARTS, PEOPLE, TOOLS, TRAITS, UNRELATED
from harness.play.drills.reading import read_back
from harness.play.drills.stage import NOW, Drill, DrillSession
from harness.play.drills.texts import (
    ALIKE,
    FAMILIES,
    GUARDED,
    NOTES,
    ODD,
    REWRITTEN,
    TWICE,
    UNKNOWN,
    QuestionKind,
)

SMALLEST = 66
BATCH = 50
SAMPLE = 100
"""Memories whose own text is asked for; a fifth of them are read by id too."""
CHANGED = 200
"""Memories that are updated at most, and as many superseded: each is a call, and some stores write all anew."""
QUESTIONS = 20
CROWD = 11
"""Memories of the asked scope that come before its other half goes to the siblings, so that a rank means something."""
FEW = 5
SYNTAX = (
    'I was told "it holds since May" and `nothing else`:', "note: path:line is known, see also: todo:",
    "Is it so OR NOT the same, AND has it NOT changed?", "-x --never -maybe ~so +so ^2 *?",
    "(see [1], {2} or <3>) && !done ||", "Good morning!\nOne more thing before lunch, you know best:\n",
)  # fmt: skip
"""How people begin a question, none of it in a memory: quotes, fields, operators, flags, brackets, lines of its own."""
STORED = ("answer", "look-alike", "odd", "note", "guarded", "plain", "bare", "alike")
"""What is written first, around a `blank`, which is not stored. `bare` has neither source nor confidence; an `edit` or
`successor` comes for its twin."""
EXACT: Mapping[str, Sequence[str]] = {"note": NOTES, "guarded": GUARDED, "odd": ODD}
"""Role -> texts that are asked for at every size."""

HOME = Scope(repo="storefront", org="acme")
SIBLINGS = tuple(
    Scope(repo=f"storefront-{name}", org="acme")
    for name in ("admin", "mobile", "docs", "legacy", "worker", "kiosk", "search")
)
TWINS = Scope(repo="storefront-twins", org="acme")
NARROWER = tuple(replace(TWINS, **part) for part in ({"user": "ana"}, {"user": "ben"}, {"branch": "next"}))
"""Scopes of a scope that hold the same text."""
ASKERS: Sequence[Mapping[str, str]] = ({}, {"user": "ana"}, {"branch": "next"})
"""What whoever changes a memory of the whole repository names besides it."""
KINDS = ("project", "procedural", "episodic", "user")
BEGIN = datetime.fromisoformat("2025-11-03T08:00:00+00:00")
MINUTES = 110 * 24 * 60
ZONES = tuple(timezone(timedelta(minutes=minutes)) for minutes in (0, 60, -480, 330, -210, 765))
DATES = (
    "2025-10-26T02:30:15+02:00", "2025-10-26T02:30:15+01:00", "2025-03-30T01:59:30+01:00", "2025-03-30T03:00:00+02:00",
    "2025-11-02T01:30:45-04:00", "2025-11-02T01:30:45-05:00", "2025-03-09T03:00:30-04:00", "2025-04-06T02:30:00+10:00",
    "2024-02-29T23:59:59-08:00", "2024-03-01T00:00:00+05:45", "2025-02-28T23:30:00-03:30", "2025-12-31T23:59:59-11:00",
    "2026-01-01T00:00:00+14:00", "2025-08-31T00:00:00Z", "2025-07-15T12:34:56+02:00", "1969-12-31T23:59:59+00:00",
    "1912-06-23T12:00:00+00:00", "2026-03-02T23:59:00+14:00",
)  # fmt: skip
"""On both sides of a change of the clock, leap days, ends of months and years, with and without a time of day, long
ago, and right before the questions, by a clock that is ahead of theirs."""
LONG_FOLDER = "services/storefront-web/packages/checkout (next)/src/Ökosystem/components/"
LONG_SESSION = "2026-02-11 review of payments and refunds/desk-7f3a9c1e/"
"""Longer than a column of 48 characters."""
FAR = "2999-12-31T00:00:00+00:00"
DAY_BEFORE = "2026-03-01T10:00:00+00:00"
"""Before the other questions."""


def plan(size: int, seed: int) -> Plan:
    """`size` memories in a shuffled order, SMALLEST at least; before them, at every size, texts that are nearly alike,
    and behind them what is changed, replaced, and written at once."""
    size = max(size, SMALLEST)
    writer = _TextWriter(random.Random(f"keeping {size} {seed}"), size)  # noqa: S311  reproducible on purpose
    topics = [(family, part) for part, family in product(PARTS, FAMILIES)]
    writer.draw.shuffle(topics)
    asked, others = topics[: min(QUESTIONS, size // 20)], topics[QUESTIONS:]
    for family, part in asked:
        answer = writer.add("answer", family.answer, HOME, part, query=family.question.format(part=part))
        for scope in SIBLINGS:
            writer.add("look-alike", family.look_alike, scope, part, twin=answer.name)
    dates = cycle(DATES)
    for role, text in ((role, text) for role, texts in EXACT.items() for text in texts):
        writer.put(role, text, HOME, at=next(dates))
    replaceable = list(_fill(writer, cycle(others), size - len(writer.pieces)))
    writer.draw.shuffle(writer.pieces)
    alike = [(text, TWINS) for text in (*ALIKE, TWICE, TWICE)] + [(TWICE, scope) for scope in NARROWER]
    first = [writer.put("alike", text, scope) for text, scope in alike]
    blank = writer.put("blank", " \n", HOME)
    # brought to the front, as `put` has added them behind the shuffled ones
    writer.pieces = [*first, blank, *writer.pieces[: -len(first) - 1]]
    writer.put("alike", TWICE, TWINS)  # in a later batch than the others
    writer.put("alike", replaceable[0][0].item.text, SIBLINGS[0])  # beside what is changed
    changed = min(max(3, size // 50), CHANGED)
    for number, (twin, family, part) in enumerate(replaceable[: 2 * changed]):
        # two of six in a row, so that edits and successors have a bare one each
        bare = number % 6 in (3, 4)
        role = "successor" if number % 2 else "edit"
        if number < len(REWRITTEN):
            writer.put(role, REWRITTEN[number], HOME, twin=twin.name, bare=bare)
        else:
            writer.add(role, family.answer, HOME, part, twin=twin.name, bare=bare)
    # what holds on a branch has a successor there, and what a user was told one for all
    writer.put("successor", f"{TWICE}, on this branch", NARROWER[-1], twin=first[-1].name)
    writer.put("successor", f"{TWICE}, whoever you are", TWINS, twin=first[-2].name)
    writer.put("alike", REWRITTEN[0], SIBLINGS[1])  # beside what it is changed to
    parts = (replacing, revising, ending, ranking, repeating, deprecating, filtering, growing)
    after = (*(piece for part in parts for piece in part.plan(seed)), *bulk.plan(size))
    return Plan(pieces=(*writer.pieces, *after))


def _fill(
    writer: _TextWriter, topics: Iterator[tuple[QuestionKind, str]], amount: int
) -> Iterator[tuple[Piece, QuestionKind, str]]:
    """`amount` more memories, of the later ones every other a look-alike in a sibling scope; those of a family."""
    last, turn = None, 0
    for number in range(amount):
        if last is not None and number >= CROWD and number % 2:
            # now and then the very same text, which only its scope tells apart
            text = last.item.text if number % 10 == 1 else writer.vary(last.item.text)
            writer.put("look-alike", text, SIBLINGS[number // 2 % len(SIBLINGS)], twin=last.name)
            continue
        if turn % 2:
            bare = turn % 4 == 3
            last = writer.add("bare" if bare else "plain", writer.draw.choice(UNRELATED), HOME, bare=bare)
        else:
            family, part = next(topics)
            last = writer.add("plain", family.answer, HOME, part)
            yield last, family, part
        turn += 1


class _TextWriter:
    """Makes pieces out of templates; no text twice unless it is put there.

    The more texts are asked for, the wider are the ranges of their numbers: a template that has only a number of days
    would run out of new texts.
    """

    def __init__(self, draw: random.Random, size: int) -> None:
        self.draw, self.pieces = draw, list[Piece]()
        self.seen: set[str] = set()
        self.numbers, self.days = max(9_999, size), max(90, size // 50)

    def add(
        self,
        role: str,
        template: str,
        scope: Scope,
        part: str | None = None,
        *,
        twin: str | None = None,
        query: str | None = None,
        bare: bool = False,
    ) -> Piece:
        text = self.fill(template, part)
        while text in self.seen:
            text = self.fill(template, part)
        return self.put(role, text, scope, twin=twin, query=query, bare=bare)

    def put(
        self,
        role: str,
        text: str,
        scope: Scope,
        *,
        twin: str | None = None,
        query: str | None = None,
        bare: bool = False,
        at: str | None = None,
    ) -> Piece:
        """With every field of an item, or, if `bare`, without source and confidence."""
        self.seen.add(text)
        number = len(self.pieces)
        item = Item(
            text,
            scope,
            at=at or self.date(number),
            kind=KINDS[number % len(KINDS)],
            source=None if bare else self.source(number),
            confidence=None if bare else self.confidence(number),
            expires=FAR if number % 3 == 0 else None,
        )
        self.pieces.append(Piece(name=f"{role}-{number}", role=role, item=item, query=query, twin=twin))
        return self.pieces[-1]

    def date(self, number: int) -> str:
        """By turns in several zones."""
        told = BEGIN + timedelta(minutes=self.draw.randrange(MINUTES), seconds=number % 60)
        return told.astimezone(ZONES[number % len(ZONES)]).isoformat()

    def confidence(self, number: int) -> float:
        """Now and then none at all, which is not the same as an unknown one, or all of it; every fifth is finer."""
        # drawn for the fixed ones, too: else all that is drawn behind them would move
        drawn = self.draw.randrange(30, 100) / 100
        return {5: 0.0, 12: 1.0}.get(number % 20, drawn + 0.005 if number % 5 == 3 else drawn)

    def source(self, number: int) -> Source:
        """A line of a file, a session, or both by turns; every other names are long. Commits are those of either hash,
        and some files lie outside the repository, or are spelt as on Windows."""
        long = number % 2 == 0
        session = f"{LONG_SESSION if long else ''}session-{number}" if number % 3 else None
        if number % 3 == 1:
            return Source(session=session)
        commit = digest([number, self.draw.random()])
        path = f"docs/{self.draw.choice(PARTS).replace(' ', '-').lower()}.md"
        folder = LONG_FOLDER if long else {3: "/etc/", 9: "tools\\win\\"}.get(number % 12, "")
        return Source(commit if number % 4 < 2 else commit[:40], f"{folder}{path}", number * 1009 + 1, session)

    def fill(self, template: str, part: str | None) -> str:
        first, other = self.draw.sample(PARTS, 2)
        return template.format(
            part=part or first,
            other=other,
            person=self.draw.choice(PEOPLE),
            tool=self.draw.choice(TOOLS),
            trait=self.draw.choice(TRAITS),
            n=self.draw.randrange(1000, self.numbers),
            days=self.draw.randrange(2, self.days),
        )

    def vary(self, text: str) -> str:
        """The same with other numbers."""
        other = text
        while other in self.seen:
            other = re.sub(r"\d+", lambda _: str(self.draw.randrange(1000, self.numbers)), text)
        return other


def play(stage: DrillSession) -> None:
    # who declares that it masks such texts would not bring them back whole
    told = stage.plan.of("blank", *(role for role in STORED if role != "guarded" or not stage.supports("masks")))
    stored = [piece for piece in told if piece.role != "blank"]
    sample = _sample(stage, stored)
    stage.open("written")
    for start in range(0, len(told), BATCH):
        stage.remember("written", told[start : start + BATCH])
    stage.settle("written")
    missed = []
    for scope in (HOME, *SIBLINGS, TWINS, *NARROWER):
        held = [piece for piece in stored if piece.item.scope == scope]
        missed += _list_missing(stage, held, read_back(stage, "written", scope, held))
    _get(stage, "written", sample[: SAMPLE // 5])
    _ask_history(stage, "written", sample[: SAMPLE // 5])
    for piece in sample:
        found = stage.recall("own", piece.item.text, piece.item.scope, about=[piece]) or []
        missed += _list_missing(stage, [piece], {hit.memory_id for hit in found})
    _look_again(stage, missed)
    _ask(stage)
    changed = _revise(stage)
    _read_again(stage, "revised", changed)
    if stage.supports("persistent"):
        stage.close("revised")
        # nothing is sought: the look tells how large the store is
        stage.look("closed", {}, {})
        stage.open("reopened")
        _read_again(stage, "reopened", changed)
    ending.write(stage)
    revising.write(stage)
    repeating.write(stage)
    # closes and reopens the store between what the others write and what they ask
    replacing.play(stage)
    ending.ask(stage)
    revising.ask(stage)
    ranking.play(stage)
    repeating.play(stage)
    bulk.play(stage, [piece for piece in stage.plan.pieces if piece.item.scope in (HOME, *SIBLINGS)])
    stage.close("at once")
    repeating.play_days(stage)
    deprecating.play(stage)
    filtering.play(stage)
    growing.play(stage)


def _list_missing(stage: DrillSession, pieces: Sequence[Piece], shown: set[str]) -> list[Piece]:
    """Those that were acknowledged, and not all of whose ids came back."""
    return [piece for piece in pieces if not shown.issuperset(stage.ids.get(piece.name, ()))]


def _look_again(stage: DrillSession, missed: Sequence[Piece]) -> None:
    """What did not come may be lost, left out of a listing, or late: by id, by its own text, and listed anew."""
    pieces = list({piece.name: piece for piece in missed}.values())
    _get(stage, "again", pieces)
    for piece in pieces:
        stage.recall("again", piece.item.text, piece.item.scope, about=[piece])
    for scope in dict.fromkeys(piece.item.scope for piece in pieces) if stage.supports("entries") else ():
        stage.list_ids("again", scope, about=[piece for piece in pieces if piece.item.scope == scope])


def _sample(stage: DrillSession, stored: Sequence[Piece]) -> list[Piece]:
    """All texts that are to be exact, and others by chance; of what is nearly alike, none has to be the first."""
    exact = [piece for piece in stored if piece.role in EXACT]
    others = [piece for piece in stored if piece.role not in (*EXACT, "alike")]
    draw = random.Random(f"keeping sample {stage.trial.seed}")  # noqa: S311  reproducible on purpose
    return [*exact, *draw.sample(others, min(SAMPLE - len(exact), len(others)))]


def _get(stage: DrillSession, step: str, pieces: Sequence[Piece]) -> None:
    for piece in pieces if stage.supports("get") else ():
        for name in stage.ids.get(piece.name, ()):
            stage.call(step, "get", piece.item.scope, name, about=[piece])


def _ask_history(stage: DrillSession, step: str, pieces: Sequence[Piece]) -> None:
    for piece in pieces if stage.supports("history") else ():
        for name in stage.ids.get(piece.name, ()):
            stage.call(step, "history", piece.item.scope, name, about=[piece])


def _ask(stage: DrillSession) -> None:
    """In other words; what nobody wrote; with a very small and a large k; and by its own text, behind what a search
    engine may take for its syntax."""
    answers = stage.plan.of("answer")
    for piece in answers:
        stage.recall("asked", _write_question(piece), HOME, about=[piece])
    _ask_unknown(stage, answers)
    for piece in answers[:FEW]:
        stage.recall("narrow", _write_question(piece), HOME, about=[piece], k=1)
        stage.recall("wide", _write_question(piece), HOME, about=[piece], k=20)
    for words, piece in zip(SYNTAX, stage.plan.of("plain"), strict=False):
        stage.recall("syntax", f"{words} {piece.item.text}", HOME, about=[piece])


def _ask_unknown(stage: DrillSession, answers: Sequence[Piece]) -> None:
    """What nobody wrote, beside a question that has an answer: also by a user of the repository, as of the day before,
    and kept to a kind, a file or a confidence that memories have."""
    asker = replace(HOME, user="ana") if stage.supports("scope_user") else HOME
    filed = next(piece.item for piece in stage.plan.of("plain") if piece.item.source and piece.item.source.path)
    for number, (question, piece) in enumerate(zip(UNKNOWN, cycle(answers), strict=False)):
        place, at = asker if number % 2 else HOME, DAY_BEFORE if number >= len(UNKNOWN) // 2 else NOW
        stage.recall("unknown", question, place, about=[piece], at=at)
    for part, question, piece in zip(get_args(Part), UNKNOWN, cycle(answers), strict=False):
        if stage.supports(f"filter_{part}"):
            where = make_filter((part,), filed)
            stage.call("unknown", "recall_where", question, HOME, stage.trial.k, NOW, where, about=[piece])


def _write_question(piece: Piece) -> str:
    assert piece.query is not None
    return piece.query


def _revise(stage: DrillSession) -> list[Piece]:
    """Updates and supersedes what was acknowledged; what was written in its place."""
    changed = []
    for piece in stage.plan.of("edit", "successor"):
        old = stage.ids.get(piece.twin or "", ())
        op: Op = "update" if piece.role == "edit" else "supersede"
        if not old or not stage.supports(op):
            continue
        stage.change("revised", op, old, piece, _find_asker(stage, piece))
        changed.append(piece)
    stage.settle("revised")
    return changed


def _find_asker(stage: DrillSession, piece: Piece) -> Scope:
    """Where the old memory holds; by turns a user of the repository, or somebody on a branch, for whom it holds as for
    all."""
    old = stage.plan.by_name[piece.twin or ""].item.scope
    part = ASKERS[stage.plan.of(piece.role).index(piece) % len(ASKERS)] if old == HOME else {}
    return replace(old, **part) if all(stage.supports(f"scope_{name}") for name in part) else old


def _read_again(stage: DrillSession, step: str, changed: Sequence[Piece]) -> None:
    """The asked scope, those with equal texts, and what was changed by every other route."""
    for scope in (HOME, TWINS, *NARROWER):
        read_back(stage, step, scope, [piece for piece in stage.plan.pieces if piece.item.scope == scope])
    _get(stage, step, changed)
    for piece in changed:
        stage.recall(step, piece.item.text, piece.item.scope, about=[piece])


DRILL = Drill("keeping", place=10, size=500, least=SMALLEST, needs=(), plan=plan, play=play)
