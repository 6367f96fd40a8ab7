"""`filtered` reading: what is asked with which filter, and where it is not played."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import paths
from harness.adapter import FILTERS, Filter, Hit, Scope, fits
from harness.log.events import Recalled, Worked
from harness.model.trial import READ_POLICIES, SCRIPTED_READS
from tasks import loader
from tests.support.fakes import FakeHost, FakeMemory
from tests.support.story_player import Stage


class FakeFiltering(FakeMemory):
    """A fake with every filter."""

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        self._hears("recall_where", query, where)
        hits = super().recall(query, scope, len(self._host.items), at)
        return [hit for hit in hits if fits(self._host.items[hit.memory_id], where)][:k]


@pytest.fixture(scope="module")
def unsure(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A real story with hunches of low confidence."""
    found = loader.find(paths.TASKS, ("experiment/median-hunch",))
    ((scenario, repo),) = loader.load(found, paths.FIXTURES, tmp_path_factory.mktemp("cache"))
    return Stage.of(scenario, repo)


def test_each_decision_is_asked_once_more_with_a_filter(unsure: Stage, tmp_path: Path) -> None:
    where = FakeHost(tmp_path / "store", filters=FILTERS, memory=FakeFiltering)
    log = unsure.play(tmp_path, where)
    plain, kept = (
        [event for event in log.list_events(Recalled) if event.purpose == purpose]
        for purpose in ("decision", "filtered")
    )
    assert [(each.ref, each.query) for each in kept] == [(each.ref, each.query) for each in plain]
    assert {each.where for each in plain} == {None}
    assert {each.where for each in kept} == {Filter(("procedural", "project", "user"), confidence=0.5)}
    told = {item.text: item for item in where.items.values()}
    shown = [told[hit.text] for each in kept for hit in log.find_answer(each).hits]
    assert shown and all(item.confidence is None or item.confidence >= 0.5 for item in shown)
    assert log.opened.reads == SCRIPTED_READS
    assert {event.read_policy for event in log.list_events(Worked)} == {*SCRIPTED_READS}


@pytest.mark.parametrize(
    ("filters", "asked"),
    [
        (["filter_kind"], Filter(("procedural", "project", "user"))),
        (["filter_confidence", "filter_path"], Filter(confidence=0.5)),
        (["filter_path"], None),
        ([], None),
    ],
)
def test_only_what_the_backend_declares_is_asked_for(
    unsure: Stage, tmp_path: Path, filters: list[str], asked: Filter | None
) -> None:
    where = FakeHost(tmp_path / "store", filters=filters, memory=FakeFiltering)
    log = unsure.play(tmp_path, where)
    assert {args[1] for args in where.asked("recall_where")} == ({asked} if asked else set())
    assert log.opened.reads == (SCRIPTED_READS if asked else READ_POLICIES)


@pytest.mark.slow
def test_whole_sessions_have_no_kind_to_ask_for(unsure: Stage, tmp_path: Path) -> None:
    where = FakeHost(tmp_path / "store", filters=FILTERS, memory=FakeFiltering)
    log = unsure.play(tmp_path, where, feed="sessions")
    assert not where.asked("recall_where") and log.opened.reads == READ_POLICIES
