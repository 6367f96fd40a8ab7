"""What coding agents keep by themselves between sessions: a Markdown file for each memory, and an index that
is loaded.

An agent's prompt holds what is loaded. The rest lies in files that it searches; that is played as BM25 over their
texts.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self

from adapters import _okapi
from adapters._base import Rows, sdk, setting
from adapters._capture import EACH, by_message, observe_with
from adapters._labels import name_scope, read_scope
from harness.adapter import Ack, BaseAdapter, Hit, Item, Message, Scope

HOOK = 150
"""Characters of a memory that its line of the index holds."""
SURROGATES = "surrogatepass"
_FILE = re.compile(r"---\nname: ([0-9a-f]{16})\ntype: ([^\n]*)\napplies_to: ([^\n]*)\n---\n(.*)", re.DOTALL)
# Codex names a folder in its links, Claude Code does not
_LINK = re.compile(r"\((?:[^()]*/)?([0-9a-f]{16})\.md\)")


def hook(text: str) -> str:
    """The text in one line, cut where it is too long for an index."""
    line = " ".join(text.split())
    return line if len(line) <= HOOK else line[: HOOK - 1].rstrip() + "…"


def repository(scope: Scope) -> Scope:
    """All that such an agent knows of a scope."""
    return Scope(repo=scope.repo)


class FolderMemory(Rows):
    """A memory has its file before its line in the index, and loses the line before the file.

    So a kill leaves at worst a memory that is not loaded, and no line of a memory that is gone.
    """

    def __init__(self, root: Path, *, search: bool) -> None:
        super().__init__()
        self.root, self.search = root, search
        self._words: _okapi.Index | None = None
        self._written: dict[str, Item] = {}
        for left in root.rglob("*.new"):  # by a kill in the middle of a write
            left.unlink()
        self.load()
        # what the disk holds now, with which `write` compares
        self._written = dict(self.rows)

    @abstractmethod
    def load(self) -> None:
        """Reads what is on disk, by `read`."""

    @abstractmethod
    def place(self, name: str, item: Item) -> Path:
        """The file of a memory."""

    @abstractmethod
    def write_index(self, scopes: Iterable[Scope]) -> None:
        """The files that are loaded, from the rows; those of these scopes changed."""

    @abstractmethod
    def loaded(self, visible: Sequence[str]) -> list[str]:
        """Those of the memories whose line is loaded."""

    def read(self, folder: Path, index: Path) -> None:
        """The memories of a folder, in the order of the index; those that it does not name come last."""
        held = (_FILE.fullmatch(text_of(path)) for path in sorted(folder.glob("*.md")))
        found = {each[1]: Item(each[4], read_scope(each[3]) or Scope(), "", each[2]) for each in held if each}
        # once each, as a file that the index names lies in the folder, too
        named = dict.fromkeys((*_LINK.findall(text_of(index)), *found))
        self.rows |= {name: found[name] for name in named if name in found}

    def write(self, added: Sequence[str] | None) -> None:
        before, now = self._written, self.rows
        fresh = {name: item for name, item in now.items() if before.get(name) != item}
        old = {self.place(name, item): item for name, item in before.items() if now.get(name) != item}
        for name, item in fresh.items():
            path = self.place(name, item)
            rewrite(
                path, f"---\nname: {name}\ntype: {item.kind}\napplies_to: {name_scope(item.scope)}\n---\n{item.text}"
            )
            # an update writes to the path of its earlier text, which must stay
            old.pop(path, None)
        # an update may have moved a memory: the index that it left changes, too
        self.write_index(dict.fromkeys(item.scope for item in (*old.values(), *fresh.values())))
        for path in old:
            path.unlink(missing_ok=True)
        self._words, self._written = None, dict(now)

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return super().remember([cut_to_format(item) for item in items])

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_message, transcript, scope, at, session)

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        return super().update(scope, memory_id, cut_to_format(item))

    def find(self, query: str, visible: Sequence[str], k: int) -> list[tuple[str, float | None]]:
        """Whatever shares a word, best first, then in the order of writing."""
        if self._words is None:
            # over all rows and not the visible ones, as it serves every place until the next write
            texts = [_okapi.split(item.text) for item in self.rows.values()]
            self._words = _okapi.Index(sdk("numpy", "coldwarm"), texts)
        # the index holds the rows in this order, as each write drops it
        scores = dict(zip(self.rows, self._words.get_scores(_okapi.split(query)).tolist(), strict=True))
        found = sorted((name for name in visible if scores[name]), key=lambda name: -scores[name])
        return [(name, scores[name]) for name in found[:k]]

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        """What is loaded, and the files that a search finds beside it: their whole text."""
        visible = [name for name in self.rows if self.sees(name, scope)]
        found = [name for name, _ in self.find(query, visible, k)] if self.search else []
        # what was found is shown with its whole text already
        lines = [name for name in self.loaded(visible) if name not in found]
        return [*map(self.hit, found), *(replace(self.hit(name), text=hook(self.hit(name).text)) for name in lines)]

    def hit(self, name: str, score: float | None = None) -> Hit:
        return Hit(name, self.rows[name].text, scope=self.rows[name].scope if self.scoped else None)


class FolderAdapter(BaseAdapter):
    """`search=off` is an agent that opens no file: it knows what is loaded."""

    settings: ClassVar[Sequence[str]] = ("search",)
    search = "on"
    native = ("entries", "get", "update", "forget", "persistent", "usage")
    emulated: ClassVar[Mapping[str, str]] = {"observe": EACH.format("the agent")}
    unsupported: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("source", "created"), "the format has no field for it"),
        **dict.fromkeys(("history", "snapshot", "restore"), "files have no versions"),
        "compact": "a deletion removes the file",
        "ranked": "what is loaded comes in the order of the index, whatever was asked",
        "expiry": "nothing reads a date",
        "multi_process": "the index has no lock",
    }

    def version(self) -> str:
        return "1"

    def configured(self, settings: Mapping[str, str]) -> Self:
        made = type(self)()
        made.search = setting(settings, "search", ("on", "off"))
        return made


def cut_to_format(item: Item) -> Item:
    """What the format has room for."""
    return Item(item.text, repository(item.scope), "", " ".join(item.kind.split()))


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", SURROGATES) if path.is_file() else ""


def rewrite(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # not .md, so that what a kill leaves is read as no memory
    fresh = path.with_suffix(".new")
    fresh.write_bytes(text.encode("utf-8", SURROGATES))
    fresh.replace(path)
