"""Letta's V1 server through `letta-client`: an archive for each scope, passages as memories.

The server gives every hit the score 0.0 and searches one archive at a time, so where several scopes apply their hits
are merged by the cosine of the vectors that come back with them. It looks at tags only after it has cut at the limit,
at most 100: what is wanted behind 100 nearer ones does not come. So a scope cannot be a tag, and filters and ends
are held against the metadata of what comes; where too few of 100 fit, all are listed and ranked by their vectors. An
archive has no listing of its own; an agent that is attached to it, and never spoken to, lends it one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote, urlencode
from uuid import uuid4

from adapters import _postgres
from adapters._base import moment, release, sdk
from adapters._capture import PIECES, by_piece, observe_with
from adapters._postgres import INSTALL, TOP
from harness.adapter import (
    FILTERS,
    Ack,
    BaseAdapter,
    BaseMemory,
    Filter,
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
    Usage,
    applies,
    embed,
    fits,
)

SERVER = "0.16.8"
KEY = "coldwarm-letta"
PAGE = 100
"""Passages in one request, the most that a search gives. Each comes with its vector of 4096 numbers: some 24 kB."""
EVERYWHERE = "everywhere"
MARK = "letta-store"
"""The file in a store's folder that holds the prefix of its archives' names: a server may hold other stores too."""

SCHEMA = """
import asyncio
import letta.orm
from letta.orm.base import Base
from letta.server.db import engine
from sqlalchemy import text

async def make():
    async with engine.begin() as link:
        await link.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
        await link.run_sync(Base.metadata.create_all)
        await link.execute(text("CREATE SEQUENCE IF NOT EXISTS message_seq_id"))
        await link.execute(text("ALTER TABLE messages ALTER COLUMN sequence_id SET DEFAULT nextval('message_seq_id')"))

asyncio.run(make())
"""
"""The wheel has no migrations: the tables are made from its models, with the sequence that one column lacks."""


DATABASE = "letta"
COMPACT = {"compact": "VACUUM FULL, as PostgreSQL documents it; Letta documents no compaction"}


def archive_name(scope: Scope) -> str:
    """An empty name is a name, and not one that is not set."""
    given = {part: value for part, value in asdict(scope).items() if value is not None}
    return urlencode(given, quote_via=quote) or EVERYWHERE


def scope_of(name: str) -> Scope:
    return Scope(**dict(parse_qsl("" if name == EVERYWHERE else name, keep_blank_values=True)))


def metadata(item: Item) -> dict[str, Any]:
    ends = None if item.expires is None else moment(item.expires)
    return {**asdict(item.source or Source()), "kind": item.kind, "confidence": item.confidence, "ends": ends}


def holds(data: Any, at: str) -> bool:
    """Whether what has this metadata has not ended by then."""
    return data.get("ends") is None or data["ends"] > moment(at)


def content(text: str, at: datetime, data: Any) -> str:
    """All that tells a passage from another; the server drops null characters."""
    return json.dumps([text.replace("\0", ""), at.timestamp(), data], sort_keys=True)


def hit(passage: Any, scope: Scope) -> Hit:
    data = passage.metadata or {}
    source = Source(*(data.get(part) for part in ("commit", "path", "line", "session")))
    return Hit(
        passage.id,
        passage.text,
        source=None if source == Source() else source,
        created=passage.created_at.isoformat(),
        scope=scope,
        confidence=data.get("confidence"),
    )


def lets_through(where: Filter, each: Hit, data: Any) -> bool:
    """Whether a filter does, of a memory with this metadata."""
    told = Item(each.text, each.scope or Scope(), "", data.get("kind", ""), each.source, each.confidence)
    return fits(told, where)


class Store(BaseMemory):
    """A store on a server: what archives and blocks have in common."""

    def __init__(self, sdk: Any, space: Space) -> None:
        if space.service is None:
            raise RuntimeError("letta needs its server: make letta installs it, LETTA_BASE_URL names a running one")
        self.sdk, self.space = sdk, space
        # Without retries: a write that timed out may have landed.
        self.client = sdk.Letta(base_url=space.service, api_key=KEY, timeout=600, max_retries=0)
        health: Any = self.client.get("/v1/health/", cast_to=object)
        if (said := health.get("version") if isinstance(health, dict) else None) != SERVER:
            what = f"Letta {said}" if said else "not Letta"
            raise RuntimeError(f"the server at {space.service} is {what}; this adapter speaks to Letta {SERVER}")
        mark = Path(space.root, MARK)
        if not mark.exists():
            mark.write_text(uuid4().hex)
        self.prefix = f"{mark.read_text()}:"

    def paged(self, ask: Callable[[Any], Sequence[Any]]) -> Iterator[Any]:
        """All that `ask` lists, page after page; the client's own pages ask once more to learn that there is none."""
        last = self.sdk.omit
        while True:
            page = ask(last)
            yield from page
            if len(page) < PAGE:
                return
            last = page[-1].id

    def settle(self, seconds: float) -> bool:
        return True

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """The successor first: if it cannot be stored, nothing is lost."""
        (ack,) = self.remember([item])
        if ack.ids:
            self.forget(scope, memory_ids)
        return ack

    def usage(self) -> Usage:
        """No model inside: nothing is rewritten, and no agent is spoken to."""
        return Usage()

    def close(self) -> None:
        self.client.close()


