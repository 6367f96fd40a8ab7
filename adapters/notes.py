"""One Markdown file that an agent appends to and that is loaded whole, like CLAUDE.md."""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import ClassVar

from adapters._base import SCOPES, FileAdapter, FileMemory
from harness.adapter import Ack, Hit, Item, Memory, Scope, Source, Space

NOTE = re.compile(r"^(?=- \d{4}-\d\d-\d\d \[)", re.MULTILINE)


def line(item: Item) -> str:
    """`- 2026-02-03 [storefront] The text as it is (docs/deploy.md:12 @ 1a2b3c4)`, or nothing for a blank text."""
    where, source = item.scope, item.source or Source()
    label = " ".join(part for part in (where.repo or where.org or "all", where.branch, where.user) if part)
    cited = ":".join(str(part) for part in (source.path, source.line) if part) or source.session
    origin = " @ ".join(part for part in (cited, (source.commit or "")[:7]) if part)
    return f"- {item.at[:10]} [{label}] {item.text}{f' ({origin})' if origin else ''}\n" if item.text.strip() else ""


def split(content: str) -> dict[str, str]:
    """Notes by the hash of their text: equal notes share an id and are forgotten as one."""
    named = ((sha256(note.encode("utf-8", "surrogatepass")), note) for note in NOTE.split(content) if note.strip())
    return {name.hexdigest()[:16]: note for name, note in named}


class NotesMemory(FileMemory):
    def remember(self, items: Sequence[Item]) -> list[Ack]:
        lines = [line(item) for item in items]
        self.add("".join(lines))
        return [Ack(tuple(split(text))) for text in lines]

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [Hit(self.path.name, text)] if (text := self.text()) else []

    def entries(self, scope: Scope) -> list[Hit]:
        return [Hit(*note) for note in split(self.text()).items()]

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        notes = split(self.text())
        gone = [notes.pop(name, None) is not None for name in memory_ids]
        self.rewrite("".join(notes.values()))
        return gone


class Notes(FileAdapter):
    name = "notes"
    file = "NOTES.md"
    native = ("entries", "forget", "persistent", "usage")
    emulated: ClassVar = {"supersede": "delete the line and append a new one, not atomic"}
    unsupported: ClassVar = {
        **dict.fromkeys(("source", "created"), "written in the line, no field"),
        **dict.fromkeys(SCOPES, "one file for all"),
        "ranked": "the whole file, in the order of writing",
    }

    def open(self, space: Space) -> Memory:
        return NotesMemory(self.path(space))
