"""What adapters share: importing an SDK late, a store in one file, and memories as its rows."""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from adapters._capture import PIECES, by_piece, observe_with
from harness.adapter import Ack, BaseAdapter, BaseMemory, Filter, Hit, Item, Layer, Message, Scope, Space, Unsupported

from harness.adapter import Usage, applies, delete_and_add, fits, read_item, to_wire  # isort: skip

SCOPES = ("forget_scope", "scope_org", "scope_repo", "scope_branch", "scope_user")


def sdk(module: str, install: str) -> Any:
    """The backend's library, imported when a store is opened; RuntimeError names what is missing."""
    try:
        return import_module(module)
    # what is missing may be a package that the SDK needs, and not the SDK
    except ModuleNotFoundError as error:
        raise RuntimeError(f"{error.name} is not installed; install {install}") from error


def release(distribution: str, install: str) -> str:
    """The installed version, without importing anything; RuntimeError if there is none."""
    try:
        return version(distribution)
    except PackageNotFoundError as error:
        raise RuntimeError(f"{distribution} is not installed; install {install}") from error


def moment(at: str) -> float:
    """Seconds since 1970, so that times of different zones compare; one without a zone is UTC."""
    told = datetime.fromisoformat(at)
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()


def setting(settings: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    """The value of a setting, the first of `known` if it is not given; ValueError for any that is not known."""
    value = settings.get(name, known[0])
    if value not in known:
        raise ValueError(f"{name} cannot be '{value}'; known: {', '.join(known)}")
    return value


class FileAdapter(BaseAdapter):
    """For stores of one `file`."""

    file: ClassVar[str]

    def version(self) -> str:
        return "1"

    def path(self, space: Space) -> Path:
        return Path(space.root, self.file)

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("file", self.file, "file")]


class LocalMemory(BaseMemory):
    """For stores on disk with no model inside."""

    def settle(self, seconds: float) -> bool:
        return True

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        return delete_and_add(self, scope, memory_ids, item)

    def usage(self) -> Usage:
        return Usage()

    def close(self) -> None:
        """Nothing is held open."""


