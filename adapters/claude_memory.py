"""The automatic memory of Claude Code: a folder for each repository, of whose MEMORY.md the beginning is loaded.

Formats only; the program is not run. https://code.claude.com/docs/en/memory says what is loaded (of 2.1.59 and later).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from adapters._folder import SURROGATES, FolderAdapter, FolderMemory, hook, repository, rewrite
from adapters._labels import name_scope
from harness.adapter import Ack, Hit, Item, Layer, Memory, Scope, Space

PROJECTS, INDEX = "projects", "MEMORY.md"
NAME = 200
"""Characters of a folder's name; file systems take 255 bytes."""
LINES, BYTES = 200, 25_000
"""What is loaded of an index: its first lines, up to whichever limit comes first."""


def line(name: str, item: Item) -> str:
    return f"- [{name[:8]}]({name}.md): {hook(item.text)}\n"


class ClaudeMemory(FolderMemory):
    def folder(self, scope: Scope) -> Path:
        """Of a long name the beginning and a digest: every file says itself where it applies."""
        name = name_scope(scope)
        short = name if len(name) <= NAME else f"{name[:NAME]}-{sha256(name.encode()).hexdigest()[:16]}"
        return self.root / PROJECTS / short / "memory"

    def place(self, name: str, item: Item) -> Path:
        return self.folder(item.scope) / f"{name}.md"

    def load(self) -> None:
        for folder in sorted(self.root.glob(f"{PROJECTS}/*/memory")):
            self.read(folder, folder / INDEX)

    def write_index(self, scopes: Iterable[Scope]) -> None:
        for scope in scopes:
            rows = ((name, item) for name, item in self.rows.items() if item.scope == scope)
            rewrite(self.folder(scope) / INDEX, "".join(line(*row) for row in rows))

    def loaded(self, visible: Sequence[str]) -> list[str]:
        taken: dict[Scope, list[int]] = {}
        names = []
        for name in visible:
            sizes = taken.setdefault(self.rows[name].scope, [])
            # counted even if it does not fit: what is behind the limit is not loaded either
            sizes.append(len(line(name, self.rows[name]).encode("utf-8", SURROGATES)))
            if len(sizes) <= LINES and sum(sizes) <= BYTES:
                names.append(name)
        return names

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        """The successor takes the first one's place in the index."""
        old = [name for name in memory_ids if self.sees(name, scope)]
        order = list(self.rows)
        (ack,) = self.remember([item])
        if not ack.ids:
            return ack
        # as it is stored: a folder knows the repository alone
        if old and self.rows[old[0]].scope == repository(item.scope):
            # reaches the disk with the deletion below, which writes the index anew
            order.insert(order.index(old[0]), ack.ids[0])
            self.rows = {name: self.rows[name] for name in order}
        self.forget(scope, old)
        return ack

    def entries(self, scope: Scope) -> list[Hit]:
        return super().entries(repository(scope))

    def forget_scope(self, scope: Scope) -> None:
        super().forget_scope(repository(scope))


class Claude(FolderAdapter):
    name = "claude_memory"
    clients = ("any",)
    emulated: ClassVar[Mapping[str, str]] = {
        **FolderAdapter.emulated,
        "supersede": "the successor is written, takes the line of the old one in the index, then its file is deleted",
        "forget_scope": "the files of the repository are deleted",
        "scope_repo": "a folder for each repository, one more for what holds in all (in the program: CLAUDE.md)",
    }
    unsupported: ClassVar[Mapping[str, str]] = {
        **FolderAdapter.unsupported,
        **dict.fromkeys(("scope_org", "scope_branch", "scope_user"), "a folder knows its repository only"),
    }

    def open(self, space: Space) -> Memory:
        return ClaudeMemory(Path(space.root), search=self.search == "on")

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("files", PROJECTS, "file")]
