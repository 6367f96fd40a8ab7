"""Does how a thing was said tell what it is worth? Questions against transcripts, for backends that receive sessions.

Such a backend holds messages, or pieces of them, and neither the sentences nor the anchors of the story. People's words
lean now here, now there, so a single question may share a rare word with one side; all of them together may not lean,
nor may a reader that counts words find the current rule, nor a length give away who tells one. Noise needs no check of
its own: it is pieces of other stories of the same suite.

Questions are put in up to three ways, which mostly agree: the 328 of the suite deep ask for 67 replaced rules. A coin
thrown once a rule lands within `overlap.COIN` of a half nine times in ten.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from harness.model.scenario import Session
from harness.selftest import overlap
from harness.selftest.overlap import Leaning
from harness.selftest.proof import ScenarioProof
from harness.text.chunks import cut_transcript

Unit = Literal["messages", "pieces"]
BOUNDS: Mapping[str, float] = {"user": 0.80, "assistant": 0.80, "tool": 0.85, "pieces": 0.60, "current": 0.60}
"""Of two texts, one of each kind, the largest share of pairs in which one kind is the longer.

What decides is longer than "ok", and a file that a tool prints longer than "done": of messages, at least one pair in
five (of tools, one in seven) is the other way round. Pieces are what a store keeps: there a length may tell no more
than it does of noise. What tells the current rule may be no longer and no shorter than what tells the one before: that
is a coin, as far off as `overlap.COIN` allows.
"""

STORY = 1 / 3
"""How much more often questions of one story may lean to one side than to the other, of ASKED or more."""
ASKED = 20


class Told(NamedTuple):
    """A message or a piece: its text, and the facts that it tells."""

    text: str
    facts: frozenset[str]


class Lengths(NamedTuple):
    """Characters of two kinds of texts."""

    these: tuple[int, ...] = ()
    those: tuple[int, ...] = ()

    @property
    def area(self) -> float:
        """The share of pairs in which one of these is the longer; a tie is half of one. Half, where there are none."""
        those, pairs = sorted(self.those), len(self.these) * len(self.those)
        won = sum(bisect_left(those, each) + bisect_right(those, each) for each in self.these) / 2
        return won / pairs if pairs else 0.5


class Heard(NamedTuple):
    """One story.

    Attributes:
        leaning: To which side its questions are worded, in messages and in pieces.
        lengths: Of messages of each role and of pieces, those that tell a fact and those that tell none; `current`: of
            messages that tell a rule which replaced another one, and of those that tell the other one.
    """

    leaning: Mapping[Unit, Leaning]
    lengths: Mapping[str, Lengths]


def measure(proof: ScenarioProof) -> Heard | None:
    """What there is to know of one story; None if it has no transcripts."""
    if not proof.scenario.spoken:
        return None
    leaning = {unit: _measure_leaning(proof, unit) for unit in get_args(Unit)}
    return Heard(leaning, dict(_measure_lengths(proof)))


def add_leanings(several: Sequence[Heard], unit: Unit) -> Leaning:
    return overlap.add(each.leaning[unit] for each in several)


def add_lengths(several: Iterable[Heard]) -> dict[str, Lengths]:
    found = dict.fromkeys(BOUNDS, Lengths())
    for each in several:
        for kind, own in each.lengths.items():
            found[kind] = Lengths(found[kind].these + own.these, found[kind].those + own.those)
    return found


def judge(several: Sequence[Heard]) -> Iterator[tuple[str, str]]:
    """A key and why: what of the transcripts of a suite gives away what it is worth."""
    for unit in get_args(Unit):
        yield from ((unit, why) for why in overlap.judge([add_leanings(several, unit)]))
    for kind, found in add_lengths(several).items():
        if max(found.area, 1 - found.area) > BOUNDS[kind]:
            yield kind, f"{describe_length(kind, found)}; at most {BOUNDS[kind]:.0%} may be, or the other way round"


def describe_length(kind: str, found: Lengths) -> str:
    if kind == "current":
        return f"what tells the current rule is longer than what tells the one before in {found.area:.0%} of the pairs"
    who = "pieces" if kind == "pieces" else f"messages of the role {kind}"
    return f"{who} that tell a fact are longer than those that tell none in {found.area:.0%} of the pairs"


def describe(several: Sequence[Heard]) -> Iterator[str]:
    """What was measured, a line each; nothing where no story has transcripts."""
    for unit in get_args(Unit) if several else ():
        lean = add_leanings(several, unit)
        yield (
            f"transcripts, {unit}: questions that share a rare word with the current rule only {lean.current}, with "
            f"the one before only {lean.superseded}, of {lean.of}; BM25 finds the current rule first in "
            f"{lean.picked:g}"
        )
    for kind, found in add_lengths(several).items() if several else ():
        yield f"  {describe_length(kind, found)}; at most {BOUNDS[kind]:.0%} may be"


def _list_told(proof: ScenarioProof, session: Session, unit: Unit) -> list[Told]:
    if unit == "messages":
        return [Told(message.text, frozenset(message.tells)) for message in session.transcript]
    pieces = cut_transcript(session, proof.scenario.facts, proof.canaries)
    return [Told(piece.text, piece.asserted) for piece in pieces]


def _measure_leaning(proof: ScenarioProof, unit: Unit) -> Leaning:
    """Each question against what was said until it is asked, where both sides were told and each apart."""
    held: dict[str, list[Told]] = {}
    kept: list[Told] = []
    for session in proof.scenario.sessions:
        # a new list each time: a session holds what was said until then
        kept = [*kept, *_list_told(proof, session, unit)]
        held[session.id] = kept
    sides: dict[str, list[str]] = {"current": [], "superseded": []}
    of, picked = 0, 0.0
    readers: dict[str, _Words] = {}
    for session, key, question, fact, before in overlap.list_questions(proof):
        told = held[session.id]
        apart = _list_apart(told, fact, before), _list_apart(told, before, fact)
        if not all(apart):
            continue
        if session.id not in readers:
            readers[session.id] = _Words([each.text for each in told])
        now, then = (readers[session.id].find_rare(question, side) for side in apart)
        # a word on each side draws to both, and the question leans to neither
        if bool(now - then) is not bool(then - now):
            sides["current" if now - then else "superseded"].append(f"{key} ({', '.join(sorted(now ^ then))})")
        of += 1
        first, second = (readers[session.id].score(question, side) for side in apart)
        picked += 1.0 if first > second else 0.5 if first == second else 0.0
    found = Leaning(len(sides["current"]), len(sides["superseded"]), of, picked)
    if of >= ASKED and abs(found.excess) > STORY:
        side = "superseded" if found.excess > 0 else "current"
        proof.breach(
            f"transcripts.{unit}", f"{abs(found.excess):.0%} of {of} questions more share a rare word with the {side} "
            f"rule only than with the other; at most {STORY:.0%} may: {'; '.join(sides[side])}",
        )  # fmt: skip
    return found


def _list_apart(told: Sequence[Told], fact: str, other: str) -> list[int]:
    """Where a fact is told and the other one is not."""
    return [at for at, each in enumerate(told) if fact in each.facts and other not in each.facts]


class _Words:
    """Texts as a reader sees them that counts words."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s  # here: it is heavy

        self._words, self._rare = [overlap.split_words(text) for text in texts], overlap.find_rare(texts)
        self._index = bm25s.BM25()
        self._index.index(bm25s.tokenize(list(texts), return_ids=False, show_progress=False), show_progress=False)
        self._scores: dict[str, Sequence[float]] = {}

    def find_rare(self, question: str, places: Iterable[int]) -> set[str]:
        """Rare words of a question that stand in these texts."""
        return overlap.split_words(question) & self._rare & set().union(*(self._words[at] for at in places))

    def score(self, question: str, places: Iterable[int]) -> float:
        """That of the best of these texts, as BM25 ranks them."""
        import bm25s

        if question not in self._scores:
            [asked] = bm25s.tokenize([question], return_ids=False, show_progress=False)
            # bm25s raises for a question of which no token is left
            self._scores[question] = self._index.get_scores(asked).tolist() if asked else [0.0] * len(self._words)
        return max(self._scores[question][at] for at in places)


def _measure_lengths(proof: ScenarioProof) -> Iterator[tuple[str, Lengths]]:
    facts, sessions = proof.scenario.by_id, proof.scenario.sessions
    messages = [message for session in sessions for message in session.transcript]
    for role in ("user", "assistant", "tool"):
        own = [message for message in messages if message.role == role]
        yield role, _split_lengths((len(each.text), bool(each.tells)) for each in own)
    pieces = [each for session in sessions for each in _list_told(proof, session, "pieces")]
    yield "pieces", _split_lengths((len(each.text), bool(each.facts)) for each in pieces)
    replaced = {before for fact in facts.values() if (before := fact.supersedes)}
    replacing = {fact.id for fact in facts.values() if fact.supersedes}
    # a rule that replaced one and was replaced itself is not current
    now, then = (
        tuple(len(each.text) for each in messages if side & {*each.tells} and not other & {*each.tells})
        for side, other in ((replacing - replaced, replaced), (replaced, replacing - replaced))
    )
    yield "current", Lengths(now, then)


def _split_lengths(found: Iterable[tuple[int, bool]]) -> Lengths:
    every = [*found]
    return Lengths(tuple(size for size, tells in every if tells), tuple(size for size, tells in every if not tells))
