"""What a kill leaves of acknowledged writes, updates and deletions, of the store itself, and of a write in flight.

A kill ends the process and not the operating system, so this says nothing of a power cut. An operation counts if its
effect was seen before the kill. If the kill came right after the acknowledgement, before any look, the operation counts
if the same kind of look saw the effect of another one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from harness.adapter import Source
from harness.log.transcript import Called, Handled, Op, Transcript
from harness.metrics import columns
from harness.metrics.metric import failed, not_applicable, proportion
from harness.metrics.trust.metric import ASKS, DrillWords, TrustMetric, trust
from harness.metrics.trust.view import DrillDeed, DrillLook, DrillView, lacks
from harness.metrics.trust.wrong import share_wrong
from harness.model.drill import Piece
from harness.model.trial import Measure
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
        updates = (self.old(call.about[0]) for _, call in self.transcript.calls("update"))
        return frozenset((*forgets, *(old.name for old in updates)))

    @property
    def untouched(self) -> list[DrillDeed]:
        """The writes that were acknowledged, of what nobody changed or deleted."""
        return [deed for deed in self.deeds("remember") if deed.piece.name not in self.touched]

    def old(self, name: str) -> Piece:
        """The text that an update took the place of."""
        pieces = self.plan.by_name
        return pieces[pieces[name].twin or ""]

    def list_controlled(self, deeds: Sequence[DrillDeed], ops: Sequence[Op], effect: Effect) -> list[DrillDeed]:
        """The deeds with a kill behind them that count: see the head of this file."""
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


def _receipts(kills: Kills, bad: Sequence[tuple[DrillDeed, DrillLook | None]]) -> list[str]:
    """What the look shows of each memory; before it the deed, if that is another call than the one that stored it."""
    found = []
    for deed, look in bad:
        name = deed.piece.name
        found += [f"L{deed.line}"] if kills.transcript.stored.get(name) != deed.line else []
        found.append(kills.transcript.receipt(look.line if look else deed.line, name))
    return list(dict.fromkeys(found))


def _at_the_end(kills: Kills, deeds: Sequence[DrillDeed], ops: Sequence[Op], effect: Effect, none: str) -> Measure:
    """Of these deeds, those whose effect the last look behind the last kill does not show."""
    finals = [(deed, kills.final(ops, deed.piece)) for deed in deeds]
    bad = [(deed, look) for deed, look in finals if look is None or not effect(deed.piece, look)]
    unanswered = sum(look is None and kills.is_unanswered(deed) for deed, look in bad)
    return proportion(len(bad), len(deeds), _receipts(kills, bad), none=none, unanswered=unanswered)


def lost(transcript: Transcript) -> Measure:
    """A listing that leaves it out has not lost it, where its own text still brings it."""
    kills = Kills.of(transcript)
    deeds = kills.list_controlled(kills.untouched, kills.rows, kills.shows)
    bad = [
        deed
        for deed in deeds
        if not any(kills.shows(deed.piece, look) for look in kills.behind(kills.looks_at(deed.piece, BOTH)))
    ]
    unanswered = sum(kills.is_unanswered(deed) for deed in bad)
    lines = _receipts(kills, [(deed, kills.final(kills.rows, deed.piece)) for deed in bad])
    none = "no acknowledged write was readable before a kill"
    return proportion(len(bad), len(deeds), lines, none=none, unanswered=unanswered)


def sources_lost(transcript: Transcript) -> Measure:
    """Of what a look still shows: what none shows is counted as lost."""
    if refused := lacks(transcript, "source"):
        return refused
    kills = Kills.of(transcript)
    told = [deed for deed in kills.untouched if deed.piece.item.source]
    deeds = kills.list_controlled(told, kills.rows, kills.cites)
    shown = [deed for deed in deeds if (look := kills.final(kills.rows, deed.piece)) and kills.shows(deed.piece, look)]
    return _at_the_end(kills, shown, kills.rows, kills.cites, "no source was right before a kill")


def wrong(transcript: Transcript) -> Measure:
    """A question counts if the same kind of look found it, or others, before a kill."""
    kills = Kills.of(transcript)
    found = {deed.piece.name for deed in kills.list_controlled(kills.untouched, ("recall",), kills.shows)}
    deeds = kills.list_controlled(kills.untouched, kills.rows, kills.shows)
    cases = [
        (deed, [look for look in kills.later_looks(deed) if look.call.op == "entries" or deed.piece.name in found])
        for deed in deeds
    ]
    return share_wrong(kills, cases, "no acknowledged write was readable before a kill")


def reopened(transcript: Transcript) -> Measure:
    """Good is a kill with one opening behind it, and a first write then that is acknowledged."""
    kills = Kills.of(transcript)
    if not kills.kills:
        return failed(transcript.reason or "no process was killed")
    bad = [line for era in range(1, len(kills.kills) + 1) if (line := _broken(kills, era))]
    good = len(kills.kills) - len(bad)
    return proportion(good, len(kills.kills), [f"L{line}" for line in bad], none="no process was killed")


def _broken(kills: Kills, era: int) -> int | None:
    """The line that shows that the store was not usable at once; None if it was."""
    killed = kills.kills[era - 1][0]
    opened = [(line, event) for line, event in kills.handled if event.what == "opened" and kills.era(line) == era]
    first = next((write for write in kills.transcript.calls("remember") if kills.era(write[0]) == era), None)
    if len(opened) != 1 or opened[0][1].fault is not None or first is None:
        return opened[0][0] if opened else killed
    line, call = first
    return None if all(kills.transcript.ids(call)) else line


def torn(transcript: Transcript) -> Measure:
    """Compares the listing behind a kill with the one before it: what is new in it, and should not be."""
    if refused := lacks(transcript, "entries"):
        return refused
    kills = Kills.of(transcript)
    listings = kills.is_answered("entries")
    first = next((look for look in listings if kills.era(look.line) == 0 and kills.texts(look.call)), None)
    if first is None or _odd(kills, first):
        return not_applicable(
            "no listing before the first kill showed each memory once, with the text that was written"
        )
    bad: list[tuple[str, ...]] = []
    back = 0
    for era, (line, killed) in enumerate(kills.kills):
        if not killed.about:
            continue
        before = next(look for look in reversed(listings) if look.line < line)
        after = next((look for look in listings if kills.era(look.line) == era + 1), None)
        if after is None or _odd(kills, after) - _odd(kills, before):
            bad.append((f"L{line}", *([f"L{after.line}"] if after else [])))
        elif not kills.list_shown(after.call).isdisjoint(killed.about):
            back += 1
    receipts = [each for pair in bad for each in pair]
    return proportion(len(bad), back + len(bad), receipts, none="no write in flight came back")


def _odd(kills: Kills, look: DrillLook) -> Counter[str]:
    """Texts that hold no whole piece, and the names of pieces beyond their first time."""
    texts = kills.texts(look.call)
    held = [kills.find_whole(text) for text in texts]
    strange = Counter(text for text, names in zip(texts, held, strict=True) if not names)
    times = Counter(name for names in held for name in names)
    return strange + Counter({name: more - 1 for name, more in times.items()})


def forgets_undone(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "forget"):
        return refused
    kills = Kills.of(transcript)
    looks = kills.both
    known = [
        deed
        for deed in kills.forgotten()
        if any(kills.shows(deed.piece, look) for look in looks if look.line < deed.line)
    ]
    deeds = kills.list_controlled(known, BOTH, lambda piece, look: not kills.shows(piece, look))
    bad: list[tuple[DrillDeed, DrillLook | None]] = []
    for deed in deeds:
        later = [look for look in looks if kills.era(look.line) > kills.era(deed.line)]
        back = next((look for look in later if kills.shows(deed.piece, look)), None)
        looked = any(kills.era(look.line) > kills.era(deed.line) for look in kills.looks_at(deed.piece, BOTH))
        if back or kills.is_unanswered(deed) or not looked:
            bad.append((deed, back))
    unanswered = sum(back is None and kills.is_unanswered(deed) for deed, back in bad)
    none = "no acknowledged forget took effect before a kill on a memory that was seen"
    return proportion(len(bad), len(deeds), _receipts(kills, bad), none=none, unanswered=unanswered)


def updates_undone(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "update"):
        return refused
    kills = Kills.of(transcript)

    def effect(piece: Piece, look: DrillLook) -> bool:
        return kills.shows(piece, look) and not kills.shows(kills.old(piece.name), look)

    deeds = kills.list_controlled(kills.deeds("update"), kills.rows, effect)
    return _at_the_end(kills, deeds, kills.rows, effect, "no acknowledged update took effect before a kill")


def unfindable(transcript: Transcript) -> Measure:
    """Survivors are what the last listing shows of the acknowledged writes and new texts."""
    if refused := lacks(transcript, "entries"):
        return refused
    kills = Kills.of(transcript)
    listed = kills.behind(kills.is_answered("entries"))
    if not listed:
        return failed("nothing was listed after the last kill")
    deeds = kills.list_controlled([*kills.deeds("remember"), *kills.deeds("update")], ("recall",), kills.shows)
    survivors = [deed for deed in deeds if kills.shows(deed.piece, listed[-1])]
    none = "no memory that its own text found before a kill was listed after the last"
    return _at_the_end(kills, survivors, ("recall",), kills.shows, none)


CHANGING = (*ASKS, "forget", "update")
DRILL = DrillWords(
    "durability",
    60,
    "Killed",
    "Is what was acknowledged still there after the process was killed?",
)
METRICS: tuple[TrustMetric, ...] = (
    trust(
        "lost_by_kill", DRILL, "lower", "proportion",
        "acknowledged writes that the last look after the last kill (SIGKILL, no power cut) does not show "
        "/ acknowledged writes that a look before a kill showed, and those that a kill came right behind; writes in "
        "the air, and memories that a forget or update was asked for, are not counted", lost, version=2,
        label="acknowledged writes lost by kills", otherwise="acknowledged writes kept through kills",
        column=columns.KEPT.at("lost"),
    ),
    trust(
        "sources_lost_by_kill", DRILL, "lower", "proportion",
        "acknowledged writes with a source that the last look after the last kill shows without it, or with another / "
        "those that it shows, and that a look before a kill showed with their source or a kill came right behind",
        sources_lost,
        label="sources lost by kills", otherwise="sources kept through kills", column=columns.SOURCES.at("lost"),
    ),
    trust(
        "wrong_after_kill", DRILL, "lower", "proportion",
        "acknowledged writes in whose place a look after a kill shows another memory: its text under their id, or "
        "itself, which its own text does not bring, first for theirs / such writes that a look before a kill showed, "
        "and those that a kill came right behind; memories that a forget or update was asked for are not counted",
        wrong, verbatim=True,
        label="memories another one stands for after kills", otherwise="memories no other stands for after kills",
        column=columns.KEPT.at("wrong"),
    ),
    trust(
        "usable_after_kill", DRILL, "higher", "proportion",
        "kills after which a fresh process opened the store at the first try, answered, and acknowledged its first "
        "write / kills", reopened, whole=False,
        label="kills after which the store was usable at once",
        otherwise="kills after which the store was not usable at once", column=columns.KEPT.at("refused"),
    ),
    trust(
        "torn_by_kill", DRILL, "lower", "proportion",
        "kills with a write in flight after which the listing shows a text that holds no whole memory, or a memory "
        "twice, which it did not before / such kills after which that listing is missing or shows any of the write; "
        "counted if the listing before the first kill was clean", torn,
        varies="a kill comes at another instant of a write", by_chance=True,
        label="kills that tore or doubled a memory", otherwise="kills that tore no memory",
        column=columns.KEPT.at("wrong"),
    ),
    trust(
        "forget_undone_by_kill", DRILL, "lower", "proportion",
        "acknowledged forgets whose memory a listing or a recall brings after a kill / acknowledged forgets of a "
        "memory that a look had brought and that was gone before the kill, and those that a kill came right behind",
        forgets_undone, asks=CHANGING, version=2,
        label="deletions undone by kills", otherwise="deletions kept through kills", column=columns.KEPT.at("undone"),
    ),
    trust(
        "update_undone_by_kill", DRILL, "lower", "proportion",
        "acknowledged updates whose new text the last look after the kills does not show, or whose old text it shows / "
        "acknowledged updates that a look before a kill confirmed, and those that a kill came right behind",
        updates_undone, asks=CHANGING, version=2,
        label="updates undone by kills", otherwise="updates kept through kills", column=columns.KEPT.at("undone"),
    ),
    trust(
        "unfindable_after_kill", DRILL, "lower", "proportion",
        "memories that are listed after the last kill and that a recall of their own text does not bring within k / "
        "listed memories that it brought before a kill, and those that a kill came right behind", unfindable,
        asks=CHANGING, version=2,
        label="listed memories not found after kills", otherwise="listed memories found after kills",
        column=columns.FOUND.at("unfound"),
    ),
)  # fmt: skip
