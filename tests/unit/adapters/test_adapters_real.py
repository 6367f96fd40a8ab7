"""Chroma and Mem0 as they are: what only they do. What every adapter keeps to is in test_adapters.py."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from adapters.chroma import Chroma
from adapters.mem0 import Mem0
from harness.adapter import Adapter, Space, embed
from harness.gateway.gateway import Gateway
from tests.support.items import AT, SHOP, item

pytestmark = pytest.mark.backend
CANARY = "k4n4ry"


def copies(adapter: Adapter, space: Space) -> dict[str, int]:
    """How often the canary stands in the bytes of each layer."""
    found = {}
    for layer in adapter.storage(space):
        path = Path(space.root, layer.path)
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        found[layer.name] = sum(file.read_bytes().count(CANARY.encode()) for file in files)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Chroma, Mem0])
def test_scores_are_cosines_of_the_harness_vectors(kind: type[Chroma | Mem0], space: Space) -> None:
    written = ["ship the blimp", "ship ship ship", "the blimp by hand", "a blimp"]
    memory = kind().open(space)
    memory.remember([item(text) for text in written])
    found = {hit.text: hit.score for hit in memory.recall("ship blimp", SHOP, 9, AT)}
    memory.close()
    asked, *vectors = (np.array(vector) for vector in embed(space, ["ship blimp", *written]))
    expected = {text: float(asked @ vector) for text, vector in zip(written, vectors, strict=True)}
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Chroma, Mem0])
def test_all_embeddings_come_from_the_gateway_under_the_key(
    kind: type[Chroma | Mem0], space: Space, gateway: Gateway
) -> None:
    meter = gateway.register(kind.name)
    memory = kind().open(replace(space, key=kind.name))
    memory.remember([item("one"), item("two")])
    memory.recall("three", SHOP, 5, AT)
    memory.close()
    assert sum(count.texts for count in meter.counts().values()) == 3


@pytest.mark.slow
def test_chroma_keeps_a_deleted_text_in_its_log_and_vacuum_is_not_the_end_of_it(space: Space) -> None:
    adapter = Chroma()
    memory = adapter.open(space)
    (ack, _) = memory.remember([item(f"the {CANARY} text"), item("the rest")])
    memory.close()
    written = copies(adapter, space)["database"]
    memory = adapter.open(space)
    assert memory.forget(SHOP, ack.ids) == [True]
    memory.close()
    deleted = copies(adapter, space)["database"]
    adapter.compact(space)
    compacted = copies(adapter, space)["database"]
    assert written >= deleted > compacted > 0
    with sqlite3.connect(f"file:{space.root}/chroma/chroma.sqlite3?mode=ro", uri=True) as link:
        (queued,) = link.execute(
            "select count(*) from embeddings_queue where metadata like ?", [f"%{CANARY}%"]
        ).fetchone()
    assert queued == 1
    memory = adapter.open(space)
    assert [hit.text for hit in memory.entries(SHOP)] == ["the rest"]
    memory.close()


@pytest.mark.slow
def test_chroma_names_its_segment_folders(space: Space) -> None:
    adapter = Chroma()
    memory = adapter.open(space)
    memory.remember([item("one")])
    memory.close()
    kinds = [layer.format for layer in adapter.storage(space)]
    assert kinds == ["sqlite", "file"]


@pytest.mark.slow
def test_chroma_says_why_it_cannot_vacuum(space: Space) -> None:
    with pytest.raises(RuntimeError, match="chroma vacuum: Failed to vacuum Chroma"):
        Chroma().compact(replace(space, root=space.root + "/missing"))


@pytest.mark.slow
def test_mem0_gives_the_history_of_what_it_deleted(space: Space) -> None:
    adapter = Mem0()
    memory = adapter.open(space)
    ((name,),) = (ack.ids for ack in memory.remember([item(f"the {CANARY} text")]))
    memory.update(SHOP, name, item("the redacted text"))
    assert memory.forget(SHOP, [name]) == [True]
    assert memory.get(SHOP, name) is None
    assert memory.history(SHOP, name) == [f"the {CANARY} text", "the redacted text"]
    memory.close()
    assert copies(adapter, space)["history"] > 0


@pytest.mark.slow
def test_mem0_hides_what_has_expired(space: Space) -> None:
    memory = Mem0().open(space)
    memory.remember(
        [item("old rule", expires="2000-01-01T00:00:00+00:00"), item("new rule", expires="2999-01-01T00:00:00+00:00")]
    )
    assert [hit.text for hit in memory.recall("rule", SHOP, 5, AT)] == ["new rule"]
    assert [hit.text for hit in memory.entries(SHOP)] == ["new rule"]
    memory.close()


@pytest.mark.slow
def test_mem0_lets_one_store_be_open_and_frees_it_at_close(space: Space) -> None:
    memory = Mem0().open(space)
    with pytest.raises(RuntimeError, match="already accessed"):
        Mem0().open(space)
    memory.close()
    Mem0().open(space).close()
