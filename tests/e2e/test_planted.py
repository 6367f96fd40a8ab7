"""The measures see what they are there for: planted faults, played as a run plays its backends."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.selftest import faults, measures, measures_table
from harness.selftest.faults import PlantedFault


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_fault_is_caught_and_moves_nothing_that_it_must_not(cache: Path) -> None:
    matrix = measures.prove(faults.list_planted(), cache)
    out = io.StringIO()
    measures_table.show(matrix, Console(file=out, width=100, color_system=None))
    assert not matrix.breaches, "\n".join([out.getvalue(), *map(str, matrix.breaches)])
    assert len(matrix.rows) == len(faults.list_planted())


@pytest.mark.slow
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
