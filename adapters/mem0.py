"""Mem0, the library: one of three embedded stores, with extraction (`infer=true`) or without.

A scope is one `user_id`, like `repo=storefront&org=acme`: `delete_all` and `get_all` know exact ids only, and an
operator on an id makes `search` crash. So the scope is metadata too, where one filter finds memories of wider scopes in
the same search; all memories carry one `agent_id`, because a search must name an id. (An OR of user ids finds the same
at twice the cost in Qdrant: the embedded store checks each condition of each memory in Python.)
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import parse_qsl, quote, urlencode

from adapters._base import moment, release, sdk, setting
from adapters._mem0_program import write_mem0_program
from adapters._mem0_stores import COLLECTION, STORES, Store
from harness.adapter import (
    FILTERS,
    Ack,
    BaseAdapter,
    BaseMemory,
    Call,
    Filter,
    Hit,
    Item,
    Layer,
    Memory,
    Message,
    Scope,
    Source,
    Space,
    Support,
    Unsupported,
    Usage,
    applies,
    delete_and_add,
)

MEM0, OPENAI = "mem0ai>=2.0.4,<3", "openai>=1.60"
EXPIRES_SINCE = (2, 0, 10)
AGENT = "coldwarm"
EVERYWHERE = "everywhere"
ALL = 1_000_000  # get_all has no cursor and gives 20 unless told otherwise
CAPTURES = Support("native", "add(messages), one chat call for a session; it leaves out what tools say")
STORES_MESSAGES = Support("native", "add(messages, infer=False): each message is a memory, word for word")
EXTRACTS = Support("native", "one chat call for each item; its facts are added and replace none")


def user_id(scope: Scope) -> str:
    return (
        urlencode({part: value for part, value in asdict(scope).items() if value is not None}, quote_via=quote)
        or EVERYWHERE
    )


def holding_at(place: Scope) -> list[str]:
    """The user ids of all scopes that apply to this place: each of its parts as it is, or not limited."""
    choices = product(*((None, value) if value is not None else (None,) for value in asdict(place).values()))
    return [user_id(Scope(*parts)) for parts in choices]


def metadata(item: Item) -> dict[str, Any]:
    """Flat, and always with every key: an update merges, and None takes a value away.

    `sure` is there of every memory, as a range finds none that lacks its key. Not marked is False and not absent, as
    PostgreSQL finds nothing where a condition on an absent key is negated.
    """
    sure = 1.0 if item.confidence is None else item.confidence
    told = {"kind": item.kind, "confidence": item.confidence, "sure": sure, "deprecated": False, "ends": None}
    return {**asdict(item.source or Source()), **told}


def dated(item: Item) -> dict[str, Any]:
    """What a new memory carries. Without None, which Chroma refuses there."""
    given = {**metadata(item), "created_at": item.at}
    return {key: value for key, value in given.items() if value is not None}


def until(item: Item) -> str | None:
    return item.expires[:10] if item.expires else None


def expires() -> bool:
    """Whether the release that is installed knows expiry. Where none is installed, what the newest can is declared."""
    with suppress(PackageNotFoundError):
        return tuple(map(int, re.findall(r"\d+", version("mem0ai"))[:3])) >= EXPIRES_SINCE
    return True


def expiry(item: Item) -> Mapping[str, str | None]:
    """As an argument, where it is one."""
    return {"expiration_date": until(item)} if expires() else {}


def hit(row: Mapping[str, Any]) -> Hit:
    data = row.get("metadata") or {}
    source = Source(*(data.get(part) for part in ("commit", "path", "line", "session")))
    return Hit(
        row["id"],
        row["memory"],
        score=row.get("score"),
        source=None if source == Source() else source,
        created=row["created_at"],
        scope=Scope(**dict(parse_qsl("" if row["user_id"] == EVERYWHERE else row["user_id"], keep_blank_values=True))),
        confidence=data.get("confidence"),
    )


def quiet(space: Space) -> None:
    """No telemetry, and a home of its own: all three are read when the library is imported or constructed."""
    os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(Path(space.root, "mem0home")))
    # where it is set, Mem0 asks OpenRouter, whatever base URL it is given
    os.environ.pop("OPENROUTER_API_KEY", None)


class Mem0Memory(BaseMemory):
    def __init__(self, mem0: Any, space: Space, adapter: Mem0) -> None:
        root = Path(space.root)
        gateway = {"api_key": space.key, "openai_base_url": space.gateway}
        self.adapter, self.used = adapter, Usage()
        store_driver = adapter.store_driver.config(space)
        self.memory = mem0.Memory.from_config(
            {
                "vector_store": {"provider": adapter.store, "config": {"collection_name": COLLECTION, **store_driver}},
                "embedder": {"provider": "openai", "config": {"model": "local", **gateway}},
                # Must be there; never called without extraction.
                "llm": {"provider": "openai", "config": {"model": adapter.model, **gateway}},
                "history_db_path": str(root / "history.db"),
            }
        )
        self.memory.llm.config.response_callback = self._answered

    def _answered(self, llm: Any, response: Any, params: Any) -> None:
        usage, before = response.usage, self.used
        self.used = Usage(
            before.prompt + usage.prompt_tokens, before.completion + usage.completion_tokens, before.calls + 1
        )

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [self._add(item, item.text) if item.text.strip() else Ack(()) for item in items]

    def _add(self, item: Item, told: str | list[dict[str, str]]) -> Ack:
        added = self.memory.add(
            told,
            user_id=user_id(item.scope),
            agent_id=AGENT,
            metadata={**dated(item), "scope": user_id(item.scope)},
            **expiry(item),
            infer=self.adapter.infer,
        )
        return Ack(tuple(row["id"] for row in added["results"]))

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        item = Item("", scope, at, "episodic", Source(session=session))
        said = [{"role": each.role, "content": each.content} for each in transcript if each.content.strip()]
        return self._add(item, said) if said else Ack(())

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        if not query.strip() or k < 1:
            return []
        store_driver = self.adapter.store_driver
        filters = {"agent_id": AGENT, "scope": store_driver.any_of(holding_at(scope)), **store_driver.still(moment(at))}
        if where.kinds:
            filters["kind"] = store_driver.any_of(where.kinds)
        if where.path is not None:
            filters["path"] = where.path
        if where.confidence is not None:
            filters["sure"] = {"gte": where.confidence}
        reach = store_driver.reach(self.memory.vector_store, k)
        found = self.memory.search(query, filters=filters, top_k=reach)  # and the default threshold of 0.1
        return [hit(row) for row in found["results"][:k]]

    def entries(self, scope: Scope) -> list[Hit]:
        return [hit(row) for row in self.memory.get_all(filters={"user_id": user_id(scope)}, top_k=ALL)["results"]]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        row = self.find(scope, memory_id)
        return hit(row) if row else None

    def find(self, scope: Scope, memory_id: str) -> Mapping[str, Any] | None:
        """The memory of this id as Mem0 tells it, if it holds at this place."""
        row: Mapping[str, Any] | None = self.memory.get(memory_id)
        limit = hit(row).scope if row else None
        return row if limit is not None and applies(limit, scope) else None

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        """Of a memory that is there, in its own scope only. Of a deleted one, in any: the history knows no scope."""
        if self.memory.get(memory_id) is not None and self.get(scope, memory_id) is None:
            return []
        events = self.memory.history(memory_id)
        texts = (event[side] for event in events for side in ("old_memory", "new_memory") if event[side])
        # each text stands in two events, as the new one and as the old one
        return list(dict.fromkeys(texts))

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        """Text, metadata and expiry change; scope and date of a memory cannot."""
        if self.get(scope, memory_id) is None or not item.text.strip():
            return Ack(())
        self.memory.update(memory_id, item.text, metadata=metadata(item), **expiry(item))
        return Ack((memory_id,))

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        return delete_and_add(self, scope, memory_ids, item)

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        """By an update of the metadata alone, which merges."""
        if self.adapter.support["deprecate"].level == "unsupported":
            raise Unsupported("deprecate")
        return [self._mark(scope, name, moment(at)) for name in memory_ids]

    def _mark(self, scope: Scope, memory_id: str, end: float) -> bool:
        row = self.find(scope, memory_id)
        if row is None:
            return False
        before = (row.get("metadata") or {}).get("ends")
        self.memory.update(memory_id, row["memory"], metadata={"deprecated": True, "ends": min(before or end, end)})
        return True

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
        """As the library's own callback tells it, once a call was answered."""
        return self.used

    def close(self) -> None:
        self.memory.close()
        self.adapter.store_driver.close(self.memory.vector_store)


