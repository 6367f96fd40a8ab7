"""True memories that a way of writing takes away, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.log.events import Retired, Retirement
from harness.metrics.dropped import find_drops
from harness.metrics.view import Record
from tests.support.logs import NEW, Tape


@pytest.mark.parametrize("op", ["forget", "deprecate", "expire"])
@pytest.mark.parametrize(("said", "dropped"), [((True,), [True]), ((False,), []), (None, [])])
def test_what_the_backend_took_away_is_dropped(
    op: Retirement, said: Sequence[bool] | None, dropped: list[bool], tmp_path: Path
) -> None:
    tape = Tape(tmp_path).learn("first", "old", "port").learn("second", "new")
    told = None if said is None else tuple(said)
    tape.add(Retired(session="second", rule="gone", op=op, names=("fact:new",), ids=(NEW,), said=told))
    assert [true for _, true in find_drops(Record(tape.log()))] == dropped
