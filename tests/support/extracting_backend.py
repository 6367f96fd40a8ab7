"""An adapter with a model inside, for tests: it asks for facts as Mem0 does, and keeps what it is answered."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from adapters._base import sdk
from adapters.bm25 import Bm25, Bm25Memory
from harness.adapter import Ack, Item, Memory, Space

ASKED = (
    "## Recently Extracted Memories\n[]\n\n## Existing Memories\n[]\n\n"
    "## New Messages\nuser: {text}\n\n## Observation Date\n2026-01-05\n"
)


class ExtractingMemory(Bm25Memory):
    space: Space

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [self._extract(item) for item in items]

    def _extract(self, item: Item) -> Ack:
        acks = super().remember([replace(item, text=text) for text in facts(self.space, item.text)])
        return Ack(tuple(name for ack in acks for name in ack.ids))


def facts(space: Space, text: str) -> list[str]:
    """RuntimeError with the status for any answer but 200."""
    where = urlsplit(space.gateway)
    link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    asked: dict[str, Any] = {"model": "local", "messages": [{"role": "user", "content": ASKED.format(text=text)}]}
    link.request("POST", f"{where.path}/chat/completions", json.dumps(asked), {"authorization": f"Bearer {space.key}"})
    answer = link.getresponse()
    body = json.loads(answer.read())
    link.close()
    if answer.status != 200:
        raise RuntimeError(f"the model answered {answer.status}")
    return [each["text"] for each in json.loads(body["choices"][0]["message"]["content"])["memory"]]


class Extracting(Bm25):
    name = "extracting"
    native = (*(each for each in Bm25.native if each != "usage"), "extracts")

    def open(self, space: Space) -> Memory:
        memory = ExtractingMemory(self.path(space), sdk("bm25s", "coldwarm"))
        memory.space = space
        return memory
