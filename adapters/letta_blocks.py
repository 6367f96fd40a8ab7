"""Letta's memory blocks: short texts that stand in the prompt of every agent they are attached to, each a memory.

All blocks of a scope are always in sight, so nothing is ranked and every one costs its tokens every time. A block has
the scope as its label. Its tags say which store it belongs to, and of what kind it is and what path it cites there: a
listing takes what has one of the tags that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, ClassVar

from adapters._base import moment
from adapters._labels import label
from adapters.letta import COMPACT, PAGE, Letta, Store, archive_name, holds, lets_through, metadata, scope_of
from harness.adapter import Ack, Filter, Hit, Item, Scope, Source, applies


def hit(block: Any) -> Hit:
    data = block.metadata
    source = Source(*(data.get(part) for part in ("commit", "path", "line", "session")))
    return Hit(
        block.id,
        block.value,
        source=None if source == Source() else source,
        created=data["at"],
        scope=scope_of(block.label),
        confidence=data.get("confidence"),
    )


class BlocksMemory(Store):
    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [Ack((self._create(item),) if item.text.strip() else ()) for item in items]

    def _create(self, item: Item) -> str:
        return str(self.client.blocks.create(**self._write(item)).id)

    def _write(self, item: Item) -> dict[str, Any]:
        """All of it, as an update replaces metadata and tags as wholes."""
        return {
            "label": archive_name(item.scope),
            "value": item.text,
            "metadata": {**metadata(item), "at": item.at},
            # a set, as a memory may cite no path
            "tags": self._tags((None, item.kind), {None, item.source.path if item.source else None}),
        }

    def _tags(self, kinds: Iterable[str | None], paths: Iterable[str | None]) -> list[str]:
        """One for each choice: what has neither kind nor path is the store's own."""
        return [self.prefix + label(Source(path=path), kind=kind) for kind, path in product(kinds, paths)]

    def _listed(self, wanted: Callable[[Scope], bool], tags: Sequence[str] | None = None) -> list[tuple[Any, Hit]]:
        asked = [self.prefix] if tags is None else tags
        rows = self.paged(lambda last: self.client.blocks.list(tags=asked, limit=PAGE, after=last).items)
        found = [(block, hit(block)) for block in rows]
        return [(block, each) for block, each in found if each.scope is not None and wanted(each.scope)]

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        rows = self._listed(lambda held: applies(held, scope), self._tags(where.kinds or (None,), [where.path]))
        # kind and path were asked for by tags, and no tag tells a confidence
        sure = Filter(confidence=where.confidence)
        return [each for block, each in rows if holds(block.metadata, at) and lets_through(sure, each, block.metadata)]

    def entries(self, scope: Scope) -> list[Hit]:
        return [each for _, each in self._listed(lambda held: held == scope)]

    def _find(self, scope: Scope, memory_id: str) -> Any:
        """None: there is no such block of this store, or it does not hold there."""
        if not memory_id:
            return None  # the client asks no server for it
        try:
            block = self.client.blocks.retrieve(memory_id)
        except (self.sdk.NotFoundError, self.sdk.UnprocessableEntityError):
            return None
        found = hit(block).scope if self.prefix in (block.tags or ()) else None
        return block if found is not None and applies(found, scope) else None

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        block = self._find(scope, memory_id)
        return hit(block) if block else None

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        if self.get(scope, memory_id) is None or not item.text.strip():
            return Ack(())
        self.client.blocks.update(memory_id, **self._write(item))
        return Ack((memory_id,))

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        return [self._end(scope, name, moment(at)) for name in memory_ids]

    def _end(self, scope: Scope, memory_id: str, end: float) -> bool:
        block = self._find(scope, memory_id)
        if block is not None:
            before = block.metadata["ends"]
            ends = end if before is None else min(before, end)
            self.client.blocks.update(memory_id, metadata={**block.metadata, "ends": ends})
        return block is not None

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [self._delete(scope, name) for name in memory_ids]

    def _delete(self, scope: Scope, memory_id: str) -> bool:
        if self.get(scope, memory_id) is None:
            return False
        self.client.blocks.delete(memory_id)
        return True

    def forget_scope(self, scope: Scope) -> None:
        for each in self.entries(scope):
            self.client.blocks.delete(each.memory_id)


class LettaBlocks(Letta):
    name = "letta_blocks"
    clients = ("Python", "TypeScript")
    memory: ClassVar[type[Store]] = BlocksMemory
    embeds = False
    native: ClassVar[tuple[str, ...]] = (
        "entries", "get", "update", "forget", "persistent", "multi_process", "usage", "filter_kind", "filter_path",
    )  # fmt: skip
    emulated: ClassVar = {
        **COMPACT,
        "supersede": "add, then delete, not atomic",
        **dict.fromkeys(
            ("deprecate", "expiry"), "the end stands in the block's metadata; what has ended is left out here"
        ),
        "filter_confidence": "the blocks that apply are listed, and what is less sure is left out here",
        "forget_scope": "the blocks of the scope are listed and deleted one by one",
        "source": "echoed: stored as the block's metadata",
        "created": "echoed: the story time stored as metadata; a block's own date cannot be set",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "the scope is the block's label; which labels apply is decided here",
        ),
    }
    unsupported: ClassVar = {
        "extracts": Letta.unsupported["extracts"],
        "history": "the server keeps no earlier values of a block",
        "snapshot": "no versions of a block",
        "restore": "no versions of a block",
        **dict.fromkeys(("ranked", "abstains"), "every block that applies is in the prompt"),
    }
