"""Letta's memory blocks: short texts that stand in the prompt of every agent they are attached to, each a memory.

All blocks of a scope are always in sight, so nothing is ranked and every one costs its tokens every time. A block has
the scope as its label, and a tag that says which store it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from adapters.letta import COMPACT, PAGE, Letta, Store, archive_name, metadata, scope_of
from harness.adapter import FILTERS, Ack, Hit, Item, Scope, Source, applies


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
        label, data = archive_name(item.scope), {**metadata(item), "at": item.at}
        made = self.client.blocks.create(label=label, value=item.text, metadata=data, tags=[self.prefix])
        return str(made.id)

    def _listed(self, wanted: Callable[[Scope], bool]) -> list[Hit]:
        rows = self.paged(lambda last: self.client.blocks.list(tags=[self.prefix], limit=PAGE, after=last).items)
        return [each for each in map(hit, rows) if each.scope is not None and wanted(each.scope)]

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self._listed(lambda held: applies(held, scope))

    def entries(self, scope: Scope) -> list[Hit]:
        return self._listed(lambda held: held == scope)

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        try:
            block = self.client.blocks.retrieve(memory_id)
        except (self.sdk.NotFoundError, self.sdk.UnprocessableEntityError):
            return None
        found = hit(block) if self.prefix in (block.tags or ()) else None
        return found if found is not None and found.scope is not None and applies(found.scope, scope) else None

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        if self.get(scope, memory_id) is None or not item.text.strip():
            return Ack(())
        data = {**metadata(item), "at": item.at}
        self.client.blocks.update(memory_id, label=archive_name(item.scope), value=item.text, metadata=data)
        return Ack((memory_id,))

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
        "entries", "get", "update", "forget", "persistent", "multi_process", "usage",
    )  # fmt: skip
    emulated: ClassVar = {
        **COMPACT,
        "supersede": "add, then delete, not atomic",
        "forget_scope": "the blocks of the scope are listed and deleted one by one",
        "source": "echoed: stored as the block's metadata",
        "created": "echoed: the story time stored as metadata; a block's own date cannot be set",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "the scope is the block's label; which labels apply is decided here",
        ),
    }
    unsupported: ClassVar = {
        **{name: why for name, why in Letta.unsupported.items() if name in ("expiry", "extracts")},
        "history": "the server keeps no earlier values of a block",
        "snapshot": "no versions of a block",
        "restore": "no versions of a block",
        **dict.fromkeys(("ranked", "abstains", *FILTERS), "every block that applies is in the prompt"),
    }
