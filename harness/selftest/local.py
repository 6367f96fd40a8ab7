"""Controls without gold and plain stores, played in this process: a proof needs no child, as none of them lies."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from harness.adapter import Ack, Adapter, Item, Layer, Memory, Space
from harness.backend import registry
from harness.model.backend import Backend, Declared
from harness.model.trial import Spec
from harness.play.session import Handle
from harness.selftest.proof import SEED

Keeps = Callable[[Item, Sequence[Item]], bool]
"""Whether a store that drops some of what it is told keeps an item of a batch."""


def adapter(name: str) -> Adapter:
    """The adapter behind a registered name or `module:Class`."""
    reference = _entry(name).reference
    if reference is None:
        raise registry.RegistryError(f"backend '{name}' is no adapter: it needs gold")
    module, _, attribute = reference.partition(":")
    made: Adapter = getattr(importlib.import_module(module), attribute)()
    return made


@cache
def _entry(name: str) -> registry.AdapterEntry:
    """Once a name: a proof plays hundreds of trials, and each look reads what every installed package registers."""
    return registry.find(Spec(adapter=name))


class _Local:
    """A memory with what makes it a `Handle`."""

    took = 0.0

    def __init__(self, memory: Memory, keeps: Keeps | None) -> None:
        self._memory, self._keeps = memory, keeps

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        kept = [self._keeps is None or self._keeps(item, items) for item in items]
        acks = iter(self._memory.remember([item for item, stays in zip(items, kept, strict=True) if stays]))
        return [next(acks) if stays else Ack(()) for stays in kept]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def kill(self) -> None:
        self._memory.close()


class LocalHost:
    """A space for one trial; what reopens is the store in `root`."""

    def __init__(self, name: str, root: Path, seed: int = SEED, keeps: Keeps | None = None) -> None:
        self._adapter, self.root, self._keeps = adapter(name), root, keeps
        self._space = Space(str(root), "", "", 0, seed)
        support = {word: Declared(level=said.level, note=said.note) for word, said in self._adapter.support.items()}
        self.backend = Backend(
            name=name, version=self._adapter.version(), support=support, control=_entry(name).control
        )

    def open(self) -> Handle:
        return cast(Handle, _Local(self._adapter.open(self._space), self._keeps))

    @property
    def folder(self) -> Path:
        return self.root

    def flush(self) -> None:
        """Nothing is held back."""

    def layers(self) -> list[Layer]:
        return self._adapter.storage(self._space)
