"""Control: an empty memory, and the instruction to use one. What that alone does to a reader that is a model."""

from __future__ import annotations

from typing import ClassVar

from adapters.none import Nothing, NothingMemory
from harness.adapter import Hit, Memory, Scope, Space

INSTRUCTION = (
    "How to use this memory: ask it before you decide, prefer what is newest and has a source, check what it says "
    "against the repository, and act on it only if nothing speaks against it. Nothing has been remembered so far."
)


class ProtocolMemory(NothingMemory):
    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [Hit("protocol", INSTRUCTION)] if k > 0 else []


class Protocol(Nothing):
    name = "protocol"
    native = ("observe", "entries", "get", "usage")
    unsupported: ClassVar = {**Nothing.unsupported, "abstains": "always gives its instruction"}

    def open(self, space: Space) -> Memory:
        return ProtocolMemory()
