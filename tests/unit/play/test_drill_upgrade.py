"""The drill of upgrades: what it writes, who opens what, and what it shows of faults."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.log.transcript import Called, Handled, Transcript
from harness.metrics.trust.upgrade import METRICS
from harness.model.trial import Measured, Selection
from harness.play import plan as plans
from harness.play.drills import upgrade
from harness.play.drills.stage import DrillSession
from harness.play.drills.upgrade import DRILL, UPKEEP, plan
from tests.support.drill_player import drilled, measured

REFERENCE = "adapters.reference:Reference"
PLANTED = "harness.selftest.planted.upgrading"
SIZE = 32
UPKEPT = ("ends_kept_after_upgrade", "history_kept_after_upgrade", "restored_after_upgrade")


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_has_every_role_in_both_scopes(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    assert len({piece.canary for piece in made.pieces}) == len({str(p.item.source) for p in made.pieces})
    assert len(made.pieces) == max(size, 16) + len(made.of(*UPKEEP)) and len(made.of(*UPKEEP)) == 12
    for role in ("kept", "dropped before", "dropped after", "new"):
        assert len({piece.item.scope for piece in made.of(role)}) == 2


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, REFERENCE, SIZE, older=REFERENCE)


@pytest.mark.slow
def test_a_sound_release_keeps_all_and_measures_everything(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete" and sound.drilled.older is not None
    for name, measure in measured(METRICS, sound).items():
        assert isinstance(measure, Measured), name
        if name != "upgrade_seconds":
            wrong = name in ("silently_wrong_after_upgrade", "wrong_after_upgrade")
            assert measure.of and measure.value == (0.0 if wrong else 1.0), name


@pytest.mark.slow
def test_the_older_release_writes_both_stores_and_goes_on_with_the_first(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, f"{PLANTED}:RefusesOldStores", SIZE, older=REFERENCE)
    opened = [(event.step, event.fault is None) for _, event in told.of(Handled) if event.what == "opened"]
    steps = ["written", "taken over", "changed", "reopened", "restored"]
    assert opened[:3] == [(f"control {step}", True) for step in steps if step not in ("changed", "restored")]
    assert opened[3:] == [("upgrade written", True), *((f"upgrade {step}", False) for step in steps[1:])]
    assert not [call for _, call in told.of(Called) if call.step.startswith("upgrade") and call.step[8:] != "written"]


@pytest.mark.slow
def test_a_refusal_fails_with_its_words_and_nothing_is_silent(tmp_path: Path) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, f"{PLANTED}:RefusesOldStores", SIZE, older=REFERENCE))
    assert found["silently_wrong_after_upgrade"].status == "measured"
    assert {found[name].status for name in found if "silently" not in name} == {"failed", "not-applicable"}
    assert found["kept_after_upgrade"].receipts


class FakeSession:
    """Of a release that refused the store, and takes no snapshots."""

    def is_open(self, who: str) -> bool:
        return False

    def close(self, step: str, who: str) -> None:
        raise KeyError(who)


def test_what_was_never_opened_is_not_closed() -> None:
    upgrade._restore(cast(DrillSession, FakeSession()), "upgrade", None)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "flagged"),
    [
        ("LosesDatesOnUpgrade", {"date_kept_after_upgrade"}),
        ("LeavesTheIndexBehind", {"found_after_upgrade", "ends_kept_after_upgrade"}),
        ("WritesToTheOldTable", {"written_after_upgrade"}),
        ("RestoresItsBackup", {"deleted_after_upgrade"}),
        ("OpensOldStoresEmpty", {"kept_after_upgrade", "found_after_upgrade", *UPKEPT}),
        ("LosesHistoriesOnUpgrade", {"history_kept_after_upgrade"}),
        ("RestoresNothingAfterUpgrade", {"restored_after_upgrade"}),
    ],
)
def test_a_fault_is_flagged_by_its_own_measure_and_called_silent(tmp_path: Path, fault: str, flagged: set[str]) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, f"{PLANTED}:{fault}", SIZE, older=REFERENCE))
    wrong = found.pop("wrong_after_upgrade")
    assert isinstance(wrong, Measured) and wrong.value == 0.0, "lost, not wrong"
    bad = {
        name
        for name, measure in found.items()
        if isinstance(measure, Measured) and name != "upgrade_seconds" and measure.value != 1.0
    }
    assert bad == {*flagged, "silently_wrong_after_upgrade"}
    assert all(found[name].receipts for name in bad)


@pytest.mark.slow
def test_what_the_older_release_left_in_the_file_may_come_back(tmp_path: Path) -> None:
    told = drilled(
        tmp_path, DRILL, f"{PLANTED}:ResurrectsOnUpgrade", SIZE, older=f"{PLANTED}:KeepsTombstones"
    )  # the older one is sound in its answers
    measure = measured(METRICS, told)["deleted_stays_deleted_after_upgrade"]
    assert isinstance(measure, Measured) and measure.value == 0.0 and measure.of == SIZE // 8


def test_it_is_planned_only_for_who_takes_a_store_over() -> None:
    asked = Selection(backends=(), drills=("durability", "upgrade"))
    found = plans.list_drills(asked, ["x@1", "x@2"], {"x@2": "x@1"})
    assert [(trial.backend, trial.drill) for trial in found] == [
        ("x@1", "durability"), ("x@2", "durability"), ("x@2", "upgrade"),
    ]  # fmt: skip
    assert [trial.older for trial in found] == ["", "", "x@1"]
    alone = Selection(backends=(), drills=("upgrade",))
    assert "name two releases" in plans.explain_unplanned(alone, [])
    assert not plans.explain_unplanned(asked, []) and not plans.explain_unplanned(alone, found)


def test_who_wrote_the_store_is_part_of_the_trial_and_of_no_other_drills() -> None:
    asked = Selection(backends=(), drills=("durability", "upgrade"))
    from_1, from_2 = (plans.list_drills(asked, ["x@3"], {"x@3": older}) for older in ("x@1", "x@2"))
    assert from_1[0] == from_2[0] == plans.list_drills(asked, ["x@3"])[0]
    assert from_1[1].id != from_2[1].id
