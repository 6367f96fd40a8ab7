"""A long list comes in pages: whole and in order, or as one fault of one call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.adapter import Hit, Item, Scope, Source, to_wire
from harness.backend import bounds, worker
from harness.backend.client import MemoryFault, RemoteMemory
from tests.support.unruly_backends import PAGES
from tests.unit.backend.test_bounds import opened


@pytest.fixture
def lists(tmp_path: Path) -> Iterator[RemoteMemory]:
    with opened("Lists", tmp_path, "") as memory:
        yield memory


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteMemory]:
    with opened("Lists", tmp_path_factory.mktemp("sound"), "") as memory:
        yield memory


def caught(memory: RemoteMemory, amount: int, how: str) -> MemoryFault:
    with pytest.raises(MemoryFault) as error:
        memory.entries(Scope(str(amount), user=how))
    assert error.value.fault.op == "entries" and len(error.value.fault.message) < 500
    return error.value


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(amount=st.one_of(st.integers(0, 3), st.sampled_from([999, 1000, 1001, 1999, 2000, 2001]), st.integers(0, 5000)))
def test_a_listing_of_any_length_comes_whole_and_in_order(sound: RemoteMemory, amount: int) -> None:
    scope = Scope(str(amount))
    assert sound.entries(scope) == [
        Hit(f"m{at}", f"memory {at}", source=Source(session=f"s{at % 7}"), scope=scope) for at in range(amount)
    ]


@pytest.mark.slow
def test_more_than_fits_into_one_answer_is_listed(sound: RemoteMemory) -> None:
    assert len({hit.memory_id for hit in sound.entries(Scope("100000"))}) == 100_000


def test_a_listing_is_handed_over_page_by_page(sound: RemoteMemory) -> None:
    pages: list[list[Hit]] = []
    sound.page_entries(Scope("2500"), pages.append)
    assert [len(page) for page in pages] == [1000, 1000, 500]
    assert [hit for page in pages for hit in page] == sound.entries(Scope("2500"))


def test_what_exceeds_a_limit_of_ours_is_not_handed_over(sound: RemoteMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ID", len("m1999"))
    sound.page_entries(Scope("2500"), lambda _: None)
    monkeypatch.setattr(bounds, "ID", len("m999"))
    pages: list[list[Hit]] = []
    with pytest.raises(MemoryFault, match="limit in entries"):
        sound.page_entries(Scope("2500"), pages.append)
    assert [len(page) for page in pages] == [1000]
    assert len(sound.entries(Scope("1000"))) == 1000


@pytest.mark.slow
def test_a_large_batch_is_written_and_acknowledged(sound: RemoteMemory) -> None:
    acks = sound.remember([Item("x" * 500, Scope("0"), "2025-01-01", "project")] * 20_001)
    assert len({name for ack in acks for name in ack.ids}) == 20_001


@given(texts=st.lists(st.text(max_size=60), max_size=60), lazy=st.booleans())
def test_pages_together_are_the_list_and_each_is_small(texts: list[str], lazy: bool) -> None:
    hits = [Hit(str(at), text) for at, text in enumerate(texts)]
    before = worker.PAGE, worker.PAGE_BYTES
    worker.PAGE, worker.PAGE_BYTES = 7, 300
    try:
        pages = [*worker._page_answer(iter(hits) if lazy else hits)]
    finally:
        worker.PAGE, worker.PAGE_BYTES = before
    told: list[list[Any]] = [json.loads(page) for page in pages]
    assert [each for page in told for each in page] == to_wire(hits)
    assert all(len(page) == 1 or (len(page) <= 7 and len(said) <= 300) for page, said in zip(told, pages, strict=True))


@pytest.mark.slow
def test_a_listing_without_end_is_stopped(lists: RemoteMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "TOTAL", 2 << 20)
    fault = caught(lists, 0, "never ends")
    assert (fault.fault.kind, fault.alive) == ("limit", False)
    assert "2,097,152 bytes" in fault.fault.message


def test_more_values_than_are_read_are_read_past(lists: RemoteMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LISTED", 3000)
    fault = caught(lists, 9000, "")
    assert (fault.fault.kind, fault.alive) == ("limit", True)
    assert len(lists.entries(Scope("3000"))) == 3000


@pytest.mark.slow
def test_a_process_that_ends_between_two_pages_crashed(lists: RemoteMemory) -> None:
    fault = caught(lists, 4500, "dies")
    assert (fault.fault.kind, fault.alive) == ("crashed", False)
    assert "exited with 9" in fault.fault.message


@pytest.mark.parametrize(
    ("how", "kind"), [("raises", "raised"), ("says a number", "breach"), ("says what is no JSON", "breach")]
)
def test_a_wrong_page_costs_the_whole_answer_and_nothing_else(lists: RemoteMemory, how: str, kind: str) -> None:
    fault = caught(lists, 4500, how)
    assert (fault.fault.kind, fault.alive) == (kind, True)
    assert len(lists.entries(Scope("2500"))) == 2500


@pytest.mark.slow
@pytest.mark.parametrize("how", PAGES)
def test_a_page_that_the_worker_did_not_write_is_a_fault(lists: RemoteMemory, how: str) -> None:
    fault = caught(lists, 4500, how)
    assert fault.fault.kind == ("limit" if how == "nine megabytes" else "breach")
    try:
        assert len(lists.entries(Scope("2500"))) == 2500
    except MemoryFault as error:
        assert not error.alive  # it never answers with what is left of another answer


def test_what_is_no_list_does_not_come_in_pages(lists: RemoteMemory) -> None:
    with pytest.raises(MemoryFault, match="breach in usage") as error:
        lists.usage()
    assert error.value.alive
    assert len(lists.entries(Scope("2500"))) == 2500
