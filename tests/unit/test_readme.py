"""The adapter that the README shows is a whole one: it is played here as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import paths, process
from harness.adapter import Item, Scope, Source, Space
from harness.models.cache import EmbeddingCache
from harness.models.gateway import Gateway
from tests.fakes import FakeEmbedder

HOME = Scope("storefront", "lanternworks")


def test_the_adapter_of_the_readme_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.search(r"```python\n(.*?)```", (paths.ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert code is not None and len(code[1].splitlines()) <= 60
    (tmp_path / "shelf.py").write_text(code[1], encoding="utf-8")
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path))
    store = tmp_path / "store"
    store.mkdir()
    item = Item("The port is 8412", HOME, "2025-03-01T10:00:00+00:00", "project", Source(session="s1"))
    with Gateway(EmbeddingCache(None, FakeEmbedder())) as gateway:
        gateway.register("readme")
        space = Space(str(store), gateway.url, "readme", FakeEmbedder().dims, 1)
        memory = process.open_memory("shelf:ShelfAdapter", space, tmp_path / "home")
        (ack,) = memory.remember([item])
        assert [hit.text for hit in memory.recall("which port", HOME, 5, item.at)] == [item.text]
        assert memory.recall("which port", Scope("other"), 5, item.at) == []
        memory.close()
        memory = process.open_memory("shelf:ShelfAdapter", space, tmp_path / "home-2")
        assert memory.entries(HOME)[0].source == item.source
        assert memory.forget(HOME, ack.ids) == [True]
        assert memory.entries(HOME) == []
        memory.close()
