"""What a kill leaves: of acknowledged writes, updates and forgets, of the store itself, and of a write in the air.

A kill ends the process; what the operating system holds survives it, so nothing here speaks of a power cut. A deed
counts if its effect was seen before the kill. Where the kill came right behind the acknowledgement nothing could look:
such a deed counts if the same kind of look saw the effect of another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from harness.log.transcript import Called, Handled, Transcript
from harness.metrics.metric import failed, not_applicable, proportion
from harness.metrics.trust.metric import ASKS, TrustMetric, trust
from harness.metrics.trust.pieces import lacks
from harness.model.drill import Piece
from harness.model.trial import Measure


@dataclass(frozen=True)
class KillLook:
    """What one call brought, if it did not fail. era: the kills before it. asked: whose own text was the question;
    None: a listing."""

    line: int
    era: int
    asked: str | None
    texts: tuple[str, ...]

    failed: bool = False

    def covers(self, piece: Piece) -> bool:
        return self.asked in (None, piece.name)

    def shows(self, piece: Piece) -> bool:
        return any(piece.canary is not None and piece.canary in text for text in self.texts)


@dataclass(frozen=True)
class KillDeed:
    """An acknowledged write, update (`piece` is the new text) or forget."""

    line: int
    era: int
    piece: Piece


Effect = Callable[[Piece, KillLook], bool]


class Kills:
    """A transcript, cut into eras by its kills. Calls that failed show nothing."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.handled = transcript.of(Handled)
        self.kills = [(line, event) for line, event in self.handled if event.what == "killed"]

    def era(self, line: int) -> int:
        return sum(at < line for at, _ in self.kills)

    @cached_property
    def listings(self) -> list[KillLook]:
        calls = self.transcript.calls("entries")
        return [self._look(line, None, call) for line, call in calls if call.fault is None]

    @cached_property
    def failed(self) -> list[KillLook]:
        """The looks that failed, of both kinds."""
        calls = (*self.transcript.calls("entries"), *self.transcript.calls("recall"))
        return [self._look(line, next(iter(call.about), None), call) for line, call in calls if call.fault]

    def unanswered(self, deed: KillDeed) -> bool:
        """Whether a look at it behind a later kill failed."""
        return any(look.era > deed.era and look.covers(deed.piece) for look in self.failed)

    @cached_property
    def recalls(self) -> list[KillLook]:
        calls = self.transcript.calls("recall")
        return [self._look(line, call.about[0], call) for line, call in calls if call.fault is None]

    def _look(self, line: int, asked: str | None, call: Called) -> KillLook:
        return KillLook(line, self.era(line), asked, tuple(hit.text for hit in self.transcript.hits(call)))

    @cached_property
    def rows(self) -> list[KillLook]:
        """The looks that say what is stored: listings; recalls by own text where nothing can be listed."""
        return self.listings if self.transcript.supports("entries") else self.recalls

    @cached_property
    def looks(self) -> list[KillLook]:
        return sorted([*self.listings, *self.recalls], key=lambda look: look.line)

    @cached_property
    def writes(self) -> list[KillDeed]:
        return [
            self._deed(line, name)
            for line, call in self.transcript.calls("remember")
            for name, ids in zip(call.about, self.transcript.ids(call), strict=False)
            if ids
        ]

    @cached_property
    def updates(self) -> list[KillDeed]:
        calls = self.transcript.calls("update")
        return [self._deed(line, call.about[0]) for line, call in calls if any(self.transcript.ids(call))]

    @cached_property
    def forgets(self) -> list[KillDeed]:
        calls = [(line, call, self.transcript.answer(call)) for line, call in self.transcript.calls("forget")]
        return [self._deed(line, call.about[0]) for line, call, said in calls if said and all(said)]

    @cached_property
    def touched(self) -> frozenset[str]:
        """Pieces that a forget or an update was asked for, whatever came of it."""
        forgets = (call.about[0] for _, call in self.transcript.calls("forget"))
        updates = (self.old(call.about[0]) for _, call in self.transcript.calls("update"))
        return frozenset((*forgets, *(old.name for old in updates)))

    def _deed(self, line: int, name: str) -> KillDeed:
        return KillDeed(line, self.era(line), self.transcript.plan.by_name[name])

    def old(self, name: str) -> Piece:
        """The text that an update took the place of."""
        pieces = self.transcript.plan.by_name
        return pieces[pieces[name].twin or ""]

    def controlled(self, deeds: Sequence[KillDeed], looks: Sequence[KillLook], effect: Effect) -> list[KillDeed]:
        """The deeds with a kill behind them that count: see the head of this file."""
        killed = [deed for deed in deeds if deed.era < len(self.kills)]
        seen = [[effect(deed.piece, look) for look in looks if _between(deed, look)] for deed in killed]
        sound = any(each and all(each) for each in seen)
        return [deed for deed, each in zip(killed, seen, strict=True) if (all(each) if each else sound)]

    def final(self, looks: Sequence[KillLook], piece: Piece) -> KillLook | None:
        """The last look at this piece behind the last kill."""
        return next((look for look in reversed(looks) if look.era == len(self.kills) and look.covers(piece)), None)


