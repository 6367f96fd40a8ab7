"""Deadlines that count only the time in which we ran."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from harness.machine import processes
from harness.machine.patience import SPAN, Patience, Rivals
from harness.machine.processes import Share


@pytest.mark.slow
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
    excuses = iter(["stopped", "stopped", "stopped", "", "", ""])
    patience = Patience(0.02, lambda: next(excuses))
    for _ in range(4):
        assert not patience.wait(lambda seconds: time.sleep(seconds), span=0.01)
    with pytest.raises(TimeoutError):
        patience.wait(lambda seconds: time.sleep(seconds), span=0.01)
    assert not patience.used_excuse


def test_who_is_kept_for_too_long_is_late_and_the_longest_excuse_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.machine.patience.ALLOWANCE", 5 * SPAN)
    excuses = iter(["busy", "stopped", "busy", "stopped", "stopped"])
    patience = Patience(0.01, lambda: next(excuses))
    for _ in range(5):
        assert not patience.wait(lambda _: False)
    with pytest.raises(TimeoutError):
        patience.wait(lambda _: False)
    assert patience.used_excuse == "stopped"


@pytest.mark.slow
def test_who_gets_little_of_a_processor_is_kept_from_running_by_others() -> None:
    there = "import os; os.sched_setaffinity(0, [int(os.environ['PROCESSOR'])])\nwhile True: pass"
    spin = [sys.executable, "-c", there]
    where = {**os.environ, "PROCESSOR": str(min(os.sched_getaffinity(0)))}
    crowd = [subprocess.Popen(spin, env=where, start_new_session=True) for _ in range(5)]
    sleeper = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        time.sleep(2.0)
        rivals, none = Rivals(lambda: [crowd[0].pid]), Rivals(lambda: [sleeper.pid])
        assert not rivals.keep() and not none.keep(), "the first look compares with nothing"
        time.sleep(SPAN)
        assert rivals.keep() and not none.keep()
    finally:
        for each in (*crowd, sleeper):
            each.kill()
            each.wait()


def test_who_waits_for_itself_is_not_kept_from_running(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter([Share(10.0, 20.0), Share(10.0 + SPAN, 20.0 + 5 * SPAN)])
    monkeypatch.setattr(processes, "measure_share", lambda _: next(shares))
    rivals = Rivals(lambda: [1])
    assert [rivals.keep(), rivals.keep()] == [False, False]
