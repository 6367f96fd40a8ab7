"""How the facts of a story stand at its times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from harness.adapter import Scope
from tests.support.logs import NEW, OLD, fact, story

PLACE = Scope(repo="shop", org="lantern")


@pytest.mark.parametrize("turned", [False, True])
def test_a_fact_is_superseded_from_its_first_successor_on(turned: bool) -> None:
    after = [
        fact("tool", NEW, "betadeploy", "2025-02-01", supersedes="old"),
        fact("later", "Port 8123", "8123", "2025-03-01", supersedes="old"),
    ]
    facts = [fact("old", OLD, "alphadeploy", "2025-01-01"), *(reversed(after) if turned else after)]
    steps = [{"do": "learn", "facts": ["old"]}]
    learnt = [{"id": "first", "at": "2025-01-10T09:00:00+00:00", "by": "ada", "commit": "c1", "steps": steps}]
    scenario = story(facts=facts, sessions=learnt)
    days = (datetime(2025, month, 10, tzinfo=UTC) for month in (1, 2, 3))
    assert [scenario.find_standing("old", day, PLACE) for day in days] == ["current", "superseded", "superseded"]
