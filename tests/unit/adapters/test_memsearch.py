"""memsearch: what stands in a file, without the library, which lives in an environment of its own (`make conform`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.memsearch import KEPT, fits_in, make_head, read_hit, write_text
from harness.adapter import Filter, Item, Scope, Source

ANY = st.text(st.characters(exclude_categories=()))
ITEMS = st.builds(
    Item,
    ANY,
    st.builds(Scope, repo=st.none() | ANY, org=st.none() | ANY),
    st.just("2026-01-02T03:04:05+00:00"),
    ANY,
    source=st.none() | st.builds(Source, path=ANY, line=st.integers(1, 9)),
    confidence=st.none() | st.floats(0, 1),
)


@pytest.mark.slow
@given(ITEMS)
def test_a_file_gives_back_what_was_written_whatever_it_holds(item: Item) -> None:
    assert read_back(item) == (item.text, item.scope, item.at, item.source or None, item.confidence)
    assert read_back(replace(item, text=f"--> {item.text}\r\n-->"))[0] == f"--> {item.text}\r\n-->"


def read_back(item: Item) -> tuple[object, ...]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "one.md")
        path.write_bytes(write_text(make_head(item), item.text).encode("utf-8", KEPT))
        hit = read_hit(path)
    assert hit is not None
    return hit.text, hit.scope, hit.created, hit.source, hit.confidence


def test_a_file_that_is_gone_or_somebody_elses_is_no_memory(tmp_path: Path) -> None:
    assert read_hit(tmp_path / "gone.md") is None
    other = tmp_path / "other.md"
    other.write_text("# Notes\nof somebody\n")
    assert read_hit(other) is None


def test_what_has_ended_or_does_not_fit_by_its_head_is_left_out(tmp_path: Path) -> None:
    path, at = tmp_path / "one.md", "2026-03-01T00:00:00+01:00"
    item = Item("Ship.", Scope(), at, "user", Source(path="a.md"), 0.5, expires="2026-03-01T00:00:00+00:00")
    path.write_text(write_text(make_head(item), item.text))
    assert fits_in(path, at, Filter(("project", "user"), "a.md", 0.5))
    assert not fits_in(path, item.expires or "", Filter())
    assert not [
        each for each in (Filter(("project",)), Filter((), "b.md"), Filter((), None, 0.6)) if fits_in(path, at, each)
    ]
    assert not fits_in(tmp_path / "gone.md", at, Filter())
