"""Each fault of a capture loses decisions at its own stage, and a sound capture loses none."""

from __future__ import annotations

import pytest

from harness import paths
from harness.selftest import capture_faults
from harness.selftest.capture_faults import CAPTURES, Capture, KeepsTheRetracted
from harness.selftest.proof import ScenarioProof
from tasks import loader


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> dict[str, capture_faults.Lost]:
    """A story in which each fault costs a trusting reader a decision."""
    file, cache = loader.find(paths.DEEP, ("experiment/two-ovens",))[0], tmp_path_factory.mktemp("cache")
    ((scenario, repo),) = loader.load([file], paths.FIXTURES, cache)
    return capture_faults.list_all_lost(ScenarioProof(file, scenario, repo))


@pytest.mark.parametrize("capture", CAPTURES)
def test_each_fault_is_told_by_its_stage(capture: type[Capture], lost: dict[str, capture_faults.Lost]) -> None:
    found = {*lost[capture.__name__]}
    assert found <= {*capture.stages.items()}
    assert [stage for policy, stage in found if policy == "trusting"] == [*capture.stages.values()][:1]


def test_a_suite_whose_faults_are_told_apart_is_sound(lost: dict[str, capture_faults.Lost]) -> None:
    assert not list(capture_faults.judge([lost], many=False))


@pytest.mark.slow
def test_what_is_lost_at_another_stage_or_not_at_all_is_a_breach(lost: dict[str, capture_faults.Lost]) -> None:
    replaced: capture_faults.Lost = {("newest", "replaced"): 2}
    other = {**lost, "Capture": replaced, KeepsTheRetracted.__name__: {}}
    found = [*capture_faults.judge([other], many=True)]
    assert ("Capture", "newest: 2 decisions are lost as replaced") in found
    assert ("KeepsTheRetracted", "trusting: no decision is lost as unused") in found
    assert [name for name, _ in capture_faults.judge([other], many=False)] == ["Capture"]
    away: capture_faults.Lost = {("newest", "untold"): 1, ("trusting", "elsewhere"): 1}
    assert not list(capture_faults.judge([{**lost, "Capture": away}], many=False)), "no capture's doing"
