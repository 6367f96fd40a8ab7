"""What is asked and looked at around a deletion, and in which order: played with fakes that write down every call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Layer, Scope
from harness.log.events import Event, Forgot, Listed, Scanned, Sought
from harness.log.events import Stage as Looks
from harness.log.reader import Log
from harness.model.facts import Fact
from harness.model.scenario import Session
from harness.play import story_deletion
from harness.play.session import MemorySession
from tests.support.engine_stories import host, load_real, load_small
from tests.support.fakes import FakeHost, FakeMemory
from tests.support.logs import canonical
from tests.support.story_player import Stage, kinds
from tests.unit.conftest import House


@pytest.fixture(scope="module")
def small(lasting: House) -> Stage:
    return load_small(lasting)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Stage]:
    return load_real(tmp_path_factory.mktemp("cache"))


# --- deletion --------------------------------------------------------------------------------------------------------


def looks(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [
        (type(event).__name__.lower(), event.stage) for event in events if isinstance(event, Sought | Listed | Scanned)
    ]


def test_controls_come_before_the_forget_and_destructive_looks_at_the_very_end(small: Stage, tmp_path: Path) -> None:
    where = host(tmp_path)
    log = small.play(tmp_path, where)
    events = list(log.events)
    forgot = next(i for i, event in enumerate(events) if isinstance(event, Forgot))
    assert {stage for _, stage in looks(events[:forgot])} == {"before"}
    assert {stage for _, stage in looks(events[forgot:])} == {"after", "reopened"}
    final = next(i for i, event in enumerate(events) if isinstance(event, Scanned) and event.stage == "after")
    assert not {"recalled", "wrote", "worked", "forgot", "began"} & set(kinds(events[final:]))
    found = {(event.stage, event.route): event.found for event in log.list_events(Sought)}
    assert found["before", "search"] and found["before", "entries"] and found["before", "get"]
    assert not any(value for (stage, _), value in found.items() if stage != "before")
    assert [(event.declared, len(event.sightings)) for event in log.list_events(Scanned)] == [
        (True, 1), (False, 0), (True, 0), (False, 0)
    ]  # fmt: skip


def test_bytes_are_looked_at_when_the_owner_is_gone_and_a_fresh_process_looks_again(
    small: Stage, tmp_path: Path
) -> None:
    where = host(tmp_path)
    small.play(tmp_path, where)
    ops = [op for op, _ in where.calls]
    closing = ops.index("close")
    assert ops[closing : closing + 3] == ["close", "layers", "open"]
    assert ops.count("open") == ops.count("close") == len(where.opened) == 2


class FakeGrowing(FakeHost):
    """A fake that moves what is deleted to a file that was not there before, as a store with segments may."""

    def flush(self) -> None:
        super().flush()
        if self.asked("forget"):
            (self.root / "segment").write_text(str(self.asked("remember")))

    def layers(self) -> list[Layer]:
        segment = [Layer("segment", "segment", "file")] if self.asked("forget") else []
        return [*super().layers(), *segment]


def test_a_layer_that_appears_with_the_deletion_is_looked_at(small: Stage, tmp_path: Path) -> None:
    log = small.play(tmp_path, FakeGrowing(tmp_path / "store"))
    after = {event.layer.name: len(event.sightings) for event in log.list_events(Scanned) if event.stage == "after"}
    assert after == {"file": 0, "segment": 1, "undeclared places": 0}


@pytest.mark.parametrize("lacks", [["forget"], ["persistent"], ["entries"], ["get", "history"]])
def test_nothing_is_asked_that_was_not_declared(small: Stage, tmp_path: Path, lacks: list[str]) -> None:
    where = host(tmp_path, lacks=lacks)
    log = small.play(tmp_path, where)
    assert log.closed is not None and log.closed.status == "complete"
    assert not set(lacks) & {op for op, _ in where.calls}
    stages = {stage for _, stage in looks(log.events)}
    assert stages == {"forget": {"before"}, "persistent": {"before", "after"}}.get(
        lacks[0], {"before", "after", "reopened"}
    )


class FakeTurning(FakeMemory):
    """A fake whose ranking depends on how often it was asked before, as in stores that learn from use."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        hits, turns = super().recall(query, scope, k, at), len(self._host.asked("recall"))
        return [hits[(turns + i) % len(hits)] for i in range(len(hits))]


def without_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    look, listed, scanned = story_deletion._look, story_deletion._list_all, story_deletion._scan

    def _look(memory_session: MemorySession, session: Session, facts: Sequence[Fact], stage: Looks) -> Iterator[Event]:
        return iter(()) if stage == "before" else look(memory_session, session, facts, stage)

    def _listed(memory_session: MemorySession, facts: Sequence[Fact], stage: Looks) -> Iterator[Event]:
        return iter(()) if stage == "before" else listed(memory_session, facts, stage)

    def _scanned(memory_session: MemorySession, stage: Looks) -> Iterator[Event]:
        return iter(()) if stage == "before" else scanned(memory_session, stage)

    for name, function in (("_look", _look), ("_list_all", _listed), ("_scan", _scanned)):
        monkeypatch.setattr(story_deletion, name, function)


def later(log: Log) -> list[dict[str, Any]]:
    """All but the controls."""
    return [event for event in canonical(log.events) if event.get("stage") != "before"]


@pytest.mark.slow
def test_leaving_out_the_control_looks_changes_no_later_hit(
    small: Stage, real: list[Stage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = [small, *real]
    with_controls = [stage.play(tmp_path, host(tmp_path)) for stage in stages]
    used = small.play(tmp_path, host(tmp_path, memory=FakeTurning))
    without_controls(monkeypatch)
    for stage, log in zip(stages, with_controls, strict=True):
        bare = stage.play(tmp_path, host(tmp_path))
        assert len(bare.events) < len(log.events) or not stage.scenario.forgotten
        assert canonical(bare.events) == later(bare) == later(log)
    # and the comparison can fail: a store that learns from being asked shows it
    assert later(small.play(tmp_path, host(tmp_path, memory=FakeTurning))) != later(used)
