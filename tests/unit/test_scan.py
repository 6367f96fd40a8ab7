"""Looking for canaries in the bytes of a store: what is there is found, what cannot be looked at is said."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.adapter import Layer
from harness.events import Sighting
from harness.scan import text
from harness.scan.text import scan

CANARIES = {"pin": "cw0123456789abcdef0123", "key": "cwfedcba9876543210fedc"}
PIN, KEY = CANARIES["pin"], CANARIES["key"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.binary(max_size=40), min_size=1, max_size=6), form=st.sampled_from(text.ENCODINGS))
def test_a_canary_is_found_wherever_it_stands(root: Path, parts: list[bytes], form: str) -> None:
    parts = [part.replace(b"cw", b"").replace(b"c\x00w\x00", b"") for part in parts]
    data = PIN.encode(form).join(parts)
    (root / "data.bin").write_bytes(data)
    found = scan(root, Layer("all", "data.bin", "file"), CANARIES)
    wanted = [Sighting(fact="pin", path="data.bin", form=form, count=len(parts) - 1, offset=len(parts[0]))]
    assert found.sightings == (wanted if len(parts) > 1 else [])
    assert (found.files, found.bytes, found.problem) == (1, len(data), None)


def test_a_folder_is_looked_through_to_the_bottom(root: Path) -> None:
    for name in ("a.txt", "deep/er/b.bin", "deep/.hidden"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"x{KEY}")
    (root / "empty").touch()
    found = scan(root, Layer("all", ".", "file"), CANARIES)
    assert sorted(each.path for each in found.sightings) == ["a.txt", "deep/.hidden", "deep/er/b.bin"]
    assert (found.files, found.problem) == (4, None)


def test_a_deleted_row_that_sqlite_keeps_is_seen(root: Path) -> None:
    """The positive control of the whole measure: a real deletion that leaves bytes."""
    link = sqlite3.connect(root / "store.db")
    link.execute("pragma secure_delete = off")
    link.execute("create table t (x)")
    link.execute("insert into t values (?)", (f"the pin is {PIN}",))
    link.commit()
    link.execute("delete from t")
    link.commit()
    assert [each.fact for each in scan(root, Layer("db", "store.db", "sqlite"), CANARIES).sightings] == ["pin"]
    link.execute("vacuum")
    link.close()
    assert scan(root, Layer("db", "store.db", "sqlite"), CANARIES).sightings == []


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Layer("far", "anywhere", "remote"), "remote"),
        (Layer("up", "../outside", "file"), "outside"),
        (Layer("up", "../../../../../..", "file"), "outside"),
        (Layer("top", "/etc", "file"), "outside"),
        (Layer("own", "{root}", "file"), "outside"),
        (Layer("null", "a\x00b", "file"), "cannot be read"),
        (Layer("long", "x" * 5000, "file"), "cannot be read"),
        (Layer("gone", "nowhere", "file"), "holds no file"),
        (Layer("link", "link", "file"), "outside"),
        (Layer("fifo", "fifo", "file"), "not a regular file"),
        (Layer("loop", "loop", "file"), ""),
    ],
)
def test_what_cannot_be_looked_at_is_never_a_pass(root: Path, layer: Layer, words: str) -> None:
    (root.parent / "outside").write_text(PIN)
    (root / "link").symlink_to(root.parent / "outside")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "fifo")
    found = scan(root, Layer(layer.name, layer.path.format(root=root), layer.format), CANARIES)
    assert found.problem is not None and words in found.problem
    assert found.sightings == [] and found.files == 0
    assert len(found.problem.splitlines()) == 1 and len(found.problem) < 5100


def test_links_are_not_followed_and_the_rest_is_still_looked_at(root: Path) -> None:
    (root.parent / "outside").write_text(PIN)
    (root / "link").symlink_to(root.parent / "outside")
    (root / "real").write_text(KEY)
    found = scan(root, Layer("all", ".", "file"), CANARIES)
    assert [each.fact for each in found.sightings] == ["key"]
    assert found.problem is not None and "link" in found.problem


def test_a_file_that_vanishes_meanwhile_was_not_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is still at work when its bytes are looked at before the deletion."""
    (root / "a-journal").write_text(PIN)
    (root / "store").write_text(KEY)
    look = text._sightings

    def vanishing(path: Path, *more: object) -> object:
        (root / "a-journal").unlink(missing_ok=True)
        return look(path, *more)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(text, "_sightings", vanishing)
    found = scan(root, Layer("all", ".", "file"), CANARIES)
    assert ([each.fact for each in found.sightings], found.files, found.problem) == (["key"], 1, None)
