"""A drill as its measures see it: the acknowledged writes, every look at a memory, and which memories an answer shows.

An answer shows a memory by its mark (`shown`), or brings it by its id or text (`brings`): each says when it is right.
What only one drill needs is in that drill's module.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, Self, TypeVar, cast

from harness.adapter import Hit, Scope
from harness.log.transcript import WRITES, Called, Op, Transcript
from harness.metrics.metric import unsupported
from harness.model.canary import memory_word
from harness.model.drill import Piece
from harness.model.trial import NotMeasured
from harness.text.finder import Finder

T = TypeVar("T")
READS: tuple[Op, ...] = ("entries", "get", "recall")
"""What shows memories; a history shows texts."""


class DrillLook(NamedTuple):
    """A call that looks at memories."""

    line: int
    call: Called


class DrillDeed(NamedTuple):
    """A write or forget of one memory.

    Attributes:
        ids: It was acknowledged with them, or had them when it was forgotten.
    """

    line: int
    who: str
    step: str
    piece: Piece
    ids: tuple[str, ...]


class Seen(NamedTuple):
    """A hit, and the line of the call that brought it."""

    line: int
    hit: Hit


class DrillView:
    """One transcript, indexed. Where there was no look at a memory, or one failed, nothing is known of it."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript, self.plan = transcript, transcript.plan
        self._named: dict[str, Sequence[Piece]] = {}
        self._shown: dict[tuple[int, bool], frozenset[str]] = {}
        self._by_id: dict[int, Mapping[str, Sequence[str]]] = {}

    @classmethod
    def of(cls, transcript: Transcript) -> Self:
        """Made once, as many measures read one transcript."""
        return cast("Self", _make(cast("Hashable", cls), transcript))

    # --- what was written ---

    @cached_property
    def _written(self) -> Mapping[Op, list[DrillDeed]]:
        return {
            op: [
                DrillDeed(line, call.who, call.step, self.plan.by_name[name], ids)
                for line, call in self.transcript.calls(op)
                for name, ids in zip(call.about, self.transcript.ids(call), strict=False)
            ]
            for op in WRITES
        }

    def list_written(self, op: Op, step: str | None = None) -> list[DrillDeed]:
        """Each memory that was handed over to this operation, of one step if named; without ids if it failed."""
        return [deed for deed in self._written[op] if step in (None, deed.step)]

    def forgotten(self, step: str | None = None) -> list[DrillDeed]:
        """Each forget that was acknowledged, of one step if named."""
        # a call that failed has no answer, and `all` holds of nothing
        return [
            DrillDeed(line, call.who, call.step, self.plan.by_name[name], self.ids.get(name, ()))
            for line, call in self.transcript.calls("forget", step)
            for name in call.about
            if all(self.transcript.answer(call) or [False])
        ]

    def list_ended(self, step: str) -> list[DrillDeed]:
        """Each memory of which the backend said that a step marked it, or all its parts, as ended."""
        return [
            DrillDeed(line, call.who, call.step, self.plan.by_name[name], self.ids.get(name, ()))
            for line, call in self.transcript.calls("deprecate", step)
            for name, said in _group(zip(call.about, self.transcript.answer(call) or (), strict=False)).items()
            if all(said)
        ]

    @cached_property
    def writes(self) -> Mapping[str, DrillDeed]:
        """Every piece that was handed over -> its write; an update or supersede counts after a remember."""
        return {deed.piece.name: deed for op in WRITES for deed in self.list_written(op)}

    @cached_property
    def ids(self) -> Mapping[str, tuple[str, ...]]:
        """Piece -> the ids under which it was acknowledged; only pieces that have one."""
        return {name: deed.ids for name, deed in self.writes.items() if deed.ids}

    @cached_property
    def named_by_id(self) -> Mapping[str, frozenset[str]]:
        """Id -> every memory that was ever acknowledged with it."""
        deeds = (deed for op in WRITES for deed in self.list_written(op))
        return {
            name: frozenset(each)
            for name, each in _group((i, deed.piece.name) for deed in deeds for i in deed.ids).items()
        }

    @cached_property
    def _owned(self) -> frozenset[str]:
        return frozenset(name for ids in self.ids.values() for name in ids)

    def list_acknowledged(self, pieces: Iterable[Piece]) -> list[Piece]:
        return [piece for piece in pieces if piece.name in self.ids]

    # --- the looks ---

    @cached_property
    def _looks(self) -> Mapping[tuple[str, Op, str], list[DrillLook]]:
        """Step, operation, memory."""
        found: dict[tuple[str, Op, str], list[DrillLook]] = {}
        for op in (*READS, "history"):
            for line, call in self.transcript.calls(op):
                for name in call.about:
                    found.setdefault((call.step, op, name), []).append(DrillLook(line, call))
        return found

    @cached_property
    def _steps(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step for step, _, _ in self._looks))

    def looks(self, name: str, steps: Collection[str], ops: Sequence[Op] = READS) -> list[DrillLook]:
        """The looks at a memory, in the order of the steps and operations."""
        return [look for step in steps for op in ops for look in self._looks.get((step, op, name), ())]

    @cached_property
    def _listings(self) -> Mapping[tuple[str, Scope], list[DrillLook]]:
        return self._by_scope("entries")

    @cached_property
    def _questions(self) -> Mapping[tuple[str, Scope], list[DrillLook]]:
        return self._by_scope("recall")

    def _by_scope(self, op: Op) -> Mapping[tuple[str, Scope], list[DrillLook]]:
        found: dict[tuple[str, Scope], list[DrillLook]] = {}
        for line, call in self.transcript.calls(op):
            found.setdefault((call.step, scope_of(call)), []).append(DrillLook(line, call))
        return found

    def listings(self, step: str, scope: Scope) -> Sequence[DrillLook]:
        return self._listings.get((step, scope), ())

    def scope_looks(self, step: str, scope: Scope) -> Sequence[DrillLook]:
        """The listings of a scope; where nothing can be listed, the questions in it."""
        if self.transcript.supports("entries"):
            return self.listings(step, scope)
        return self._questions.get((step, scope), ())

    # --- what an answer shows, by mark ---

    def find_named(self, text: str) -> Sequence[Piece]:
        """The memories whose marks stand in a text, the first one first."""
        if text not in self._named:
            self._named[text] = [piece for word in self._finder.find(text) for piece in self._marked[word]]
        return self._named[text]

    @cached_property
    def _marked(self) -> Mapping[str, Sequence[Piece]]:
        return _group((mark(piece), piece) for piece in self.plan.pieces)

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self._marked)

    def texts(self, call: Called, *, current: bool = False) -> Sequence[str]:
        """The texts of an answer.

        Args:
            current: Without those marked as superseded, of which a history has none.
        """
        if call.op == "history":
            return self.transcript.answer(call) or ()
        return [hit.text for hit in self.transcript.hits(call) if not (current and hit.superseded)]

    def texts_by_id(self, call: Called) -> Mapping[str, Sequence[str]]:
        """The id of each hit of an answer -> its texts."""
        known = self._by_id.get(id(call))  # each call is an object of this transcript
        if known is None:
            known = self._by_id[id(call)] = _group((hit.memory_id, hit.text) for hit in self.transcript.hits(call))
        return known

    def list_shown(self, call: Called, *, current: bool = False) -> frozenset[str]:
        """The memories whose marks stand in an answer, under whatever id.

        Right where content must not come back, or must not be lost: a store may change the ids, cut a text or put
        several into one. Not where two memories may share a text and have no canary: see `brings`.
        """
        key = id(call), current  # each call is an object of this transcript
        if key not in self._shown:
            texts = self.texts(call, current=current)
            self._shown[key] = frozenset(piece.name for text in texts for piece in self.find_named(text))
        return self._shown[key]

    def hits(self, call: Called) -> Iterator[tuple[Hit, Piece]]:
        """Each hit with the memories that it shows."""
        return ((hit, piece) for hit in self.transcript.hits(call) for piece in self.find_named(hit.text))

    def sees(self, step: str, name: str, *ops: Op) -> bool | None:
        """Whether a look at a memory in this step showed it; None if there was none, or none but failed ones."""
        looks = self.looks(name, [step], ops or READS)
        if any(name in self.list_shown(call) for _, call in looks):
            return True
        return None if not looks or any(call.fault for _, call in looks) else False

    def stands(self, step: str, name: str) -> bool | None:
        """Whether a look in this step showed it, not marked as superseded; None if no look could tell."""
        seen = self.sees(step, name)
        # `and` keeps None, which says that nobody knows
        return seen and any(name in self.list_shown(call, current=True) for _, call in self.looks(name, [step]))

    def last(self, name: str, before: int) -> bool | None:
        """Whether the last look at a memory before a line showed it; None if there was none, or it failed."""
        looks = (look for look in self.looks(name, self._steps) if look.line < before)
        last = max(looks, key=lambda look: look.line, default=None)
        return None if last is None or last.call.fault else name in self.list_shown(last.call)

    def line(self, step: str, name: str) -> str | None:
        """The receipt for a look: the first one that showed it, else the first one."""
        looks = self.looks(name, [step], ("entries", "recall", "get"))
        line = next((line for line, call in looks if name in self.list_shown(call)), looks[0].line if looks else None)
        return None if line is None else self.transcript.receipt(line, name)

    # --- what an answer brings, by id or text ---

    def brings(self, hit: Hit, piece: Piece) -> bool:
        """It is this memory, by an id of its own or by its text.

        Right where a store is asked for what it acknowledged: memories may look alike, or share a text, and the id
        tells them apart. Not where an id may lie, as of what was deleted or belongs to another: see `shown`.
        """
        return hit.memory_id in self.ids.get(piece.name, ()) or (self.own(piece, hit) and holds(hit.text, piece))

    def own(self, piece: Piece, hit: Hit) -> bool:
        """Under an id that was acknowledged for it, or for none: a store may show texts under other names."""
        return hit.memory_id in self.ids.get(piece.name, ()) or not self.owns(hit)

    def owns(self, hit: Hit) -> bool:
        """Whether any write was acknowledged with its id."""
        return hit.memory_id in self._owned

    def rank(self, call: Called, piece: Piece) -> int | None:
        """Where a memory stands among the hits of a call, from 0; None if it did not come."""
        return next((at for at, hit in enumerate(self.transcript.hits(call)) if self.brings(hit, piece)), None)

    @cached_property
    def _texts(self) -> Mapping[str, Mapping[str, list[Seen]]]:
        """Step -> text -> the hits that are it."""
        found: dict[str, dict[str, list[Seen]]] = {}
        for op in READS:
            for line, call in self.transcript.calls(op):
                texts = found.setdefault(call.step, {})
                for hit in self.transcript.hits(call):
                    texts.setdefault(hit.text, []).append(Seen(line, hit))
        return found

    def equal(self, piece: Piece, *steps: str) -> list[Seen]:
        """What came back with the very text of the piece in these steps, by whatever call.

        Under its own ids; under those of no piece only if it never came so: that may be a copy of another's.
        """
        texts = (self._texts.get(step, {}).get(piece.item.text, []) for step in steps)
        found = [seen for each in texts for seen in each if self.own(piece, seen.hit)]
        return [seen for seen in found if self.owns(seen.hit)] or found

    def list_seen(self, step: str, scope: Scope) -> list[Seen]:
        """What the listings of a scope show; without listings, what each memory's own text brings."""
        return [Seen(line, hit) for line, call in self.scope_looks(step, scope) for hit in self.transcript.hits(call)]

    def list_held(self, step: str, scopes: Iterable[Scope], pieces: Iterable[Piece]) -> set[str]:
        """Those whose text, white space aside, stands in what these scopes show, as a hit of their own.

        Texts may stand inside of larger ones; a blank one is nowhere.
        """
        wanted = _group((text, piece) for piece in pieces if (text := squeeze(piece.item.text)))
        finder, hits = Finder(wanted), [seen.hit for scope in scopes for seen in self.list_seen(step, scope)]
        found = ((piece, hit) for hit in hits for text in finder.find(squeeze(hit.text)) for piece in wanted[text])
        return {piece.name for piece, hit in found if self.own(piece, hit)}

    def look(self, step: str, piece: Piece) -> DrillLook | None:
        """The call that had to show it: the listing of its scope, else a question of its own text."""
        looks = self.scope_looks(step, piece.item.scope)
        return next((look for look in looks if look.call.op == "entries" or piece.name in look.call.about), None)

    def receipts(self, cases: Iterable[tuple[int | None, str]]) -> list[str]:
        """Of lines that show what became of a memory; without a line, of its write."""
        # None cannot be compared with a line
        ordered = sorted(set(cases), key=lambda case: (case[0] or 0, case[1]))
        return [self.transcript.receipt(line, name) for line, name in ordered]


