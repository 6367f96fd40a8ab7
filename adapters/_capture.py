"""What tutorials do with a session where a store captures none: its transcript in overlapping pieces, or a memory for
each message. `observe` stores them like any others, with the session and the number of a message as their source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from harness.adapter import Ack, Item, Memory, Message, Scope, Source

LONGEST, OVERLAP = 1000, 200
"""Characters of a piece, and of those it shares with the one before: what the tutorials give their text splitters."""
PIECES = f"the transcript is cut into pieces of {LONGEST} characters that overlap by {OVERLAP}, as tutorials do"
LOG = "each message of the transcript becomes a line of the file"
EACH = "each message of the transcript becomes a memory, where {} would have a model sum them up"


class Line(NamedTuple):
    """A line of what a message says; `number` counts messages from 1."""

    number: int
    text: str


Cut = Callable[[Sequence[Message]], Iterator[Line]]


def by_message(transcript: Sequence[Message]) -> Iterator[Line]:
    """`user: ...`; a blank message has none."""
    for number, message in enumerate(transcript, 1):
        if message.content.strip():
            yield Line(number, f"{message.role}: {message.content.strip()}")


def by_piece(transcript: Sequence[Message]) -> Iterator[Line]:
    """Whole lines that are not blank, as long as they fit; each piece begins with the last ones of the one before.
    Numbered by its first message.
    """
    kept = list[Line]()
    for line in _list_lines(transcript):
        if kept and _length([*kept, line]) > LONGEST:
            yield _join(kept)
            # the overlap gives way where the next line would not fit beside it
            while kept and (_length(kept) > OVERLAP or _length([*kept, line]) > LONGEST):
                del kept[0]
        kept.append(line)
    if kept:
        yield _join(kept)


def observe_with(memory: Memory, cut: Cut, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
    """Remembers all of it at once."""
    items = [
        Item(line.text, scope, at, "episodic", Source(session=f"{session}#{line.number}")) for line in cut(transcript)
    ]
    return Ack(tuple(name for ack in memory.remember(items) for name in ack.ids))


def _list_lines(transcript: Sequence[Message]) -> Iterator[Line]:
    for number, said in by_message(transcript):
        for line in said.splitlines():
            for begin in range(0, len(line), LONGEST):
                yield Line(number, line[begin : begin + LONGEST])


def _length(lines: Sequence[Line]) -> int:
    # `_join` puts a line end between two, and none behind the last
    return sum(len(line.text) + 1 for line in lines) - 1


def _join(lines: Sequence[Line]) -> Line:
    return Line(lines[0].number, "\n".join(line.text for line in lines))
