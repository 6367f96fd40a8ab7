"""Each way to take a decision is printed with what the tests say of it, and each has a naive way."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.model.job import Decision
from harness.repo.checks import WorkTrees
from harness.selftest import control_plays, job_checks, job_table
from harness.selftest.control_plays import DecisionEnd
from harness.selftest.proof import Tried
from tests.support.deep_house import STORY, DeepHouse
from tests.unit.conftest import Series

EDIT = {"path": "shop.py", "new": "x"}
OPTIONS = [
    {"value": "larkspur", "verdict": "right", "fact": "new", "edits": [EDIT]},
    {"value": "dockleaf", "verdict": "stale", "fact": "old", "edits": [EDIT]},
]


def decide(naive: object) -> Decision:
    asked = {"id": "fee", "question": "How much?", "check": ["true"], "options": OPTIONS, "naive": naive}
    return Decision.model_validate(asked)


def test_a_naive_way_may_be_a_wrong_option() -> None:
    decision = decide({"value": "dockleaf"})
    assert decision.list_values() == ["larkspur", "dockleaf"]
    assert decision.list_edits("dockleaf") == decision.options[1].edits
    assert decision.judge(0, "dockleaf") == "stale"


@pytest.mark.parametrize(
    "naive", [{"value": "larkspur"}, {"value": "none"}],
    ids=["the right option", "neither option nor edits"],
)  # fmt: skip
def test_a_naive_way_is_its_own_or_a_wrong_option(naive: object) -> None:
    with pytest.raises(ValueError, match="naive: has "):
        decide(naive)


def shown(monkeypatch: pytest.MonkeyPatch, house: DeepHouse) -> tuple[str, list[str]]:
    """The table of a story, and its breaches."""
    monkeypatch.setattr(job_checks, "TIMES", 1)
    monkeypatch.setattr(job_checks, "TIMES_WRONG", 1)
    proof, work_trees = house.tell(), WorkTrees()
    cold = control_plays.play_scenario(proof, None, work_trees)
    job_checks.judge_checks(proof, work_trees)
    out = Console(width=100, record=True, file=io.StringIO())
    job_table.show_ways(proof.scenario.id, proof.tried, cold.ends[None], out)
    return out.export_text(), [breach.key for breach in proof.breaches]


@pytest.mark.slow
def test_every_way_is_shown_with_what_the_tests_say(
    tmp_path: Path, series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, breaches = shown(monkeypatch, DeepHouse(tmp_path, series))
    lines = [line.split() for line in text.splitlines() if line.strip()]
    assert lines[2:] == [
        ["charge.charge", "nothing", "pass", "nothing"], ["right", "pass", "larkspur"], ["stale", "pass", "dockleaf"],
        ["naive", "pass", "none"], ["cold", "none", "(other;", "nothing", "tells", "it)"],
    ] and not breaches  # fmt: skip


@pytest.mark.slow
def test_a_missing_naive_way_is_a_breach(tmp_path: Path, series: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    house = DeepHouse(tmp_path, series)
    house.story = "\n".join(line for line in STORY.splitlines() if not line.startswith("naive = "))
    _, breaches = shown(monkeypatch, house)
    assert breaches == ["jobs.charge.charge.naive"]


def test_what_the_repository_tells_is_shown_beside_the_naive_way() -> None:
    out = Console(width=100, record=True, file=io.StringIO())
    naive = Tried("job", "fee", "naive", True, "none")
    job_table.show_ways("kind/name", [naive], {("job", "fee"): DecisionEnd("dockleaf", "repo", "stale")}, out)
    lines = [" ".join(line.split()) for line in out.export_text().splitlines()]
    assert lines[-2:] == ["job.fee naive pass none", "cold dockleaf (stale; the repository tells it)"]
