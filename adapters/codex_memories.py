"""The memories of Codex: one folder for all, a summary of which a part is loaded, and a registry to search.

Formats only; the program is not run. In it a model writes these files, here each memory is a line of each. The limit is
that of openai/codex at 247e740, codex-rs/ext/memories/src/lib.rs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from adapters._base import SCOPES
from adapters._folder import SURROGATES, FolderAdapter, FolderMemory, hook, rewrite
from harness.adapter import Hit, Item, Layer, Memory, Scope, Space

FOLDER, SUMMARY, REGISTRY, FILES = "memories", "memory_summary.md", "MEMORY.md", "rollout_summaries"
BYTES = 4 * 2_500
"""What is loaded of the summary, by the program's own count of four bytes a token: half from its head, half from its
end."""


def line(name: str, item: Item, text: str) -> str:
    return f"- [cwd={item.scope.repo or '*'}] {text} ({FILES}/{name}.md)\n"


class CodexMemory(FolderMemory):
    scoped: ClassVar[bool] = False

    def place(self, name: str, item: Item) -> Path:
        return self.root / FOLDER / FILES / f"{name}.md"

    def load(self) -> None:
        self.read(self.root / FOLDER / FILES, self.root / FOLDER / REGISTRY)

    def write_index(self, scopes: Iterable[Scope]) -> None:
        known = [line(name, item, " ".join(item.text.split())) for name, item in self.rows.items()]
        rewrite(self.root / FOLDER / REGISTRY, "# Task Group: all\n" + "".join(known))
        newest = [line(name, item, hook(item.text)) for name, item in reversed(self.rows.items())]
        rewrite(self.root / FOLDER / SUMMARY, "v1\n\n## What's in Memory\n" + "".join(newest))

    def loaded(self, visible: Sequence[str]) -> list[str]:
        newest = list(reversed(visible))
        sizes = [
            len(line(name, self.rows[name], hook(self.rows[name].text)).encode("utf-8", SURROGATES)) for name in newest
        ]
        if sum(sizes) <= BYTES:
            return newest
        head = reach(sizes)
        # not [-n:], which is everything for n = 0
        return newest[:head] + newest[len(newest) - reach(sizes[::-1]) :]

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        """As the agent sees a line: with the folder that it was told in."""
        found = ((hit, self.rows[hit.memory_id].scope) for hit in super().recall(query, scope, k, at))
        return [replace(hit, text=f"[cwd={held.repo or '*'}] {hit.text}", scope=held) for hit, held in found]


def reach(sizes: Sequence[int]) -> int:
    """How many of them half of what is loaded has room for."""
    return next((at for at in range(len(sizes)) if sum(sizes[: at + 1]) > BYTES // 2), len(sizes))


class Codex(FolderAdapter):
    name = "codex_memories"
    clients = ("any",)
    emulated: ClassVar[Mapping[str, str]] = {**FolderAdapter.emulated, "supersede": "delete and add, not atomic"}
    unsupported: ClassVar[Mapping[str, str]] = {
        **FolderAdapter.unsupported,
        **dict.fromkeys(SCOPES, "one folder for all; the repository is a word of the line"),
    }

    def open(self, space: Space) -> Memory:
        return CodexMemory(Path(space.root), search=self.search == "on")

    def storage(self, space: Space) -> list[Layer]:
        return [Layer("files", FOLDER, "file")]
