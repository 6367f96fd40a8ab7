"""The clock of a story, in children and in a real backend: what runs by it, what does not, and what can go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from harness.adapter import Space
from harness.backend import client
from harness.backend.client import MemoryFault, RemoteMemory
from harness.backend.forkserver import spawn
from harness.backend.store import ChildStore
from harness.gateway.cache import EmbeddingCache
from harness.gateway.gateway import Gateway
from harness.machine import sandbox, story_clock
from harness.machine.story_clock import StoryClock
from harness.model.backend import Backend
from tests.support import clock_backend
from tests.support.child_memory import PATIENT
from tests.support.fakes import FakeEmbedder
from tests.support.items import SHOP, item

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(story_clock.explain_missing()), reason=story_clock.explain_missing() or "it is there"),
]
CLOCK = "tests.support.clock_backend:ClockBackend"
SPRING, AUTUMN = "2024-03-31T01:30:00+01:00", "2031-11-02T09:00:00+05:30"


def make_store(reference: str, folder: Path, gateway: str = "") -> ChildStore:
    said = client.describe(reference, folder / "home")
    backend = Backend(name=said.name, version=said.version, support=said.support)
    root, clock = folder / "trial" / "store", StoryClock(folder / "trial-clock")
    space = Space(str(root), gateway, "key", FakeEmbedder().dims, 7)
    return ChildStore(reference, backend, root, space, PATIENT, partial(spawn, clock=clock), clock=clock)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ChildStore:
    return make_store(CLOCK, tmp_path_factory.mktemp("clock"))


@pytest.fixture
def memory(store: ChildStore) -> Iterator[RemoteMemory]:
    store.set_clock(SPRING)
    opened = store.open()
    yield opened
    opened.kill()


def ask(memory: RemoteMemory, clock: str) -> float:
    return float(memory.recall(clock, SHOP, 1, SPRING)[0].text)


def shows(memory: RemoteMemory, at: str, clock: str = "python") -> bool:
    return 0 <= ask(memory, clock) - datetime.fromisoformat(at).timestamp() < 60


@pytest.mark.parametrize("clock", ["python", "sqlite", "child", "grandchild"])
def test_a_child_and_all_that_it_starts_follow_the_story_wherever_it_goes(
    store: ChildStore, memory: RemoteMemory, clock: str
) -> None:
    assert shows(memory, SPRING, clock)
    store.set_clock(AUTUMN)
    assert shows(memory, AUTUMN, clock)
    store.set_clock(SPRING)
    assert shows(memory, SPRING, clock), "a question about the past goes back"


def test_what_counts_and_the_times_of_files_stay_real(store: ChildStore, memory: RemoteMemory) -> None:
    before = ask(memory, "monotonic")
    store.set_clock(AUTUMN)
    assert 0 < ask(memory, "monotonic") - before < 60 and 0.02 <= ask(memory, "sleep") < 60
    # a child imports a copy, which has the time of the file
    assert ask(memory, "file") == pytest.approx(Path(clock_backend.__file__).stat().st_mtime)


def test_a_clock_goes_on_from_where_it_was_before_a_question_about_the_past(
    store: ChildStore, memory: RemoteMemory
) -> None:
    first = ask(memory, "python")
    store.set_clock(AUTUMN)
    store.set_clock(SPRING)
    assert ask(memory, "python") > first


@pytest.mark.skipif(sandbox.find_abi() < sandbox.FILES, reason="no Landlock")
def test_a_child_cannot_set_its_clock(memory: RemoteMemory) -> None:
    assert ask(memory, "spoil") == 0 and shows(memory, SPRING)


def test_a_child_that_died_comes_back_at_the_same_time_and_leaves_nothing(store: ChildStore) -> None:
    shared = {each.name for each in Path(story_clock.SHARED).iterdir()}
    store.set_clock(AUTUMN)
    store.open().kill()
    again = store.open()
    assert shows(again, AUTUMN)
    again.kill()
    assert {each.name for each in Path(story_clock.SHARED).iterdir()} - shared == set()


def test_a_file_that_is_gone_is_there_again_at_the_next_word_of_the_engine(
    store: ChildStore, memory: RemoteMemory
) -> None:
    assert store.clock is not None
    for each in store.clock.folder.iterdir():
        each.unlink()
    store.set_clock(SPRING)
    assert shows(memory, SPRING)


def test_a_process_that_the_clock_does_not_reach_plays_nothing(
    store: ChildStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story_clock, "find_library", lambda: "/nowhere/libfaketime.so.1")
    store.set_clock(SPRING)
    with pytest.raises(MemoryFault, match="shows another time than the story's") as caught:
        store.open()
    assert caught.value.fault.kind == "machine"


@pytest.mark.backend
def test_a_memory_of_mem0_expires_after_its_days_in_the_story_and_not_before(tmp_path: Path) -> None:
    note, lasting = "The retry flag is off.", "The retry flag is off for good."
    with Gateway(EmbeddingCache(None, FakeEmbedder())) as gateway:
        gateway.register("key")
        store = make_store("adapters.mem0:Mem0", tmp_path, gateway.url)
        store.set_clock("2024-03-01T10:00:00+00:00")
        memory = store.open()
        memory.remember([item(note, expires="2024-03-15T10:00:00+00:00"), item(lasting)])
        found = {}
        for day in ("2024-03-01", "2024-03-14", "2024-03-16", "2024-03-02"):
            at = f"{day}T12:00:00+00:00"
            store.set_clock(at)
            found[day] = {hit.text for hit in memory.recall(note, SHOP, 5, at)}
        memory.close()
    assert found == {
        "2024-03-01": {note, lasting}, "2024-03-14": {note, lasting}, "2024-03-16": {lasting},
        "2024-03-02": {note, lasting},
    }  # fmt: skip