# few, as each holds a whole transcript; transcripts compare by identity, so that they can be keys
@lru_cache(maxsize=4)
def _make(kind: type[DrillView], transcript: Transcript) -> DrillView:
    return kind(transcript)


def line_of(look: DrillLook | None) -> int | None:
    return None if look is None else look.line


def _group(pairs: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def mark(piece: Piece) -> str:
    """What tells its text from all others and stands in no query: its canary; where it has none, the whole text."""
    return memory_word(piece.canary) if piece.canary else piece.item.text


def scope_of(call: Called) -> Scope:
    scope = call.request["scope"]
    assert isinstance(scope, dict), "a drill logs the scope of every call"
    return Scope(**{part: str(value) for part, value in scope.items()})


def lacks(transcript: Transcript, *capabilities: str) -> NotMeasured | None:
    """Why nothing can be measured, if the backend declares that it lacks one of these."""
    for each in capabilities:
        if not transcript.supports(each):
            return unsupported(f"{each}: {transcript.drilled.backend.find_support(each).note or 'not offered'}")
    return None


def holds(text: str, piece: Piece) -> bool:
    """Whether the text is in there, white space aside."""
    return squeeze(piece.item.text) in squeeze(text)


def squeeze(text: str) -> str:
    return " ".join(text.split())


def receipts(lines: Iterable[int]) -> list[str]:
    return [f"L{line}" for line in sorted(set(lines))]
