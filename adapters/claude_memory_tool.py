"""Claude's memory tool: Markdown files below /memories, read and changed through Anthropic's own class for it alone.

A file for each scope, an item of its list for each memory. The tool has no search: files that apply are viewed whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar

from adapters._base import LocalMemory, release, sdk
from adapters._capture import EACH, by_message, observe_with
from adapters._labels import holding_at, name_scope, read_scope
from harness.adapter import Ack, BaseAdapter, Hit, Item, Layer, Memory, Message, Scope, Space

TOP, ENDING = "/memories", ".md"
LONGEST = 200
"""Characters of a scope's name that a file name takes; a longer one is named by its digest."""
INSTALL = "an environment by its release: -b claude_memory_tool@VERSION"
NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
ITEM = re.compile(r"^(?=- )", re.MULTILINE)


def name_file(label: str) -> str:
    return f"{TOP}/{label if len(label) <= LONGEST else sha256(label.encode()).hexdigest()}{ENDING}"


def spell(text: str) -> str:
    """As an item of a list: further lines are indented, so that none of them begins another item."""
    return "- " + text.replace("\n", "\n  ") + "\n"


def read(spelt: str) -> str:
    return spelt[2:-1].replace("\n  ", "\n")


def name_memory(label: str, text: str) -> str:
    """Equal texts of one scope are one memory."""
    return sha256(f"{label}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_all(label: str, content: str) -> dict[str, str]:
    _, *items = ITEM.split(content)
    return {name_memory(label, text): text for text in map(read, items)}


class ToolMemory(LocalMemory):
    def __init__(self, tool: Any) -> None:
        self.tool = tool

    def do(self, command: str, path: str, **words: object) -> str:
        """What the tool says to the model. What it refuses raises its ToolError."""
        said: str = self.tool.call({"command": command, "path": path, **words})
        return said

    def files(self) -> set[str]:
        """As the model finds them, by a view of the folder: a size and a path on each line."""
        rows = (row.partition("\t")[2] for row in self.do("view", TOP).split("\n"))
        return {path for path in rows if path.endswith(ENDING)}

    def content(self, label: str) -> str:
        """A view is a line that says which file it is, then each line with its number."""
        path = name_file(label)
        return NUMBERED.sub("", self.do("view", path).partition("\n")[2]) if path in self.files() else ""

    def texts(self, label: str) -> dict[str, str]:
        return read_all(label, self.content(label))

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        """One command for what belongs into one file."""
        fresh: dict[str, dict[str, str]] = {}
        acks = []
        for item in items:
            label, text = name_scope(item.scope), item.text
            if text.strip():
                fresh.setdefault(label, {})[name := name_memory(label, text)] = text
            acks.append(Ack((name,) if text.strip() else ()))
        for label, texts in fresh.items():
            self._add(label, texts)
        return acks

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        return observe_with(self, by_message, transcript, scope, at, session)

    def _add(self, label: str, texts: Mapping[str, str]) -> None:
        content = self.content(label)
        held = read_all(label, content)
        written = "".join(spell(text) for name, text in texts.items() if name not in held)
        if not content:
            self.do("create", name_file(label), file_text=f"# {label}\n{written}")
        elif written:
            self.do("insert", name_file(label), insert_line=content.count("\n"), insert_text=written)

    def _put(self, label: str, name: str, fresh: str) -> None:
        """`fresh` in place of a memory. The tool changes only what stands there once, so what precedes is named."""
        parts = ITEM.split(self.content(label))
        # the first part is the heading
        at = next(at for at, part in enumerate(parts) if at and name_memory(label, read(part)) == name)
        if len(parts) == 2 and not fresh:
            self.do("delete", name_file(label))
        else:
            before = parts[at - 1]
            self.do("str_replace", name_file(label), old_str=before + parts[at], new_str=before + fresh)

    def _read_visible(self, scope: Scope) -> Iterator[tuple[str, dict[str, str]]]:
        there = self.files()
        yield from ((label, self.texts(label)) for label in holding_at(scope) if name_file(label) in there)

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [
            Hit(*each, scope=read_scope(label)) for label, texts in self._read_visible(scope) for each in texts.items()
        ]

    def entries(self, scope: Scope) -> list[Hit]:
        return [Hit(*each, scope=scope) for each in self.texts(name_scope(scope)).items()]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        return next((hit for hit in self.recall("", scope, 0, "") if hit.memory_id == memory_id), None)

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        return [self._cut(scope, name) for name in memory_ids]

    def _cut(self, scope: Scope, name: str) -> bool:
        for label, texts in self._read_visible(scope):
            if name in texts:
                self._put(label, name, "")
                return True
        return False

    def forget_scope(self, scope: Scope) -> None:
        if (path := name_file(name_scope(scope))) in self.files():
            self.do("delete", path)

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """The successor takes the place of the first one that stands in the file where it belongs."""
        if not item.text.strip():
            return Ack(())
        label = name_scope(item.scope)
        texts, name = self.texts(label), name_memory(label, item.text)
        replaced = next((each for each in memory_ids if each in texts), None)
        if replaced is None or name in texts:
            (ack,) = self.remember([item])
        else:
            self._put(label, replaced, spell(item.text))
            ack = Ack((name,))
        # equal texts have one id: the successor may be one of those that it replaces
        self.forget(scope, [each for each in memory_ids if each not in ack.ids])
        return ack


class ClaudeMemoryTool(BaseAdapter):
    name = "claude_memory_tool"
    clients = ("Python", "TypeScript")
    packages = ("anthropic>=2.12,<3",)
    imports = ("anthropic.tools",)
    native = ("entries", "forget", "forget_scope", "persistent", "usage")
    emulated: ClassVar = {
        "observe": EACH.format("the agent"),
        "get": "looked for in the files that apply",
        "supersede": "the new text takes the place of the old one (str_replace); of several, the others are cut out",
        **dict.fromkeys(
            ("scope_org", "scope_repo", "scope_branch", "scope_user"),
            "a file for each whole scope; which of them apply is decided here",
        ),
    }
    unsupported: ClassVar = {
        **dict.fromkeys(("source", "created"), "a file has no field for it"),
        **dict.fromkeys(("history", "snapshot", "restore"), "files have no versions"),
        "update": "a line of a file has no id: what takes its place has another one, which is superseding",
        "compact": "a deletion rewrites the file",
        **dict.fromkeys(("ranked", "abstains"), "the tool has no search: files that apply are viewed whole"),
        "expiry": "nothing reads a date",
        "multi_process": "a view and the insertion after it are two calls, without a lock",
    }

    def version(self) -> str:
        return release("anthropic", INSTALL)

    def open(self, space: Space) -> Memory:
        return ToolMemory(sdk("anthropic.tools", INSTALL).BetaLocalFilesystemMemoryTool(space.root))

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("files", "memories", "file")]
