"""Embeddings that we owe: an answer that differs meanwhile is nobody's broken promise."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness import conformance
from harness.cli import commands
from harness.conformance import promises
from harness.gateway import endpoint
from harness.gateway.embedder import Encoded
from harness.gateway.gateway import Gateway
from harness.model.sequence import VERSION, Step, write_text
from harness.play.sequences import list_texts
from tests.support.fakes import FakeEmbedder


class _LateEmbedder(FakeEmbedder):
    """Takes 4 s for its first calls, and has the vectors then.

    Attributes:
        late: How many calls.
    """

    late = 1

    def encode(self, texts: Sequence[str]) -> Encoded:
        type(self).late -= 1
        if self.late >= 0:
            time.sleep(4)
        return super().encode(texts)


class _FailingEmbedder(FakeEmbedder):
    def encode(self, texts: Sequence[str]) -> Encoded:
        raise MemoryError


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A sequence that every store keeps. Nobody warms its texts, as of a backend that embeds more than it was told."""
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path))
    monkeypatch.setattr(Gateway, "warm", lambda *_: None)
    monkeypatch.setattr(promises, "DEADLINES", replace(promises.DEADLINES, call=1.5, item=0.01))
    path = tmp_path / "case.json"
    steps = [{"op": "remember", "scope": {"repo": "api"}, "count": 2}, {"op": "entries", "scope": {"repo": "api"}}]
    path.write_text(json.dumps({"version": VERSION, "backend": "vector_file", "steps": steps}))
    return path


def replay(case: Path) -> Result:
    return CliRunner().invoke(commands, ["promises", "--replay", str(case)])


@pytest.mark.slow
def test_a_sequence_is_played_again_if_vectors_came_too_late(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "choose", _LateEmbedder)
    monkeypatch.setattr(_LateEmbedder, "late", 1)
    played = replay(case)
    assert played.output.splitlines()[-1] == "held: every answer is what the model says"
    assert played.exit_code == 0
    assert _LateEmbedder.late == 0, "it was late for the first play, and had them for the second"


@pytest.mark.slow
def test_vectors_that_never_come_are_told_as_our_failure(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "choose", _FailingEmbedder)
    played = replay(case)
    assert played.exit_code == 3
    (line,) = played.output.splitlines()
    assert "the embeddings that vector_file asked for came too late or failed, 3 times" in line
    assert "the embedder failed (MemoryError)" in line


@pytest.mark.slow
def test_a_deadline_that_passes_while_nobody_waits_for_us_is_the_backend_s(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "choose", _LateEmbedder)
    monkeypatch.setattr(_LateEmbedder, "late", 0)
    monkeypatch.setattr(endpoint, "_LATE", 0.0)
    hangs = "harness.selftest.planted.recall:Hangs"
    steps = [{"op": "remember", "scope": {"repo": "api"}, "count": 5}]
    steps += [{"op": "recall", "scope": {"repo": "api"}, "of": [at]} for at in range(5)]
    case.write_text(json.dumps({"version": VERSION, "backend": hangs, "steps": steps}))
    played = replay(case)
    assert played.exit_code == 1
    assert "recall timed-out" in played.output


def test_every_text_that_repeats_another_is_warmed_as_it_is_written() -> None:
    steps = (
        Step(op="remember", count=2),
        Step(op="update", of=(0, 1), form="capitals"),
        Step(op="remember", of=(0,), form="spaces"),
        Step(op="supersede", of=(2, 1), form="capitals"),
    )
    first, second = (write_text("plain", number) for number in (0, 1))
    wide = "  ".join(second.upper().split(" "))
    assert list_texts(steps) == [first, second, second.upper(), wide, second.upper()]
