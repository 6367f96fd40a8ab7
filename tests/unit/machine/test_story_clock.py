"""The clock of a story where nothing is started: what is written for libfaketime, and what a machine may lack."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from harness.machine import containment, story_clock
from harness.machine.story_clock import StoryClock

NOON = datetime.fromisoformat("2024-03-01T12:00:00+00:00")


def test_a_time_is_told_as_whole_seconds_ahead_of_now_whatever_the_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = NOON.timestamp() + 100.5
    monkeypatch.setattr(time, "time", lambda: now)
    clock = StoryClock(tmp_path / "clock")
    told = []
    for at in (NOON, datetime.fromisoformat("2024-03-01T14:00:00+02:00"), datetime.fromisoformat("2024-03-02T12:00Z")):
        clock.set(at)
        told.append(Path(clock.environment["FAKETIME_TIMESTAMP_FILE"]).read_text())
    assert told == ["-100\n", "-100\n", "+86300\n"]
    now += 30
    clock.set(NOON)
    assert clock.shows(NOON.timestamp() + 30.5), "it goes on from where it was"
    assert not clock.shows(now)


@pytest.mark.parametrize(
    ("platform", "library", "namespaces", "says"),
    [
        ("darwin", None, True, "only Linux can preload libfaketime"),
        ("linux", None, True, "libfaketime is not installed: apt-get install faketime (dnf install libfaketime)"),
        ("linux", "/usr/lib/libfaketimeMT.so.1", False, "this user may make no namespaces"),
        ("linux", "/usr/lib/libfaketimeMT.so.1", True, ""),
    ],
)
def test_what_a_machine_lacks_is_said_with_what_to_do(
    platform: str, library: str | None, namespaces: bool, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(story_clock, "find_library", lambda: library)
    monkeypatch.setattr(containment, "has_namespaces", lambda: namespaces)
    explain: Callable[[], str] = story_clock.explain_missing.__wrapped__
    assert says in explain() and bool(explain()) == bool(says)
