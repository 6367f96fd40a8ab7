"""Letta as it is: the contract and what only it does, on a real server; what needs none is checked without."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.letta import KEY, PAGE, TOP, Letta, archive_name, scope_of, server
from adapters.letta_blocks import LettaBlocks
from harness import process
from harness.adapter import Adapter, Item, Scope, Space
from harness.conformance import CHECKS, Check
from harness.conformance.bench import Bench, run
from harness.events import Backend
from harness.hosts import ChildHost
from harness.models.cache import EmbeddingCache
from harness.models.gateway import Gateway
from harness.process import Deadlines
from harness.scan.disk import Needles, scan
from harness.services import Service
from tests.unit.adapters.conftest import Words

SHOP = Scope(repo="storefront", org="acme")
AT = "2026-02-03T10:00:00+00:00"
REFERENCE = "adapters.letta:Letta"
BLOCKS = "adapters.letta_blocks:LettaBlocks"
PARTS = st.none() | st.text(min_size=1)

real = [
    pytest.mark.slow,
    pytest.mark.backend,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not (TOP / "bin" / "letta").exists() and "LETTA_BASE_URL" not in os.environ,
        reason="no Letta server: make letta installs it, LETTA_BASE_URL names a running one",
    ),
]


def item(text: str, scope: Scope = SHOP, at: str = AT) -> Item:
    return Item(text, scope, at, "project")


# --- without a server -------------------------------------------------------------------------------------------------


@given(st.builds(Scope, PARTS, PARTS, PARTS, PARTS))
def test_an_archive_is_named_after_exactly_one_scope(scope: Scope) -> None:
    assert scope_of(archive_name(scope)) == scope
    assert archive_name(scope).isascii()


@pytest.mark.parametrize("kind", [Letta, LettaBlocks])
def test_it_is_an_adapter_that_declares_all_and_names_the_variant(kind: type[Letta]) -> None:
    adapter = kind()
    assert isinstance(adapter, Adapter)
    assert "V1 server, archived upstream" in adapter.version()
    assert all(each.note for each in adapter.support.values() if each.level != "native")


def test_opening_without_a_server_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="make letta installs it, LETTA_BASE_URL names a running one"):
        Letta().open(Space(str(tmp_path), "http://127.0.0.1:9/v1", KEY, 64, 1))


def test_a_server_of_another_version_is_refused(tmp_path: Path) -> None:
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"version": "0.17.0", "status": "ok"}')

        def log_message(self, *_: object) -> None:
            """Silent."""

    with http.server.HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{other.server_port}"
        with pytest.raises(RuntimeError, match=r"is Letta 0\.17\.0, not 0\.16\.8"):
            Letta().open(Space(str(tmp_path), "http://127.0.0.1:9/v1", KEY, 64, 1, service=url))
        other.shutdown()


def test_the_layer_is_a_database_where_the_server_is_ours_and_remote_where_it_is_not(tmp_path: Path) -> None:
    space = Space(str(tmp_path), "http://127.0.0.1:9/v1", KEY, 64, 1, service="http://127.0.0.1:9")
    assert Letta().storage(space)[0].format == "remote"
    (tmp_path / "postgres").mkdir()
    assert Letta().storage(space)[0].format == "postgres"


# --- on a real server -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def letta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Gateway]]:
    with Gateway(EmbeddingCache(None, Words())) as gateway:
        gateway.register(KEY)
        with Service(server(gateway.url), tmp_path_factory.mktemp("letta")) as service:
            yield service, gateway


@pytest.fixture
def store(letta: tuple[Service, Gateway], tmp_path: Path) -> Space:
    """An empty one, with a database of its own."""
    service, gateway = letta
    root = tmp_path / "store"
    root.mkdir()
    service.fresh(root)
    return Space(str(root), gateway.url, service.key, Words.dims, seed=7, service=service.url)


@pytest.fixture
def opened(store: Space) -> Iterator[Callable[[], process.RemoteMemory]]:
    """Opens it in a child process, as a run does."""
    memories: list[process.RemoteMemory] = []

    def open_() -> process.RemoteMemory:
        home = Path(store.root).parent / f"home-{len(memories)}"
        memories.append(process.open_memory(REFERENCE, store, home))
        return memories[-1]

    yield open_
    for memory in memories:
        memory.kill()


class TestLetta:
    pytestmark = real

    @pytest.mark.parametrize("reference", [REFERENCE, BLOCKS])
    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    def test_keeps_the_contract(self, check: Check, reference: str, store: Space, tmp_path: Path) -> None:
        said = process.describe(reference, tmp_path / "describe")
        backend = Backend(name=said.name, version=said.version, support=said.support)
        for name in check.needs:
            if backend.support[name].level == "unsupported":
                pytest.skip(f"{name}: {backend.support[name].note}")
        broken = run(check, Bench(ChildHost(reference, backend, Path(store.root), store, Deadlines())))
        assert broken is None, f"{check.says}: {broken}"

    def test_each_of_a_batch_gets_its_own_id_though_the_server_answers_by_date(
        self, opened: Callable[[], process.RemoteMemory]
    ) -> None:
        memory = opened()
        days = (9, 2, 7, 2, 4)
        items = [item(f"lesson {at}", at=f"2026-02-{day:02}T10:00:00+00:00") for at, day in enumerate(days)]
        names = [ack.ids[0] for ack in memory.remember(items)]
        assert [hit and hit.text for hit in (memory.get(SHOP, name) for name in names)] == [each.text for each in items]

    def test_hits_of_several_scopes_come_nearest_first(self, opened: Callable[[], process.RemoteMemory]) -> None:
        memory = opened()
        memory.remember(
            [
                item("ship blimp raft", Scope(org="acme")),
                item("ship blimp"),
                item("ship", Scope()),
                item("ship blimp raft boat tug", Scope(org="acme", repo="storefront", user="ana@example.com")),
            ]
        )
        found = memory.recall("ship blimp", replace(SHOP, user="ana@example.com"), 3, AT)
        assert [hit.text for hit in found] == ["ship blimp", "ship blimp raft", "ship"]
        assert [hit.scope for hit in found] == [SHOP, Scope(org="acme"), Scope()]

    def test_more_scopes_than_a_page_has_room_for(self, opened: Callable[[], process.RemoteMemory]) -> None:
        memory = opened()
        memory.remember([item("ship", Scope(repo=f"repo-{at}")) for at in range(PAGE + 5)])
        memory.remember([item("ship", Scope(repo=f"repo-{at}")) for at in (0, PAGE, PAGE + 4)])
        counts = [len(memory.entries(Scope(repo=f"repo-{at}"))) for at in (0, 1, PAGE, PAGE + 3, PAGE + 4)]
        assert counts == [2, 1, 2, 1, 2]

    def test_two_stores_of_one_server_share_nothing(
        self, store: Space, opened: Callable[[], process.RemoteMemory], tmp_path: Path
    ) -> None:
        opened().remember([item("of the first store")])
        root = tmp_path / "second"
        root.mkdir()
        second = process.open_memory(REFERENCE, replace(store, root=str(root)), tmp_path / "second-home")
        try:
            assert second.recall("of the first store", SHOP, 5, AT) == [] and second.entries(SHOP) == []
        finally:
            second.kill()

    def test_all_embeddings_come_from_the_gateway_under_the_servers_key(
        self, letta: tuple[Service, Gateway], opened: Callable[[], process.RemoteMemory]
    ) -> None:
        service, gateway = letta
        gateway.unregister(service.key)
        meter = gateway.register(service.key)
        memory = opened()
        memory.remember([item("one"), item("two")])
        memory.recall("three", SHOP, 5, AT)
        assert sum(count.texts for count in meter.counts().values()) == 3

    def test_a_deleted_text_stays_in_the_write_ahead_log(
        self, store: Space, opened: Callable[[], process.RemoteMemory]
    ) -> None:
        memory = opened()
        ((name,),) = (ack.ids for ack in memory.remember([item("the pin of the door is k4n4ry7f3")]))
        assert memory.forget(SHOP, [name]) == [True]
        assert memory.entries(SHOP) == []
        database = Letta().storage(store)[0]
        seen = scan(Path(store.root), database, Needles({"pin": "k4n4ry7f3"}, {}))
        assert "write-ahead log" in {sighting.place for sighting in seen.sightings}
        assert "live tuple" not in {sighting.place for sighting in seen.sightings}
