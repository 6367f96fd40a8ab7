"""Faults of a store that looks into the work tree whether what a memory cites is still there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from harness.adapter import Ack, Item, Source, Verdict
from harness.selftest.planted.base import Planted
from harness.selftest.planted.verdicts import WarningMemory

CITED = "CREATE TABLE IF NOT EXISTS cited (id TEXT PRIMARY KEY, line TEXT NOT NULL)"


class CitingMemory(WarningMemory):
    """A sound one: keeps the text of a cited line, and warns once its file does not have it any more, wherever."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.db.execute(CITED)

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        acks = super().remember(items)
        lines = [self.read_line(item.source) for item in items]
        rows = [(name, line) for ack, line in zip(acks, lines, strict=True) if line for name in ack.ids]
        with self.writing():
            self.db.executemany("INSERT OR REPLACE INTO cited VALUES (?, ?)", rows)
        return acks

    def judge(self, row: sqlite3.Row) -> Verdict | None:
        cited = self.db.execute("SELECT line FROM cited WHERE id = ?", [row["id"]]).fetchone()
        source = Source(**json.loads(row["source"])) if row["source"] else Source()
        gone = cited is not None and not self.is_there(source, cited["line"])
        return super().judge(row) or (Verdict("stale", reason="the cited line is gone") if gone else None)

    def is_there(self, source: Source, line: str) -> bool:
        """A file that has gone may have another name now."""
        found = self.read_file(source.path)
        return line in (found or chain.from_iterable(map(self.read_file, self.list_files())))

    def list_files(self) -> Iterator[str]:
        for tree in self.space.work_trees.values():
            yield from (str(each.relative_to(tree)) for each in Path(tree).rglob("*") if each.is_file())

    def read_line(self, source: Source | None) -> str:
        if source is None or not source.line:
            return ""
        # a slice, as the file may have fewer lines
        return next(iter(self.read_file(source.path)[source.line - 1 : source.line]), "")

    def read_file(self, path: str | None) -> Sequence[str]:
        """The lines of a file as the session that is played has it; none where it is not."""
        trees = self.space.work_trees.values()
        files = [Path(tree, path) for tree in trees if path]
        return [
            line.strip() for each in files if each.is_file() for line in each.read_text("utf-8", "replace").splitlines()
        ]


class _Citing(Planted):
    """No fault, but what the others here are faults of."""

    Memory = CitingMemory
    native: ClassVar[tuple[str, ...]] = (*Planted.native, "verdict", "work_tree")
    unsupported: ClassVar[Mapping[str, str]] = {}


class ComparesLinesByNumber(_Citing):
    """Looks only where the line stood, so that a line that moved is called gone."""

    must = ("moved_warned",)

    class Memory(CitingMemory):
        def is_there(self, source: Source, line: str) -> bool:
            return self.read_line(source) == line


class FollowsNoRename(_Citing):
    """Looks in the file of the cited name alone: when that has another one, all of its lines are called gone."""

    must = ("moved_warned",)

    class Memory(CitingMemory):
        def is_there(self, source: Source, line: str) -> bool:
            return line in self.read_file(source.path)


class BelievesTheWorkTree(_Citing):
    """Warns of nothing that still stands in a file, or never stood in one, though it was superseded."""

    must = ("stale_warned",)

    class Memory(CitingMemory):
        def judge(self, row: sqlite3.Row) -> Verdict | None:
            found = super().judge(row)
            return found if found and found.kind == "stale" else None


class KeepsTheFirstCheckout(_Citing):
    """Reads each file once, as it was at the first session: what later commits brought is called gone."""

    must = ("current_warned",)

    class Memory(CitingMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.seen: dict[str, Sequence[str]] = {}

        def is_there(self, source: Source, line: str) -> bool:
            place = source.path or ""
            if place not in self.seen:
                self.seen[place] = self.read_file(place)
            return line in self.seen[place]
