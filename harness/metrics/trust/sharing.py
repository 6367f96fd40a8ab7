"""One store, several agents: is what one wrote or deleted so for the others, in turn and at once?

A memory counts if its own text brought it where it was written. A look that is missing after that shows the worst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from harness.drill import Piece
from harness.metrics.metric import failed, proportion
from harness.metrics.trust.metric import TrustMetric, trust
from harness.metrics.trust.pieces import lacks
from harness.model import Measure
from harness.transcript import Called, Handled, Transcript

OTHER = {"a": "b", "b": "a"}
UNSEEN = "no memory was brought by its own text where it was written"


class Look(NamedTuple):
    """Whether a recall brought the memory with whose text it asked."""

    line: int
    found: bool


class Deed(NamedTuple):
    """An acknowledged write or forget. ids: under how many a memory was written, or that were forgotten."""

    line: int
    who: str
    piece: Piece
    ids: int


class Agents:
    """What a transcript shows of each agent or handle. Calls that failed show nothing."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript

    def known(self, step: str) -> list[Deed]:
        """The writes of a step that the writer's own recall brought."""
        return [
            Deed(line, call.who, piece, len(ids))
            for line, call in self.transcript.calls("remember", step)
            for piece, ids in zip(self._about(call), self.transcript.ids(call), strict=False)
            if ids and self.brings(step, piece, call.who)
        ]

    def forgets(self, step: str) -> list[Deed]:
        calls = [(line, call, self.transcript.answer(call)) for line, call in self.transcript.calls("forget", step)]
        return [
            Deed(line, call.who, self._about(call)[0], len(said)) for line, call, said in calls if said and all(said)
        ]

    def spared(self, deeds: Sequence[Deed], step: str) -> list[Deed]:
        """Those that nobody was asked to delete in a step."""
        asked = {call.about[0] for _, call in self.transcript.calls("forget", step)}
        return [deed for deed in deeds if deed.piece.name not in asked]

    def _about(self, call: Called) -> list[Piece]:
        return [self.transcript.plan.by_name[name] for name in call.about]

    @cached_property
    def _looks(self) -> Mapping[tuple[str, str, str], Look]:
        calls = [(line, call) for line, call in self.transcript.calls("recall") if call.fault is None]
        return {
            (call.step, call.who, call.about[0]): Look(line, self._times(call, self._about(call)[0]) > 0)
            for line, call in calls
        }

    def _times(self, call: Called, piece: Piece) -> int:
        return sum(piece.canary is not None and piece.canary in hit.text for hit in self.transcript.hits(call))

    def look(self, step: str, piece: Piece, who: str = "a") -> Look | None:
        return self._looks.get((step, who, piece.name))

    def brings(self, step: str, piece: Piece, who: str = "a") -> bool:
        look = self.look(step, piece, who)
        return look is not None and look.found

    def hides(self, step: str, piece: Piece, who: str = "a") -> bool:
        """It was looked for, and did not come."""
        look = self.look(step, piece, who)
        return look is not None and not look.found

    def listed(self, piece: Piece) -> int:
        """How often it is listed after both were closed."""
        calls = (call for _, call in self.transcript.calls("entries", "reopened") if call.fault is None)
        return max((self._times(call, piece) for call in calls), default=0)

    def left(self, piece: Piece) -> bool:
        """Whether it is there at the end: listed, or, where nothing can be listed, brought by its own text."""
        if self.transcript.supports("entries"):
            return self.listed(piece) > 0
        return self.brings("reopened", piece)

    def share(self, bad: Sequence[Deed], of: Sequence[Deed], step: str, *, turned: bool = False, none: str) -> Measure:
        """bad / of, or what remains (`turned`); receipts: the listing of that step, each bad deed and looks at it."""
        lines = [line for line, _ in self.transcript.calls("entries", step)]
        for deed in bad:
            looks = (self.look(step, deed.piece, who) for who in OTHER)
            lines += [deed.line, *(look.line for look in looks if look)]
        hits = len(of) - len(bad) if turned else len(bad)
        return proportion(hits, len(of), [f"L{line}" for line in dict.fromkeys(lines)] if bad else (), none=none)


# --- in turn ----------------------------------------------------------------------------------------------------------


def _unturned(transcript: Transcript) -> Measure | None:
    """Why nothing can be said of the agents in turn: the last of them did not get to its end."""
    if any(event.what == "closed" and event.step == "first reads again" for _, event in transcript.of(Handled)):
        return None
    return failed(transcript.reason or "the first agent did not read again")


def handed_over(transcript: Transcript) -> Measure:
    if refused := _unturned(transcript):
        return refused
    agents = Agents(transcript)
    shared = [deed for deed in agents.known("first writes") if deed.piece.role != "own"]
    missed = [deed for deed in shared if not agents.brings("second reads", deed.piece)]
    return agents.share(missed, shared, "second reads", turned=True, none=UNSEEN)


def deleted_for_all(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "forget") or _unturned(transcript):
        return refused
    agents = Agents(transcript)
    known = {deed.piece.name for deed in agents.known("first writes")}
    deleted = [deed for deed in agents.forgets("third deletes") if deed.piece.name in known]
    there = [deed for deed in deleted if not agents.hides("first reads again", deed.piece)]
    none = "no deletion of a memory that its writer had found was acknowledged"
    return agents.share(there, deleted, "first reads again", turned=True, none=none)


