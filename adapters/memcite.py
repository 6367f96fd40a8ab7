"""memcite: memories that cite lines of files, each looked up in the work tree whenever it is asked for.

Each scope has a database of its own, as memcite has one for each repository. It lies in the store's folder instead of
the work tree, which is no place to write to.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

from adapters._base import LocalMemory, release, sdk, setting
from adapters._capture import PIECES, by_piece, observe_with
from adapters._labels import holding_at, name_scope, read_scope
from harness.adapter import Ack, BaseAdapter, Hit, Item, Layer, Memory, Message, Scope, Space, Verdict

from harness.adapter import read_item, to_wire  # isort: skip

FOLDER = "memcite"
LONGEST = 200
"""Characters of a label that are the name of a file; of a longer one its digest is."""
INSTALL = "an environment by its release: -b memcite@VERSION"
KINDS = {"procedural": "rule", "user": "preference"}
"""What memcite calls these types of memories; all others are facts to it."""
GONE = ("stale", "invalid")


class MemciteMemory(LocalMemory):
    """What memcite has no field for stands in a tag: it says of whom, when and whence a memory is."""

    def __init__(self, library: Any, space: Space, stale: str = "shown") -> None:
        self.library, self.trees = library, space.work_trees
        self.asked = {"validate": stale != "unchecked", "include_stale": stale != "withheld"}
        self.folder = Path(space.root, FOLDER)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.opened: dict[str, Any] = {}

    def file(self, label: str) -> Path:
        return self.folder / f"{label if len(label) <= LONGEST else sha256(label.encode()).hexdigest()}.db"

    def database(self, label: str) -> Any:
        """The memories of a scope, none if it is new."""
        if label not in self.opened:
            # memcite wants a folder even where no checkout is lent
            tree = self.tree(read_scope(label) or Scope()) or self.folder
            self.opened[label] = self.library.Memory(
                tree, db_name=str(self.file(label)), embedding=self.library.TFIDFEmbedding()
            )
        return self.opened[label]

    def databases(self, place: Scope) -> Iterator[tuple[str, Any]]:
        """What holds at a place, by the labels of the scopes."""
        # opening a database makes it: a scope that nobody wrote to has none
        return ((label, self.database(label)) for label in holding_at(place) if self.file(label).exists())

    def tree(self, scope: Scope) -> str | None:
        """Where the lines are that memories of this scope cite; None: nowhere that can be looked at."""
        return next((tree for repo, tree in self.trees.items() if scope.repo in (None, repo)), None)

    def cite(self, item: Item) -> Any:
        """The evidence, without which memcite takes no memory: a line or file as it is now, or what somebody said."""
        source = item.source
        if source and source.path and self.tree(item.scope):
            return self.library.FileRef(source.path, lines=(source.line, source.line) if source.line else None)
        return self.library.ManualRef((source and source.session) or "told")

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [Ack((self._add(item),) if item.text.strip() else ()) for item in items]

    def _add(self, item: Item) -> str:
        """Told twice is two memories: memcite would answer with the first one, and its citation."""
        tag = json.dumps(to_wire(replace(item, text="")))
        kind = KINDS.get(item.kind, "fact")
        database = self.database(name_scope(item.scope))
        return str(database.add(item.text, self.cite(item), tags=[tag], kind=kind, deduplicate=False).id)

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_piece, transcript, scope, at, session)

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        """Of several scopes, those come first that memcite trusts most, then the best of each."""
        if k < 1:
            return []
        found = [
            (-record.confidence, place, record)
            for _, database in self.databases(scope)
            for place, record in enumerate(database.query(query, limit=k, **self.asked).memories)
        ]
        # records themselves do not compare
        return [self.hit(record) for *_, record in sorted(found, key=lambda each: each[:2])[:k]]

    def hit(self, record: Any) -> Hit:
        item = read_item(json.loads(record.tags[0]))
        return Hit(
            record.id,
            record.content,
            source=item.source,
            created=item.at,
            scope=item.scope,
            confidence=item.confidence,
            verdict=judge(record),
        )

    def entries(self, scope: Scope) -> list[Hit]:
        label = name_scope(scope)
        return (
            [self.hit(each) for each in self.database(label).list_all(limit=None)] if self.file(label).exists() else []
        )

    def find(self, place: Scope, memory_id: str) -> tuple[str, Any, Any] | None:
        """The label of its scope, the database and the record of a memory that holds at a place."""
        found = ((label, database, database.get(memory_id)) for label, database in self.databases(place))
        return next((each for each in found if each[2] is not None), None)

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        found = self.find(scope, memory_id)
        return self.hit(found[2]) if found else None

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """As memcite's own call, which takes one memory, does. One of another scope cannot be pointed at, and goes."""
        (ack,) = self.remember([item])
        # a blank successor replaces nothing
        for old in memory_ids if ack.ids else ():
            if found := self.find(scope, old):
                label, database, _ = found
                if label == name_scope(item.scope):
                    database.add_relation(ack.ids[0], old, "supersedes")
                else:
                    database.delete(old)
        return ack

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [bool((found := self.find(scope, each)) and found[1].delete(each)) for each in memory_ids]

    def forget_scope(self, scope: Scope) -> None:
        self.forget(scope, [hit.memory_id for hit in self.entries(scope)])

    def close(self) -> None:
        for database in self.opened.values():
            database.close()