class LettaMemory(Store):
    def __init__(self, sdk: Any, space: Space) -> None:
        super().__init__(sdk, space)
        self.models = {
            "embedding_model": "local",
            "embedding_endpoint_type": "openai",
            "embedding_endpoint": space.gateway,
            "embedding_dim": space.dims,
        }

    def archives(self) -> list[tuple[Scope, str]]:
        """Scopes with the ids of their archives, asked each time: another process may have made one. A race between
        two gives a scope two archives."""
        rows = self.paged(lambda last: self.client.archives.list(limit=PAGE, after=last).items)
        mine = [row for row in rows if row.name.startswith(self.prefix)]
        return [(scope_of(row.name.removeprefix(self.prefix)), row.id) for row in mine]

    def holding_at(self, place: Scope) -> list[tuple[Scope, str]]:
        return [(scope, archive) for scope, archive in self.archives() if applies(scope, place)]

    def exactly(self, scope: Scope) -> list[str]:
        return [archive for each, archive in self.archives() if each == scope]

    def listed(self, archive: str) -> Iterator[Any]:
        """Every passage, by the agent that is attached to the archive for this."""
        agent = next((each.id for each in self.client.agents.list(name=archive, limit=1)), None) or self.lister(archive)
        return self.paged(lambda last: self.client.agents.passages.list(agent, limit=PAGE, after=last))

    def lister(self, archive: str) -> str:
        """It must name a chat model, which is never called."""
        agent = self.client.agents.create(
            name=archive,
            include_base_tools=False,
            embedding_config=self.models,
            llm_config={
                "model": "local",
                "model_endpoint_type": "openai",
                "model_endpoint": self.space.gateway,
                "context_window": 8192,
            },
        )
        self.client.agents.archives.attach(archive, agent_id=agent.id)
        return str(agent.id)

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_piece, transcript, scope, at, session)

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        """A request for each scope, not for each item. A blank text would be stored."""
        groups: dict[Scope, list[int]] = defaultdict(list)
        for at, item in enumerate(items):
            if item.text.strip():
                groups[item.scope].append(at)
        acks = [Ack(())] * len(items)
        # no request where nothing is stored
        archives = dict(self.archives()) if groups else {}
        for scope, places in groups.items():
            if scope not in archives:
                name = self.prefix + archive_name(scope)
                archives[scope] = self.client.archives.create(name=name, embedding_config=self.models).id
            for start in range(0, len(places), PAGE):
                part = places[start : start + PAGE]
                for at, made in zip(part, self._write(archives[scope], [items[at] for at in part]), strict=True):
                    acks[at] = Ack((made,))
        return acks

    def _write(self, archive: str, items: Sequence[Item]) -> list[str]:
        """The answer comes in the order of dates, whatever was asked, so a passage is known by what it holds."""
        rows = [{"text": item.text, "created_at": item.at, "metadata": metadata(item)} for item in items]
        made: dict[str, list[str]] = defaultdict(list)
        for passage in self.client.archives.passages.create_many(archive, passages=rows):
            made[content(passage.text, passage.created_at, passage.metadata)].append(passage.id)
        wanted = (content(item.text, datetime.fromisoformat(item.at), metadata(item)) for item in items)
        # of equal items any id will do, as their passages are alike
        return [made[each].pop() for each in wanted]

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        if not query.strip() or k < 1:
            return []

        def fitting(passage: Any) -> bool:
            data = passage.metadata or {}
            return holds(data, at) and lets_through(where, hit(passage, scope), data)

        found = [(place, self._search(query, archive, k, fitting)) for place, archive in self.holding_at(scope)]
        rows = [(passage, place) for place, passages in found for passage in passages]
        # of one archive they come in their order, without the query being embedded once more
        if sum(1 for _, passages in found if passages) > 1:
            (asked,) = embed(self.space, [query])
            rows.sort(key=lambda row: -cosine(asked, row[0].embedding))
        return [hit(*row) for row in rows[:k]]

    def _search(self, query: str, archive: str, k: int, fitting: Callable[[Any], bool]) -> list[Any]:
        """The passages that fit, nearest first: of k, of the most that a search gives, or of all."""
        for limit in (min(k, PAGE), PAGE):
            rows = self.client.passages.search(query=query, archive_id=archive, limit=limit)
            found = [each.passage for each in rows if fitting(each.passage)]
            if len(found) >= k or len(rows) < limit:
                return found
        (asked,) = embed(self.space, [query])
        return sorted(filter(fitting, self.listed(archive)), key=lambda each: -cosine(asked, each.embedding))

    def entries(self, scope: Scope) -> list[Hit]:
        return [hit(passage, scope) for archive in self.exactly(scope) for passage in self.listed(archive)]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        for where, archive in self.holding_at(scope):
            for passage in self.listed(archive):
                if passage.id == memory_id:
                    return hit(passage, where)
        return None

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        archives = [archive for _, archive in self.holding_at(scope)] if memory_ids else []
        # the client raises an error of its own at an empty id
        return [any(self._delete(archive, name) for archive in archives if name) for name in memory_ids]

    def _delete(self, archive: str, memory_id: str) -> bool:
        """Refused for what is unknown (404), of another archive (400), or no id of a passage (422)."""
        try:
            self.client.archives.passages.delete(memory_id, archive_id=archive)
        except (self.sdk.NotFoundError, self.sdk.BadRequestError, self.sdk.UnprocessableEntityError):
            return False
        return True

    def forget_scope(self, scope: Scope) -> None:
        for archive in self.exactly(scope):
            self.client.archives.delete(archive)
            # the agent that lists an archive is named by it, and no part of it
            for agent in self.client.agents.list(name=archive):
                self.client.agents.delete(agent.id)


