"""Concurrent writes: which are acknowledged, and which of these are kept, found and stored once.

A burst counts only if a memory that was written alone before it was found by its own text. An acknowledged write is
lost if it is neither listed nor found afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from harness.log.transcript import Handled, Transcript
from harness.metrics import columns
from harness.metrics.columns import Place
from harness.metrics.metric import proportion
from harness.metrics.trust.fields import FieldCheck
from harness.metrics.trust.metric import ASKS, DrillWords, TrustMetric, trust
from harness.metrics.trust.view import DrillDeed, DrillView, lacks
from harness.model.trial import Measure, NotMeasured

ONE, TWO = ("small", "large"), ("shared",)
"""The bursts to one process, and to two."""


class Bursts(DrillView):
    def deeds(self, roles: Sequence[str]) -> list[DrillDeed]:
        """The writes of these bursts before which a memory was found."""
        return [deed for role in roles if self._is_sound(role) for deed in self.list_written("remember", role)]

    def _is_sound(self, role: str) -> bool:
        step = f"{role} calm"
        return any(self.sees(step, deed.piece.name, "recall") for deed in self.list_written("remember", step))

    def shown(self, deed: DrillDeed, *ops: str) -> bool | None:
        # mypy: the names of operations come as plain strings
        found = [self.sees(f"{deed.step} after", deed.piece.name, op) for op in ops]  # type: ignore[arg-type]
        return True if True in found else None if None in found or not found else False

    def is_left(self, deed: DrillDeed) -> bool | None:
        """Listed, or brought by its own text."""
        listing = ("entries",) if self.transcript.supports("entries") else ()
        return self.shown(deed, *listing, "recall")

    def times_listed(self, deed: DrillDeed) -> int:
        calls = (call for _, call in self.transcript.calls("entries", f"{deed.step} after"))
        # the most of one listing: the sum of several would double what each shows once
        return max((sum(deed.piece.name == each.name for _, each in self.hits(call)) for call in calls), default=0)

    def where(self, deed: DrillDeed) -> str:
        """The look at it afterwards; without one, what failed to open, else the write."""
        step, name = f"{deed.step} after", deed.piece.name
        opened = [line for line, event in self.transcript.of(Handled) if event.step == step and event.fault]
        return self.line(step, name) or self.transcript.receipt(next(iter([*opened, deed.line])), name)


def _refuse(transcript: Transcript, roles: Sequence[str], *needs: str) -> NotMeasured | None:
    return lacks(transcript, *(("concurrent",) if roles == ONE else ("multi_process", "persistent")), *needs)


NOTHING = "no memory was brought by its own text before a burst"


def lost(transcript: Transcript, roles: Sequence[str]) -> Measure:
    if refused := _refuse(transcript, roles):
        return refused
    bursts = Bursts.of(transcript)
    written = [deed for deed in bursts.deeds(roles) if deed.ids]
    gone = [deed for deed in written if bursts.is_left(deed) is not True]
    unanswered = sum(bursts.is_left(deed) is None for deed in gone)
    return proportion(
        len(gone), len(written), list(map(bursts.where, gone)), none="no write was acknowledged", unanswered=unanswered
    )


def failing(transcript: Transcript, roles: Sequence[str]) -> Measure:
    if refused := _refuse(transcript, roles):
        return refused
    written = Bursts.of(transcript).deeds(roles)
    bad = [deed for deed in written if not deed.ids]
    return proportion(len(bad), len(written), [f"L{deed.line}" for deed in bad], none=NOTHING)


def doubled(transcript: Transcript, roles: Sequence[str]) -> Measure:
    if refused := _refuse(transcript, roles, "entries"):
        return refused
    bursts = Bursts.of(transcript)
    there = [deed for deed in bursts.deeds(roles) if bursts.times_listed(deed)]
    twice = [deed for deed in there if bursts.times_listed(deed) > 1]
    return proportion(len(twice), len(there), list(map(bursts.where, twice)), none="nothing of a burst was listed")


def unfindable(transcript: Transcript, roles: Sequence[str]) -> Measure:
    if refused := _refuse(transcript, roles, "entries"):
        return refused
    bursts = Bursts.of(transcript)
    there = [deed for deed in bursts.deeds(roles) if deed.ids and bursts.times_listed(deed)]
    missed = [deed for deed in there if bursts.shown(deed, "recall") is not True]
    unanswered = sum(bursts.shown(deed, "recall") is None for deed in missed)
    return proportion(
        len(missed), len(there), list(map(bursts.where, missed)), none="nothing of a burst was listed",
        unanswered=unanswered,
    )  # fmt: skip


def sources_mixed(transcript: Transcript, roles: Sequence[str]) -> Measure:
    """Of what cites something and comes back, if a memory that was written alone kept its source."""
    if refused := _refuse(transcript, roles, "source"):
        return refused
    bursts, check = Bursts.of(transcript), FieldCheck(transcript, "source")
    calm = [deed for role in roles for deed in bursts.list_written("remember", f"{role} calm")]
    kept = any(deed.piece.item.source and check.is_right(deed.piece, deed.step) for deed in calm)
    cited = [deed for deed in bursts.deeds(roles) if kept and deed.piece.item.source]
    back = [deed for deed in cited if check.view.equal(deed.piece, f"{deed.step} after")]
    mixed = [deed for deed in back if not check.is_right(deed.piece, f"{deed.step} after")]
    none = "no memory that was written alone came back with its source"
    return proportion(len(mixed), len(back), list(map(bursts.where, mixed)), none=none)


DRILL = DrillWords(
    "burst",
    72,
    "In bursts",
    "Are writes kept that are in flight at once?",
)
_TIME = "what runs at once is a matter of time"


def _trust(
    name: str,
    formula: str,
    measure: Callable[..., Measure],
    roles: Sequence[str],
    label: str,
    otherwise: str,
    column: Place,
    version: int = 1,
) -> TrustMetric:
    # measures of two processes are one version ahead: they count a burst beside deletions, too
    return trust(
        name, DRILL, "lower", "proportion", formula, partial(measure, roles=roles), label=label, otherwise=otherwise,
        column=column, varies=_TIME, whole=False, asks=ASKS, version=version + (roles == TWO),
    )  # fmt: skip


_SHARED = (
    "a burst of the drill's size to two processes on one store, and of one of 40 to one of them while the other deletes"
)
_BURSTS = (
    ("", "bursts of 20 and of the drill's size to one process", "in a burst", ONE),
    ("_of_two", _SHARED, "in a burst of two processes", TWO),
)
METRICS: tuple[TrustMetric, ...] = tuple(
    each
    for tail, which, when, roles in _BURSTS
    for each in (
        _trust(
            f"lost_in_burst{tail}",
            f"writes that a fresh process neither lists nor brings by their own text / acknowledged writes of {which}",
            lost, roles, f"writes lost {when}", f"writes kept {when}", columns.KEPT.at("lost"),
        ),
        _trust(
            f"failing_in_burst{tail}", f"writes that failed or were given no id / writes of {which}", failing, roles,
            f"writes that fail {when}", f"writes acknowledged {when}", columns.KEPT.at("refused"),
        ),
        _trust(
            f"doubled_in_burst{tail}", f"memories listed more than once / memories of {which} that are listed", doubled,
            roles, f"memories doubled {when}", f"memories there once {when}", columns.KEPT.at("extra"),
        ),
        _trust(
            f"unfindable_after_burst{tail}",
            f"memories that their own text does not bring within k / acknowledged writes of {which} that are listed",
            unfindable, roles, f"memories not found {when}", f"memories found {when}", columns.FOUND.at("unfound"),
        ),
        _trust(
            f"sources_mixed_in_burst{tail}",
            f"memories that come back without their source, or with another / memories with a source, of {which}, that "
            "come back, if one that was written alone before kept its source",
            sources_mixed, roles, f"sources lost or mixed up {when}", f"sources kept {when}",
            columns.SOURCES.at("lost"), version=2,
        ),
    )
)  # fmt: skip
