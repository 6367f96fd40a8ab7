"""Rows over PostgreSQL: what can be told without a server; `make conform` holds them to the contract on one."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

from adapters import _postgres
from adapters.langgraph_postgres import LanggraphPostgres
from adapters.mem0 import dated
from adapters.mem0_pgvector import Mem0Pgvector, PgvectorMemory
from harness.adapter import Item, Scope, Space

URL = "postgresql://postgres@127.0.0.1:5999/postgres"


def space(root: Path, service: str | None = URL) -> Space:
    return Space(str(root), "", "", 4, 1, {}, service)


def test_each_store_has_a_schema_of_its_own_so_that_a_named_server_can_hold_two(tmp_path: Path) -> None:
    said: list[str] = []
    link = nullcontext(SimpleNamespace(execute=said.append))
    fake = SimpleNamespace(connect=lambda url, autocommit: link)
    first, again, second = (_postgres.claim(fake, space(tmp_path / name)) for name in ("a", "a", "b"))
    assert first == again != second and first.startswith(f"{URL}?options=")
    schema = unquote(first).rpartition("search_path=")[2].partition(",")[0]
    assert f"CREATE SCHEMA IF NOT EXISTS {schema}" in said


def test_a_server_that_answers_before_it_serves_is_waited_for_and_any_other_refusal_is_told(tmp_path: Path) -> None:
    class RefusedError(Exception):
        """As the driver's own error."""

    asked: list[str] = []

    def connect(url: str, autocommit: bool) -> object:
        asked.append(url)
        if len(asked) < 3:
            raise RefusedError(f"connection failed: FATAL:  {_postgres.STARTING}")
        if len(asked) > 3:
            raise RefusedError("connection refused")
        return nullcontext(SimpleNamespace(execute=asked.count))

    fake = SimpleNamespace(connect=connect, OperationalError=RefusedError)
    assert _postgres.claim(fake, space(tmp_path)) and len(asked) == 3
    with pytest.raises(RefusedError, match="connection refused"):
        _postgres.claim(fake, space(tmp_path))


def test_without_a_server_it_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"make letta installs it, COLDWARM_POSTGRES_URL names"):
        _postgres.claim(None, space(tmp_path, None))


def test_what_nobody_ended_carries_a_mark_as_sql_finds_nothing_by_the_negation_of_an_absent_key() -> None:
    assert dated(Item("text", Scope(), "2026-02-03T10:00:00+00:00", "project"))["deprecated"] is False


@pytest.mark.parametrize("adapter", [LanggraphPostgres(), Mem0Pgvector()])
def test_both_rows_share_one_server_whose_data_lie_in_the_store(
    adapter: LanggraphPostgres | Mem0Pgvector, tmp_path: Path
) -> None:
    assert adapter.serve("http://127.0.0.1:1/v1") == _postgres.server()
    assert ("database", "remote") not in {(each.name, each.format) for each in adapter.storage(space(tmp_path, None))}
    assert ("server", "remote") in {(each.name, each.format) for each in adapter.storage(space(tmp_path))}
    with pytest.raises(RuntimeError, match="only the database of a server that the run has started"):
        adapter.compact(space(tmp_path))


def test_an_id_that_is_no_uuid_is_unknown_and_never_reaches_the_database() -> None:
    memory = object.__new__(PgvectorMemory)
    assert memory.get(None, "unknown") is None and memory.history(None, "unknown") == []  # type: ignore[arg-type]
