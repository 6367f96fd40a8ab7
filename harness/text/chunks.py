"""A transcript in pieces, as a store without capture of its own is handed it: whole messages up to a length, each piece
beginning with the last message of the one before. What a piece says is known from the anchors of its messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from harness import adapter
from harness.model.facts import Fact
from harness.model.scenario import Session
from harness.model.transcript import Message
from harness.text.clauses import holds, normalise

LONGEST = 1000
"""Characters of a piece: the default of widely used text splitters."""


class Part(NamedTuple):
    """A message, or a stretch of lines of one that is too long for a piece.

    Attributes:
        number: Of the message in its session, from 1.
        whole: Enough of it to be heard as it was meant.
    """

    number: int
    message: Message
    text: str
    whole: bool = True

    @property
    def as_message(self) -> adapter.Message:
        """As a backend is handed it."""
        # the role has a field of its own there; a call to a tool stands on a line with a label of its own
        role = self.message.role
        return adapter.Message(role, re.sub(rf"^{role}(?:: | (?=calls ))", "", self.text, flags=re.MULTILINE))


class Chunk(NamedTuple):
    """A piece of a transcript.

    Attributes:
        first: The number of its first message.
        asserted, denied, mentioned: Facts, by what the piece says of them in the end: what it tells and then takes
            back is denied.
        messages: Its messages, as a backend is handed them.
    """

    text: str
    first: int
    messages: tuple[adapter.Message, ...]
    asserted: frozenset[str]
    denied: frozenset[str]
    mentioned: frozenset[str]


def cut_transcript(session: Session, facts: Iterable[Fact], canaries: Mapping[str, str]) -> list[Chunk]:
    """The pieces of a session's transcript, in order.

    Args:
        facts: Of the story.
        canaries: Fact -> its string in this trial.
    """
    known = {fact.id: fact for fact in facts}
    parts = [part for at, message in enumerate(session.transcript, 1) for part in _split(at, message, canaries)]
    return [_read(own, known, canaries) for own in _pack(parts)]


def list_said(session: Session, canaries: Mapping[str, str]) -> tuple[adapter.Message, ...]:
    """A session's transcript as a backend is handed it."""
    return tuple(
        Part(at, message, render(message, canaries)).as_message for at, message in enumerate(session.transcript, 1)
    )


def render(message: Message, canaries: Mapping[str, str]) -> str:
    """`user: ...`; of a call to a tool its name and arguments."""
    sent = message.as_openai(canaries)
    lines = [f"{message.role}: {sent['content'].strip()}"] if sent["content"].strip() else []
    calls = (call["function"] for call in sent.get("tool_calls", ()))
    return "\n".join([*lines, *(f"{message.role} calls {call['name']}: {call['arguments']}" for call in calls)])


def _split(number: int, message: Message, canaries: Mapping[str, str]) -> Iterator[Part]:
    kept = ""
    for line in render(message, canaries).splitlines():
        # at least one piece: else an empty line would be lost
        for piece in (line[at : at + LONGEST] for at in range(0, max(1, len(line)), LONGEST)):
            # not `>`: a line feed comes between the two
            if kept and len(kept) + len(piece) >= LONGEST:
                yield Part(number, message, kept)
                kept = ""
            kept = f"{kept}\n{piece}" if kept else piece
    if kept:
        yield Part(number, message, kept)


def _pack(parts: Sequence[Part]) -> Iterator[list[Part]]:
    kept = list[Part]()
    for part in parts:
        if kept and _sum_lengths([*kept, part]) > LONGEST:
            yield kept
            # the message is not told twice where the new one would no longer fit beside it
            kept = [kept[-1]] if len(kept) > 1 and _sum_lengths([kept[-1], part]) <= LONGEST else []
        kept.append(part)
    if kept:
        yield kept


def _sum_lengths(parts: Sequence[Part]) -> int:
    return sum(len(part.text) + 1 for part in parts)


