"""Which of a drill's memories an answer brings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from harness.adapter import Hit, Scope
from harness.log.transcript import WRITES, Called, Op, Transcript
from harness.metrics.metric import unsupported
from harness.model.drill import Piece
from harness.model.trial import NotMeasured

READS: tuple[Op, ...] = ("entries", "get", "recall")


class Seen(NamedTuple):
    """A hit, and the line of the call that brought it."""

    line: int
    hit: Hit


class Pieces:
    """The memories of one transcript: what was acknowledged, and what came back.

    A hit is a piece's own under an id that was acknowledged for it, or under one that was acknowledged for none: a
    store may show its texts under other names, such as a file's.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    @cached_property
    def ids(self) -> Mapping[str, tuple[str, ...]]:
        """Piece -> the ids under which it was acknowledged; only pieces that have one."""
        return {name: ids for name, (_, ids) in self.writes.items() if ids}

    @cached_property
    def writes(self) -> Mapping[str, tuple[int, tuple[str, ...]]]:
        """Every piece that was handed over -> the line of its write, and the ids that it was acknowledged with."""
        return {
            name: (line, ids)
            for op in WRITES
            for line, call in self._transcript.calls(op)
            for name, ids in zip(call.about, self._transcript.ids(call), strict=False)
        }

    @cached_property
    def _owned(self) -> frozenset[str]:
        return frozenset(name for ids in self.ids.values() for name in ids)

    def receipts(self, cases: Iterable[tuple[int | None, str]]) -> list[str]:
        """Of lines that show what became of a memory; without a line, of its write."""
        ordered = sorted(set(cases), key=lambda case: (case[0] or 0, case[1]))
        return [self._transcript.receipt(line, name) for line, name in ordered]

    def look(self, step: str, piece: Piece) -> int | None:
        """The line of the call that had to show it: the listing of its scope, else a question of its own text."""
        for line, call in self._listings(step, piece.item.scope):
            if call.op == "entries" or piece.name in call.about:
                return line
        return None

    def acknowledged(self, pieces: Iterable[Piece]) -> list[Piece]:
        return [piece for piece in pieces if piece.name in self.ids]

    def owned(self, hit: Hit) -> bool:
        """Whether any write was acknowledged with its id."""
        return hit.memory_id in self._owned

    def own(self, piece: Piece, hit: Hit) -> bool:
        return hit.memory_id in self.ids.get(piece.name, ()) or not self.owned(hit)

    def brings(self, hit: Hit, piece: Piece) -> bool:
        """It is this memory, by an id of its own or by its text."""
        return hit.memory_id in self.ids.get(piece.name, ()) or (self.own(piece, hit) and holds(hit.text, piece))

    def rank(self, call: Called, *pieces: Piece) -> int | None:
        """Where the first of these memories stands among the hits of a call, from 0; None if none of them came."""
        hits = self._transcript.hits(call)
        return next((at for at, hit in enumerate(hits) if any(self.brings(hit, piece) for piece in pieces)), None)

    @cached_property
    def _texts(self) -> Mapping[str, Mapping[str, list[Seen]]]:
        """Step -> text -> the hits that are it."""
        found: dict[str, dict[str, list[Seen]]] = {}
        for op in READS:
            for line, call in self._transcript.calls(op):
                texts = found.setdefault(call.step, {})
                for hit in self._transcript.hits(call):
                    texts.setdefault(hit.text, []).append(Seen(line, hit))
        return found

    def equal(self, piece: Piece, *steps: str) -> list[Seen]:
        """What came back with the very text of the piece in these steps, by whatever call.

        Under its own ids; under those of no piece only if it never came so: that may be a copy of another's.
        """
        texts = (self._texts.get(step, {}).get(piece.item.text, []) for step in steps)
        found = [seen for each in texts for seen in each if self.own(piece, seen.hit)]
        return [seen for seen in found if self.owned(seen.hit)] or found

    def listed(self, step: str, scope: Scope) -> list[Seen]:
        """What the listings of a scope show; without listings, what each memory's own text brings."""
        return [Seen(line, hit) for line, call in self._listings(step, scope) for hit in self._transcript.hits(call)]

    def _listings(self, step: str, scope: Scope) -> Iterator[tuple[int, Called]]:
        op: Op = "entries" if self._transcript.supports("entries") else "recall"
        return (call for call in self._transcript.calls(op, step) if scope_of(call[1]) == scope)


pieces_of = lru_cache(maxsize=4)(Pieces)
"""Many measures read one transcript."""


def scope_of(call: Called) -> Scope:
    scope = call.request["scope"]
    assert isinstance(scope, dict), "a drill logs the scope of every call"
    return Scope(**{part: str(value) for part, value in scope.items()})


def lacks(transcript: Transcript, *capabilities: str) -> NotMeasured | None:
    """Why nothing can be measured, if the backend declares that it lacks one of these."""
    for each in capabilities:
        if not transcript.supports(each):
            return unsupported(f"{each}: {transcript.drilled.backend.support[each].note or 'not offered'}")
    return None


def holds(text: str, piece: Piece) -> bool:
    """Whether the text is in there, white space aside."""
    return squeezed(piece.item.text) in squeezed(text)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def receipts(lines: Iterable[int]) -> list[str]:
    return [f"L{line}" for line in sorted(set(lines))]
