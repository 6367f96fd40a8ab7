"""LangGraph's row over a fake of its store; `make conform` holds it to the contract."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from adapters.langgraph import LanggraphMemory
from harness.adapter import Item, Scope, Space

HERE, THERE = Scope("shop"), Scope("shop", "acme")


class FakePut(NamedTuple):
    namespace: tuple[str, ...]
    key: str
    value: Any
    index: Any = None


class FakeGet(NamedTuple):
    namespace: tuple[str, ...]
    key: str


class FakeStore:
    """All of a batch, or nothing of it: texts are embedded before any is written."""

    def __init__(self, connection: object, index: Any) -> None:
        self.rows: dict[tuple[tuple[str, ...], str], SimpleNamespace] = {}
        self.fails = False

    def setup(self) -> None: ...

    def batch(self, asked: Sequence[FakePut | FakeGet]) -> list[Any]:
        if self.fails and any(isinstance(each, FakePut) and each.value is not None for each in asked):
            raise RuntimeError("no embedder")
        return [self._answer(each) for each in asked]

    def _answer(self, asked: FakePut | FakeGet) -> Any:
        if isinstance(asked, FakeGet):
            return self.rows.get(asked[:2])
        self.rows.pop(asked[:2], None)
        if asked.value is not None:
            self.rows[asked[:2]] = SimpleNamespace(namespace=asked.namespace, key=asked.key, value=asked.value)
        return None

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        self.batch([FakePut(namespace, key, None)])


class Memory(LanggraphMemory):
    @staticmethod
    def connect(space: Space) -> object:
        return object()


def item(text: str, scope: Scope) -> Item:
    return Item(text, scope, "2026-01-01T09:00:00Z", "project")


@pytest.mark.parametrize("to", [HERE, THERE])
def test_an_update_that_fails_leaves_the_memory_as_it_was(tmp_path: Path, to: Scope) -> None:
    sdk, base = SimpleNamespace(SqliteStore=FakeStore), SimpleNamespace(PutOp=FakePut, GetOp=FakeGet)
    memory = Memory(sdk, base, Space(str(tmp_path), "", "", 4, 1))
    ((name,),) = (ack.ids for ack in memory.remember([item("The port is 1", HERE)]))
    memory.store.fails = True
    with pytest.raises(RuntimeError):
        memory.update(HERE, name, item("The port is 2", to))
    assert [row.value["text"] for row in memory.store.rows.values()] == ["The port is 1"]
    memory.store.fails = False
    assert memory.update(HERE, name, item("The port is 2", to)).ids == (name,)
    assert [row.value["text"] for row in memory.store.rows.values()] == ["The port is 2"]
    assert (found := memory.get(to, name)) and found.scope == to
