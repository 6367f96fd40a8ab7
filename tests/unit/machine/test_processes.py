"""Processes that work side by side."""

from __future__ import annotations

import os
import signal

import pytest

from harness.machine.processes import Killed, map_parts


def kill(victim: bool) -> bool:
    if victim:
        os.kill(os.getpid(), signal.SIGKILL)
    return victim


def test_a_process_that_is_killed_ends_the_work_with_one_line() -> None:
    with pytest.raises(Killed, match=r"one of 2 processes was killed; with little memory, try --jobs 1"):
        list(map_parts(kill, [False, True, False], 2))


def whose(part: str) -> tuple[str, int]:
    return part, os.getpid()


def test_one_process_is_this_one_unless_it_is_to_be_apart() -> None:
    assert list(map_parts(whose, ["a", "b"], 1)) == [("a", os.getpid()), ("b", os.getpid())]
    (first, one), (second, other) = map_parts(whose, ["a", "b"], 1, apart=True)
    assert (first, second) == ("a", "b") and one == other != os.getpid()
    assert not [*map_parts(whose, [], 1, apart=True)]
    with pytest.raises(Killed, match="its process was killed, perhaps for lack of memory"):
        list(map_parts(kill, [True], 1, apart=True))