def cosine(asked: Sequence[float], vector: Sequence[float]) -> float:
    """Both are of length 1; the second is padded with zeros."""
    return sum(one * other for one, other in zip(asked, vector, strict=False))


class Letta(BaseAdapter):
    name = "letta"
    clients = ("Python", "TypeScript")
    memory: ClassVar[type[Store]] = LettaMemory
    imports = ("letta_client",)
    embeds = True
    packages = ("letta-client>=1.12,<2",)
    native: ClassVar[tuple[str, ...]] = (
        "forget",
        "forget_scope",
        "ranked",
        "created",
        "persistent",
        "multi_process",
        "usage",
    )
    emulated: ClassVar = {
        "observe": PIECES,
        "entries": "an agent attached to the archive, and never spoken to, lists it",
        "get": "read through the listing: a passage cannot be asked for by its id",
        "supersede": "add, then delete, not atomic",
        "source": "echoed: stored as the passage's metadata",
        **dict.fromkeys(
            ("expiry", *FILTERS),
            "by the metadata of the 100 nearest; where too few fit, all are listed and ranked by their vectors",
        ),
        **COMPACT,
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "an archive for each scope, searched one by one; hits of several are merged by the cosine of their vectors",
        ),
    }
    unsupported: ClassVar = {
        "update": "a passage cannot be changed; what takes its place has another id, which is superseding",
        "history": "no earlier versions of a passage",
        "snapshot": "no versions of an archive; an export leaves its passages out",
        "restore": "no versions of an archive",
        "abstains": "no threshold, and every score is 0.0: always the k nearest, however far",
        "deprecate": "no call changes a passage's tags or metadata; a copy with a mark has another id",
        "extracts": "stores what it is told, word for word",
    }

    def version(self) -> str:
        return f"{SERVER} (V1 server, archived upstream; client {release('letta-client', 'coldwarm[letta]')})"

    def open(self, space: Space) -> Memory:
        return self.memory(sdk("letta_client", "coldwarm[letta]"), space)

    def serve(self, gateway: str) -> Server:
        return server(gateway)

    def storage(self, space: Space) -> list[Layer]:
        return [*_postgres.storage(space), Layer("mark", MARK, "file")]

    def compact(self, space: Space) -> None:
        _postgres.compact(space, DATABASE)


def server(gateway: str) -> Server:
    """PostgreSQL with pgvector, then Letta, whose every model is the gateway. Nothing is reported to anybody."""
    python = str(TOP / "bin/python")
    environment = {
        "LETTA_PG_URI": "postgresql://postgres@127.0.0.1:{postgres}/letta?sslmode=disable",
        "LETTA_DISABLE_SQLALCHEMY_POOLING": "false",  # without a pool a request may wait for a minute
        "LETTA_DIR": "{root}/home/.letta",
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": gateway,
        "LETTA_TRACK_PROVIDER_TRACE": "false",
        "LETTA_ENABLE_DB_POOL_MONITORING": "false",
        "SSL_CERT_DIR": "{root}/home",  # nothing it talks to has a certificate, and it reads them all for each search
        "LETTA_DISABLE_TRACING": "true",
        "DD_TRACE_ENABLED": "false",
    }
    create = (str(_postgres.find_programs() / "createdb"), *_postgres.place("{postgres}"), DATABASE)
    letta = Program(
        name="letta",
        setup=(create, (python, "-c", SCHEMA)),
        argv=(str(TOP / "bin/letta"), "server", "--host", "127.0.0.1", "--port", "{letta}"),
        env=environment,
        health="/v1/health/",
    )
    return Server((_postgres.program(DATABASE), letta), "http://127.0.0.1:{letta}", "LETTA_BASE_URL", KEY, INSTALL)
