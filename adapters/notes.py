"""One Markdown file that an agent appends to and that is loaded whole, like CLAUDE.md.

Its notes come back one by one, in the order of the file, with the day and the place that stand in their lines, as
whoever reads the file sees both.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import ClassVar

from adapters._base import SCOPES, FileAdapter, FileMemory
from harness.adapter import Ack, Hit, Item, Memory, Scope, Source, Space

NOTE = re.compile(r"^(?=- \d{4}-\d\d-\d\d \[)", re.MULTILINE)
PARTS = re.compile(r"- (\S{10}) \[([^\]\n]*)\] (.*)\n", re.DOTALL)
EVERYWHERE = "everywhere"


def line(item: Item) -> str:
    """`- 2026-02-03 [storefront] The text as it is (docs/deploy.md:12 @ 1a2b3c4)`, or nothing for a blank text."""
    source = item.source or Source()
    cited = ":".join(str(part) for part in (source.path, source.line) if part) or source.session
    origin = " @ ".join(part for part in (cited, (source.commit or "")[:7]) if part)
    text = f"{item.text}{f' ({origin})' if origin else ''}"
    return f"- {item.at[:10]} [{write_place(item.scope)}] {text}\n" if item.text.strip() else ""


def write_place(scope: Scope) -> str:
    """`storefront, branch next` or `org acme, user dana`: a repository stands without a word before its name, and says
    whose it is."""
    named = {"org": None if scope.repo else scope.org, "branch": scope.branch, "user": scope.user}
    parts = (scope.repo, *(f"{part} {name}" for part, name in named.items() if name))
    return ", ".join(filter(None, parts)) or EVERYWHERE


def read_place(words: str) -> Scope:
    parts: dict[str, str] = {}
    for each in words.split(", ") if words != EVERYWHERE else ():
        part, _, name = each.partition(" ")
        parts |= {part: name} if part in ("org", "branch", "user") and name else {"repo": each}
    return Scope(**parts)


def split(content: str) -> dict[str, str]:
    """Notes by the hash of their text: equal notes share an id and are forgotten as one."""
    named = ((sha256(note.encode("utf-8", "surrogatepass")), note) for note in NOTE.split(content) if note.strip())
    return {name.hexdigest()[:16]: note for name, note in named}


def hit(name: str, note: str) -> Hit:
    """A note, as far as it is one of ours: owners write into the file, too."""
    found = PARTS.fullmatch(note)
    return Hit(name, found[3], created=found[1], scope=read_place(found[2])) if found else Hit(name, note)


class NotesMemory(FileMemory):
    def remember(self, items: Sequence[Item]) -> list[Ack]:
        lines = [line(item) for item in items]
        self.add("".join(lines))
        return [Ack(tuple(split(text))) for text in lines]

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return self.entries(scope)

    def entries(self, scope: Scope) -> list[Hit]:
        return [hit(*note) for note in split(self.text()).items()]

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
        "source": "written in the line, no field",
        "created": "a day in the line, no time",
        **dict.fromkeys(SCOPES, "one file for all"),
        "ranked": "the whole file, in the order of writing",
    }

    def open(self, space: Space) -> Memory:
        return NotesMemory(self.path(space))
