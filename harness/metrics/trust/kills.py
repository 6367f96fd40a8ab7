"""A transcript with kills in it: what was done before each, and what the looks behind it show."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from harness.adapter import Source
from harness.log.transcript import Called, Handled, Op
from harness.metrics.trust.view import DrillDeed, DrillLook, DrillView
from harness.model.drill import Piece
from harness.text.finder import Finder

Effect = Callable[[Piece, DrillLook], bool]
BOTH: tuple[Op, ...] = ("entries", "recall")


class Kills(DrillView):
    """A transcript, cut into eras by its kills: era 0 ends with the first. Calls that failed show nothing."""

    @cached_property
    def handled(self) -> list[tuple[int, Handled]]:
        return self.transcript.of(Handled)

    @cached_property
    def kills(self) -> list[tuple[int, Handled]]:
        return [(line, event) for line, event in self.handled if event.what == "killed"]

    def era(self, line: int) -> int:
        """The kills before a line."""
        # left, so that the line of a kill itself belongs to the era that it ends
        return bisect_left(self.kills, line, key=lambda kill: kill[0])

    def is_answered(self, op: Op) -> list[DrillLook]:
        return [DrillLook(line, call) for line, call in self.transcript.calls(op) if call.fault is None]

    def is_unanswered(self, deed: DrillDeed) -> bool:
        """Whether a look at it behind a later kill failed."""
        failed = self.looks_at(deed.piece, BOTH, failed=True)
        return any(self.era(look.line) > self.era(deed.line) for look in failed)

    @property
    def rows(self) -> tuple[Op, ...]:
        """The looks that say what is stored: listings; recalls by own text where nothing can be listed."""
        return ("entries",) if self.transcript.supports("entries") else ("recall",)

    @cached_property
    def both(self) -> list[DrillLook]:
        return sorted([*self.is_answered("entries"), *self.is_answered("recall")], key=lambda look: look.line)

    @cached_property
    def _of_memory(self) -> Mapping[tuple[str, bool], list[DrillLook]]:
        """Memory ("": all, by a listing), whether it failed -> the looks at it."""
        found: dict[tuple[str, bool], list[DrillLook]] = {}
        for op in BOTH:
            for line, call in self.transcript.calls(op):
                for name in ("",) if op == "entries" else call.about:
                    found.setdefault((name, call.fault is not None), []).append(DrillLook(line, call))
        return found

    def looks_at(self, piece: Piece, ops: Sequence[Op], *, failed: bool = False) -> list[DrillLook]:
        """In their order: a listing looks at all, a recall at the memory whose own text was the question."""
        names = [{"entries": "", "recall": piece.name}[op] for op in ops]
        found = (look for name in names for look in self._of_memory.get((name, failed), ()))
        return sorted(found, key=lambda look: look.line)

    def later_looks(self, deed: DrillDeed) -> list[DrillLook]:
        """The looks at what it wrote behind the kill that followed it, failed ones among them."""
        looks = [*self.looks_at(deed.piece, BOTH), *self.looks_at(deed.piece, BOTH, failed=True)]
        return [look for look in looks if self.era(look.line) > self.era(deed.line)]

    def shows(self, piece: Piece, look: DrillLook) -> bool:
        return piece.name in self.list_shown(look.call)

    def cites(self, piece: Piece, look: DrillLook) -> bool:
        """Whether it shows the memory, each time with its source."""
        # equal, not contained: one copy without its source beside a whole one is a loss
        return self._sources(look.call).get(piece.name) == {piece.item.source}

    def _sources(self, call: Called) -> Mapping[str, set[Source | None]]:
        if id(call) not in self._cited:  # each call is an object of this transcript
            cited = self._cited[id(call)] = dict[str, set[Source | None]]()
            for hit, piece in self.hits(call):
                cited.setdefault(piece.name, set()).add(hit.source)
        return self._cited[id(call)]

    @cached_property
    def _cited(self) -> dict[int, dict[str, set[Source | None]]]:
        return {}

    def deeds(self, op: Op) -> list[DrillDeed]:
        """The writes or updates (then the piece is the new text) that were acknowledged."""
        return [deed for deed in self.list_written(op) if deed.ids]

    @cached_property
    def touched(self) -> frozenset[str]:
        """Pieces that a forget or an update was asked for, whatever came of it."""
        forgets = (call.about[0] for _, call in self.transcript.calls("forget"))
        updates = [call.about[0] for _, call in self.transcript.calls("update")]
        # an update that was in flight is logged with the kill, not as a call
        updates += [name for _, killed in self.kills for name in killed.about if self.plan.by_name[name].twin]
        return frozenset((*forgets, *(self.old(name).name for name in updates)))

    @property
    def untouched(self) -> list[DrillDeed]:
        """The writes that were acknowledged, of what nobody changed or deleted."""
        return [deed for deed in self.deeds("remember") if deed.piece.name not in self.touched]

    def old(self, name: str) -> Piece:
        """The text that an update took the place of."""
        pieces = self.plan.by_name
        return pieces[pieces[name].twin or ""]

    def list_controlled(self, deeds: Sequence[DrillDeed], ops: Sequence[Op], effect: Effect) -> list[DrillDeed]:
        """The deeds with a kill behind them that count: see the head of `durability`."""
        killed = [deed for deed in deeds if self.era(deed.line) < len(self.kills) and is_looked_at(deed.piece, ops)]
        seen = [
            [effect(deed.piece, look) for look in self.looks_at(deed.piece, ops) if self._between(deed, look)]
            for deed in killed
        ]
        sound = any(each and all(each) for each in seen)
        return [deed for deed, each in zip(killed, seen, strict=True) if (all(each) if each else sound)]

    def final(self, ops: Sequence[Op], piece: Piece) -> DrillLook | None:
        """The last look at this piece behind the last kill."""
        behind = self.behind(self.looks_at(piece, ops))
        return behind[-1] if behind else None

    def behind(self, looks: Sequence[DrillLook]) -> list[DrillLook]:
        """Those behind the last kill."""
        return [look for look in looks if self.era(look.line) == len(self.kills)]

    def _between(self, deed: DrillDeed, look: DrillLook) -> bool:
        """Whether it is a look behind the deed and before the next kill."""
        return look.line > deed.line and self.era(look.line) == self.era(deed.line)

    @cached_property
    def _whole(self) -> Finder:
        return Finder(piece.item.text for piece in self.plan.pieces)

    @cached_property
    def _of_text(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for piece in self.plan.pieces:
            found.setdefault(piece.item.text, []).append(piece.name)
        return found

    def find_whole(self, text: str) -> list[str]:
        """The memories whose whole text stands in this one."""
        return [name for each in self._whole.find(text) for name in self._of_text[each]]


def is_looked_at(piece: Piece, ops: Sequence[Op]) -> bool:
    """In a large drill most memories are listed, and never asked for by their own text."""
    return piece.role != "listed" or "entries" in ops
