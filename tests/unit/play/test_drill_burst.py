"""The drill of bursts: who writes at once, and what it shows of faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.transcript import Called, Handled, Transcript
from harness.metrics.trust.burst import METRICS
from harness.model.trial import Measured
from harness.play.drills.burst import BESIDE, CALM, DRILL, SMALL, plan
from tests.support.drill_player import drilled, measured

REFERENCE = "adapters.reference:Reference"
PLANTED = "harness.selftest.planted.bursting"
SIZE = 24
TAILS = ("_of_two",)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, REFERENCE, SIZE)


def test_a_plan_has_three_bursts_and_a_few_calm_writes_before_each() -> None:
    made = plan(SIZE, 1)
    assert [len(made.of(role)) for role in ("small", "large", "shared", "calm")] == [SMALL, SIZE, SIZE, 3 * CALM]
    assert len({piece.canary for piece in made.pieces}) == len(made.pieces)
    assert len(plan(5, 1).of("large")) == SMALL, "a burst is no smaller than the small one"


@pytest.mark.slow
def test_the_sound_backend_keeps_all_of_each_burst_once(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete"
    for name, measure in measured(METRICS, sound).items():
        of = SIZE + BESIDE if name.endswith(TAILS) else SMALL + SIZE
        assert isinstance(measure, Measured) and (measure.value, measure.of) == (0.0, of), name


@pytest.mark.slow
def test_two_processes_share_the_last_burst_and_a_third_looks(sound: Transcript) -> None:
    writers = {call.who for _, call in sound.calls("remember", "shared")}
    assert writers == {"a", "b"}
    assert [event.who for _, event in sound.of(Handled) if event.step == "shared after"] == ["a", "a"]
    assert all(len(call.about) == 1 for _, call in sound.calls("remember") if call.step != "shared doomed")
    assert {call.who for _, call in sound.calls("forget", "shared")} == {"b"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "flagged"),
    [
        ("WritesTheFileItRead", "lost_in_burst"),
        ("RepeatsWhatWasSlow", "doubled_in_burst"),
        ("IndexesOneAtATime", "unfindable_after_burst"),
    ],
)
def test_a_fault_of_writes_in_flight_is_flagged_by_its_own_measure(tmp_path: Path, fault: str, flagged: str) -> None:
    found = measured(METRICS, drilled(tmp_path, DRILL, f"{PLANTED}:{fault}", SIZE))
    bad = {name for name, measure in found.items() if isinstance(measure, Measured) and measure.value}
    assert bad - {"failing_in_burst", "failing_in_burst_of_two"} == {flagged, f"{flagged}_of_two"}
    # A file that is read while it is written may be no file of memories at all: then the write fails, too.
    assert fault == "WritesTheFileItRead" or not {each for each in bad if each.startswith("failing")}
    assert all(found[name].receipts for name in bad)


@pytest.mark.slow
def test_a_write_that_was_refused_is_not_lost(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, f"{PLANTED}:FailsWhenBusy", SIZE)
    found = measured(METRICS, told)
    failing = found["failing_in_burst"]
    assert isinstance(failing, Measured) and failing.value > 0 and failing.receipts
    assert any(event.fault and "locked" in event.fault.message for _, event in told.of(Called))
    lost = found["lost_in_burst"]
    assert not isinstance(lost, Measured) or lost.value == 0


@pytest.mark.slow
def test_who_is_told_one_thing_after_the_other_is_called_serial(tmp_path: Path) -> None:
    told = drilled(tmp_path, DRILL, "tests.support.serial_reference:Serial", SIZE)
    found = measured(METRICS, told)
    for name, measure in found.items():
        if name.endswith(TAILS):
            assert isinstance(measure, Measured) and measure.value == 0.0, (
                "two processes write one after the other each"
            )
        else:
            assert measure.status == "unsupported" and "serial" in measure.reason, name
    assert not list(told.calls("remember", "large"))
