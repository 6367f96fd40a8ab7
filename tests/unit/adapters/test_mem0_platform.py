"""Mem0's hosted service over its documented routes: what is repeated, what never, and where its key goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from adapters.mem0 import quiet
from adapters.mem0_platform import KEY, LEARN_IDS, LONGEST, PAUSES, Failed, Mem0Platform, PlatformMemory
from harness.adapter import Scope, Source, Space
from harness.backend import client, registry
from harness.backend.client import MemoryFault
from harness.conformance import Setting, open_setting
from harness.conformance.testing import AdapterContract
from harness.model.trial import Selection
from harness.play.backends import describe_all
from tests.support.items import AT, SHOP, item
from tests.support.mem0_service import PLATFORM_KEY, Answer, Service
from tests.unit.adapters.conftest import Words

pytestmark = pytest.mark.backend
ADMIN = Scope(repo="storefront-admin", org="acme")
ADD, SEARCH = ("POST", "/v3/memories/add/"), ("POST", "/v3/memories/search/")
BUSY: Answer = (429, {"detail": "Too many requests."}, {"Retry-After": "7"})
BROKEN: Answer = (500, {"error": "Internal error."}, {})


class Slept(list[float]):
    """The seconds that were waited, without waiting."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def slept() -> Slept:
    return Slept()


def memory(
    service: Service, slept: Slept, tmp_path: Path, *, infer: bool = False, tenant: str = "t/"
) -> PlatformMemory:
    quiet(Space(str(tmp_path), "", "", 1, 1))
    from mem0 import MemoryClient

    client = MemoryClient(api_key=PLATFORM_KEY, client=httpx.Client(transport=service.transport()))
    return PlatformMemory(client, tenant, infer, slept)


def times(service: Service, route: tuple[str, str]) -> int:
    return service.heard.count(route)


def test_what_was_told_comes_back_with_its_source_date_and_scope(slept: Slept, tmp_path: Path) -> None:
    service = Service()
    store = memory(service, slept, tmp_path)
    source = Source("1a2b3c", "docs/deploy.md", 3, "monday")
    acks = store.remember([item("Ship with blimp.", source=source, confidence=0.5), item(" "), item("The port is 1.")])
    assert [len(ack.ids) for ack in acks] == [1, 0, 1] and times(service, ADD) == 2
    (hit,) = store.recall("blimp", SHOP, 5, AT)
    assert (hit.memory_id, hit.text, hit.source, hit.confidence) == (acks[0].ids[0], "Ship with blimp.", source, 0.5)
    assert (hit.created, hit.scope) == (AT, SHOP)
    assert store.recall("blimp", ADMIN, 5, AT) == [] and store.get(ADMIN, hit.memory_id) is None
    assert slept == []


def test_another_runs_memories_in_the_account_are_not_found(slept: Slept, tmp_path: Path) -> None:
    service = Service()
    (ack,) = memory(service, slept, tmp_path, tenant="theirs/").remember([item("Ship with blimp.")])
    mine = memory(service, slept, tmp_path, tenant="mine/")
    assert mine.recall("blimp", SHOP, 5, AT) == [] and mine.entries(SHOP) == []
    assert mine.get(SHOP, ack.ids[0]) is None and mine.forget(SHOP, ack.ids) == [False]
    mine.forget_scope(SHOP)
    assert len(service.rows) == 1


def test_a_store_is_found_again_after_reopening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = Mem0Platform()
    monkeypatch.setattr(Mem0Platform, "connect", lambda *_: None)
    first, second = (adapter.open(Space(str(tmp_path), "", "", 1, 1)) for _ in range(2))
    assert isinstance(first, PlatformMemory) and isinstance(second, PlatformMemory)
    assert first.tenant == second.tenant and first.tenant.startswith("coldwarm-")


@pytest.mark.slow
def test_listings_go_past_a_page(slept: Slept, tmp_path: Path) -> None:
    store = memory(Service(), slept, tmp_path)
    store.remember([item(f"Rule {at}.") for at in range(205)])
    assert len({hit.memory_id for hit in store.entries(SHOP)}) == 205


# --- extraction -------------------------------------------------------------------------------------------------------


def test_extraction_is_waited_for_and_its_ids_are_told(slept: Slept, tmp_path: Path) -> None:
    store = memory(Service(waits=2), slept, tmp_path, infer=True)
    (ack,) = store.remember([item("Ship with blimp. The port is 1.")])
    assert len(ack.ids) == 2 and len(slept) == 2
    assert [hit.memory_id for hit in store.recall("port", SHOP, 5, AT)] == [ack.ids[1]]
    assert store.settle(1)


