"""Letta as it is: what only it does, on a real server; what needs none is checked without.

`make conform` holds it to the contract.
"""

from __future__ import annotations

import http.server
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.letta import KEY, PAGE, Letta, archive_name, scope_of, server
from adapters.letta_blocks import LettaBlocks
from harness.adapter import Adapter, Filter, Scope, Source, Space
from harness.backend import client
from harness.backend.client import Deadlines, MemoryFault
from harness.backend.servers import Service
from harness.backend.store import ChildStore
from harness.gateway.cache import EmbeddingCache
from harness.gateway.gateway import Gateway
from harness.model.backend import Backend
from harness.scan.disk import Needles, scan
from tests.support.items import AT, SHOP, item
from tests.unit.adapters.conftest import REAL_LETTA, Words

REFERENCE = "adapters.letta:Letta"
BLOCKS = "adapters.letta_blocks:LettaBlocks"
PARTS = st.none() | st.text()

# --- without a server -------------------------------------------------------------------------------------------------


@pytest.mark.slow
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


@contextmanager
def answering(health: tuple[str, bytes], status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A server without archives that says `health` of itself and `status` to every write; and the writes."""
    writes: list[str] = []

    class Same(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.say(200, *(health if "health" in self.path else ("application/json", b"[]")))

        def do_POST(self) -> None:
            writes.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            self.say(status, "application/json", b'{"detail": "no"}')

        def say(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silent."""

    with http.server.HTTPServer(("127.0.0.1", 0), Same) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", writes
        server.shutdown()


HEALTHY = ("application/json", b'{"version": "0.16.8", "status": "ok"}')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "body", "what"),
    [
        (
            "application/json",
            b'{"version": "0.17.0", "status": "ok"}',
            r"is Letta 0\.17\.0; this adapter speaks to Letta",
        ),
        ("application/json", b'{"status": "ok"}', "is not Letta"),
        ("application/json", b'["ok"]', "is not Letta"),
        ("text/html", b"<h1>It works!</h1>", "is not Letta"),
    ],
)
def test_what_is_no_letta_of_this_version_is_refused(kind: str, body: bytes, what: str, tmp_path: Path) -> None:
    with answering((kind, body)) as (url, _), pytest.raises(RuntimeError, match=what):
        Letta().open(Space(str(tmp_path), "http://127.0.0.1:9/v1", KEY, 64, 1, service=url))


@pytest.mark.slow
@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_write_that_failed_is_not_asked_again_because_it_may_have_landed(status: int, tmp_path: Path) -> None:
    with answering(HEALTHY, status) as (url, writes):
        for adapter in (Letta(), LettaBlocks()):
            memory = adapter.open(Space(str(tmp_path), "http://127.0.0.1:9/v1", KEY, 64, 1, service=url))
            writes.clear()
            with pytest.raises(Exception, match=f"Error code: {status}"):
                memory.remember([item("one")])
            assert len(writes) == 1


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
def opened(store: Space) -> Iterator[Callable[[], client.RemoteMemory]]:
    """Opens it in a child process, as a run does."""
    memories: list[client.RemoteMemory] = []

    def open_() -> client.RemoteMemory:
        home = Path(store.root).parent / f"home-{len(memories)}"
        memories.append(client.open_memory(REFERENCE, store, home))
        return memories[-1]

    yield open_
    for memory in memories:
        memory.kill()


class TestLetta:
    pytestmark = REAL_LETTA

    def test_each_of_a_batch_gets_its_own_id_though_the_server_answers_by_date(
        self, opened: Callable[[], client.RemoteMemory]
    ) -> None:
        memory = opened()
        days = (9, 2, 7, 2, 4)
        items = [item(f"lesson {at}", at=f"2026-02-{day:02}T10:00:00+00:00") for at, day in enumerate(days)]
        names = [ack.ids[0] for ack in memory.remember(items)]
        assert [hit and hit.text for hit in (memory.get(SHOP, name) for name in names)] == [each.text for each in items]

    def test_hits_of_several_scopes_come_nearest_first(self, opened: Callable[[], client.RemoteMemory]) -> None:
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

    def test_more_scopes_than_a_page_has_room_for(self, opened: Callable[[], client.RemoteMemory]) -> None:
        memory = opened()
        memory.remember([item("ship", Scope(repo=f"repo-{at}")) for at in range(PAGE + 5)])
        memory.remember([item("ship", Scope(repo=f"repo-{at}")) for at in (0, PAGE, PAGE + 4)])
        counts = [len(memory.entries(Scope(repo=f"repo-{at}"))) for at in (0, 1, PAGE, PAGE + 3, PAGE + 4)]
        assert counts == [2, 1, 2, 1, 2]

    def test_what_is_asked_for_is_found_behind_more_than_a_search_gives(
        self, opened: Callable[[], client.RemoteMemory]
    ) -> None:
        memory = opened()
        ended = [item(f"ship blimp {at}", expires=AT) for at in range(PAGE + 5)]
        memory.remember([*ended, item("ship", source=Source(path="docs/a.md")), item("ship raft boat tug")])
        found = memory.recall("ship blimp", SHOP, 5, AT)
        assert [hit.text for hit in found] == ["ship", "ship raft boat tug"]
        earlier = memory.recall("ship blimp", SHOP, 5, "2026-02-01T10:00:00+00:00")
        assert len(earlier) == 5 and "ship" not in {hit.text for hit in earlier}
        kept = memory.recall_where("ship blimp", SHOP, 5, "2026-02-01T10:00:00+00:00", Filter(path="docs/a.md"))
        assert [hit.text for hit in kept] == ["ship"]

    def test_two_stores_of_one_server_share_nothing(
        self, store: Space, opened: Callable[[], client.RemoteMemory], tmp_path: Path
    ) -> None:
        opened().remember([item("of the first store")])
        root = tmp_path / "second"
        root.mkdir()
        second = client.open_memory(REFERENCE, replace(store, root=str(root)), tmp_path / "second-home")
        try:
            assert second.recall("of the first store", SHOP, 5, AT) == [] and second.entries(SHOP) == []
        finally:
            second.kill()

    def test_all_embeddings_come_from_the_gateway_under_the_servers_key(
        self, letta: tuple[Service, Gateway], opened: Callable[[], client.RemoteMemory]
    ) -> None:
        service, gateway = letta
        gateway.unregister(service.key)
        meter = gateway.register(service.key)
        memory = opened()
        memory.remember([item("one"), item("two")])
        memory.recall("three", SHOP, 5, AT)
        assert sum(count.texts for count in meter.counts().values()) == 3

    def test_a_deleted_text_leaves_the_heap_when_it_is_compacted_and_stays_in_the_write_ahead_log(
        self, letta: tuple[Service, Gateway], store: Space, opened: Callable[[], client.RemoteMemory]
    ) -> None:
        def places() -> set[str]:
            letta[0].flush()
            found = scan(Path(store.root), Letta().storage(store)[0], Needles({"pin": "k4n4ry7f3"}, {}))
            return {sighting.place for sighting in found.sightings}

        memory = opened()
        ((name,),) = (ack.ids for ack in memory.remember([item("the pin of the door is k4n4ry7f3")]))
        assert places() == {"live tuple", "write-ahead log"}
        assert memory.forget(SHOP, [name]) == [True]
        assert memory.entries(SHOP) == []
        memory.close()
        left = places()
        assert left & {"dead tuple", "free space of a page"} and "live tuple" not in left
        client.compact(REFERENCE, store, Path(store.root).parent / "compacting", servers=letta[0].ports)
        assert places() == {"write-ahead log"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Gateway]]:
    """One that may be harmed."""
    with Gateway(EmbeddingCache(None, Words())) as gateway:
        gateway.register(KEY)
        with Service(server(gateway.url), tmp_path_factory.mktemp("faults") / "letta") as service:
            yield service, gateway


