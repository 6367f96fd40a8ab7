"""The search for the shortest sequence that breaks a promise, whoever plays the sequences."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from harness.model.backend import Backend
from harness.model.sequence import Answer, Difference, Steps
from harness.promises import generator


@dataclass(frozen=True)
class Play:
    """A sequence as it was played on an empty store, up to its first difference.

    Attributes:
        calls: Calls of the backend.
    """

    steps: Steps
    answers: tuple[Answer, ...]
    differs: Difference | None
    calls: int

    def shows(self, other: Play) -> bool:
        """Whether a play shows this sort of difference, wherever it stands."""
        return self.differs is not None and other.differs is not None and self.differs.kind == other.differs.kind


class Player(Protocol):
    def __call__(self, steps: Steps) -> Play: ...


@dataclass(frozen=True)
class Hunted:
    """How a hunt ended.

    Attributes:
        verdict: random: what broke once did not break in the same way when it was played again.
        calls: Calls up to and including the first difference; without one, all.
        shortest: The shortest play that shows the difference; None if all held.
        other: Of what is random, a play of the same sequence that ended otherwise.
        shrunk: No step of the shortest can be left out. False: the time was over before.
        again: It was kept from an earlier hunt.
    """

    verdict: Literal["held", "broken", "random"]
    calls: int
    sequences: int
    shortest: Play | None = None
    other: Play | None = None
    shrunk: bool = True
    again: bool = False


REPEATS = 2
"""How often a sequence has to show its difference anew."""


def hunt(
    play: Player,
    backend: Backend,
    seed: int,
    operations: int,
    seconds: float,
    largest: int,
    kept: Iterable[Steps] = (),
    notify: Callable[[str], None] = lambda _: None,
    shorten: float | None = None,
) -> Hunted:
    """Plays sequences until one differs, `operations` calls were made, or the time is over; the first is made shorter.

    Args:
        kept: What earlier hunts found, played first.
        shorten: Seconds for making it shorter; None: what is left of `seconds`.
    """
    ends = time.monotonic() + seconds
    found = seek(play, backend, seed, operations, seconds, largest, kept)
    if found.shortest is None or found.shortest.differs is None:
        return found
    notify(f"after {found.calls:,} operations: {found.shortest.differs.says}")
    if shorten is not None:
        ends = time.monotonic() + shorten
    return _confirm(play, _shrink(play, backend, found, ends, notify))


def seek(
    play: Player,
    backend: Backend,
    seed: int,
    operations: int,
    seconds: float,
    largest: int,
    kept: Iterable[Steps] = (),
) -> Hunted:
    """Hunts up to the first sequence that differs, as it was drawn. One is played whatever the time."""
    ends = time.monotonic() + seconds
    calls = sequences = 0
    for steps, again in _list_turns(kept, backend, seed, largest):
        if sequences and (calls >= operations or time.monotonic() > ends):
            break
        played = play(steps)
        calls, sequences = calls + played.calls, sequences + 1
        if played.differs is not None:
            return Hunted("broken", calls, sequences, played, shrunk=False, again=again)
    return Hunted("held", calls, sequences)


def _list_turns(kept: Iterable[Steps], backend: Backend, seed: int, largest: int) -> Iterable[tuple[Steps, bool]]:
    yield from ((steps, True) for steps in kept)
    turn = 0
    while True:
        yield generator.draw(seed, turn, backend, largest), False
        turn += 1


def _cut(play: Play) -> Steps:
    assert play.differs is not None
    return play.steps[: play.differs.at + 1]


def _confirm(play: Player, found: Hunted) -> Hunted:
    """Played again, the shortest must show the same; else the backend is random, and both answers are told."""
    shortest = found.shortest
    assert shortest is not None
    if found.verdict == "random":
        return found
    for _ in range(REPEATS):
        again = play(_cut(shortest))
        if not again.shows(shortest):
            return replace(found, verdict="random", other=again, shrunk=False)
    return replace(found, shortest=replace(shortest, steps=_cut(shortest)))


def _shrink(play: Player, backend: Backend, found: Hunted, ends: float, notify: Callable[[str], None]) -> Hunted:
    """The shortest play that shows the same, where no single step or memory can be left out."""
    # first of all: what a random backend shows cannot be made shorter
    found = _confirm(play, found)
    if found.verdict == "random" or found.shortest is None:
        return found
    best = found.shortest
    tried = {_cut(best)}

    def attempt(steps: Steps) -> bool:
        """Whether this shows the same and is the best now. Raises _Over."""
        nonlocal best
        if steps in tried:
            return False
        if time.monotonic() > ends:
            raise _Over
        tried.add(steps)
        played = play(steps)
        if not played.shows(best):
            return False
        best = played
        tried.add(_cut(best))
        return True

    try:
        size = len(_cut(best)) // 2
        while size > 1:
            size = _drop_parts(lambda: _cut(best), size, attempt)
        # begun anew after each success, as the steps are others then; `tried` keeps failures from being played again
        while any(attempt(steps) for steps in generator.simplify(_cut(best), backend)):
            pass
    except _Over:
        notify("the time was over before the sequence was as short as it can be")
        return replace(found, shortest=best, shrunk=False)
    return replace(found, shortest=best, shrunk=True)


class _Over(Exception):  # noqa: N818  no error
    """The time for making it shorter."""


def _drop_parts(now: Callable[[], Steps], size: int, attempt: Callable[[Steps], bool]) -> int:
    """Leaves out parts of `size` steps from the end; the size to go on with."""
    end = len(now()) - 1  # the look that shows it stays
    while end > 0:
        start, fewer = max(0, end - size), now()
        # backwards: a step that goes may take later ones with it, and leaves earlier ones in their places
        for at in reversed(range(start, end)):
            fewer = generator.drop(fewer, at) or fewer
        attempt(fewer)
        # a shorter play may also differ at an earlier step than before
        end = min(start, len(now()) - 1)
    return size // 2
