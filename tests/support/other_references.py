"""Sound stores that change what they are told: one masks addresses of mail, and says so, one takes a memory apart."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, ClassVar

from adapters._base import sdk
from adapters.reference import Reference, ReferenceMemory
from harness.adapter import Ack, Item, Space


class _MaskingMemory(ReferenceMemory):
    def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
        masked = re.sub(r"[\w.+-]+@[\w-]+\.[\w.]+", "[email]", item.text)
        return super().columns(replace(item, text=masked), vector)


class Masking(Reference):
    native: ClassVar[tuple[str, ...]] = (*Reference.native, "masks")

    def open(self, space: Space) -> ReferenceMemory:
        return _MaskingMemory(self.path(space), space, sdk("numpy", "coldwarm"))


class _PartsMemory(ReferenceMemory):
    def add(self, item: Item, vector: bytes) -> Ack:
        return Ack((*super().add(item, vector).ids, *super().add(item, vector).ids))


class TakesApart(Reference):
    """Each memory comes to be two, of one text, so that it has two ids."""

    def open(self, space: Space) -> ReferenceMemory:
        return _PartsMemory(self.path(space), space, sdk("numpy", "coldwarm"))
