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
