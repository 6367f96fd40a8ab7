"""Whether commands can be contained here, as a program called bwrap tells it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.machine import bubblewrap, containment, processes
from harness.machine.processes import Killed

KILLED = "kill -9 $$"
STOPPED = "kill -STOP $$"


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


@pytest.mark.slow
@pytest.mark.parametrize("script", [KILLED, STOPPED])
def test_a_probe_of_namespaces_that_gets_no_answer_says_so(
    program: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(processes, "PROBE_SECONDS", 0.2)
    monkeypatch.setattr(sys, "executable", str(program))
    program.write_text(f"#!/bin/sh\n{script}\n")
    with pytest.raises(Killed, match="a look at what contains children was killed or stood still"):
        containment.has_namespaces.__wrapped__()
