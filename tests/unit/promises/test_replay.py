"""`coldwarm promises --replay`: the log of a drill holds the sequence, which is played again on a real backend."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness import conformance
from harness.cli import commands
from harness.log import pack
from tests.support.fakes import FakeEmbedder
from tests.support.golden_drills import GOLDEN


@pytest.fixture(scope="module")
def logs() -> Path:
    return pack.unpack(GOLDEN / f"drills-promises-broken{pack.SUFFIX}") / "drills"


@pytest.fixture(autouse=True)
def without_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(conformance, "choose", FakeEmbedder)
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path))


def replay(logs: Path, who: str, *words: str) -> Result:
    (log,) = logs.glob(f"{who}*.jsonl")
    return CliRunner().invoke(commands, ["promises", "--replay", str(log), *words])


@pytest.mark.slow
def test_the_log_of_a_drill_breaks_again_in_the_same_way(logs: Path) -> None:
    played = replay(logs, "harness-selftest-planted")
    assert played.exit_code == 1, played.output
    assert played.output.splitlines() == [
        "  1 remember a memory (m1) in repo=api",
        '  2 list repo=api user=""',
        'broken: m1 of repo=api is listed in repo=api user=""',
    ]


@pytest.mark.slow
def test_another_backend_may_hold_the_same_sequence(logs: Path) -> None:
    played = replay(logs, "harness-selftest-planted", "-b", "reference")
    assert played.exit_code == 0, played.output
    assert played.output.splitlines()[-1] == "held: every answer is what the model says"


def test_a_log_without_a_broken_promise_is_one_line(logs: Path) -> None:
    played = replay(logs, "reference")
    assert played.exit_code == 2
    assert played.output.strip().endswith(".jsonl: no promise was broken there")
    assert len(played.output.strip().splitlines()) == 1