def kept_for_writer(transcript: Transcript) -> Measure:
    if refused := _unturned(transcript):
        return refused
    agents = Agents(transcript)
    kept = agents.spared(agents.known("first writes"), "third deletes")
    missed = [deed for deed in kept if not agents.brings("first reads again", deed.piece)]
    return agents.share(missed, kept, "first reads again", turned=True, none=UNSEEN)


# --- at once ----------------------------------------------------------------------------------------------------------


def lost(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process"):
        return refused
    agents = Agents(transcript)
    kept = agents.spared(agents.known("both write"), "both delete")
    return agents.share([deed for deed in kept if not agents.left(deed.piece)], kept, "reopened", none=UNSEEN)


def doubled(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process", "entries"):
        return refused
    agents = Agents(transcript)
    there = [deed for deed in agents.known("both write") if deed.ids == 1 and agents.left(deed.piece)]
    twice = [deed for deed in there if agents.listed(deed.piece) > 1]
    return agents.share(twice, there, "reopened", none="no memory was listed that was acknowledged under one id")


def seen_late(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process"):
        return refused
    agents = Agents(transcript)
    written = agents.known("both write")
    late = [
        deed
        for deed in written
        if not agents.brings("both write", deed.piece, OTHER[deed.who])
        and (agents.brings("settled", deed.piece, OTHER[deed.who]) or agents.brings("reopened", deed.piece))
    ]
    return agents.share(late, written, "both write", none=UNSEEN)


def unseen(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process"):
        return refused
    agents = Agents(transcript)
    written = agents.known("both write")
    never = [
        deed
        for deed in written
        if not any(agents.brings(step, deed.piece, OTHER[deed.who]) for step in ("both write", "settled"))
    ]
    return agents.share(never, written, "settled", none=UNSEEN)


def stale(transcript: Transcript, step: str) -> Measure:
    """A deletion counts if the other had the memory before it, and whoever deleted it does not find it any more."""
    if refused := lacks(transcript, "multi_process", "forget"):
        return refused
    agents = Agents(transcript)
    deleted = [
        deed
        for deed in agents.forgets("both delete")
        if agents.brings("to be deleted", deed.piece, OTHER[deed.who])
        and agents.hides("both delete", deed.piece, deed.who)
    ]
    there = [deed for deed in deleted if not agents.hides(step, deed.piece, OTHER[deed.who])]
    none = "no deletion took effect where it was acknowledged on a memory that the other had found"
    return agents.share(there, deleted, step, none=none)


def unfindable(transcript: Transcript) -> Measure:
    if refused := lacks(transcript, "multi_process", "entries"):
        return refused
    agents = Agents(transcript)
    there = [deed for deed in agents.known("both write") if agents.left(deed.piece)]
    missed = [deed for deed in there if not agents.brings("reopened", deed.piece)]
    return agents.share(missed, there, "reopened", none="no memory that its writer had found was listed at the end")


METRICS: tuple[TrustMetric, ...] = (
    trust(
        "handed_over", "sharing", "higher", "proportion",
        "shared memories that a second agent, in a process of its own, finds by their own text / shared memories that "
        "their writer found", handed_over, whole=False,
    ),
    trust(
        "deleted_for_writer", "sharing", "higher", "proportion",
        "memories deleted by a third agent that their writer, in a fresh process, no longer finds by their own text / "
        "acknowledged deletions of memories that their writer had found", deleted_for_all, whole=False,
    ),
    trust(
        "kept_for_writer", "sharing", "higher", "proportion",
        "memories, shared and of one user, that nobody deleted and that their writer finds again, in a fresh process, "
        "after a second and a third agent / such memories that it found when it wrote them", kept_for_writer,
        whole=False,
    ),
    trust(
        "lost_between_handles", "sharing", "lower", "proportion",
        "memories written by one of two processes on one store that are not listed after both were closed / "
        "acknowledged writes that the writer found at once and nobody deleted", lost,
    ),
    trust(
        "doubled_between_handles", "sharing", "lower", "proportion",
        "such memories listed more than once at the end / memories listed at the end that were acknowledged under one "
        "id", doubled,
    ),
    trust(
        "seen_late", "sharing", "lower", "proportion",
        "writes that the other process did not find at once, and then after settling or after reopening / acknowledged "
        "writes that the writer found at once", seen_late,
    ),
    trust(
        "unseen_while_open", "sharing", "lower", "proportion",
        "writes that the other process found neither at once nor after settling / acknowledged writes that the writer "
        "found at once", unseen,
    ),
    trust(
        "stale_after_other_deletes", "sharing", "lower", "proportion",
        "memories that one process deleted and the other still finds at once / acknowledged deletions that the "
        "deleting process confirms, of memories that the other had found", partial(stale, step="both delete"),
    ),
    trust(
        "stale_after_settling", "sharing", "lower", "proportion",
        "memories that one process deleted and the other still finds after settling / acknowledged deletions that the "
        "deleting process confirms, of memories that the other had found", partial(stale, step="deleted"),
    ),
    trust(
        "unfindable_between_handles", "sharing", "lower", "proportion",
        "memories listed at the end that a recall of their own text does not bring within k / memories listed at the "
        "end that their writer had found", unfindable,
    ),
)  # fmt: skip
