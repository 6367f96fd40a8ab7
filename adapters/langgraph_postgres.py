"""LangGraph's store over PostgreSQL with pgvector: what the row over SQLite does, on a server that processes share."""

from __future__ import annotations

from typing import Any, ClassVar

from adapters import _postgres
from adapters._base import sdk
from adapters.langgraph import INSTALL, Langgraph, LanggraphMemory
from harness.adapter import Layer, Server, Space


class PostgresMemory(LanggraphMemory):
    store_class: ClassVar[str] = "PostgresStore"

    @staticmethod
    def connect(space: Space) -> Any:
        """As the vendor's from_conn_string does."""
        psycopg, rows = (sdk(name, INSTALL.format("langgraph_postgres")) for name in ("psycopg", "psycopg.rows"))
        url = _postgres.claim(psycopg, space)
        return psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=rows.dict_row)


class LanggraphPostgres(Langgraph):
    name = "langgraph_postgres"
    clients = ("Python",)
    module = "langgraph.store.postgres"
    distribution = "langgraph-checkpoint-postgres"
    imports = (module, "psycopg")
    packages = (f"{distribution}>=3,<4", "psycopg[binary]>=3.2,<4")
    emulated: ClassVar = {**Langgraph.emulated, "compact": "VACUUM FULL, as PostgreSQL documents it"}
    unsupported: ClassVar = {name: why for name, why in Langgraph.unsupported.items() if name != "compact"}
    memory: ClassVar[type[LanggraphMemory]] = PostgresMemory

    def serve(self, gateway: str) -> Server:
        return _postgres.server()

    def storage(self, space: Space) -> list[Layer]:
        return _postgres.storage(space)

    def compact(self, space: Space) -> None:
        _postgres.compact(space)
