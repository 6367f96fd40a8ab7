"""What is told of sessions that were put to a backend."""

from __future__ import annotations

import pytest

from harness.gateway.meter import Meter
from harness.log.transcript import Ended
from harness.model.backend import Fault
from harness.play import controls
from harness.sessions import captured
from harness.sessions.feed import Began, Seen

BEGAN = Began(backend="b", described=controls.describe("oracle"), feed="sessions", sessions=1, secrets=0)
LOST = Ended(status="failed", fault=Fault(kind="crashed", op="remember", message="gone"))


@pytest.mark.parametrize(
    ("looks", "told"),
    [
        ([], "bytes not measured"),
        ([Seen(when="told", bytes=0, secrets=())], "nothing on disk"),
        ([Seen(when="told", bytes=4096, secrets=())], "4,096 bytes"),
    ],
)
def test_bytes_that_nobody_looked_at_are_not_nothing(looks: list[Seen], told: str) -> None:
    figures = captured.count([BEGAN, *looks, LOST], Meter())
    costs = next(line for line in captured.list_lines([figures]) if line.startswith("  costs:"))
    assert costs.endswith(f"; {told}")
