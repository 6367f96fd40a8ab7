"""Faults of a store's upkeep: what opening, compacting, restoring or repeating a batch does beside."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any, ClassVar

from adapters._base import moment
from adapters.reference import connect
from harness.adapter import Ack, Hit, Item, Scope, Space
from harness.selftest.planted.base import Planted, ReferenceMemory

MERGE = """
DELETE FROM memories WHERE mark = 0 AND seq NOT IN (SELECT MIN(seq) FROM memories WHERE mark = 0 GROUP BY {})
"""


class MergesTwinsOnOpening(Planted):
    """Whoever opens the store makes one of the equal texts of a scope: the ids of the later ones are gone."""

    must = ("kept_after_reopening",)

    class Memory(ReferenceMemory):
        key = "text, repo, org, branch, user"

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            with self.writing():
                self.db.execute(MERGE.format(self.key))


class MergesNarrowerTwinsOnOpening(Planted):
    """Whoever opens the store makes one of the equal texts of a repository, whoever and whatever branch they are of."""

    must = ("kept_after_reopening",)

    class Memory(MergesTwinsOnOpening.Memory):
        key = "text, repo, org"


class CompactionDropsTheEnded(Planted):
    """Compaction deletes what has ended by the date of the newest memory: of what was before, nobody can ask."""

    must = ("deprecated_lost",)

    def compact(self, space: Space) -> None:
        with closing(connect(self.path(space))) as database:
            # a compaction is told no time, so the newest date in the store stands for now
            dates = [moment(row["at"]) for row in database.execute("SELECT at FROM memories WHERE mark = 0")]
            database.execute("DELETE FROM memories WHERE mark = 0 AND expires <= ?", [max(dates, default=0)])
        super().compact(space)


class CompactionLosesTheEnds(Planted):
    """Compaction copies the table, and leaves out the column of ends: what has ended holds again."""

    must = ("deprecated_recalled",)

    def compact(self, space: Space) -> None:
        with closing(connect(self.path(space))) as database:
            database.execute("UPDATE memories SET expires = NULL")
        super().compact(space)


class HeirsInheritTheEnd(Planted):
    """A successor that is told without an end takes over that of what it supersedes."""

    must = ("ended_early",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            ends = [row["expires"] for name in memory_ids for row in self.visible(scope, name) if row["expires"]]
            ack = super().supersede(scope, memory_ids, item)
            with self.writing():
                for name in ack.ids if ends and item.expires is None else ():
                    self.db.execute("UPDATE memories SET expires = ? WHERE id = ? AND mark = 0", [min(ends), name])
            return ack


class KeepsAnEndThatIsNotTold(Planted):
    """An update without an end leaves the one that is there: what shall hold for good ends all the same."""

    must = ("ended_early",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ends = [(row["expires"], row["seq"]) for row in self.visible(scope, memory_id) if item.expires is None]
            ack = super().update(scope, memory_id, item)
            with self.writing():
                self.db.executemany("UPDATE memories SET expires = ? WHERE seq = ?", ends)
            return ack


class ReadsThroughARestore(Planted):
    """Reads by id are kept in the process until their memory is changed, and a restore is no change."""

    must = ("marks_restored",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.read = dict[tuple[Scope, str], Hit]()

        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            if (hit := self.read.get((scope, memory_id)) or super().get(scope, memory_id)) is not None:
                self.read[scope, memory_id] = hit
            return hit

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            self.read.clear()
            return super().update(scope, memory_id, item)

        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            self.read.clear()
            return super().supersede(scope, memory_ids, item)

        def erase(self, scope: Scope, memory_id: str) -> bool:
            self.read.clear()
            return super().erase(scope, memory_id)

        def forget_scope(self, scope: Scope) -> None:
            self.read.clear()
            super().forget_scope(scope)


class RepeatsAHugeBatch(Planted):
    """A batch of more than 500 runs into a timeout and is sent again: half of it stands twice, under untold ids."""

    must = ("entries_unaccounted",)

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            if len(items) > 500:
                super().remember(items[:500])
            return acks


class _CompactsBadly(Planted):
    """Compaction copies the table, and does to the copy what `change` says."""

    change: ClassVar[str]

    def compact(self, space: Space) -> None:
        with closing(connect(self.path(space))) as database:
            # of the snapshots as well, which lie in the same table: no restore may heal it
            database.execute(f"UPDATE memories SET {self.change}")
        super().compact(space)


class CompactionLosesTheSources(_CompactsBadly):
    """Compaction copies the table, and leaves out the column of sources."""

    must = ("restored_exactly",)
    change = "source = NULL"


class CompactionLosesTheConfidences(_CompactsBadly):
    """Compaction copies the table, and leaves out the column of confidences."""

    must = ("restored_exactly",)
    change = "confidence = NULL"


class CompactionLosesTheDates(_CompactsBadly):
    """Compaction writes each memory anew, with the date on which it runs."""

    must = ("restored_exactly",)
    change = "at = '2026-03-02T00:00:00+00:00'"


class CompactionLosesTheHistories(_CompactsBadly):
    """Compaction keeps the text of each memory that is current, and drops those before it."""

    must = ("history_tells_all_versions",)
    change = "earlier = '[]'"


class CompactionLosesTheUsers(_CompactsBadly):
    """Compaction copies the table, and leaves out the column of users: what was one user's is everybody's."""

    must = ("other_scopes_restored",)
    change = "user = NULL"
