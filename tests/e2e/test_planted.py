"""Planted faults, played as in a run: what is not as declared is a breach. `make selftest` plays all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.backend import SOUND
from harness.selftest import measures
from harness.selftest.faults import PlantedFault


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(900)  # it plays every drill of three backends, and two of them again
def test_a_fault_that_is_none_or_not_the_declared_one_is_a_breach(cache: Path) -> None:
    sound = PlantedFault("Sound", "adapters.reference:Reference", "Nothing is wrong.", ("writes_kept",), ())
    unlike = PlantedFault(
        "Unlike", "harness.selftest.planted.isolation:ReadsAnyId", "Reads any id.", ("leaks_by_listing",), ()
    )
    matrix = measures.prove([sound, unlike], cache)
    assert {str(breach) for breach in matrix.breaches} == {
        "Sound: writes_kept: must flag it, and is as with the reference",
        "Unlike: leaks_by_listing: must flag it, and is as with the reference",
        "Unlike: read_across_scopes: must not move, and is worse than with the reference",
    }
    # What led to a breach is played again, and what did not is scored anew.
    again = measures.prove([sound, unlike], cache)
    assert again.breaches == matrix.breaches
    now = {(name, family) for (name, family), day in again.days.items() if day is None}
    assert now == {(name, "keeping") for name in (SOUND, "Sound")} | {(name, "isolation") for name in (SOUND, "Unlike")}
