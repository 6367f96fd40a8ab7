"""Deadlines that count only the time in which we ran."""

from __future__ import annotations

import time

import pytest

from harness.machine.patience import Patience


def test_a_pause_of_ours_counts_as_one_span() -> None:
    patience, pauses = Patience(0.1), iter([0.5, 0.5])
    for _ in range(2):
        assert not patience.wait(lambda _: time.sleep(next(pauses)), span=0.04)
    assert patience.paused > 0.9 and 0.0 < patience.left < 0.03


def test_who_speaks_all_the_time_is_late_all_the_same() -> None:
    patience = Patience(0.2)

    def trickle(_: float) -> bool:
        time.sleep(0.01)
        return True

    with pytest.raises(TimeoutError):
        while patience.wait(trickle) or True:
            if patience.left <= 0:
                patience.wait(lambda _: False)


def test_time_in_which_the_other_is_stopped_does_not_count() -> None:
    stopped = iter([False, False, False, True, True, True])
    patience = Patience(0.02, lambda: next(stopped))
    for _ in range(4):
        assert not patience.wait(lambda seconds: time.sleep(seconds), span=0.01)
    with pytest.raises(TimeoutError):
        patience.wait(lambda seconds: time.sleep(seconds), span=0.01)
