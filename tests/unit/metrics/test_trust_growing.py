"""What a store takes on disk for each question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Layer
from harness.log.events import Event
from harness.log.transcript import Called, Looked, Op
from harness.metrics.trust.growing import bytes_per_question
from harness.model.backend import Fault
from harness.model.trial import Measure, Measured
from harness.play.drills import growing
from tests.support.transcripts import plan, transcript

PLAN = plan({"one": "subject"})
ASKED = {step: rounds * 10 for step, rounds in growing.ROUNDS.items()}
FAULT = Fault(kind="raised", op="recall", message="no more")


def look(step: str, size: int, *, declared: bool = True, problem: str | None = None) -> Looked:
    return Looked(step=step, layer=Layer("db", "db", "file"), declared=declared, files=1, bytes=size, problem=problem)


def play(*sizes: int, fault: Fault | None = None, problem: str | None = None) -> Iterator[Event]:
    for (step, many), size in zip(ASKED.items(), sizes, strict=False):
        for at in range(many):
            op: Op = "recall" if at % 2 else "entries"
            yield Called(step=step, op=op, about=("one",), answer=None if fault else [], fault=fault)
        yield look(step, size, problem=problem)
        yield look(step, 7, declared=False)


def measure(folder: Path, *events: Event, **more: Any) -> Measure:
    return bytes_per_question(transcript(folder, PLAN, events, drill="keeping", **more))


@pytest.mark.parametrize(
    ("sizes", "grown"),
    [((100, 100, 100), 0), ((100, 140, 180), 0), ((100, 110, 170), 1), ((900, 100, 100), 0), ((100, 100, 90), 0)],
)
def test_what_each_opening_takes_is_no_growth_by_asking(tmp_path: Path, sizes: tuple[int, ...], grown: float) -> None:
    found = measure(tmp_path, *play(*sizes))
    assert isinstance(found, Measured) and (found.value, found.of) == (grown, 50)


def test_what_nobody_could_look_at_or_answer_has_no_size(tmp_path: Path) -> None:
    assert measure(tmp_path / "broken off", *play(100, 100)).status == "not-applicable"
    assert measure(tmp_path / "empty", *play()).status == "not-applicable"
    assert measure(tmp_path / "served", *play(100, 100, 100), served=True).status == "not-applicable"
    assert measure(tmp_path / "unread", *play(100, 100, 100, problem="a link")).status == "failed"
    assert measure(tmp_path / "silent", *play(100, 100, 100, fault=FAULT)).status == "failed"
    assert measure(tmp_path / "lacking", lacks={"persistent": "kept in memory"}).status == "unsupported"
