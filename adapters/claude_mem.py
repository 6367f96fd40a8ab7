"""claude-mem: its worker's REST interface, without Chroma, so that it finds whole phrases only.

No hook runs and no model compresses: each memory is one observation, saved as its text by hand. A scope is a project.
"""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

from adapters._base import LocalMemory
from adapters._capture import EACH, by_message, observe_with
from adapters._labels import holding_at, name_scope
from harness.adapter import (
    Ack,
    BaseAdapter,
    Hit,
    Item,
    Layer,
    Memory,
    Message,
    Program,
    Scope,
    Server,
    Source,
    Space,
    applies,
    find_installed,
    to_wire,
)

PACKAGES = "npm:claude-mem>=13.25.3,<14", "npm:bun>=1.1.31,<2"
INSTALL = "-b claude_mem@VERSION"
PAGE = 100
"""Observations of one answer, at most."""
SECONDS = 600.0


class ClaudeMemMemory(LocalMemory):
    def __init__(self, space: Space) -> None:
        if space.service is None:
            raise RuntimeError(
                f"it needs claude-mem's worker: {INSTALL} installs it, CLAUDE_MEM_URL names a running one"
            )
        self.place = urlsplit(space.service)
        self.store = sha256(space.root.encode()).hexdigest()[:16]
        """A worker that the environment names may hold other stores, too."""

    def ask(self, method: str, path: str, body: Any = None, **query: object) -> Any:
        """What the worker answers; None where it knows nothing of that name. RuntimeError, one line, if it fails."""
        # one for each call, as several threads may ask at once
        link = http.client.HTTPConnection(self.place.hostname or "", self.place.port, timeout=SECONDS)
        try:
            head = {"content-type": "application/json"}
            sent = None if body is None else json.dumps(body)
            # half a pair of surrogates cannot stand in a URL; in the body JSON escapes it
            link.request(method, f"{path}?{urlencode(query, errors='replace')}" if query else path, sent, head)
            answer = link.getresponse()
            reply = answer.read()
        finally:
            link.close()
        if answer.status == http.client.NOT_FOUND:
            return None
        if answer.status != http.client.OK:
            raise RuntimeError(f"{method} {path}: {answer.status} {reply[:200].decode('utf-8', 'replace')}")
        return json.loads(reply)

    def project(self, label: str) -> str:
        return f"{self.store} {label}"

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [Ack((self._save(item),) if item.text.strip() else ()) for item in items]

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_message, transcript, scope, at, session)

    def _save(self, item: Item) -> str:
        metadata = {"scope": to_wire(item.scope), "at": item.at, "kind": item.kind}
        metadata |= {
            name: to_wire(part) for name in ("source", "confidence") if (part := getattr(item, name)) is not None
        }
        body = {"text": item.text, "project": self.project(name_scope(item.scope)), "metadata": metadata}
        return str(self.ask("POST", "/api/memory/save", body)["id"])

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        """Each project is searched for the query as one phrase; hits of several take turns, as none has a score."""
        if not query.strip() or k < 1:
            return []
        parameters = {"query": query, "limit": k, "type": "observations", "format": "json"}
        found = (
            self.ask("GET", "/api/search", **parameters, project=self.project(label))["observations"]
            for label in holding_at(scope)
        )
        turns = chain.from_iterable(zip_longest(*found))
        return [read_hit(row) for row in turns if row is not None][:k]

    def entries(self, scope: Scope) -> Iterator[Hit]:
        """The list leaves metadata out, so that each page is asked for by its ids."""
        project, known = self.project(name_scope(scope)), set[int]()
        for at in count():
            page = self.ask("GET", "/api/observations", project=project, offset=at * PAGE, limit=PAGE)
            fresh = [row["id"] for row in page["items"] if row["id"] not in known]
            known.update(fresh)
            if fresh:
                yield from map(read_hit, self.ask("POST", "/api/observations/batch", {"ids": fresh}))
            if not page["hasMore"]:
                return

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        row = self.ask("GET", f"/api/observation/{quote(memory_id, safe='')}") if memory_id.isdecimal() else None
        # ids count through the whole worker, so that one may be another store's
        if row is None or not row["project"].startswith(f"{self.store} "):
            return None
        hit = read_hit(row)
        return hit if hit.scope is not None and applies(hit.scope, scope) else None

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [self.get(scope, each) is not None and self._delete(each) for each in memory_ids]

    def _delete(self, memory_id: str) -> bool:
        return self.ask("DELETE", f"/api/observation/{memory_id}") is not None

    def forget_scope(self, scope: Scope) -> None:
        # read whole first, as a deletion moves the pages behind it
        for hit in list(self.entries(scope)):
            self._delete(hit.memory_id)


