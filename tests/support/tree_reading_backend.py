"""A fake for tests, no backend: it asks git in the work tree whether a line that was cited still says what it said."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from adapters._base import RowAdapter, RowMemory
from harness.adapter import Hit, Memory, Space, Verdict


class FakeTreeReaderMemory(RowMemory):
    def __init__(self, path: Path, space: Space) -> None:
        super().__init__(path)
        self.trees = space.work_trees

    def find(self, query: str, visible: Sequence[str], k: int) -> list[tuple[str, float | None]]:
        asked = {*query.lower().split()}
        scores = {name: float(len(asked & {*self.rows[name].text.lower().split()})) for name in visible}
        return [(name, scores[name]) for name in sorted(visible, key=lambda each: -scores[each])[:k]]

    def hit(self, name: str, score: float | None = None) -> Hit:
        hit = super().hit(name, score)
        tree = self.trees.get((hit.scope and hit.scope.repo) or "")
        if tree is None or hit.source is None or hit.source.path is None:
            return hit
        now = Path(tree, hit.source.path).read_text().splitlines()
        words = ["git", "-C", tree, "show", f"{hit.source.commit}:{hit.source.path}"]
        then = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
        at = (hit.source.line or 1) - 1
        same = now[at : at + 1] == then[at : at + 1]
        return hit if same else replace(hit, verdict=Verdict("stale", reason=f"now: {now[at : at + 1]}"))


class FakeTreeReader(RowAdapter):
    name = "fake_tree_reader"
    native: ClassVar[tuple[str, ...]] = (*RowAdapter.native, "verdict", "work_tree", "ranked")

    def open(self, space: Space) -> Memory:
        return FakeTreeReaderMemory(self.path(space), space)


class FakeThatNeverLooks(FakeTreeReader):
    name = "fake_that_never_looks"

    def open(self, space: Space) -> Memory:
        return FakeTreeReaderMemory(self.path(space), replace(space, work_trees={}))