def _read(parts: Sequence[Part], facts: Mapping[str, Fact], canaries: Mapping[str, str]) -> Chunk:
    """A later message has the last word on a fact; what is told by several needs all of its forms in the piece."""
    word_by_fact: dict[str, str] = {}
    told: dict[str, list[str]] = {}
    for part in parts:
        message = part.message
        for name in message.mentions:
            # who only speaks of a fact leaves what was said of it before
            word_by_fact.setdefault(name, "mentioned")
        for name in message.retracts if part.whole else ():
            word_by_fact[name] = "denied"
            # parts that were told before the correction do not count when the fact is told again
            told.pop(name, None)
        for name in message.tells:
            word_by_fact[name] = "told"
            told.setdefault(name, []).append(part.text)
    for name, texts in told.items():
        # the forms of a fact with a canary hold the placeholder, not the string of this trial
        mark = canaries.get(name)
        whole = mark in "\n".join(texts) if mark else holds("\n".join(texts), facts[name].forms)
        word_by_fact[name] = "asserted" if whole else "mentioned"
    text = "\n".join(part.text for part in parts)

    def those(word: str) -> frozenset[str]:
        return frozenset(name for name, own in word_by_fact.items() if own == word)

    said_by = tuple(part.as_message for part in parts)
    return Chunk(text, parts[0].number, said_by, those("asserted"), those("denied"), those("mentioned"))


LEAST = 12
"""Characters of a line that tells by itself which message it is of."""


class Heard:
    """All that was said in a story, to find what of it stands in a text, however a backend has cut and wrapped it."""

    def __init__(self, sessions: Iterable[Session], facts: Iterable[Fact], canaries: Mapping[str, str]) -> None:
        self._facts, self._canaries = {fact.id: fact for fact in facts}, canaries
        self._sessions = [
            [(at, message, _list_lines(message, canaries)) for at, message in enumerate(session.transcript, 1)]
            for session in sessions
        ]

    def read(self, text: str) -> Chunk | None:
        """What the messages say that stand there, in their order; None if no line of any does.

        A message of which less than half stands there takes nothing back.
        """
        own = [_LABEL.sub("", line) for line in map(normalise, text.splitlines())]
        plain, ends = normalise(text), [line for line in (own[:1] + own[-1:]) if len(line) >= LEAST]
        found = [part for session in self._sessions for part in self._find(session, plain, frozenset(own), ends)]
        return _read(found, self._facts, self._canaries) if found else None

    @staticmethod
    def _find(
        session: Sequence[tuple[int, Message, list[str]]], plain: str, own: frozenset[str], ends: Sequence[str]
    ) -> Iterator[Part]:
        # short lines such as "ok" stand in any session: one longer line has to show that this one is meant
        if not any(len(line) >= LEAST and line in plain for _, _, lines in session for line in lines):
            return
        for at, message, lines in session:
            there = [line if _stands_alone(line, plain, own) else _find_cut(line, ends) for line in lines]
            if any(there):
                half = 2 * sum(map(len, there)) >= sum(map(len, lines))
                yield Part(at, message, "\n".join(filter(None, there)), whole=half)


# A backend may keep who spoke, or not: lines are compared without it.
_LABEL = re.compile(r"^(?:user|assistant|tool)(?:: | (?=calls ))")


def _list_lines(message: Message, canaries: Mapping[str, str]) -> list[str]:
    lines = (_LABEL.sub("", normalise(line)) for line in render(message, canaries).splitlines())
    return [line for line in lines if line]


def _stands_alone(line: str, plain: str, own: frozenset[str]) -> bool:
    """A short line may stand in any other: it has to be one of its own."""
    return line in own or (len(line) >= LEAST and line in plain)


def _find_cut(line: str, ends: Sequence[str]) -> str:
    """The stretch of a line with which a text begins or ends, as it was cut there."""
    return next((end for end in ends if end in line), "")