def judge(record: Any) -> Verdict | None:
    """What memcite says of a memory as it last looked. What moved and still stands, or nobody can check, is valid."""
    if record.superseded_by:
        return Verdict("superseded", by=record.superseded_by)
    if record.validation_status.value in GONE:
        return Verdict("stale", reason=record.validation_message)
    return Verdict("unverified") if record.validation_status.value == "unchecked" else None


class Memcite(BaseAdapter):
    """`stale=withheld` asks for what memcite finds valid alone, `stale=unchecked` has it look at nothing."""

    name = "memcite"
    clients = ("any",)
    settings: ClassVar[Sequence[str]] = ("stale",)
    stale = "shown"
    call_seconds = 900.0  # each tenth memory of a batch has all vectors made and committed anew, one by one
    imports: ClassVar[Sequence[str]] = ("agentic_memory",)
    packages: Sequence[str] = ("memcite>=1.0.1,<2",)
    native: ClassVar[tuple[str, ...]] = (
        "entries", "get", "supersede", "forget", "ranked", "persistent", "usage", "verdict", "work_tree",
    )  # fmt: skip
    emulated: ClassVar[Mapping[str, str]] = {
        "observe": PIECES,
        "forget_scope": "the memories of its database are deleted one by one",
        "source": "echoed: as it was given, in a tag; a line that moved keeps the one under which it was told",
        "created": "echoed: the story time, in a tag; memcite's own dates cannot be set",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "a database for each scope, as memcite has one for each repository; those that hold are asked one by one",
        ),
    }
    unsupported: ClassVar[Mapping[str, str]] = {
        "update": "no call changes a memory",
        "deprecate": "no end can be set: a lifetime counts seconds of the wall clock from the write on",
        "expiry": "a lifetime counts seconds of the wall clock from the write on",
        "history": "a memory has no earlier texts",
        **dict.fromkeys(("snapshot", "restore"), "no versions of a store"),
        "compact": "its `compact` deletes what has outlived its lifetime, and nothing else",
        "abstains": "vectors of words always bring the nearest",
        "multi_process": "after ten writes of one process the vectors have another length, and another process raises",
    }

    def version(self) -> str:
        return release("memcite", INSTALL)

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = copy.copy(self)
        made.stale = setting(settings, "stale", ("shown", "withheld", "unchecked"))
        return made

    def open(self, space: Space) -> Memory:
        return MemciteMemory(sdk("agentic_memory", INSTALL), space, self.stale)

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("databases", FOLDER, "sqlite")]