class Mem0(BaseAdapter):
    name = "mem0"
    clients = ("Python",)
    memory: ClassVar[type[Mem0Memory]] = Mem0Memory
    settings: ClassVar[Sequence[str]] = ("store", "infer", "model")
    imports = ("qdrant_client", "openai", "httpcore2", "portalocker", "posthog", "requests")  # all but what reads HOME
    embeds = True
    store, infer, model = "qdrant", False, "local"
    packages: Sequence[str] = (MEM0, STORES["qdrant"].package, OPENAI)
    native: ClassVar[tuple[str, ...]] = (
        "entries",
        "get",
        "history",
        "update",
        "deprecate",
        "forget",
        "forget_scope",
        "ranked",
        "usage",
        "created",
        "expiry",
        "persistent",
        *FILTERS,
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
        "extracts": "stores what it is told, word for word",
    }

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = copy.copy(self)
        made.store = setting(settings, "store", tuple(STORES))
        made.packages = (MEM0, made.store_driver.package, OPENAI)
        made.infer = setting(settings, "infer", ("false", "true")) == "true"
        made.model = settings.get("model", self.model)
        return made

    @property
    def store_driver(self) -> Store:
        """The store, as Mem0 uses it."""
        return STORES[self.store]

    @property
    def support(self) -> Mapping[str, Support]:
        extracts = {"extracts": EXTRACTS, "observe": CAPTURES} if self.infer else {"observe": STORES_MESSAGES}
        lasting = {} if expires() else {"expiry": Support("unsupported", "Mem0 knows none before 2.0.10")}
        return {**super().support, **self.store_driver.support, **extracts, **lasting}

    def version(self) -> str:
        return release("mem0ai", "coldwarm[mem0]")

    def open(self, space: Space) -> Memory:
        quiet(space)
        return self.memory(sdk("mem0", "coldwarm[mem0]"), space, self)

    def storage(self, space: Space) -> list[Layer]:
        return [
            Layer("history", "history.db", "sqlite"),
            *self.store_driver.layers(space),
            Layer("home", "mem0home", "file"),
        ]

    def program(self, calls: Sequence[Call]) -> str:
        """Of this adapter's own use of Mem0, and without extraction, as no chat model is asked."""
        return (
            ""
            if self.infer or self.memory is not Mem0Memory
            else write_mem0_program(calls, self.store, AGENT, user_id, holding_at)
        )

    def compact(self, space: Space) -> None:
        self.store_driver.compact(space)
