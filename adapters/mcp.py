"""Any MCP memory server, by a mapping file: `server` names one of ours, or one in a folder of COLDWARM_ADAPTER_PATH.

The server runs beside the adapter, in the environment that is made for its release, and ends with it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from uuid import uuid4

from adapters._labels import holding_at, label, name_scope, read_label, read_scope
from adapters._mcp_client import Client, ToolError
from adapters._mcp_mapping import (
    LIMIT,
    ServerMapping,
    dig,
    fill,
    find_mapping,
    list_rows,
    name_kind,
    read_date,
    read_mapping,
    read_number,
    read_verdict,
)
from harness.adapter import (
    Ack,
    BaseAdapter,
    BaseMemory,
    Filter,
    Hit,
    Item,
    Layer,
    Memory,
    Scope,
    Source,
    Space,
    Support,
    Unsupported,
    VerdictKind,
    applies,
    delete_and_add,
    find_installed,
)

SERVER = "server-memory"
NATIVE = {"entries", "get", "update", "forget", "supersede", "history"}
SCOPES = ("scope_org", "scope_repo", "scope_branch", "scope_user")


def list_labels(scopes: Iterable[str], kinds: Iterable[str | None], paths: Iterable[str | None]) -> list[str]:
    """Words for each choice: a scope, with a kind and a path if they are given."""
    more = [label(Source(path=path), kind=kind) for kind, path in product(kinds, paths)]
    return [f"{scope} {each}".rstrip() for scope in scopes for each in more]


def read_hit(row: Mapping[str, Any], where: str, verdicts: Mapping[str, VerdictKind] = MappingProxyType({})) -> Hit:
    """Raises ValueError, which names the key."""
    for part in ("id", "text"):
        if row.get(part) is None:
            raise ValueError(f"{where}: a memory in the answer has no `{part}` where the mapping says")
        if isinstance(row[part], list | dict):
            sent = name_kind(row[part])
            raise ValueError(
                f"{where}: `{part}` must be a text; the server sent {sent}: let the mapping name one in it"
            )
    cited = read_label(row.get("source"), Source()) or {}
    confidence, line = (read_number(cited.pop(part, None), where, part) for part in ("confidence", "line"))
    source = Source(**cited, line=int(line) if line else None)
    return Hit(
        str(row["id"]),
        str(row["text"]),
        score=read_number(row.get("score"), where, "score"),
        source=None if source == Source() else source,
        created=read_date(row.get("created"), where),
        scope=read_scope(row.get("scope")),
        confidence=confidence,
        verdict=read_verdict(row, verdicts),
    )


class McpMemory(BaseMemory):
    def __init__(self, mapping: ServerMapping, space: Space) -> None:
        self.tools, self.failed, self.whole = mapping.tools, mapping.failed, mapping.whole
        self.reads = bool(self.tools.keys() & {"get", "entries"})
        self.scoped, self.scored, self.verdicts = mapping.returns("scope"), mapping.returns("score"), mapping.verdicts
        self.looks, self.trees = "work_tree" in mapping.traits, space.work_trees
        given = {"root": space.root, "gateway": space.gateway, "key": space.key, "dims": str(space.dims)}
        # fields of a command must hold something: without a checkout the store's folder stands there
        given["work_tree"] = next(iter(self.trees.values()), space.root)
        program, *rest = fill(mapping.command, given)
        environment = {**os.environ, **fill(mapping.env, given)}
        self.server = Client([find_program(program), *rest], environment, fill(mapping.cwd, given))

    def ask(self, name: str, **values: Any) -> list[dict[str, Any]]:
        """The rows of the answer. Raises ToolError, also where the server says in words that the tool failed."""
        tool = self.tools[name]
        try:
            # a tool takes an object, also where nothing of its table is left
            answer, text = self.server.call(tool.tool, fill(tool.arguments, values) or {})
            if self.failed and (why := dig(answer, self.failed)):
                raise ToolError(f"{tool.tool}: {why}")
            # words in the place of rows only: the text of a memory may match as well
            if tool.missing and tool.rows is not None and isinstance(answer, str) and re.search(tool.missing, answer):
                return []
        except ToolError as error:
            if tool.missing and re.search(tool.missing, str(error)):
                return []
            raise
        return list_rows(tool, answer, text)

    def hits(self, name: str, **values: Any) -> Iterator[Hit]:
        return self._read(name, self.ask(name, **values), values["scope"])

    def _read(self, name: str, rows: Sequence[Mapping[str, Any]], place: str) -> Iterator[Hit]:
        """Where the server tells no whole texts, each memory is read by its id, when it is asked for."""
        for row in rows:
            if row.get("text") is None and row.get("id") is not None and name != "get" and "get" in self.tools:
                for whole in self.ask("get", id=row["id"], scope=row.get("scope") or place):
                    told = {part: value for part, value in whole.items() if value is not None}
                    yield read_hit({**row, **told}, "get", self.verdicts)
            else:
                yield read_hit(row, name, self.verdicts)

    def sees(self, hit: Hit, place: Scope) -> bool:
        """A memory whose scope the server does not say is seen from everywhere."""
        return not self.scoped or (hit.scope is not None and applies(hit.scope, place))

    def can_look(self, scope: Scope) -> bool:
        """Whether a path means to the server what was meant: one that reads a checkout reads that of one repository."""
        return not self.looks or (bool(self.trees) and scope.repo in (None, *self.trees))

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [self._write("remember", uuid4().hex, item) if item.text.strip() else Ack(()) for item in items]

    def _write(self, name: str, memory_id: str, item: Item, **more: Any) -> Ack:
        """A tool that answers no rows has stored it under the id that it was given."""
        cited = item.source if item.source and self.can_look(item.scope) else Source()
        scope, source = name_scope(item.scope), label(item.source or Source(), confidence=item.confidence)
        # a dict as a set that keeps its order: there may be no path
        own, *labels = list_labels([scope], (None, item.kind), {None: 0, (item.source or Source()).path: 0})
        rows = self.ask(
            name,
            id=memory_id,
            text=item.text,
            at=item.at,
            kind=item.kind,
            scope=scope,
            source=source,
            path=cited.path,
            line=cited.line,
            labels=[own, source, *labels],
            **more,
        )
        tool = self.tools[name]
        if tool.rows is None and not tool.pattern:
            return Ack((memory_id,))
        # the text is held already, and the server does not say under which id
        if not rows and tool.missing and "entries" in self.tools:
            return Ack(tuple(hit.memory_id for hit in self.entries(item.scope) if hit.text == item.text))
        return Ack(tuple(str(row["id"]) for row in rows if row.get("id")))

    def settle(self, seconds: float) -> bool:
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        tool, places = self.tools["recall"], holding_at(scope)
        if where != Filter() and not tool.uses("labels"):
            raise Unsupported("recall_where")
        if not query.strip() or k < 1:
            return []
        labels = list_labels(places, where.kinds or (None,), [where.path])
        asked = {"query": query, "k": k, "at": at, "scopes": places, "labels": labels}
        each = places if tool.uses("scope") else [""]
        found: dict[str, Hit] = {}
        for hit in (hit for place in each for hit in self.hits("recall", **asked, scope=place)):
            if self.sees(hit, scope):
                # a memory may come for several scopes
                found.setdefault(hit.memory_id, hit)
            # without scores, what later scopes bring comes last: it could not be among the k
            if len(found) == k and not (self.scored or self.whole):
                break
        hits = list(found.values())
        # scores of some alone would put the others last, whatever they are worth
        if all(hit.score is not None for hit in hits):
            hits.sort(key=lambda hit: -(hit.score or 0.0))
        return hits if self.whole else hits[:k]

    def _list(self, place: str) -> Iterator[Hit]:
        """Page by page, until one holds nothing new: a server may give fewer than it is asked for, or turn no page."""
        tool, seen, came = self.tools["entries"], set[str](), 0
        for page in count(1):
            rows = self.ask("entries", scope=place, offset=came, page=page, limit=LIMIT)
            new = [row for row in rows if str(row.get("id")) not in seen]
            yield from self._read("entries", new, place)
            # a tool that turns no pages has given all that it has
            if not new or not (tool.uses("offset") or tool.uses("page")):
                return
            seen |= {str(row.get("id")) for row in new}
            came += len(rows)

    def entries(self, scope: Scope) -> list[Hit]:
        if "entries" not in self.tools:
            raise Unsupported("entries")
        hits = self._list(name_scope(scope))
        return [hit for hit in hits if not self.scoped or hit.scope == scope]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        if not self.reads:
            raise Unsupported("get")
        if "get" in self.tools:
            hits = self.hits("get", id=memory_id, scope=name_scope(scope))
        elif self.tools["entries"].uses("scope"):
            hits = (hit for place in holding_at(scope) for hit in self._list(place))
        else:
            hits = self._list("")
        return next((hit for hit in hits if hit.memory_id == memory_id and self.sees(hit, scope)), None)

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        if "update" not in self.tools:
            raise Unsupported("update")
        if not item.text.strip() or (self.reads and self.get(scope, memory_id) is None):
            return Ack(())
        return self._write("update", memory_id, item)

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        if "supersede" not in self.tools or not memory_ids:
            return delete_and_add(self, scope, memory_ids, item)
        if not item.text.strip():
            return Ack(())
        old, *others = memory_ids
        ack = self._write("supersede", uuid4().hex, item, old=old, olds=[*memory_ids])
        # the tool replaces one memory, so that the others are deleted
        if others and not self.tools["supersede"].uses("olds"):
            self.forget(scope, others)
        return ack

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        if "history" not in self.tools:
            raise Unsupported("history")
        rows = self.ask("history", id=memory_id, scope=name_scope(scope))
        return [str(row["text"]) for row in rows if row.get("text") is not None]

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        """Read before and after: servers answer alike whether there was such a memory or not."""
        if "forget" not in self.tools:
            raise Unsupported("forget")
        return [self._delete(scope, each) for each in memory_ids]

    def _delete(self, scope: Scope, memory_id: str) -> bool:
        if self.reads and self.get(scope, memory_id) is None:
            return False
        self.ask("forget", id=memory_id, scope=name_scope(scope))
        return not self.reads or self.get(scope, memory_id) is None

    def forget_scope(self, scope: Scope) -> None:
        if "forget" not in self.tools:
            raise Unsupported("forget_scope")
        # all pages are read before the first deletion, which would move them
        for hit in self.entries(scope):
            self.ask("forget", id=hit.memory_id, scope=name_scope(scope))

    def close(self) -> None:
        self.server.close()


def find_program(name: str) -> str:
    """That of the environment of this interpreter, else the one on PATH."""
    prefix = Path(sys.prefix)
    places = [str(prefix / "bin"), str(prefix / "node_modules" / ".bin"), os.environ.get("PATH", "")]
    return shutil.which(name, path=os.pathsep.join(places)) or name


class Mcp(BaseAdapter):
    name = "mcp"
    clients = ("any",)
    settings = ("server",)

    def __init__(self) -> None:
        self._choose(SERVER)

    def _choose(self, server: str) -> None:
        self.server, self.mapping = server, read_mapping(find_mapping(server))
        self.packages, self.files = self.mapping.packages, (self.mapping.path,)
        # who is told of the gateway has it embed
        self.embeds = any("{gateway}" in value for value in self.mapping.env.values())

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = type(self)()
        made._choose(settings.get("server", SERVER))
        return made

    @property
    def support(self) -> Mapping[str, Support]:
        """What tools show, what this adapter makes of them, and what the mapping says beside."""
        tools, returns = self.mapping.tools, self.mapping.returns
        native = {*self.mapping.traits, "concurrent", *(tools.keys() & NATIVE)}
        native |= {"verdict"} if returns("verdict") else set()
        native |= {"filter_kind", "filter_path"} if tools["recall"].uses("labels") else set()
        emulated = dict[str, str]()
        if "entries" in tools and "get" not in tools:
            emulated["get"] = "looked for among all that are listed"
        if "supersede" not in tools and "forget" in tools and ("get" in tools or "entries" in tools):
            emulated["supersede"] = "delete and add, not atomic"
        if "entries" in tools and "forget" in tools:
            emulated["forget_scope"] = "listed and deleted one by one"
        if returns("created"):
            emulated["created"] = "echoed: the story time, stored beside the text"
        if returns("source"):
            emulated["source"] = "echoed: stored beside the text"
        if returns("scope"):
            emulated |= dict.fromkeys(SCOPES, "the scope is one word beside the text; which apply is decided here")
        why = self.mapping.unsupported
        found = {name: Support("unsupported", why.get(name, "no tool for it")) for name in super().support}
        found |= {name: Support("native") for name in native}
        return {**found, **{name: Support("emulated", how) for name, how in emulated.items()}}

    def version(self) -> str:
        if not self.packages:
            return f"by its command, mapping {sha256(Path(self.mapping.path).read_bytes()).hexdigest()[:7]}"
        if found := find_installed(self.packages[0]):
            return found
        name = re.split(r"[<>=!~;\[ ]", self.packages[0], maxsplit=1)[0].removeprefix("npm:")
        raise RuntimeError(f"{name} is not installed; ask for a release: -b mcp@VERSION,server={self.server}")

    def open(self, space: Space) -> Memory:
        return McpMemory(self.mapping, space)

    def storage(self, space: Space) -> list[Layer]:
        return list(self.mapping.storage)