def test_what_is_not_extracted_in_time_has_no_id_and_is_settled_later(
    slept: Slept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(waits=None)
    store = memory(service, slept, tmp_path, infer=True)
    clock = iter(range(0, 10_000, int(LEARN_IDS)))
    monkeypatch.setattr("adapters.mem0_platform.time.monotonic", lambda: next(clock))
    (ack,) = store.remember([item("Ship with blimp.")])
    assert ack.ids == () and store.settle(1) is False
    for event in service.events.values():
        event["waits"] = 0
    assert store.settle(1) and store.settle(1)
    assert times(service, ADD) == 1


def test_an_extraction_that_failed_is_a_fault_with_the_services_words(slept: Slept, tmp_path: Path) -> None:
    service = Service()
    store = memory(service, slept, tmp_path, infer=True)
    service.deeds[ADD] = [(200, {"status": "FAILED", "event_id": "e", "error": "no model"}, {})]
    with pytest.raises(RuntimeError, match="no model"):
        store.remember([item("Ship with blimp.")])


# --- trouble ----------------------------------------------------------------------------------------------------------


def test_a_read_is_repeated_a_few_times(slept: Slept, tmp_path: Path) -> None:
    service = Service(deeds={SEARCH: [BUSY, BROKEN]})
    store = memory(service, slept, tmp_path)
    store.remember([item("Ship with blimp.")])
    assert [hit.text for hit in store.recall("blimp", SHOP, 5, AT)] == ["Ship with blimp."]
    assert slept == [7.0, 1.0]
    service.deeds[SEARCH] = [(429, {}, {"Retry-After": "3600"})] * 9
    with pytest.raises(Failed, match="HTTP_429"):
        store.recall("blimp", SHOP, 5, AT)
    assert max(slept) == LONGEST and times(service, SEARCH) == 3 + 1 + len(PAUSES)


@pytest.mark.parametrize("deed", [BROKEN, (503, {}, {}), "lost"])
def test_a_write_that_may_have_landed_is_never_repeated(deed: Answer | str, slept: Slept, tmp_path: Path) -> None:
    service = Service(deeds={ADD: [deed]})
    store = memory(service, slept, tmp_path)
    with pytest.raises(Failed, match="HTTP_50"):
        store.remember([item("Ship with blimp.")])
    assert times(service, ADD) == 1 and len(service.rows) == (deed == "lost")


def test_a_write_that_was_refused_as_too_many_is_repeated(slept: Slept, tmp_path: Path) -> None:
    service = Service(deeds={ADD: [BUSY]})
    store = memory(service, slept, tmp_path)
    (ack,) = store.remember([item("Ship with blimp.")])
    assert len(ack.ids) == 1 and len(service.rows) == 1 and slept == [7.0]


def test_a_connection_that_breaks_is_tried_again_for_reads_only(slept: Slept, tmp_path: Path) -> None:
    service = Service()
    store = memory(service, slept, tmp_path)
    store.remember([item("Ship with blimp.")])
    honest, broken = store.client.client._transport, iter([True, False, True])

    def handle(request: httpx.Request) -> httpx.Response:
        if next(broken, False):
            raise httpx.ReadTimeout("too slow", request=request)
        return honest.handle_request(request)  # type: ignore[no-any-return]  # a private of httpx

    store.client.client._transport = httpx.MockTransport(handle)
    assert len(store.recall("blimp", SHOP, 5, AT)) == 1
    with pytest.raises(Failed, match="NET_TIMEOUT"):
        store.remember([item("The port is 1.")])
    assert len(service.rows) == 1


# --- the key ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, str]]:
    monkeypatch.setenv(KEY, PLATFORM_KEY)
    service = Service()
    with service.served() as host:
        yield service, f"tests.support.mem0_service:Loopback,host={host}"


@pytest.mark.slow
def test_without_a_key_it_is_not_played_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    (unplayed,) = describe_all(Selection(backends=(registry.parse("mem0_platform"),))).unplayed
    assert unplayed.backend == "mem0_platform" and f"{KEY} must be set in the environment" in unplayed.reason


@pytest.mark.slow
@pytest.mark.parametrize("key", [PLATFORM_KEY, "m0-wrong-abcdef"])
def test_the_key_reaches_the_child_and_no_message(
    key: str, at: tuple[Service, str], space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, key)
    service, spec = at
    settings: Mapping[str, str] = registry.parse(spec).settings
    asked = Space(space.root, space.gateway, space.key, space.dims, 1, settings)
    home = Path(space.root).parent / "home"
    if key == PLATFORM_KEY:
        client.open_memory("tests.support.mem0_service:Loopback", asked, home).close()
        return
    service.deeds["GET", "/v1/ping/"] = [(401, {"detail": f"Invalid API key {key}."}, {})]
    with pytest.raises(MemoryFault, match="Invalid API key") as caught:
        client.open_memory("tests.support.mem0_service:Loopback", asked, home)
    assert key not in f"{caught.value} {caught.value.trace}" and "[redacted]" in str(caught.value)
    assert not settings.keys() & {KEY}


@pytest.mark.slow
class TestContract(AdapterContract):
    @pytest.fixture(scope="class")
    @classmethod
    def place(cls) -> Iterator[Setting]:
        with pytest.MonkeyPatch.context() as patched, Service().served() as host:
            patched.setenv(KEY, PLATFORM_KEY)
            spec = registry.parse(f"tests.support.mem0_service:Loopback,host={host},infer=true")
            with open_setting(spec, Words()) as place:
                yield place