kills_of = lru_cache(maxsize=4)(Kills)
"""Many measures read one transcript."""


def _between(deed: KillDeed, look: KillLook) -> bool:
    """Whether it looks at the deed behind it and before the next kill."""
    return look.era == deed.era and look.line > deed.line and look.covers(deed.piece)


def _receipts(kills: Kills, bad: Sequence[tuple[KillDeed, KillLook | None]]) -> list[str]:
    """What the look shows of each memory; before it the deed, if that is another call than the one that stored it."""
    found = []
    for deed, look in bad:
        name = deed.piece.name
        found += [f"L{deed.line}"] if kills.transcript.stored.get(name) != deed.line else []
        found.append(kills.transcript.receipt(look.line if look else deed.line, name))
    return list(dict.fromkeys(found))


def _at_the_end(
    kills: Kills, deeds: Sequence[KillDeed], looks: Sequence[KillLook], effect: Effect, none: str
) -> Measure:
    """Of these deeds, those whose effect the last look behind the last kill does not show."""
    finals = [(deed, kills.final(looks, deed.piece)) for deed in deeds]
    bad = [(deed, look) for deed, look in finals if look is None or not effect(deed.piece, look)]
    unanswered = sum(look is None and kills.unanswered(deed) for deed, look in bad)
    return proportion(len(bad), len(deeds), _receipts(kills, bad), none=none, unanswered=unanswered)


def _shown(piece: Piece, look: KillLook) -> bool:
    return look.shows(piece)


def lost(transcript: Transcript) -> Measure:
    """A listing that leaves it out has not lost it, where its own text still brings it."""
    kills = kills_of(transcript)
    kept = [deed for deed in kills.writes if deed.piece.name not in kills.touched]
    deeds = kills.controlled(kept, kills.rows, _shown)
    last = [look for look in kills.looks if look.era == len(kills.kills)]
    bad = [deed for deed in deeds if not any(look.covers(deed.piece) and look.shows(deed.piece) for look in last)]
    unanswered = sum(kills.unanswered(deed) for deed in bad)
    lines = _receipts(kills, [(deed, kills.final(kills.rows, deed.piece)) for deed in bad])
    none = "no acknowledged write was readable before a kill"
    return proportion(len(bad), len(deeds), lines, none=none, unanswered=unanswered)


def reopened(transcript: Transcript) -> Measure:
    """Good is a kill with one opening behind it, and a first write then that is acknowledged."""
    kills = kills_of(transcript)
    if not kills.kills:
        return failed(transcript.reason or "no process was killed")
    bad = [line for era in range(1, len(kills.kills) + 1) if (line := _broken(kills, era))]
    good = len(kills.kills) - len(bad)
    return proportion(good, len(kills.kills), [f"L{line}" for line in bad], none="no process was killed")


def _broken(kills: Kills, era: int) -> int | None:
    """The line that shows that the store was not usable at once; None if it was."""
    killed = kills.kills[era - 1][0]
    opened = [(line, event) for line, event in kills.handled if event.what == "opened" and kills.era(line) == era]
    writes = ((line, call) for line, call in kills.transcript.calls("remember") if kills.era(line) == era)
    line, first = next(writes, (0, None))
    if len(opened) != 1 or opened[0][1].fault is not None or first is None:
        return opened[0][0] if opened else killed
    return None if all(kills.transcript.ids(first)) else line


def torn(transcript: Transcript) -> Measure:
    """Compares the listing behind a kill with the one before it: what is new in it, and should not be."""
    if refused := lacks(transcript, "entries"):
        return refused
    kills, pieces = kills_of(transcript), transcript.plan.pieces
    first = next((look for look in kills.listings if look.era == 0 and look.texts), None)
    if first is None or _odd(first, pieces):
        return not_applicable(
            "no listing before the first kill showed each memory once, with the text that was written"
        )
    bad: list[tuple[str, ...]] = []
    back = 0
    for era, (line, killed) in enumerate(kills.kills):
        if not killed.about:
            continue
        before = next(look for look in reversed(kills.listings) if look.line < line)
        after = next((look for look in kills.listings if look.era == era + 1), None)
        if after is None or _odd(after, pieces) - _odd(before, pieces):
            bad.append((f"L{line}", *([f"L{after.line}"] if after else [])))
        elif any(after.shows(transcript.plan.by_name[name]) for name in killed.about):
            back += 1
    receipts = [each for pair in bad for each in pair]
    return proportion(len(bad), back + len(bad), receipts, none="no write in the air came back")


