"""A sound store that masks addresses of mail, and says so."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, ClassVar

from adapters._base import sdk
from adapters.reference import Reference, ReferenceMemory
from harness.adapter import Item, Space


class _MaskingMemory(ReferenceMemory):
    def columns(self, item: Item, vector: bytes) -> dict[str, Any]:
        masked = re.sub(r"[\w.+-]+@[\w-]+\.[\w.]+", "[email]", item.text)
        return super().columns(replace(item, text=masked), vector)


class Masking(Reference):
    native: ClassVar[tuple[str, ...]] = (*Reference.native, "masks")

    def open(self, space: Space) -> ReferenceMemory:
        return _MaskingMemory(self.path(space), space, sdk("numpy", "coldwarm"))
