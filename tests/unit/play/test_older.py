"""Which row takes the stores of which other row over."""

from __future__ import annotations

from dataclasses import replace

from harness.adapter import Server
from harness.model.trial import Spec
from harness.play.backends import Playable, _chain_releases
from harness.selftest import local


def _row(release: str, **settings: str) -> Playable:
    return replace(local.make_playable("bm25"), spec=Spec(adapter="bm25", release=release, settings=settings))


def test_each_release_takes_over_from_the_one_named_before_it_with_equal_settings() -> None:
    rows = [_row("2"), _row("1"), _row("1", store="faiss"), _row("3"), _row("2", store="faiss")]
    found = _chain_releases({each.spec.label: each for each in rows})
    assert [found[each.spec.label].older for each in rows] == ["", "bm25@2", "", "bm25@1", "bm25@1+store=faiss"]


def test_a_server_holds_its_stores_itself() -> None:
    rows = [_row("1"), replace(_row("2"), server=Server((), "http://here", "URL", "key", "make it"))]
    assert not _chain_releases({each.spec.label: each for each in rows})["bm25@2"].older
