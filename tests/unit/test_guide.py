"""The adapter that the guide names is a whole one: it is played here as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import paths
from harness.adapter import Item, Scope, Source, Space
from harness.backend import client, registry
from harness.conformance import CHECKS, open_setting
from harness.gateway.cache import EmbeddingCache
from harness.gateway.gateway import Gateway
from tests.support.fakes import FakeEmbedder

HOME = Scope("storefront", "lanternworks")


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> str:
    """The adapter in a folder where children find it."""
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(paths.ROOT / "docs" / "examples"))
    return "shelf:ShelfAdapter"


@pytest.mark.slow
def test_the_adapter_of_the_guide_keeps_the_contract(shelf: str) -> None:
    with open_setting(registry.parse(shelf), FakeEmbedder()) as place:
        outcomes = [place.judge(check) for check in CHECKS]
    assert [outcome.why for outcome in outcomes if outcome.status == "broken"] == []
    assert sum(outcome.status == "kept" for outcome in outcomes) >= 30


@pytest.mark.slow
def test_the_adapter_of_the_guide_works(shelf: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    item = Item("The port is 8412", HOME, "2025-03-01T10:00:00+00:00", "project", Source(session="s1"))
    with Gateway(EmbeddingCache(None, FakeEmbedder())) as gateway:
        gateway.register("guide")
        space = Space(str(store), gateway.url, "guide", FakeEmbedder().dims, 1)
        memory = client.open_memory(shelf, space, tmp_path / "home")
        (ack,) = memory.remember([item])
        assert [hit.text for hit in memory.recall("which port", HOME, 5, item.at)] == [item.text]
        assert memory.recall("which port", Scope("other"), 5, item.at) == []
        memory.close()
        memory = client.open_memory(shelf, space, tmp_path / "home-2")
        assert memory.entries(HOME)[0].source == item.source
        assert memory.forget(HOME, ack.ids) == [True]
        assert memory.entries(HOME) == []
        memory.close()
