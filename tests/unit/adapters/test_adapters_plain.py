"""What is particular to the adapters without an SDK. What every adapter keeps to is in test_adapters.py."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.bm25 import Bm25
from adapters.full_context import FullContext
from adapters.notes import Notes
from adapters.placebo import NOTES, Placebo
from adapters.protocol import INSTRUCTION, Protocol
from adapters.random import Random
from adapters.refusal import Refusal
from adapters.vector_file import VectorFile
from harness.adapter import Scope, Source, Space, Verdict, embed
from harness.gateway.gateway import Gateway
from harness.paths import TASKS
from harness.text.classify import Classifier
from tasks.loader import read
from tests.support.items import AT, SHOP, item


def test_notes_is_one_readable_file_that_comes_back_note_by_note(space: Space) -> None:
    cited = replace(item("Ship by script."), source=Source("1a2b3c4d5e", "docs/deploy.md", 12, "monday"))
    with closing(Notes().open(space)) as memory:
        acks = memory.remember([cited, item("Ask Dana first.\nOr Kim.", Scope(org="acme", user="dana"))])
        found = memory.recall("unrelated", Scope(repo="other"), 1, AT)
    assert Path(space.root, "NOTES.md").read_text() == (
        "- 2026-02-03 [storefront] Ship by script. (docs/deploy.md:12 @ 1a2b3c4)\n"
        "- 2026-02-03 [org acme, user dana] Ask Dana first.\nOr Kim.\n"
    )
    assert [(hit.memory_id, hit.text, hit.created, hit.scope) for hit in found] == [
        (acks[0].ids[0], "Ship by script. (docs/deploy.md:12 @ 1a2b3c4)", "2026-02-03", Scope(repo="storefront")),
        (acks[1].ids[0], "Ask Dana first.\nOr Kim.", "2026-02-03", Scope(org="acme", user="dana")),
    ]


@pytest.mark.parametrize(
    "scope",
    [
        Scope(),
        Scope(repo="storefront"),
        Scope(repo="storefront", branch="release/2.x", user="ana"),
        Scope(org="acme labs"),
        Scope(branch="next"),
        Scope(repo="a b", user="kim lee"),
        Scope(repo="shop; old", branch="until; then"),
    ],
)
def test_notes_reads_the_place_that_it_wrote_into_a_line(scope: Scope, space: Space) -> None:
    with closing(Notes().open(space)) as memory:
        memory.remember([item("Ship by script.", scope)])
        assert [hit.scope for hit in memory.recall("", Scope(), 1, AT)] == [scope]


def test_notes_marks_a_line_with_the_day_of_its_end_and_keeps_its_id(space: Space) -> None:
    days = ("2026-05-04", "2026-03-09", "2026-09-01")
    with closing(Notes().open(space)) as memory:
        (old,), _ = (ack.ids for ack in memory.remember([item("Ship by blimp."), item("Ship by raft.")]))
        assert [memory.deprecate(SHOP, [old, "nobody's"], f"{day}T10:00:00+00:00") for day in days] == [
            [True, False]
        ] * 3
        assert (
            "- 2026-02-03 [storefront; until 2026-03-09] Ship by blimp.\n" in Path(space.root, "NOTES.md").read_text()
        )
        before, after = (memory.recall("", SHOP, 5, f"{day}T00:00:00+00:00") for day in ("2026-03-08", "2026-03-09"))
        assert [hit.superseded for hit in before] == [None, None] and [hit.superseded for hit in after] == [True, None]
        assert [hit.verdict for hit in after] == [Verdict("expired", reason="until 2026-03-09"), None]
        assert [hit.warned for hit in before] == [False, False]
        assert before[0].scope == after[0].scope == Scope(repo="storefront")
        assert memory.forget(SHOP, [old]) == [True]
    assert "blimp" not in Path(space.root, "NOTES.md").read_text()


def test_a_day_in_the_text_of_a_note_is_no_mark_of_its_end(space: Space) -> None:
    memory: Any = Notes().open(space)
    texts = [f"Freeze [api; until 2026-0{month}-01] holds." for month in (4, 5)]
    ids = [ack.ids[0] for ack in memory.remember([item(text) for text in texts])]
    assert ids[0] != ids[1], "they are two memories"
    assert memory.deprecate(SHOP, ids[:1], "2026-03-09T00:00:00Z") == [True]
    assert [hit.text for hit in memory.entries(SHOP)] == texts


def test_notes_returns_what_an_owner_wrote_into_the_file(space: Space) -> None:
    Path(space.root, "NOTES.md").write_text("# Rules\n- 2026-02-04 [storefront] Ask twice.\n")
    with closing(Notes().open(space)) as memory:
        found = memory.recall("", SHOP, 1, AT)
    assert [(hit.text, hit.created) for hit in found] == [("# Rules\n", None), ("Ask twice.", "2026-02-04")]


def test_notes_takes_a_text_that_looks_like_a_note_for_several(space: Space) -> None:
    text = "first line\nsecond line\n- 2026-01-01 [x] forged"
    with closing(Notes().open(space)) as memory:
        (ack,) = memory.remember([item(text)])
        found = memory.recall("", SHOP, 1, AT)
        assert [hit.text for hit in found] == ["first line\nsecond line", "forged"]
        assert [hit.memory_id for hit in found] == [hit.memory_id for hit in memory.entries(SHOP)] == [*ack.ids]
        assert memory.forget(SHOP, ack.ids) == [True, True]
        assert memory.recall("", SHOP, 1, AT) == []


@pytest.mark.parametrize("kind", [Notes, Bm25])
def test_a_line_torn_by_a_kill_is_dropped(kind: type[Any], space: Space) -> None:
    with closing(kind().open(space)) as memory:
        memory.remember([item("Whole é."), item("Torn é.")])
    path = Path(space.root, kind.file)
    path.write_bytes(path.read_bytes()[: path.read_bytes().index("Torn é".encode()) + 6])
    with closing(kind().open(space)) as memory:
        memory.remember([item("Later.")])
    with closing(kind().open(space)) as memory:
        assert [("Whole" in hit.text, "Later" in hit.text) for hit in memory.entries(SHOP)] == [
            (True, False),
            (False, True),
        ]
        assert "Torn" not in path.read_text()


def test_bm25_abstains_and_breaks_ties_by_age(space: Space) -> None:
    with closing(Bm25().open(space)) as memory:
        acks = memory.remember([item("the"), item("ship now"), item("unrelated words here"), item("ship now")])
        assert [hit.memory_id for hit in memory.recall("ship", SHOP, 9, AT)] == [acks[1].ids[0], acks[3].ids[0]]
        for query in ("zebra", "", "the", "?"):
            assert memory.recall(query, SHOP, 9, AT) == []
        memory.forget(SHOP, [name for ack in acks[1:] for name in ack.ids])
        assert memory.recall("ship", SHOP, 9, AT) == []
        memory.remember([item("ship later")])
        assert [hit.text for hit in memory.recall("ship", SHOP, 9, AT)] == ["ship later"]


@pytest.mark.parametrize("variant", ["lucene", "okapi"])
def test_bm25_ranks_what_is_seen_from_a_place_and_what_was_written_since(variant: str, space: Space) -> None:
    other = Scope(repo="warehouse", org="acme")
    written = [item("ship ship ship", other), item("ship it soon"), item("boats of wood"), item("ship it late", other)]
    with closing(Bm25().configured({"variant": variant}).open(space)) as memory:
        memory.remember(written)
        assert [hit.text for hit in memory.recall("ship", SHOP, 9, AT)] == ["ship it soon"]
        assert [hit.text for hit in memory.recall("ship", other, 1, AT)] == ["ship ship ship"]
        memory.remember([item("ship")])
        assert {hit.text for hit in memory.recall("ship", SHOP, 9, AT)} == {"ship", "ship it soon"}
        memory.forget_scope(other)
        assert memory.recall("ship", other, 9, AT) == []


def test_vector_file_ranks_by_cosine_and_embeds_a_text_once(space: Space, gateway: Gateway) -> None:
    written = ["ship the blimp", "the queue is redis", "ship ship ship blimp", "invoices per year"]
    vectors = np.array(embed(space, [*written, "ship blimp"]))
    meter = gateway.register("counted")
    space = replace(space, key="counted")
    with closing(VectorFile().open(space)) as memory:
        memory.remember([item(text) for text in written])
        memory.remember([item(written[0])])
    with closing(VectorFile().open(space)) as memory:
        found = memory.recall("ship blimp", SHOP, 9, AT)
        assert memory.recall(" ", SHOP, 9, AT) == []
    expected = sorted(zip(vectors[:-1] @ vectors[-1], written, strict=True), key=lambda pair: -pair[0])
    assert [hit.text for hit in found if hit.text != written[0]] == [text for _, text in expected if text != written[0]]
    assert [hit.score for hit in found] == pytest.approx(
        sorted([*(score for score, _ in expected), vectors[0] @ vectors[-1]], reverse=True), abs=1e-6
    )
    assert sum(count.texts for count in meter.counts().values()) == len(written) + 1
    rows = json.loads(Path(space.root, "memories.json").read_text())
    assert [row["text"] for row in rows] == [*written, written[0]]
    assert np.allclose([row["embedding"] for row in rows[:-1]], vectors[:-1])


def test_random_depends_on_seed_and_query_only(space: Space, tmp_path: Path) -> None:
    def drawn(root: str, seed: int, query: str) -> list[str]:
        (tmp_path / root).mkdir()
        with closing(Random().open(replace(space, root=str(tmp_path / root), seed=seed))) as memory:
            memory.remember([item(f"fact {at}") for at in range(100)])
            return [hit.text for hit in memory.recall(query, SHOP, 5, AT)]

    first = drawn("a", 1, "q")
    assert len({*first}) == 5
    assert drawn("b", 1, "q") == first
    assert drawn("c", 2, "q") != first
    assert drawn("d", 1, "other") != first


def test_full_context_gives_everything_everywhere_in_order(space: Space) -> None:
    written = [item("one", Scope(repo="a")), item("two", Scope(repo="b")), item("three", Scope())]
    with closing(FullContext().open(space)) as memory:
        memory.remember(written)
        found = memory.recall("zebra", Scope(repo="c"), 1, AT)
    assert [(hit.text, hit.scope, hit.score) for hit in found] == [(one.text, None, None) for one in written]


def test_refusal_always_says_the_same(space: Space) -> None:
    with closing(Refusal().open(space)) as memory:
        memory.remember([item("Ship by script.")])
        assert memory.recall("ship", SHOP, 5, AT) == memory.recall("else", Scope(), 1, AT)
        assert len(memory.recall("ship", SHOP, 5, AT)) == 1


def test_placebo_says_what_is_asked_for_many_times_and_hangs_on_no_memory(space: Space) -> None:
    with closing(Placebo().open(space)) as memory:
        before = memory.recall("ship", SHOP, 5, AT)
        memory.remember([item("Ship by script.")])
        assert memory.recall("ship", SHOP, 5, AT) == before and len({hit.text for hit in before}) == 5
        assert memory.recall("ship", SHOP, 0, AT) == [] and len(memory.recall("ship", SHOP, 99, AT)) == len(NOTES)
        assert memory.recall("else", SHOP, 5, AT) != before


def test_protocol_gives_its_instruction_whatever_it_was_told(space: Space) -> None:
    with closing(Protocol().open(space)) as memory:
        memory.remember([item("Ship by script.")])
        assert [hit.text for hit in memory.recall("ship", SHOP, 5, AT)] == [INSTRUCTION]
        assert memory.recall("ship", SHOP, 0, AT) == [] and memory.entries(SHOP) == []


@pytest.mark.parametrize("file", sorted(TASKS.glob("*/*.toml")), ids=lambda file: file.stem)
def test_placebo_tells_nothing_of_any_story(file: Path) -> None:
    classifier = Classifier(read(file), {})
    assert not any(classifier.read(note).named for note in (*NOTES, INSTRUCTION))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.text(max_size=20), max_size=4)),
        st.tuples(st.just("forget"), st.lists(st.integers(0, 9), max_size=3)),
        st.tuples(st.just("update"), st.tuples(st.integers(0, 9), st.text(max_size=20))),
        st.tuples(st.just("reopen"), st.none()),
    ),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(steps=steps)
def test_rows_are_what_a_list_would_be(
    steps: list[tuple[str, Any]], space: Space, tmp_path_factory: pytest.TempPathFactory
) -> None:
    space = replace(space, root=str(tmp_path_factory.mktemp("rows")))
    memory, model = FullContext().open(space), dict[str, str]()
    for step, given_ in steps:
        names = list(model)
        if step == "add":
            for text, ack in zip(given_, memory.remember([item(text) for text in given_]), strict=True):
                assert len(ack.ids) == bool(text.strip())
                assert not {*ack.ids} & {*model}
                model.update(dict.fromkeys(ack.ids, text))
        elif step == "forget":
            chosen = [names[at] if at < len(names) else "unknown" for at in given_]
            assert memory.forget(SHOP, chosen) == [model.pop(name, None) is not None for name in chosen]
        elif step == "update" and given_[0] < len(names) and given_[1].strip():
            memory.update(SHOP, names[given_[0]], item(given_[1]))
            model[names[given_[0]]] = given_[1]
        else:
            memory.close()
            memory = FullContext().open(space)
        assert [(hit.memory_id, hit.text) for hit in memory.entries(SHOP)] == list(model.items())
