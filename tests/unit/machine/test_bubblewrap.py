"""Whether commands can be contained here, as a program called bwrap tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.machine import bubblewrap
from harness.machine.processes import Killed

KILLED = "kill -9 $$"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    file = tmp_path / "bwrap"
    file.touch(0o755)
    return file


@pytest.mark.parametrize(("script", "said"), [("exit 0", True), ("exit 1", False)])
def test_what_it_answers_counts(program: Path, script: str, said: bool) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    assert bubblewrap.is_available.__wrapped__() is said


def test_one_that_is_killed_is_asked_again(program: Path) -> None:
    asked = program.with_name("asked")
    program.write_text(f"#!/bin/sh\ntest -e {asked} && exit 0\ntouch {asked}\n{KILLED}\n")
    assert bubblewrap.is_available.__wrapped__() is True


@pytest.mark.parametrize("script", [KILLED, "exit 137"])
def test_one_that_is_killed_each_time_is_not_taken_for_one_that_is_not_there(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    with pytest.raises(Killed, match="bubblewrap, which contains commands, was killed or stood still"):
        bubblewrap.is_available.__wrapped__()