def _odd(look: KillLook, pieces: Sequence[Piece]) -> Counter[str]:
    """Texts that hold no whole piece, and the names of pieces beyond their first time."""
    held = [[piece.name for piece in pieces if piece.item.text in text] for text in look.texts]
    strange = Counter(text for text, names in zip(look.texts, held, strict=True) if not names)
    times = Counter(name for names in held for name in names)
    return strange + Counter({name: more - 1 for name, more in times.items()})


def forgets_undone(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "forget"):
        return refused
    kills = kills_of(transcript)
    looks = kills.looks
    known = [deed for deed in kills.forgets if any(look.shows(deed.piece) for look in looks if look.line < deed.line)]
    deeds = kills.controlled(known, looks, lambda piece, look: not look.shows(piece))
    bad: list[tuple[KillDeed, KillLook | None]] = []
    for deed in deeds:
        later = [look for look in looks if look.era > deed.era]
        back = next((look for look in later if look.shows(deed.piece)), None)
        if back or kills.unanswered(deed) or not any(look.covers(deed.piece) for look in later):
            bad.append((deed, back))
    unanswered = sum(back is None and kills.unanswered(deed) for deed, back in bad)
    none = "no acknowledged forget took effect before a kill on a memory that was seen"
    return proportion(len(bad), len(deeds), _receipts(kills, bad), none=none, unanswered=unanswered)


def updates_undone(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "update"):
        return refused
    kills = kills_of(transcript)

    def effect(piece: Piece, look: KillLook) -> bool:
        return look.shows(piece) and not look.shows(kills.old(piece.name))

    deeds = kills.controlled(kills.updates, kills.rows, effect)
    return _at_the_end(kills, deeds, kills.rows, effect, "no acknowledged update took effect before a kill")


def unfindable(transcript: Transcript) -> Measure:
    """Survivors are what the last listing shows of the acknowledged writes and new texts."""
    if refused := lacks(transcript, "entries"):
        return refused
    kills = kills_of(transcript)
    listed = next((look for look in reversed(kills.listings) if look.era == len(kills.kills)), None)
    if listed is None:
        return failed("nothing was listed after the last kill")
    deeds = kills.controlled([*kills.writes, *kills.updates], kills.recalls, _shown)
    survivors = [deed for deed in deeds if listed.shows(deed.piece)]
    none = "no memory that its own text found before a kill was listed after the last"
    return _at_the_end(kills, survivors, kills.recalls, _shown, none)


CHANGING = (*ASKS, "forget", "update")
METRICS: tuple[TrustMetric, ...] = (
    trust(
        "lost_by_kill", "durability", "lower", "proportion",
        "acknowledged writes that the last look after the last kill (SIGKILL, no power cut) does not show "
        "/ acknowledged writes that a look before a kill showed, and those that a kill came right behind; writes in "
        "the air, and memories that a forget or update was asked for, are not counted", lost, version=2,
    ),
    trust(
        "usable_after_kill", "durability", "higher", "proportion",
        "kills after which a fresh process opened the store at the first try, answered, and acknowledged its first "
        "write / kills", reopened, whole=False,
    ),
    trust(
        "torn_by_kill", "durability", "lower", "proportion",
        "kills with a write in the air after which the listing shows a text that holds no whole memory, or a memory "
        "twice, which it did not before / such kills after which that listing is missing or shows any of the write; "
        "counted if the listing before the first kill was clean", torn,
        varies="a kill comes at another instant of a write", by_chance=True,
    ),
    trust(
        "forget_undone_by_kill", "durability", "lower", "proportion",
        "acknowledged forgets whose memory a listing or a recall brings after a kill / acknowledged forgets of a "
        "memory that a look had brought and that was gone before the kill, and those that a kill came right behind",
        forgets_undone, asks=CHANGING, version=2,
    ),
    trust(
        "update_undone_by_kill", "durability", "lower", "proportion",
        "acknowledged updates whose new text the last look after the kills does not show, or whose old text it shows / "
        "acknowledged updates that a look before a kill confirmed, and those that a kill came right behind",
        updates_undone, asks=CHANGING, version=2,
    ),
    trust(
        "unfindable_after_kill", "durability", "lower", "proportion",
        "memories that are listed after the last kill and that a recall of their own text does not bring within k / "
        "listed memories that it brought before a kill, and those that a kill came right behind", unfindable,
        asks=CHANGING, version=2,
    ),
)  # fmt: skip
