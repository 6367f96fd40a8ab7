"""claude-mem: what the adapter makes of its worker's answers, with a fake worker. The real one: `make conform`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from adapters.claude_mem import PAGE, ClaudeMem, ClaudeMemMemory, find_bun
from harness.adapter import Ack, Layer, Scope, Source, Space
from tests.support.items import AT, SHOP, item

ORG = Scope(org="acme")


class FakeWorker(ThreadingHTTPServer):
    """Observations in memory; a search finds those that hold the query, a list has no metadata."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.rows: dict[int, dict[str, Any]] = {}

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        rows = [row for row in self.rows.values() if query.get("project") in (None, row["project"])]
        if path == "/api/memory/save":
            if body["text"] == "refuse this":
                return 500, {"error": "no room"}
            row = {"id": len(self.rows) + 1, "project": body["project"], "narrative": body["text"]}
            self.rows[row["id"]] = {**row, "metadata": json.dumps(body["metadata"])}
            return 200, {"id": row["id"]}
        if path == "/api/search":
            found = [row for row in rows if query["query"] in row["narrative"]]
            return 200, {"observations": found[: int(query["limit"])]}
        if path == "/api/observations":
            at, most = int(query["offset"]), int(query["limit"])
            page = [{"id": row["id"]} for row in rows[max(at - 1, 0) : at + most]]  # one is told twice
            return 200, {"items": page, "hasMore": len(rows) > at + most}
        if path == "/api/observations/batch":
            return 200, [self.rows[each] for each in body["ids"]]
        there = self.rows.pop(int(path.rpartition("/")[2]), None) if method == "DELETE" else (
            self.rows.get(int(path.rpartition("/")[2]))
        )  # fmt: skip
        return (404, {"error": "not found"}) if there is None else (200, there)


class Handler(BaseHTTPRequestHandler):
    server: FakeWorker

    def do_GET(self) -> None:
        where = urlsplit(self.path)
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        query = {name: values[0] for name, values in parse_qs(where.query).items()}
        status, told = self.server.answer(self.command, where.path, query, body)
        data = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_DELETE = do_GET  # noqa: N815  as http.server names them

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def worker() -> Iterator[FakeWorker]:
    with FakeWorker() as made:
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.shutdown()


def opened(worker: FakeWorker, root: str = "one") -> ClaudeMemMemory:
    service = f"http://127.0.0.1:{worker.server_address[1]}"
    return ClaudeMemMemory(Space(root, "http://127.0.0.1:1/v1", "key", 0, 1, service=service))


def test_what_it_is_told_comes_back_with_all_its_parts(worker: FakeWorker) -> None:
    memory, source = opened(worker), Source("1a2b3c", "docs/deploy.md", 12, "monday")
    ((name,), none) = (ack.ids for ack in memory.remember([item("the queue is redis", source=source), item(" ")]))
    (hit,) = memory.recall("queue is", SHOP, 5, AT)
    assert (hit.memory_id, hit.text, hit.source, hit.created) == (name, "the queue is redis", source, AT)
    assert (hit.scope, hit.confidence, hit.score, none) == (SHOP, 0.75, None, ())
    assert memory.recall("", SHOP, 5, AT) == [] == memory.recall("is queue", SHOP, 5, AT)


def test_hits_of_several_projects_take_turns(worker: FakeWorker) -> None:
    memory = opened(worker)
    memory.remember([item(f"rule {at} of the shop") for at in range(3)])
    memory.remember([item("rule of all", ORG), item("rule elsewhere", Scope(repo="other"))])
    assert [hit.text for hit in memory.recall("rule", SHOP, 3, AT)] == [
        "rule of all", "rule 0 of the shop", "rule 1 of the shop",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_list_is_read_past_its_pages_and_no_memory_twice(worker: FakeWorker) -> None:
    memory = opened(worker)
    memory.remember([item(f"fact {at}") for at in range(2 * PAGE + 1)])
    assert len({hit.memory_id for hit in memory.entries(SHOP)}) == len(list(memory.entries(SHOP))) == 2 * PAGE + 1
    memory.forget_scope(SHOP)
    assert list(memory.entries(SHOP)) == [] and not worker.rows


def test_ids_of_another_scope_or_store_are_not_known(worker: FakeWorker) -> None:
    ((name,),) = (ack.ids for ack in opened(worker).remember([item("secret")]))
    assert opened(worker).get(Scope(repo="other"), name) is None
    assert opened(worker, "two").get(SHOP, name) is None and opened(worker, "two").recall("secret", SHOP, 5, AT) == []
    assert opened(worker).forget(Scope(repo="other"), [name]) == [False] and len(worker.rows) == 1
    assert opened(worker).forget(SHOP, [name, name, "../../etc", "99"]) == [True, False, False, False]


def test_what_the_worker_refuses_is_one_line(worker: FakeWorker) -> None:
    with pytest.raises(RuntimeError, match=r"^POST /api/memory/save: 500 .*no room"):
        opened(worker).remember([item("refuse this")])
    with pytest.raises(RuntimeError, match="-b claude_mem@VERSION installs it"):
        ClaudeMemMemory(Space("one", "", "key", 0, 1))
    assert Ack(()) in opened(worker).remember([item("\n")])


def test_bun_is_the_program_of_its_platform_package(tmp_path: Path) -> None:
    assert find_bun(tmp_path) == str(tmp_path / ".bin" / "bun")
    program = tmp_path / "@oven" / "bun-linux-x64" / "bin" / "bun"
    program.parent.mkdir(parents=True)
    program.touch()
    assert find_bun(tmp_path) == str(program)


def test_its_database_logs_and_backups_are_looked_at_where_they_are_in_reach(tmp_path: Path) -> None:
    adapter, space = ClaudeMem(), Space(str(tmp_path), "", "key", 0, 1, service="http://127.0.0.1:1")
    assert adapter.storage(space) == [Layer("server", "server", "remote")]
    (tmp_path / "claude-mem").mkdir()
    assert {layer.path for layer in adapter.storage(space)} == {
        "claude-mem/claude-mem.db", "claude-mem/logs", "claude-mem/backups",
    }  # fmt: skip
    (program,) = adapter.serve("").programs
    assert program.env["CLAUDE_MEM_CHROMA_ENABLED"] == "false" and program.data == "claude-mem"