def read_hit(row: Mapping[str, Any]) -> Hit:
    metadata = json.loads(row["metadata"] or "{}")
    source = metadata.get("source")
    return Hit(
        str(row["id"]),
        row["narrative"],
        source=None if source is None else Source(**source),
        created=metadata.get("at"),
        scope=Scope(**metadata["scope"]) if "scope" in metadata else None,
        confidence=metadata.get("confidence"),
    )


def find_bun(node_modules: Path) -> str:
    """Its program for this machine; where scripts of packages are not run, the one in `.bin` stands for none."""
    found = sorted(node_modules.glob("@oven/bun-*/bin/bun"))
    return str(found[0] if found else node_modules / ".bin" / "bun")


class ClaudeMem(BaseAdapter):
    name = "claude_mem"
    clients = ("any",)
    packages = PACKAGES
    native = ("entries", "get", "forget", "abstains", "persistent", "multi_process", "concurrent", "usage")
    emulated: ClassVar = {
        "observe": EACH.format("its hooks"),
        "supersede": "delete and add, not atomic",
        "forget_scope": "listed and deleted one by one",
        "ranked": "each project by SQLite's full-text rank; hits of several projects take turns",
        "source": "echoed: stored as metadata",
        "created": "echoed: the story time stored as metadata; its own date cannot be set",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "a project for each scope; wider ones are searched one by one",
        ),
    }
    unsupported: ClassVar = {
        "history": "no earlier versions of an observation",
        "update": "no route for it",
        **dict.fromkeys(("snapshot", "restore"), "no versions of a store"),
        "compact": "no route for it",
        "expiry": "nothing reads a date",
        "extracts": "what is saved by hand is kept word for word",
    }

    def version(self) -> str:
        if found := find_installed(PACKAGES[0]):
            return found
        raise RuntimeError(f"claude-mem is not installed; ask for a release: {INSTALL}")

    def open(self, space: Space) -> Memory:
        return ClaudeMemMemory(space)

    def serve(self, gateway: str) -> Server:
        packages = Path(sys.prefix, "node_modules")
        worker = packages / "claude-mem" / "plugin" / "scripts" / "worker-service.cjs"
        program = Program(
            name="claude-mem",
            argv=(find_bun(packages), str(worker), "--daemon"),
            env={
                "CLAUDE_MEM_DATA_DIR": "{store}/claude-mem",
                "CLAUDE_MEM_WORKER_HOST": "127.0.0.1",
                "CLAUDE_MEM_WORKER_PORT": "{claude-mem}",
                "CLAUDE_MEM_CHROMA_ENABLED": "false",
            },
            health="/api/health",
            data="claude-mem",
        )
        return Server((program,), "http://127.0.0.1:{claude-mem}", "CLAUDE_MEM_URL", "coldwarm-claude-mem", INSTALL)

    def storage(self, space: Space) -> list[Layer]:
        """Within reach if the worker was started for this space."""
        if space.service is not None and not Path(space.root, "claude-mem").exists():
            return [Layer("server", "server", "remote")]
        return [
            Layer("database", "claude-mem/claude-mem.db", "sqlite"),
            Layer("logs", "claude-mem/logs", "file"),
            Layer("backups", "claude-mem/backups", "file"),
        ]
