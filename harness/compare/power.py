"""The number of stories that show a difference, by simulation from a pilot's own results with the verdict's test.

A simulated story is drawn from the pilot. Its deviation from the pilot's mean difference, to either side, is its
chance; the wanted difference is added. What the pilot gained already shows how unevenly a gain falls; any further gain
is won decision by decision, among those that are not right without it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from harness.compare import stats

SEED = 20_260_201
RUNS, ROUGH = 400, 100
"""Simulated runs of a share that is shown, and of one in the search for a range."""
STORIES = (6, 8, 10, 12, 16, 20, 24, 31, 40, 50, 62, 80, 100, 125, 160, 200)
"""Numbers of stories that are tried; with fewer than the first no difference is ever shown."""
PILOTS = 19
"""Pilots drawn from the pilot: the extremes of what they say hold nine of ten."""
FAR = 1.5
"""Means that lie closer to 0, in their own standard errors, have a p far above ALPHA, which is not worked out."""
Array: TypeAlias = "Any"


class PilotStory(NamedTuple):
    """What the pilot measured of one story.

    Attributes:
        differences: Of shares, right minus left, one for each seed.
        of: Cases in the share.
        open: The share of these that the left side does not have.
    """

    differences: tuple[float, ...]
    of: int
    open: float

    @property
    def difference(self) -> float:
        return statistics.fmean(self.differences)


Pilot: TypeAlias = Sequence[PilotStory]


def find_room(pilot: Pilot) -> float:
    """The largest difference that these stories have room for."""
    return statistics.fmean(each.open for each in pilot)


def count_found(
    pilot: Pilot, stories: int, seeds: int, difference: float, *, compared: int = 1, runs: int = RUNS
) -> float:
    """The share of runs of so many stories that would show a difference of this size, with its sign.

    Args:
        difference: Above 0, and no more than there is room for; 0 counts false alarms on this side.
        compared: So many comparisons are adjusted together: each has to reach its part of ALPHA.
    """
    import numpy as np

    drawn = draw_differences(pilot, stories, seeds, difference, runs)
    spread = drawn.std(axis=1) / stories**0.5
    far = [own.tolist() for own in drawn[drawn.mean(axis=1) > FAR * spread]]
    found = np.asarray(stats.sign_flips(far)) * compared <= stats.ALPHA
    return float(np.count_nonzero(found)) / runs


def draw_differences(pilot: Pilot, stories: int, seeds: int, difference: float, runs: int) -> Array:
    """The differences of simulated stories, a row a run."""
    import numpy as np

    # other draws for each number of stories, and the same ones each time
    rng = np.random.default_rng((SEED, stories))
    seen = max(len(each.differences) for each in pilot)
    # `resize` repeats what a story has to fill its row; seeds are drawn from its own count alone
    table = np.array([np.resize(each.differences, seen) for each in pilot])
    counts = np.array([len(each.differences) for each in pilot])
    of, open_ = np.array([each.of for each in pilot]), np.array([each.open for each in pilot])
    centre = statistics.fmean(each.difference for each in pilot)
    inflated = (len(pilot) / (len(pilot) - 1)) ** 0.5  # deviations from their own mean are too small
    at = rng.integers(0, len(pilot), (runs, stories))
    seed = (rng.random((runs, stories, seeds)) * counts[at][..., None]).astype(int)
    strayed = (table[at[..., None], seed].mean(axis=-1) - centre) * inflated * rng.choice((-1, 1), (runs, stories))
    room = find_room(pilot)
    if not room:
        return strayed
    gained = min(difference, max(0.0, centre))
    beyond = min(1.0, (difference - gained) / room)
    won = rng.binomial(of[at], open_[at] * beyond) / of[at]
    # what is off 0 by rounding alone would count as a story that moved
    return np.round(strayed + gained * open_[at] / room + won, 12)


def find_stories(
    pilot: Pilot, seeds: int, difference: float, power: float, *, compared: int = 1, runs: int = RUNS
) -> int | None:
    """The fewest of STORIES with which so large a share of runs shows the difference; None: not even the most do."""
    # a binary search: more stories find more, but for the noise of the simulation
    low, high = 0, len(STORIES)
    while low < high:
        middle = (low + high) // 2
        enough = count_found(pilot, STORIES[middle], seeds, difference, compared=compared, runs=runs) >= power
        low, high = (low, middle) if enough else (middle + 1, high)
    return STORIES[low] if low < len(STORIES) else None


def find_range(
    pilot: Pilot, seeds: int, difference: float, power: float, *, compared: int = 1
) -> tuple[int | None, int | None]:
    """What other pilots of so many stories as these would have said: nine of ten lie between the two; None: more than
    the most of STORIES."""
    import numpy as np

    rng = np.random.default_rng((SEED, len(pilot)))
    answers = list[int | None]()
    for _ in range(PILOTS):
        other = [pilot[at] for at in rng.integers(0, len(pilot), len(pilot))]
        fits = find_room(other) >= difference
        answers.append(find_stories(other, seeds, difference, power, compared=compared, runs=ROUGH) if fits else None)
    known = [each for each in answers if each is not None]
    return min(known, default=None), max(known) if len(known) == len(answers) else None
