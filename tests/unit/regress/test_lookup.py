"""Measures by name: the number of the report, or one line that says why there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.model.results import Results
from harness.model.trial import Measured
from harness.regress import lookup


def refused(look: Callable[[], object]) -> str:
    with pytest.raises(LookupError) as refusal:
        look()
    (line,) = str(refusal.value.args[0]).splitlines()
    return line


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["store", "keeper", "oracle", "cold"])
@pytest.mark.parametrize("name", ["recall", "decisions_right", "stale_use", "deleted_from_bytes", "tokens_total"])
def test_over_scenarios_it_is_the_number_of_the_report(results: Results, name: str, backend: str) -> None:
    row = results.backends[backend].measures[name]
    where = {"backend": None if backend == "cold" else backend}
    if row.value is None:
        assert "was not measured" in refused(lambda: lookup.measure(results, name, where))
    else:
        found = lookup.measure(results, name, where)
        assert (found.value, found.hits, found.of, found.interval) == (row.value, row.hits, row.of, row.interval)


def test_of_one_cell_it_is_its_measure_with_receipts(results: Results) -> None:
    where = {"backend": "store", "scenario": "rename/twin", "read_policy": "newest"}
    (cell,) = (c for c in results.cells if (c.backend, c.scenario, c.read_policy) == tuple(where.values()))
    assert lookup.measure(results, "stale_use", where) == cell.measures["stale_use"]
    assert isinstance(cell.measures["stale_use"], Measured) and cell.measures["stale_use"].receipts


@pytest.mark.parametrize(
    ("name", "where", "said"),
    [
        ("recal", {"backend": "store"}, "no measure recal; did you mean recall"),
        ("writes_kept", {"backend": "store"}, "writes_kept is measured by a drill, and none was played"),
        ("recall", {}, "of which backend? Say backend="),
        ("recall", {"backend": "stor"}, "nothing was played with backend='stor'"),
        ("recall", {"backend": "absent"}, "absent could not run: not installed"),
        ("recall", {"backend": "store", "noise": 7}, "nothing was played with"),
        ("recall", {"backend": "store", "colour": 1}, "a cell has no field colour; it has arm, backend,"),
        ("deleted_from_bytes", {"backend": "none"}, "not measured with backend='none': unsupported: "),
        ("stale_use", {"backend": None}, "not-applicable: the cold arm has no memory"),
    ],
)
def test_what_is_not_there_is_one_line(results: Results, name: str, where: dict[str, object], said: str) -> None:
    assert said in refused(lambda: lookup.measure(results, name, where))


@pytest.mark.parametrize("status", ["failed", "incomplete", "not-run"])
def test_one_cell_that_did_not_end_is_enough_for_no_number(results: Results, status: str) -> None:
    """What broke off early looks clean."""
    cells = tuple(
        cell.model_copy(update={"status": status, "reason": "recall: \x1b[2J::error::gone"})
        if (cell.backend, cell.scenario, cell.read_policy) == ("keeper", "rename/twin", "trusting")
        else cell
        for cell in results.cells
    )
    broken = results.model_copy(update={"cells": cells})
    line = refused(lambda: lookup.measure(broken, "stale_use", {"backend": "keeper"}))
    assert f"{status}: recall: " in line and "\x1b" not in line and "::" not in line
    assert lookup.measure(broken, "stale_use", {"backend": "store"}).of


def test_cells_have_the_fields_that_were_asked_for(results: Results) -> None:
    found = lookup.find_cells(results, {"backend": "store", "read_policy": "verifying"})
    assert {cell.id for cell in found} == {
        cell.id for cell in results.cells if (cell.backend, cell.read_policy) == ("store", "verifying")
    }
    assert len(lookup.find_cells(results, {})) == len(results.cells)
    assert "nothing was played with scenario='x'" in refused(lambda: lookup.find_cells(results, {"scenario": "x"}))
