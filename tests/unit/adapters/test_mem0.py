"""Mem0 by its settings: each store as it is, and what a model inside makes of what it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from adapters.mem0 import Mem0
from adapters.mem0_plain import Mem0Plain
from harness.adapter import Memory, Message, Scope, Source, Space
from harness.backend import client, registry
from harness.backend.client import MemoryFault
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.standin import StandIn
from harness.gateway.chat.wire import ChatRequest, Completion, Refused, make_completion
from harness.gateway.gateway import Gateway
from harness.model.trial import Selection
from harness.play.backends import describe_all
from tests.support.items import AT, SHOP, item
from tests.unit.adapters.conftest import Words

ADMIN = Scope(repo="storefront-admin", org="acme")
STORES = ("qdrant", "chroma", "faiss")
backend = pytest.mark.backend


def opened(space: Space, **settings: str) -> Memory:
    given = replace(space, settings=settings)
    return Mem0().configured(settings).open(given)


# --- what it says of itself -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_value_that_is_not_known_is_one_line_that_says_which_are(tmp_path: Path) -> None:
    for text, words in {
        "mem0,store=fais": "backend 'mem0': store cannot be 'fais'; known: qdrant, chroma, faiss",
        "mem0,infer=yes": "backend 'mem0': infer cannot be 'yes'; known: false, true",
        "mem0,stoer=faiss": "backend 'mem0' has no setting 'stoer'; known: store, infer, model",
        "mem0_plain,store=faiss": "backend 'mem0_plain' has no setting 'store'; known: none",
    }.items():
        with pytest.raises(registry.RegistryError) as caught:
            describe_all(Selection(backends=(registry.parse(text),)))
        assert str(caught.value) == words


@pytest.mark.slow
def test_what_it_can_do_depends_on_its_settings(tmp_path: Path) -> None:
    def level(capability: str, **settings: str) -> str:
        said = client.describe("adapters.mem0:Mem0", tmp_path / str(len(asked)), settings=settings)
        asked.append(settings)
        return said.support[capability].level

    asked: list[dict[str, str]] = []
    assert [level("extracts"), level("extracts", infer="true")] == ["unsupported", "native"]
    assert [level("abstains", store=store) for store in STORES] == ["native", "unsupported", "native"]
    assert [level("compact", store=store) for store in STORES] == ["unsupported", "emulated", "unsupported"]


def test_the_layers_are_those_of_its_store(space: Space) -> None:
    formats = {
        store: [(layer.path, layer.format) for layer in Mem0().configured({"store": store}).storage(space)]
        for store in STORES
    }
    assert all(found[0] == ("history.db", "sqlite") for found in formats.values())
    assert formats["faiss"][1] == ("faiss", "file") and formats["chroma"][1] == ("chroma/chroma.sqlite3", "sqlite")
    assert formats["qdrant"][1] == ("qdrant/collection/memories/storage.sqlite", "sqlite")


def test_one_adapter_is_not_changed_by_being_configured() -> None:
    plain = Mem0()
    assert plain.configured({"store": "faiss", "infer": "true"}).store == "faiss"
    assert (plain.store, plain.infer) == ("qdrant", False) and Mem0Plain.settings == ()


# --- each store -------------------------------------------------------------------------------------------------------


@backend
@pytest.mark.slow
@pytest.mark.parametrize("store", STORES)
def test_a_scope_is_searched_however_many_neighbours_are_nearer(store: str, space: Space) -> None:
    memory = opened(space, store=store)
    memory.remember([item(f"The port is 90{at}.", ADMIN) for at in range(130)])
    memory.remember([item("Somewhere there is a port.")])
    assert [hit.text for hit in memory.recall("The port is", SHOP, 5, AT)] == ["Somewhere there is a port."]
    memory.close()


@pytest.mark.slow
@backend
@pytest.mark.parametrize("store", STORES)
def test_fields_come_back_and_are_cleared_by_an_update(store: str, space: Space) -> None:
    source = Source("1a2b3c", "docs/deploy.md", 3, "monday")
    memory = opened(space, store=store)
    (ack,) = memory.remember([item("Ship with blimp.", source=source, confidence=0.5, expires="2999-01-01")])
    (hit,) = memory.entries(SHOP)
    assert (hit.source, hit.confidence, hit.created, hit.scope) == (source, 0.5, AT, SHOP)
    memory.update(SHOP, ack.ids[0], item("Ship with raft."))
    memory.close()
    memory = opened(space, store=store)
    (hit,) = memory.entries(SHOP)
    assert (hit.text, hit.source, hit.confidence, hit.created) == ("Ship with raft.", None, None, AT)
    memory.close()


@pytest.mark.slow
@backend
def test_faiss_forgets_all_when_a_write_was_torn(space: Space) -> None:
    """A fault of the library, as the drill of durability shows: it writes in place, and begins anew without a word."""
    memory = opened(space, store="faiss")
    memory.remember([item("Ship with blimp."), item("The port is 8080.")])
    memory.close()
    kept = Path(space.root, "faiss", "memories.json")
    kept.write_text(kept.read_text()[:200])
    memory = opened(space, store="faiss")
    assert memory.entries(SHOP) == []
    memory.close()


# --- with a model inside ----------------------------------------------------------------------------------------------


class Says(StandIn):
    """Answers every call with one text, or refuses."""

    said: ClassVar[str | None] = None

    async def complete(self, request: ChatRequest) -> Completion:
        if self.said is None:
            raise Refused(503, "no model today")
        message = {"role": "assistant", "content": self.said}
        return make_completion(
            "x", "said", message, "stop", {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
        )


def served(upstream: StandIn, space: Space) -> Iterator[Space]:
    with Gateway(EmbeddingCache(None, Words()), upstream) as running:
        running.register("key")
        yield replace(space, gateway=running.url)


@pytest.fixture
def extracting(space: Space) -> Iterator[Space]:
    yield from served(StandIn(), space)


@pytest.fixture
def saying(space: Space) -> Iterator[Space]:
    yield from served(Says(), space)


@pytest.mark.slow
@backend
def test_an_item_becomes_as_many_memories_as_it_has_facts(extracting: Space) -> None:
    memory = opened(extracting, infer="true")
    source = Source("1a2b3c", "docs/deploy.md", 3, "monday")
    acks = memory.remember(
        [item("Thanks! Ship with blimp. The port is 8080.", source=source), item("Hello!"), item("")]
    )
    assert [len(ack.ids) for ack in acks] == [2, 0, 0]
    listed = {hit.memory_id: hit for hit in memory.entries(SHOP)}
    assert [listed[name].text for name in acks[0].ids] == ["Ship with blimp.", "The port is 8080."]
    assert all((hit.source, hit.created, hit.scope) == (source, AT, SHOP) for hit in listed.values())
    (again,) = memory.remember([item("The port is 8080.")])
    assert again.ids == () and len(list(memory.entries(SHOP))) == 2
    usage = memory.usage()
    assert usage is not None and usage.calls == 3 and usage.prompt > 3 * 5000
    memory.close()


@pytest.mark.slow
@backend
def test_a_model_that_says_no_json_is_a_write_without_an_id(saying: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened(saying, infer="true")
    for said in ("I would rather not.", "", '{"memory": []}', "{"):
        monkeypatch.setattr(Says, "said", said)
        assert [ack.ids for ack in memory.remember([item("Ship with blimp.")])] == [()]
        assert memory.observe([Message("user", "Ship with blimp.")], SHOP, AT, "monday").ids == ()
    assert memory.entries(SHOP) == []
    memory.close()


@pytest.mark.slow
@backend
def test_a_model_that_is_not_there_is_the_backends_own_exception(
    saying: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    memory = opened(saying, infer="true")
    with pytest.raises(Exception, match="no model today") as caught:
        memory.remember([item("Ship with blimp.")])
    assert type(caught.value).__name__ == "LLMError"
    memory.close()


@pytest.mark.slow
@backend
def test_without_somebody_to_answer_it_is_not_played_and_says_so() -> None:
    found = describe_all(Selection(backends=(registry.parse("mem0,infer=true"),)))
    assert [each.backend for each in found.unplayed] == ["mem0+infer=true"] and "--chat" in found.unplayed[0].reason


@pytest.mark.slow
@backend
def test_a_fault_of_the_model_is_logged_as_the_backends(saying: Space) -> None:
    space = replace(saying, settings={"infer": "true"})
    memory = client.open_memory("adapters.mem0:Mem0", space, Path(space.root).parent / "home")
    try:
        with pytest.raises(MemoryFault, match="raised in remember: LLMError") as caught:
            memory.remember([item("Ship with blimp.")])
        assert caught.value.alive and memory.remember([]) == []
    finally:
        memory.kill()


# --- what the library does by itself (docs/backends/mem0.md) ----------------------------------------------------------


@pytest.mark.slow
@backend
def test_a_history_is_told_in_its_own_scope_until_the_memory_is_gone(space: Space) -> None:
    memory = opened(space)
    ((name,),) = (ack.ids for ack in memory.remember([item("Deploys go out with alphadeploy.")]))
    assert memory.history(SHOP, name) and not memory.history(ADMIN, name)
    assert memory.forget(SHOP, [name]) == [True]
    assert memory.history(SHOP, name) == memory.history(ADMIN, name) != []
    memory.close()


@pytest.mark.slow
@backend
def test_an_update_keeps_the_date_and_expiry_goes_by_the_wall_clock(space: Space) -> None:
    memory = opened(space)
    port = "The port of the shop is 8123."
    written = [item("one"), item(port, expires="2000-01-01T00:00:00+00:00"), item(port + " Still.")]
    first, ended, lasting = (ack.ids[0] for ack in memory.remember(written))
    memory.update(SHOP, first, replace(item("three"), at="2026-05-01T00:00:00+00:00"))
    hit = memory.get(SHOP, first)
    assert hit is not None and hit.text == "three" and hit.created == AT
    found = {hit.memory_id for hit in memory.recall(port, SHOP, 5, "1999-01-01T00:00:00+00:00")}
    assert lasting in found and ended not in found
    memory.close()
