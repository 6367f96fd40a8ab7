"""Without the extra `embed`: what needs no vector works, and who asks for one is told what to install."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.reference import Reference
from harness import conformance
from harness.adapter import Item, Scope, Space, embed
from harness.backend import registry
from harness.gateway.cache import EmbeddingCache
from harness.gateway.embedder import Embedder, MissingEmbedderError, NoEmbedder, choose
from harness.gateway.gateway import Gateway
from harness.model.trial import Selection
from harness.play import backends

AT = "2026-03-01T09:00:00+00:00"


def test_the_embedder_is_chosen_by_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(choose(), Embedder)
    monkeypatch.setattr("harness.machine.extras.find_spec", lambda name: None)
    chosen = choose()
    assert isinstance(chosen, NoEmbedder) and chosen.digest != Embedder.digest and chosen.dims == 0


def test_who_asks_is_refused_and_the_run_is_told(tmp_path: Path) -> None:
    with Gateway(EmbeddingCache(None, NoEmbedder())) as gateway:
        gateway.register("key")
        gateway.warm(["a text"])
        assert gateway.vectors(["a text"]) == []
        gateway.check()
        with pytest.raises(Exception, match="the embedder needs onnxruntime, which is not installed"):
            embed(Space(str(tmp_path), gateway.url, "key", 0, 1), ["a text"])
        with pytest.raises(MissingEmbedderError, match=r"install .*coldwarm.*\[embed\]'|install .*\[embed\]"):
            gateway.check()


def test_the_reference_finds_by_words(tmp_path: Path) -> None:
    memory = Reference().open(Space(str(tmp_path), "http://127.0.0.1:9/v1", "key", 0, 1))
    here = Scope("shop")
    memory.remember(
        [Item(text, here, AT, "project") for text in ("the port of search is 9310", "deploys run on kestrelway")]
    )
    found = memory.recall("which port has search", here, 1, AT)
    assert [hit.text for hit in found] == ["the port of search is 9310"]
    memory.close()


def test_conform_does_not_begin_where_an_adapter_needs_vectors() -> None:
    with (
        pytest.raises(MissingEmbedderError, match="vector_file: the embedder needs"),
        conformance.open_setting(registry.parse("vector_file"), NoEmbedder()),
    ):
        raise AssertionError("it was opened")


@pytest.mark.slow
def test_a_run_says_so_before_it_begins_and_plays_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.play.backends.choose", NoEmbedder)
    selection = Selection(backends=(registry.parse("vector_file"), registry.parse("bm25")))
    told = backends.describe_all(selection)
    assert "bm25" in told.playables and "vector_file" not in told.playables and not told.undescribed
    (absent,) = told.unplayed
    assert absent.backend == "vector_file" and absent.reason.startswith(
        "it needs vectors, and no embedder is installed: "
    )
    assert "[embed]" in absent.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adapter", "why"),
    [
        ("Undeclared", "it asked for vectors though space.dims is 0"),
        ("Overdeclared", "embeds is declared, and it asked for no vector"),
    ],
)
def test_conform_holds_an_adapter_to_what_it_says_of_vectors(adapter: str, why: str) -> None:
    check = next(check for check in conformance.CHECKS if check.name == "says_whether_it_needs_vectors")
    for name, expected in (
        (f"tests.support.wrongly_declared:{adapter}", why),
        ("vector_file", ""),
        ("reference", ""),
        ("bm25", ""),
    ):
        with conformance.open_setting(registry.parse(name)) as place:
            assert place.judge(check).why.startswith(expected) and bool(place.judge(check).why) == bool(expected)
