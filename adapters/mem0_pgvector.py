"""Mem0 over PostgreSQL with pgvector: what the embedded rows do, with its vectors on a server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from adapters import _postgres
from adapters._base import release, sdk
from adapters._mem0_stores import Store
from adapters.mem0 import MEM0, OPENAI, Mem0, Mem0Memory
from harness.adapter import Scope, Server, Support

PGVECTOR = Store(
    package="psycopg[binary,pool]>=3.2,<4",
    config=lambda space: {
        "connection_string": _postgres.claim(sdk("psycopg", INSTALL), space),
        "embedding_model_dims": space.dims,
    },
    any_of=lambda values: {"in": list(values)},
    layers=_postgres.storage,
    support={
        "abstains": Support("native"),
        "compact": Support("emulated", "VACUUM FULL, as PostgreSQL documents it; Mem0's own history has no compaction"),
        "multi_process": Support("native"),
        "concurrent": Support("native"),
    },
    close=lambda store: store.connection_pool.close(),
    compact=_postgres.compact,
)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
INSTALL = "an environment by its release: -b mem0_pgvector@VERSION"


class PgvectorMemory(Mem0Memory):
    """The library hands an id that is no UUID to PostgreSQL, which fails."""

    def find(self, scope: Scope, memory_id: str) -> Mapping[str, Any] | None:
        return super().find(scope, memory_id) if _UUID.fullmatch(memory_id) else None

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        return super().history(scope, memory_id) if _UUID.fullmatch(memory_id) else []


class Mem0Pgvector(Mem0):
    name = "mem0_pgvector"
    clients = ("Python",)
    memory: ClassVar[type[Mem0Memory]] = PgvectorMemory
    settings = ()
    store = "pgvector"
    packages = (MEM0, PGVECTOR.package, OPENAI)
    imports = ("openai", "httpcore2", "psycopg", "psycopg_pool", "posthog", "requests")

    @property
    def store_driver(self) -> Store:
        return PGVECTOR

    def configured(self, settings: Mapping[str, str]) -> Self:
        return self

    def version(self) -> str:
        # told at once: with Mem0 alone this row cannot be played
        release("psycopg", INSTALL)
        return super().version()

    def serve(self, gateway: str) -> Server:
        return _postgres.server()
