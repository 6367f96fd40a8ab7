"""What a kill leaves of acknowledged writes, updates and deletions, of the store itself, and of a write in flight.

A kill ends the process and not the operating system, so this says nothing of a power cut. An operation counts if its
effect was seen before the kill. If the kill came right after the acknowledgement, before any look, the operation counts
if the same kind of look saw the effect of another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness.log.transcript import Op, Transcript
from harness.metrics import columns
from harness.metrics.metric import failed, not_applicable, proportion
from harness.metrics.trust.kills import BOTH, Effect, Kills
from harness.metrics.trust.metric import ASKS, DrillWords, TrustMetric, trust
from harness.metrics.trust.view import DrillDeed, DrillLook, lacks
from harness.metrics.trust.wrong import share_wrong
from harness.model.drill import Piece
from harness.model.trial import Measure


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
    deeds = [
        deed
        for each in (kills.untouched, kills.deeds("update"))  # a store may keep those of writes and not of updates
        for deed in kills.list_controlled([deed for deed in each if deed.piece.item.source], kills.rows, kills.cites)
    ]
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
    # era 0 ends with the first kill: behind the last one lies an era, too
    bad = [line for era in range(1, len(kills.kills) + 1) if (line := _broken(kills, era))]
    good = len(kills.kills) - len(bad)
    return proportion(good, len(kills.kills), [f"L{line}" for line in bad], none="no process was killed")


def _broken(kills: Kills, era: int) -> int | None:
    """The line that shows that the store was not usable at once; None if it was."""
    killed = kills.kills[era - 1][0]
    opened = [(line, event) for line, event in kills.handled if event.what == "opened" and kills.era(line) == era]
    first = next((write for write in kills.transcript.calls("remember") if kills.era(write[0]) == era), None)
    # a second opening says that the first one failed
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
        # there is always one: `first` stands before every kill
        before = next(look for look in reversed(listings) if look.line < line)
        after = next((look for look in listings if kills.era(look.line) == era + 1), None)
        halved = after and any(_is_halved(kills, name, before, after) for name in killed.about)
        # Counters subtract without going below 0: only what is odd more often than before is left
        if after is None or halved or _odd(kills, after) - _odd(kills, before):
            bad.append((f"L{line}", *([f"L{after.line}"] if after else [])))
        elif not kills.list_shown(after.call).isdisjoint(killed.about):
            back += 1
    receipts = [each for pair in bad for each in pair]
    return proportion(len(bad), back + len(bad), receipts, none="no write in flight came back")


def _is_halved(kills: Kills, name: str, before: DrillLook, after: DrillLook) -> bool:
    """Whether an update in flight left neither memory or both, or one with a source that is not its own, though the
    store keeps those of memories like it.
    """
    new = kills.plan.by_name[name]
    if not new.twin or not kills.shows(old := kills.old(name), before):
        return False
    left = [piece for piece in (old, new) if kills.shows(piece, after)]
    if len(left) != 1 or not kills.transcript.supports("source"):
        return len(left) != 1
    updates = [(deed.piece, look) for deed in kills.deeds("update") for look in kills.is_answered("entries")]
    kept = kills.cites(old, before) if left == [old] else any(kills.cites(*each) for each in updates)
    return kept and not kills.cites(left[0], after)


def _odd(kills: Kills, look: DrillLook) -> Counter[str]:
    """Texts that hold no whole piece, and the names of pieces beyond their first time."""
    texts = kills.texts(look.call)
    held = [kills.find_whole(text) for text in texts]
    strange = Counter(text for text, names in zip(texts, held, strict=True) if not names)
    times = Counter(name for names in held for name in names)
    # adding Counters drops what is 0: a name that stands there once is not odd
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
        # where a look failed, or nobody looked, that it was not seen again proves nothing
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
        "acknowledged writes and updates with a source that the last look after the last kill shows without it, or "
        "with another / those that it shows, and that a look before a kill showed with their source or a kill came "
        "right behind",
        sources_lost, version=2,
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
        "kills with a write or an update in flight after which the listing shows a text that holds no whole memory, or "
        "a memory twice, which it did not before, or of an update neither memory, both, or one without its source / "
        "such kills after which that listing is missing, shows any of the write, or is wrong; counted if the listing "
        "before the first kill was clean", torn, version=2,
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
