"""Controls without gold, played in this process: a proof needs no child, as nothing here can crash or lie."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, cast

from harness import registry
from harness.adapter import Adapter, Layer, Memory, Space
from harness.events import Backend, Declared
from harness.exchange import Handle
from harness.model import Spec
from harness.selftest.proof import SEED


def adapter(name: str) -> Adapter:
    """The adapter behind a registered name or `module:Class`."""
    reference = registry.find(Spec(adapter=name)).reference
    if reference is None:
        raise registry.RegistryError(f"backend '{name}' is no adapter: it needs gold")
    module, _, attribute = reference.partition(":")
    made: Adapter = getattr(importlib.import_module(module), attribute)()
    return made


class _Local:
    """A memory with what makes it a `Handle`."""

    took = 0.0

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def kill(self) -> None:
        self._memory.close()


class LocalHost:
    """A control's space for one trial; what reopens is the store in `root`."""

    def __init__(self, name: str, root: Path, seed: int = SEED) -> None:
        self._adapter, self.root = adapter(name), root
        self._space = Space(str(root), "", "", 0, seed)
        support = {word: Declared(level=said.level, note=said.note) for word, said in self._adapter.support.items()}
        self.backend = Backend(name=name, version=self._adapter.version(), support=support, control=True)

    def open(self) -> Handle:
        return cast(Handle, _Local(self._adapter.open(self._space)))

    def layers(self) -> list[Layer]:
        return self._adapter.storage(self._space)
