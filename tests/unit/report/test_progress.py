"""What a run says while it goes on: a line for each end, a line for what takes long, and nothing that steers."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.model.trial import Trial
from harness.report import progress
from tests.support.logs import Tape

HOSTILE = "tests.own:A,name=[red]\x1b[2J::error::x"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


def lines(out: io.StringIO, clock: Clock, **how: Any) -> progress.PlainProgress:
    return progress.PlainProgress(Console(file=out, width=80, soft_wrap=True, **how), clock)


def trial(backend: str | None = "store") -> Trial:
    return Trial(
        backend=backend, scenario="rename/a", write_policy="append", noise=0, seed=1, reader="scripted", k=3, budget=9
    )


def test_what_takes_long_is_named_and_named_again_when_it_took_twice_as_long(out: io.StringIO, clock: Clock) -> None:
    told = lines(out, clock)
    told.started(trial())
    for clock.now in (9.9, 10.0, 11.0, 19.0, 20.0, 39.0, 41.0):
        told.look()
    said = [line.partition("s  ")[2] for line in out.getvalue().splitlines()]
    assert said == [f"still at {trial().id}, for {seconds} s" for seconds in (10, 20, 41)]


def test_what_has_ended_takes_no_longer(tmp_path: Path, out: io.StringIO, clock: Clock) -> None:
    told, log = lines(out, clock), Tape(tmp_path, "store").log()
    told.started(log.trial)
    told.started(trial("other"))
    told.finished(log)
    clock.now = 12.0
    assert told.look() == f"{trial('other').id} for 12 s"
    assert "store" not in out.getvalue().splitlines()[-1]


def test_a_look_from_another_thread_finds_no_half_of_what_begins() -> None:
    watch = progress.Watch(lambda _: None)

    class Looked(dict[str, float]):
        def __setitem__(self, name: str, since: float) -> None:
            super().__setitem__(name, since)
            assert watch.look() == name

    watch._since = Looked()
    watch.began("a trial")


def test_on_a_terminal_the_bar_names_what_goes_on_and_for_how_long(out: io.StringIO, clock: Clock) -> None:
    told = lines(out, clock, force_terminal=True)
    told.planned(2, 0)
    told.started(trial())
    clock.now = 30.0
    told.look()
    told.ended()
    assert "store-a" in out.getvalue() and "0:00:30" in out.getvalue()
    assert "for 30 s" in told.look()


def test_on_a_terminal_the_bar_says_how_much_time_is_left(tmp_path: Path, out: io.StringIO, clock: Clock) -> None:
    told, log = lines(out, clock, force_terminal=True), Tape(tmp_path, "store").log()
    told.planned(4, 0)
    for now in (10.0, 20.0):
        clock.now = now
        told.started(log.trial)
        told.finished(log)
    told.ended()
    assert "gone, 0:00:20 left" in re.sub(r"\x1b\[[^m]*m", "", out.getvalue())


def test_a_quiet_console_hears_nothing(tmp_path: Path, out: io.StringIO, clock: Clock) -> None:
    told, log = lines(out, clock, quiet=True, force_terminal=True), Tape(tmp_path, "store").log()
    told.planned(1, 0)
    told.started(log.trial)
    told.finished(log)
    told.ended()
    assert out.getvalue() == ""


def test_no_name_and_no_fault_steers_the_terminal_or_a_ci_server(
    tmp_path: Path, out: io.StringIO, clock: Clock
) -> None:
    told, log = lines(out, clock), Tape(tmp_path, HOSTILE).log()
    told.started(log.trial)
    told.finished(log)
    told.noted(f"a server says {HOSTILE}\n::warning::y")
    said = out.getvalue()
    assert "\x1b" not in said and "::" not in said and "[red]" in said
    assert len(said.splitlines()) == 2


def test_something_without_trials_is_named_too(out: io.StringIO, clock: Clock) -> None:
    said: list[str] = []
    watch = progress.Watch(said.append, clock)
    watch.began("scoring")
    clock.now = 10.0
    watch.look()
    assert said == ["still at scoring, for 10 s"]
    with progress.say_during(Console(file=out), "scoring"):
        pass
    assert out.getvalue() == ""
