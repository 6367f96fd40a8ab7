"""What stands in the place of a store is told as what it is, before a backend opens it."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.serving import names, store
from harness.serving.names import Names
from harness.serving.store import CARD, OpenStore, StoreError

WROTE = {"backend": "bm25"}


@pytest.mark.parametrize("there", ["link", "link that leads nowhere", "file"])
def test_what_the_user_put_in_the_place_of_the_store_is_not_the_backend_s_doing(tmp_path: Path, there: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    place = tmp_path / "store"
    if there == "file":
        place.write_text("")
    else:
        place.symlink_to(tmp_path / ("elsewhere" if there == "link" else "nowhere"))
    with pytest.raises(StoreError, match="store: is a link, or no folder: name another --store"):
        store._check_card(tmp_path, WROTE)
    assert not (tmp_path / CARD).exists()


def test_a_store_is_its_writer_s(tmp_path: Path) -> None:
    store._check_card(tmp_path, WROTE)
    (tmp_path / "store").mkdir()
    store._check_card(tmp_path, WROTE)
    with pytest.raises(StoreError, match="was written with backend bm25, now it is notes"):
        store._check_card(tmp_path, {"backend": "notes"})
    (tmp_path / CARD).unlink()
    with pytest.raises(StoreError, match=f"holds a store without {CARD}"):
        store._check_card(tmp_path, WROTE)


@pytest.mark.parametrize("text", ["", '{"a": ', "[]"])
def test_names_that_cannot_be_read_are_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / names.FILE).write_text(text)
    with pytest.raises(StoreError, match=f"{names.FILE}: .*: mend it, or name another --store") as caught:
        store._read_names(tmp_path / names.FILE)
    assert len(str(caught.value).splitlines()) == 1


def test_a_disk_that_takes_no_card_is_told_with_its_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file/memory: cannot be written: .*; name another --store"):
        store._check_card(tmp_path / "file" / "memory", WROTE)


def test_a_memory_that_is_opened_again_outlives_the_call_that_opened_it(tmp_path: Path) -> None:
    """Its process is ended by the system with the thread that started it."""
    openers: list[threading.Thread] = []
    fake: Any = SimpleNamespace(open=lambda: openers.append(threading.current_thread()))
    opened = OpenStore(fake, Names(tmp_path / names.FILE))
    call = threading.Thread(target=opened.memory)
    call.start()
    call.join()
    (opener,) = openers
    assert opener.is_alive()
