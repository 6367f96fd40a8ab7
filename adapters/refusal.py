"""Control: one constant sentence, whatever is asked. What a careful-sounding answer alone is worth."""

from __future__ import annotations

from typing import ClassVar

from adapters.none import Nothing, NothingMemory
from harness.adapter import Hit, Memory, Scope, Space

SENTENCE = "I cannot say for certain; please check the repository before you act."


class RefusalMemory(NothingMemory):
    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [Hit("refusal", SENTENCE)] if k > 0 else []


class Refusal(Nothing):
    name = "refusal"
    native = ("observe", "entries", "get", "usage")
    unsupported: ClassVar = {**Nothing.unsupported, "abstains": "always says the same sentence"}

    def open(self, space: Space) -> Memory:
        return RefusalMemory()
