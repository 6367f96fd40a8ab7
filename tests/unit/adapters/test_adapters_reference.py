"""What the reference does beyond what every adapter keeps to: marks, dates, erasure in bytes, many processes."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.reference import Reference
from harness.adapter import Scope, Space, embed, to_wire
from tests.support.items import AT, SHOP, item

ROOT = Path(__file__).parents[3]
OTHER = Scope(repo="ledger", org="acme")


def test_a_restore_brings_back_the_mark_less_what_was_erased_since(space: Space) -> None:
    with closing(Reference().open(space)) as memory:
        kept, changed, erased, moved = (
            ack.ids[0]
            for ack in memory.remember([item("kept"), item("before"), item("k4n4ry"), item("elsewhere", OTHER)])
        )
        mark = memory.snapshot()
        memory.update(SHOP, changed, item("after"))
        memory.remember([item("poison")])
        memory.supersede(SHOP, [kept], item("successor"))
        assert memory.forget(SHOP, [erased]) == [True]
        memory.forget_scope(OTHER)
    assert b"k4n4ry" not in Path(space.root, Reference.file).read_bytes()
    with closing(Reference().open(space)) as memory:
        memory.restore(mark)
        assert [(hit.memory_id, hit.text) for hit in memory.entries(SHOP)] == [(kept, "kept"), (changed, "before")]
        assert memory.history(SHOP, changed) == ["before"] and memory.get(OTHER, moved) is None
        with pytest.raises(ValueError, match="no mark 'never'"):
            memory.restore("never")
        assert len(list(memory.entries(SHOP))) == 2


@pytest.mark.parametrize("forgotten", [SHOP, OTHER])
def test_a_forgotten_scope_takes_the_marks_of_a_memory_that_moved(space: Space, forgotten: Scope) -> None:
    with closing(Reference().open(space)) as memory:
        (name,) = memory.remember([item("k4n4ry")])[0].ids
        mark = memory.snapshot()
        memory.update(SHOP, name, item("moved", OTHER))
        memory.forget_scope(forgotten)
        memory.restore(mark)
        assert not list(memory.entries(SHOP)) and not list(memory.entries(OTHER))


def test_an_update_keeps_the_earlier_text_until_it_is_forgotten(space: Space) -> None:
    with closing(Reference().open(space)) as memory:
        (name,) = memory.remember([item("first k4n4ry")])[0].ids
        memory.update(SHOP, name, item("second"))
        memory.update(SHOP, name, item("third"))
        assert memory.history(SHOP, name) == ["first k4n4ry", "second", "third"]
        assert memory.history(OTHER, name) == []
        memory.forget(SHOP, [name])
        assert memory.history(SHOP, name) == []
        assert b"k4n4ry" not in Path(space.root, Reference.file).read_bytes()


def test_what_has_expired_is_not_recalled_whatever_its_zone(space: Space) -> None:
    with closing(Reference().open(space)) as memory:
        memory.remember(
            [
                item("rule past", expires="2000-01-01T00:00:00+00:00"),
                item("rule now", expires="2026-02-03T12:00:00+02:00"),
                item("rule soon", expires="2026-02-03T10:00:00-01:00"),
                item("rule far", expires="2999-01-01"),
            ]
        )
        assert {hit.text for hit in memory.recall("rule", SHOP, 9, AT)} == {"rule soon", "rule far"}
        assert len(list(memory.entries(SHOP))) == 4


def test_it_abstains_where_nothing_is_near(space: Space) -> None:
    with closing(Reference().open(space)) as memory:
        memory.remember([item("the queue is redis")])
        assert memory.recall("zebra", SHOP, 5, AT) == memory.recall(" ", SHOP, 5, AT) == []
        assert memory.recall("queue", SHOP, 5, AT) != []


def test_all_is_found_after_another_embedder_came_and_went(space: Space) -> None:
    other = replace(space, dims=0)
    with closing(Reference().open(space)) as memory:
        memory.remember([item("the queue is redis")])
    for each in (other, space, other):
        with closing(Reference().open(each)) as memory:
            assert [hit.text for hit in memory.recall("queue redis", SHOP, 5, AT)] == ["the queue is redis"]


WRITER = """
import json, sys
from adapters.reference import Reference
from harness.adapter import Space, read_item
space, items = (json.loads(text) for text in sys.argv[1:])
memory = Reference().open(Space(**space))
for each in items:
    (ack,) = memory.remember([read_item(each)])
    print(*ack.ids)
"""


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing_and_share_no_id(space: Space) -> None:
    items = json.dumps(to_wire([item(f"fact {at}") for at in range(20)]))
    command = [sys.executable, "-c", WRITER, json.dumps(to_wire(space)), items]
    writers = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    with closing(Reference().open(space)) as memory:
        ids = [name for writer in writers for name in writer.communicate(timeout=60)[0].split()]
        assert len(ids) == 40 and {hit.memory_id for hit in memory.entries(SHOP)} == {*ids}


changes = st.lists(st.tuples(st.sampled_from(["add", "forget", "update"]), st.integers(0, 30)), max_size=40)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
@given(changes=changes)
def test_no_byte_of_a_forgotten_text_or_its_vector_is_left(
    changes: list[tuple[str, int]], space: Space, tmp_path_factory: pytest.TempPathFactory
) -> None:
    space = replace(space, root=str(tmp_path_factory.mktemp("erased")))
    reference, live, gone = Reference(), dict[str, list[str]](), list[str]()
    with closing(reference.open(space)) as memory:
        for turn, (change, at) in enumerate(changes):
            text = f"token t{turn}x{at} " + "and more " * at
            name = list(live)[at % len(live)] if live else None
            if change == "add" or name is None:
                live[memory.remember([item(text)])[0].ids[0]] = [text]
            elif change == "update":
                memory.update(SHOP, name, item(text))
                live[name].append(text)
            else:
                assert memory.forget(SHOP, [name]) == [True]
                gone += live.pop(name)
    data = Path(space.root, reference.file).read_bytes()
    assert not [text for text in gone if text.split(" and")[0].encode() in data]
    left = {vector.tobytes() for vector in np.array(embed(space, [texts[-1] for texts in live.values()]), dtype="<f4")}
    erased = {vector.tobytes() for vector in np.array(embed(space, gone), dtype="<f4")} - left
    assert not [vector for vector in erased if vector in data]
