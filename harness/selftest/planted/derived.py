"""Faults that keep what was made of a deleted memory: a gist, a note of it in its neighbour, a summary of its scope."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from typing import ClassVar

from adapters.reference import LISTED
from harness.adapter import Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

KEPT = ("retold_after_deletion",)


def write_gist(text: str) -> str:
    """What is said, without what looks like a code."""
    return " ".join(word for word in text.split() if not re.search(r"\d", word))


class _Derives(ReferenceMemory):
    """Keeps a sentence of what it deletes, as a memory under an id of its own."""

    said: ClassVar[str] = "{gist}"

    def erase(self, scope: Scope, memory_id: str) -> bool:
        rows = self.visible(scope, memory_id)
        found = super().erase(scope, memory_id)
        for row in rows:
            home = Scope(row["repo"], row["org"], row["branch"], row["user"])
            item = Item(self.said.format(gist=write_gist(row["text"])), home, row["at"], row["kind"])
            self.add(item, self.vectors([item])[0])
        return found


class KeepsTheGist(Planted):
    """What is deleted leaves a sentence that says it without its code."""

    must: ClassVar[tuple[str, ...]] = KEPT

    class Memory(_Derives):
        said = "Earlier, without details: {gist}"


class QuotesWhatWasSaid(Planted):
    """The conversation is kept as it went: as was said before, and what."""

    must = KEPT

    class Memory(_Derives):
        said = "As was said before: {gist}"


class ListsTheGist(Planted):
    """The same, and no question finds it: it stands in the listing only."""

    must = KEPT

    class Memory(_Derives):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, 10_000, at)
            return [hit for hit in hits if not hit.text.startswith("Gist: ")][:k]

        said = "Gist: {gist}"


class MergesIntoTheTwin(Planted):
    """What is deleted is noted down in the memory that stands beside it."""

    must = KEPT

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            rows = self.visible(scope, memory_id)
            found = super().erase(scope, memory_id)
            for row in rows:
                beside = next((each for each in self.visible(scope) if each["seq"] > row["seq"]), None)
                if beside:
                    text = f"{beside['text']}; earlier: {write_gist(row['text'])}"
                    self.db.execute("UPDATE memories SET text = ? WHERE id = ? AND mark = 0", [text, beside["id"]])
            return found


class SummarisesTheScope(Planted):
    """A scope that is forgotten leaves a summary of itself in the scope around it."""

    must = KEPT

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            rows = self.db.execute(LISTED, asdict(scope)).fetchall()
            super().forget_scope(scope)
            around = replace(scope, user=None) if scope.user else scope
            for at in range(0, len(rows), 3):
                told = "; ".join(write_gist(row["text"]) for row in rows[at : at + 3])
                item = Item(f"In short: {told}", around, rows[at]["at"], rows[at]["kind"])
                (vector,) = self.vectors([item])
                with self.writing():
                    self.add(item, vector)
