"""One Markdown file that an agent appends to and that is loaded whole, like CLAUDE.md.

Its notes come back one by one, in the order of the file, with the day and the place that stand in their lines, as
whoever reads the file sees both.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import ClassVar

from adapters._base import SCOPES, FileAdapter, FileMemory
from adapters._capture import LOG, by_message, observe_with
from harness.adapter import FILTERS, Ack, Hit, Item, Memory, Message, Scope, Source, Space, Verdict

# a lookahead, so that a split leaves each note its head
NOTE = re.compile(r"^(?=- \d{4}-\d\d-\d\d \[)", re.MULTILINE)
# the place is matched lazily, or it would take the day until which a note holds
PARTS = re.compile(r"- (\S{10}) \[([^\]\n]*?)(?:; until (\d{4}-\d\d-\d\d))?\] (.*)\n", re.DOTALL)
_MARK = re.compile(r"\A(- \S{10} \[[^\]\n]*?); until \d{4}-\d\d-\d\d(?=\] )")
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


def mark(note: str, day: str) -> str:
    """The note with its end in the brackets, the earlier one if it has one."""
    found = PARTS.fullmatch(note)
    assert found is not None, "one of ours"
    head, _, rest = _MARK.sub(r"\1", note).partition("] ")
    return f"{head}; until {min(found[3] or day, day)}] {rest}"


def split(content: str) -> dict[str, str]:
    """Notes by the hash of their text without a mark: equal notes share an id and are forgotten as one."""
    notes = [note for note in NOTE.split(content) if note.strip()]
    return {name_note(note): note for note in notes}


def name_note(note: str) -> str:
    return sha256(_MARK.sub(r"\1", note).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def hit(name: str, note: str, at: str = "") -> Hit:
    """A note, as far as it is one of ours: owners write into the file, too. One that ended by that day says so."""
    if found := PARTS.fullmatch(note):
        day, place, end, text = found.groups()
        # days of ISO 8601 compare as texts
        over = Verdict("expired", reason=f"until {end}") if end and at[:10] >= end else None
        # not False: the file does not vouch for what carries no end
        return Hit(name, text, created=day, scope=read_place(place), superseded=bool(over) or None, verdict=over)
    return Hit(name, note)


class NotesMemory(FileMemory):
    def remember(self, items: Sequence[Item]) -> list[Ack]:
        lines = [line(item) for item in items]
        self.add("".join(lines))
        # a text may hold what looks like a further note, and is several then
        return [Ack(tuple(split(text))) for text in lines]

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_message, transcript, scope, at, session)

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [hit(*note, at) for note in split(self.text()).items()]

    def entries(self, scope: Scope) -> list[Hit]:
        return [hit(*note) for note in split(self.text()).items()]

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        notes = split(self.text())
        # a line that its owner wrote has no brackets for a mark
        marked = {name: mark(notes[name], at[:10]) for name in memory_ids if PARTS.fullmatch(notes.get(name, ""))}
        if marked:
            self.rewrite("".join((notes | marked).values()))
        return [name in marked for name in memory_ids]

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        notes = split(self.text())
        gone = [notes.pop(name, None) is not None for name in memory_ids]
        self.rewrite("".join(notes.values()))
        return gone


class Notes(FileAdapter):
    name = "notes"
    clients = ("any",)
    file = "NOTES.md"
    native = ("entries", "forget", "persistent", "usage")
    emulated: ClassVar = {
        "observe": LOG,
        "supersede": "delete the line and append a new one, not atomic",
        "deprecate": "the line says until which day; it is still loaded, as superseded from then on",
        "verdict": "of a line that says until which day",
    }
    unsupported: ClassVar = {
        "source": "written in the line, no field",
        "created": "a day in the line, no time",
        **dict.fromkeys(SCOPES, "one file for all"),
        **dict.fromkeys(("ranked", *FILTERS), "the whole file, in the order of writing"),
    }

    def open(self, space: Space) -> Memory:
        return NotesMemory(self.path(space))