class TestFaults:
    """What can happen to the server in the middle of a run: one trial is lost, the next has a fresh server."""

    pytestmark: ClassVar = [
        *REAL_LETTA,
        pytest.mark.skipif("LETTA_BASE_URL" in os.environ, reason="needs a server of its own"),
    ]

    @pytest.fixture
    def host(self, service: tuple[Service, Gateway], tmp_path: Path) -> Callable[[], ChildStore]:
        service[0]._deaths = 0  # they are one run for it
        said = client.describe(REFERENCE, tmp_path / "describe")
        backend = Backend(name=said.name, version=said.version, support=said.support)

        def make() -> ChildStore:
            root = tmp_path / f"trial-{len(list(tmp_path.iterdir()))}" / "store"
            space = Space(str(root), service[1].url, KEY, Words.dims, seed=7)
            return ChildStore(REFERENCE, backend, root, space, Deadlines(), service=service[0])

        return make

    @staticmethod
    def well(host: ChildStore) -> None:
        memory = host.open()
        assert [len(ack.ids) for ack in memory.remember([item("ship blimp")])] == [1]
        assert [hit.text for hit in memory.recall("ship", SHOP, 5, AT)] == ["ship blimp"]
        memory.close()

    @pytest.mark.parametrize("program", ["letta", "postgres"])
    def test_a_program_that_is_killed_ends_the_trial_with_its_name(
        self, program: str, service: tuple[Service, Gateway], host: Callable[[], ChildStore]
    ) -> None:
        memory = host().open()
        memory.remember([item("ship blimp")])
        os.kill(pid_of(service[0], program), signal.SIGKILL)
        with pytest.raises(MemoryFault, match=f"{program} was killed by signal 9, not by coldwarm") as fault:
            for _ in range(20):  # until what listens there is gone
                memory.recall("ship", SHOP, 5, AT)
        assert not fault.value.alive and fault.value.fault.kind == "machine"
        self.well(host())

    @pytest.mark.parametrize(
        ("harm", "said"),
        [
            (shutil.rmtree, "postgres cannot get a fresh store: .*No such file or directory"),
            (
                lambda folder: (folder / "PG_VERSION").write_text("9.6\n"),
                "postgres ended with 1; it last printed: .*not compatible with this version 16",
            ),
        ],
        ids=["missing", "another version"],
    )
    def test_a_database_that_cannot_be_used_costs_one_trial(
        self,
        harm: Callable[[Path], object],
        said: str,
        service: tuple[Service, Gateway],
        host: Callable[[], ChildStore],
    ) -> None:
        harm(service[0]._first / "postgres")
        with pytest.raises(MemoryFault, match=said) as fault:
            host().open()
        assert fault.value.fault.op == "serve"
        self.well(host())

    def test_a_database_that_vanishes_in_the_middle_is_told_call_by_call(self, host: Callable[[], ChildStore]) -> None:
        place = host()
        memory = place.open()
        memory.remember([item("ship blimp")])
        shutil.rmtree(place.root / "postgres")
        with pytest.raises(MemoryFault):
            for _ in range(20):
                memory.remember([item("ship blimp")])
        memory.kill()
        self.well(host())


def pid_of(service: Service, program: str) -> int:
    """The program that listens on its port, as Linux knows it."""
    port = f"{service._ports[program]:04X}"
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    (socket_,) = (row[9] for row in rows if row[1].endswith(f":{port}") and row[3] == "0A")
    holders = [
        int(each.parts[2]) for each in Path("/proc").glob("[0-9]*/fd/*") if _target(each) == f"socket:[{socket_}]"
    ]
    return min(holders)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