class FileMemory(LocalMemory):
    """The state is a text of whole lines. A write is in the file when it returns: appended, or the file replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.with_suffix(".new").unlink(missing_ok=True)  # left by a kill during `rewrite`
        content = path.read_bytes()
        if not content.endswith(b"\n"):  # a kill in mid-write tore the last line; it was never acknowledged
            os.truncate(path, content.rfind(b"\n") + 1)

    def text(self) -> str:
        # half a pair of surrogates is a text, too, and comes back as it was told
        return self.path.read_bytes().decode("utf-8", "surrogatepass")

    def add(self, text: str) -> None:
        with self.path.open("ab") as file:
            file.write(text.encode("utf-8", "surrogatepass"))

    def rewrite(self, text: str) -> None:
        fresh = self.path.with_suffix(".new")
        # a kill leaves the old text or the new one, never a part
        fresh.write_bytes(text.encode("utf-8", "surrogatepass"))
        fresh.replace(self.path)


class RowAdapter(FileAdapter):
    """What `RowMemory` can do, short of a ranking."""

    file = "memories.jsonl"
    native: ClassVar[tuple[str, ...]] = ("entries", "get", "update", "forget", "persistent", "usage", *SCOPES)
    emulated: ClassVar[Mapping[str, str]] = {
        "observe": PIECES,
        "supersede": "delete and add, not atomic",
        "deprecate": "the end is stored with the row, and what has ended is left out before the search",
        "source": "echoed: stored with the row as it was given",
        "created": "echoed: the story time stored with the row",
    }
    unsupported: ClassVar[Mapping[str, str]] = {
        "history": "a rewritten row leaves no earlier text",
        "snapshot": "the file has no versions",
        "restore": "the file has no versions",
        "compact": "a deletion already rewrites the file",
        "expiry": "nothing reads the date",
        "multi_process": "rows are kept in memory; the file has no lock",
    }


class Rows(LocalMemory):
    """Memories as rows, in the order of writing; `find` and where they are kept is what a store adds. A blank text is
    not stored.

    Without `scoped`, every row is seen from everywhere and no scope comes back.
    """

    scoped: ClassVar[bool] = True

    def __init__(self) -> None:
        self.rows: dict[str, Item] = {}
        self._visible: dict[Scope, list[str]] = {}

    @abstractmethod
    def find(self, query: str, visible: Sequence[str], k: int) -> list[tuple[str, float | None]]:
        """Ids out of `visible` (in the order of writing) with their scores, best first."""

    def after_change(self, added: Sequence[str] | None = None) -> None:
        """After each change of the rows.

        Args:
            added: They are new, and nothing else changed.
        """
        self._visible.clear()
        self.write(added)

    @abstractmethod
    def write(self, added: Sequence[str] | None) -> None:
        """Writes the rows.

        Args:
            added: See `after_change`.
        """

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        acks = [Ack((self._insert(item),) if item.text.strip() else ()) for item in items]
        # one write for the whole batch, and none for blank texts
        if added := [name for ack in acks for name in ack.ids]:
            self.after_change(added)
        return acks

    def _insert(self, item: Item) -> str:
        """Ids depend on the content only, so that equal runs have equal ids; equal items get different ones."""
        content = json.dumps(to_wire(item), sort_keys=True)
        names = (sha256(f"{turn} {content}".encode()).hexdigest()[:16] for turn in count())
        name = next(name for name in names if name not in self.rows)
        self.rows[name] = item
        return name

    def sees(self, name: str, place: Scope) -> bool:
        return name in self.rows and (not self.scoped or applies(self.rows[name].scope, place))

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.recall_where(query, scope, k, at, Filter())

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        # kept until the next write, or each recall would go through all rows
        if scope not in self._visible:
            self._visible[scope] = [name for name in self.rows if self.sees(name, scope)]
        # not kept with it: what holds depends on the time that is asked about
        visible = self.select_holding(self._visible[scope], at)
        if where != Filter():
            visible = [name for name in visible if fits(self.rows[name], where)]
        # a matrix or an index of nothing cannot be made
        return [self.hit(name, score) for name, score in self.find(query, visible, k)] if visible else []

    def select_holding(self, names: Sequence[str], at: str) -> Sequence[str]:
        """Those that have not ended at that time, where ends are kept."""
        return names

    def hit(self, name: str, score: float | None = None) -> Hit:
        item = self.rows[name]
        scope = item.scope if self.scoped else None
        return Hit(name, item.text, score, item.source, item.at, scope, confidence=item.confidence)

    def entries(self, scope: Scope) -> list[Hit]:
        return [self.hit(name) for name, item in self.rows.items() if not self.scoped or item.scope == scope]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        return self.hit(memory_id) if self.sees(memory_id, scope) else None

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        if not self.sees(memory_id, scope) or not item.text.strip():
            return Ack(())
        self.rows[memory_id] = item
        self.after_change()
        return Ack((memory_id,))

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        # one after the other: an id that is named twice is there only once
        gone = [self.sees(name, scope) and self.rows.pop(name) is not None for name in memory_ids]
        if any(gone):
            self.after_change()
        return gone

    def forget_scope(self, scope: Scope) -> None:
        # without scopes it would take every memory of the store
        if not self.scoped:
            raise Unsupported("forget_scope")
        self.rows = {name: item for name, item in self.rows.items() if item.scope != scope}
        self.after_change()


class RowMemory(Rows, FileMemory):
    """Rows as JSON lines in one file, each with its end once it is deprecated."""

    def __init__(self, path: Path) -> None:
        Rows.__init__(self)
        FileMemory.__init__(self, path)
        self.ends: dict[str, str] = {}
        self._lines: dict[str, tuple[Item, str | None, str]] = {}
        if text := self.text():
            self.load(text)

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_piece, transcript, scope, at, session)

    def load(self, text: str) -> None:
        # not splitlines: JSON without escapes holds other line ends, such as U+2028, as they are
        for line in text.split("\n")[:-1]:
            self.read_row(json.loads(line))

    def read_row(self, row: dict[str, Any]) -> None:
        name, end = row.pop("id"), row.pop("ended", None)
        self.rows[name] = read_item(row)
        if end:
            self.ends[name] = end

    def select_holding(self, names: Sequence[str], at: str) -> Sequence[str]:
        if not self.ends:
            return names
        now = moment(at)
        # at the very moment of its end it has ended, as the contract says
        return [name for name in names if name not in self.ends or moment(self.ends[name]) > now]

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        there = [name for name in dict.fromkeys(memory_ids) if self.sees(name, scope)]
        if there:
            # compared as moments, as times of two zones do not compare as texts
            self.ends |= {name: min(self.ends.get(name, at), at, key=moment) for name in there}
            # not after_change: no text or scope changes, so that what is indexed stays
            self.write(None)
        return [name in there for name in memory_ids]

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        if self.sees(memory_id, scope) and item.text.strip():
            # by the contract an update takes the mark away
            self.ends.pop(memory_id, None)
        return super().update(scope, memory_id, item)

    def dump(self, ids: Iterable[str]) -> str:
        return "".join(self.line(name) + "\n" for name in ids)

    def line(self, name: str) -> str:
        """Without escapes, so that whoever looks into the file finds the text that was remembered."""
        item, end = self.rows[name], self.ends.get(name)
        made = self._lines.get(name)
        # by identity: an item is frozen, and replaced as a whole
        if made is None or made[0] is not item or made[1] != end:
            row = {"id": name, **({"ended": end} if end else {}), **to_wire(item)}
            made = self._lines[name] = item, end, json.dumps(row, ensure_ascii=False)
        return made[2]

    def write(self, added: Sequence[str] | None) -> None:
        if added is None:
            # a deletion takes rows only; what was kept beside them goes here
            self.ends = {name: end for name, end in self.ends.items() if name in self.rows}
            self._lines = {name: made for name, made in self._lines.items() if name in self.rows}
            self.rewrite(self.dump(self.rows))
        else:
            self.add(self.dump(added))
