"""Mem0, the library, with its embedded Qdrant store and without extraction (`infer=False`).

A scope is one `user_id`, like `repo=storefront&org=acme`: `delete_all` and `get_all` know exact ids only, and an
operator on an id makes `search` crash. So the scope is metadata too, where one `in` finds memories of wider scopes in
the same search; all memories carry one `agent_id`, because a search must name an id. (An OR of user ids finds the same
at twice the cost: the embedded store checks each condition of each memory in Python.)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote, urlencode

from adapters._base import release, sdk
from harness.adapter import (
    Ack,
    BaseAdapter,
    BaseMemory,
    Hit,
    Item,
    Layer,
    Memory,
    Scope,
    Source,
    Space,
    Usage,
    applies,
    delete_and_add,
)

AGENT = "coldwarm"
EVERYWHERE = "everywhere"
ALL = 1_000_000  # get_all has no cursor and gives 20 unless told otherwise


def user_id(scope: Scope) -> str:
    return urlencode({part: value for part, value in asdict(scope).items() if value}, quote_via=quote) or EVERYWHERE


def holding_at(place: Scope) -> Mapping[str, Any]:
    """The filter for all scopes that apply to this place: each of its parts as it is, or not limited."""
    choices = product(*((None, value) if value else (None,) for value in asdict(place).values()))
    return {"agent_id": AGENT, "scope": {"in": [user_id(Scope(*parts)) for parts in choices]}}


def metadata(item: Item) -> dict[str, Any]:
    return {**asdict(item.source or Source()), "kind": item.kind, "confidence": item.confidence}


def hit(row: Mapping[str, Any]) -> Hit:
    data = row.get("metadata") or {}
    source = Source(*(data.get(part) for part in ("commit", "path", "line", "session")))
    return Hit(
        row["id"],
        row["memory"],
        score=row.get("score"),
        source=None if source == Source() else source,
        created=row["created_at"],
        scope=Scope(**dict(parse_qsl("" if row["user_id"] == EVERYWHERE else row["user_id"]))),
        confidence=data.get("confidence"),
    )


class Mem0Memory(BaseMemory):
    def __init__(self, mem0: Any, space: Space) -> None:
        root = Path(space.root)
        model = {"model": "local", "api_key": space.key, "openai_base_url": space.gateway}
        store = {"collection_name": "memories", "path": str(root / "qdrant"), "embedding_model_dims": space.dims}
        self.memory = mem0.Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "openai", "config": model},
                "llm": {"provider": "openai", "config": model},  # must be there; never called without extraction
                "history_db_path": str(root / "history.db"),
            }
        )

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [self._add(item) if item.text.strip() else Ack(()) for item in items]

    def _add(self, item: Item) -> Ack:
        added = self.memory.add(
            item.text,
            user_id=user_id(item.scope),
            agent_id=AGENT,
            metadata={**metadata(item), "scope": user_id(item.scope), "created_at": item.at},
            expiration_date=item.expires[:10] if item.expires else None,
            infer=False,
        )
        return Ack(tuple(row["id"] for row in added["results"]))

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        if not query.strip() or k < 1:
            return []
        found = self.memory.search(query, filters=holding_at(scope), top_k=k)  # and the default threshold of 0.1
        return [hit(row) for row in found["results"]]

    def entries(self, scope: Scope) -> list[Hit]:
        return [hit(row) for row in self.memory.get_all(filters={"user_id": user_id(scope)}, top_k=ALL)["results"]]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        row = self.memory.get(memory_id)
        found = hit(row) if row else None
        return found if found is not None and found.scope is not None and applies(found.scope, scope) else None

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        events = self.memory.history(memory_id)
        texts = (event[side] for event in events for side in ("old_memory", "new_memory") if event[side])
        return list(dict.fromkeys(texts))

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        """Text, metadata and expiry change; scope and date of a memory cannot."""
        if self.get(scope, memory_id) is None or not item.text.strip():
            return Ack(())
        until = item.expires[:10] if item.expires else None
        self.memory.update(memory_id, text=item.text, metadata=metadata(item), expiration_date=until)
        return Ack((memory_id,))

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        return delete_and_add(self, scope, memory_ids, item)

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [self._delete(scope, name) for name in memory_ids]

    def _delete(self, scope: Scope, memory_id: str) -> bool:
        if self.get(scope, memory_id) is None:
            return False
        self.memory.delete(memory_id)
        return self.memory.get(memory_id) is None

    def forget_scope(self, scope: Scope) -> None:
        self.memory.delete_all(user_id=user_id(scope))

    def usage(self) -> Usage:
        """No model inside: nothing is extracted with `infer=False`."""
        return Usage()

    def close(self) -> None:
        self.memory.close()
        self.memory.vector_store.client.close()  # Memory.close() keeps the store's lock


class Mem0(BaseAdapter):
    name = "mem0"
    memory: ClassVar[type[Mem0Memory]] = Mem0Memory
    imports = ("qdrant_client", "openai")
    native: ClassVar[tuple[str, ...]] = (
        "entries",
        "get",
        "history",
        "update",
        "forget",
        "forget_scope",
        "ranked",
        "abstains",
        "usage",
        "created",
        "expiry",
        "persistent",
    )
    emulated: ClassVar = {
        "supersede": "delete and add, not atomic",
        "source": "echoed: stored as flat metadata",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "the whole scope is one user_id, percent-encoded; wider scopes by a metadata filter; ids are checked here",
        ),
    }
    unsupported: ClassVar = {
        "snapshot": "no versions of a store",
        "restore": "no versions of a store",
        "compact": "no documented compaction",
        "multi_process": "the embedded store is locked by one process",
    }

    def version(self) -> str:
        return release("mem0ai", "coldwarm[mem0]")

    def open(self, space: Space) -> Memory:
        # All three are read when the library is imported or constructed.
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(Path(space.root, "mem0home")))
        os.environ.pop("OPENROUTER_API_KEY", None)
        return self.memory(sdk("mem0", "coldwarm[mem0]"), space)

    def storage(self, space: Space) -> list[Layer]:
        return [
            Layer("history", "history.db", "sqlite"),
            Layer("vectors", "qdrant/collection/memories/storage.sqlite", "sqlite"),
            Layer("home", "mem0home", "file"),
        ]
