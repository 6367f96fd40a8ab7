"""What a drill asks, changes and deletes one by one is bounded, so that a store of 100,000 memories ends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from harness.log.transcript import Called, Transcript
from harness.metrics.trust import embedder as of_embedder
from harness.metrics.trust import sharing as of_sharing
from harness.metrics.trust.metric import TrustMetric
from harness.model.trial import Measured
from harness.play.drills import detour, embedder, keeping, sharing
from harness.play.drills.stage import Drill
from tests.support.drill_player import drilled, measured

LARGE = 20_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drill", "roles", "most"),
    [
        (sharing.DRILL, {"shared", "dropped", "own", "a", "b", "a-dropped", "b-dropped"}, 3000),
        (embedder.DRILL, {"kept", "new"}, 1000),
        (keeping.DRILL, {"edit", "successor"}, 402),
        (detour.DRILL, {"draft"}, 700),
    ],
)
def test_a_large_plan_has_more_memories_and_no_more_calls(drill: Drill, roles: set[str], most: int) -> None:
    found = Counter(piece.role for piece in drill.plan(LARGE, 1).pieces)
    assert sum(found[role] for role in roles) == most and found.total() >= LARGE


@pytest.mark.parametrize("drill", [sharing.DRILL, embedder.DRILL])
def test_what_was_played_at_smaller_sizes_is_played_still(drill: Drill) -> None:
    assert not drill.plan(1000, 1).of("crowd")


@pytest.mark.slow
@pytest.mark.parametrize(("drill", "metrics"), [(sharing, of_sharing.METRICS), (embedder, of_embedder.METRICS)])
def test_the_crowd_is_stored_and_never_asked_for(
    drill: ModuleType, metrics: tuple[TrustMetric, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drill, "ASKED", 40)
    with_crowd = drilled(tmp_path / "large", drill.DRILL, "adapters.reference:Reference", 120)
    alone = drilled(tmp_path / "small", drill.DRILL, "adapters.reference:Reference", 40)
    crowd = {piece.name for piece in with_crowd.plan.of("crowd")}
    asked = {op: _named(with_crowd, op) for op in ("remember", "recall", "forget")}
    assert len(crowd) == 80 and crowd <= asked["remember"] and not crowd & (asked["recall"] | asked["forget"])
    assert _values(with_crowd, metrics) == _values(alone, metrics)


def _values(transcript: Transcript, metrics: tuple[TrustMetric, ...]) -> dict[str, tuple[float, int | None] | str]:
    found = measured(metrics, transcript)
    return {name: (each.value, each.of) if isinstance(each, Measured) else each.status for name, each in found.items()}


def _named(transcript: Transcript, op: str) -> set[str]:
    return {name for _, call in transcript.of(Called) if call.op == op for name in call.about}
