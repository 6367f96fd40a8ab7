"""Faults of forgetting: too little, too late, in one place only, or too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

from adapters.reference import ADD, ERASE_SCOPE, LISTED
from harness.adapter import Ack, Hit, Item, Layer, Scope, Space
from harness.selftest.planted.base import Planted, ReferenceMemory

HIDDEN = -1
"""The mark of memories that are deleted in name only."""


class SoftDeletes(Planted):
    """Forgetting sets a flag: search and listing heed it, reading by id does not, and the bytes stay."""

    must = (
        "forgotten_from_get",
        "forgetting_said_and_done",
        "text_gone_after_compaction",
        "vector_gone_after_compaction",
        "deleted_from_get",
        "deleted_from_bytes",
    )

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            found = bool(self.visible(scope, memory_id))
            if found:
                # from snapshots it is gone: that a restore brings it back is another fault
                self.db.execute("DELETE FROM memories WHERE id = ? AND mark > 0", [memory_id])
                self.db.execute("UPDATE memories SET mark = ? WHERE id = ? AND mark = 0", [HIDDEN, memory_id])
            return found

        def get(self, scope: Scope, memory_id: str) -> Hit | None:
            flagged = self.db.execute("SELECT * FROM memories WHERE id = ? AND mark = ?", [memory_id, HIDDEN])
            return super().get(scope, memory_id) or next(map(self.hit, flagged), None)


class RemembersInHistory(Planted):
    """The audit trail keeps what was deleted, and its interface still tells it."""

    must = (
        "forgotten_from_history",
        "deleted_history_across_scopes",
        "text_gone_after_compaction",
        "deleted_from_history",
    )

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS audit (id TEXT, text TEXT)")

        def erase(self, scope: Scope, memory_id: str) -> bool:
            rows = [(memory_id, text) for text in super().history(scope, memory_id)]
            self.db.executemany("INSERT INTO audit VALUES (?, ?)", rows)
            return super().erase(scope, memory_id)

        def history(self, scope: Scope, memory_id: str) -> list[str]:
            audited = self.db.execute("SELECT text FROM audit WHERE id = ?", [memory_id])
            return [*super().history(scope, memory_id), *(row["text"] for row in audited)]


class LeavesVectors(Planted):
    """The index is a file of its own, appended to by writes and never touched by a deletion."""

    must = ("vector_gone_after_closing", "vector_gone_after_compaction")

    index = "index.f32"

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            with Path(self.space.root, LeavesVectors.index).open("ab") as file:
                file.write(vector)
            return super().add(item, vector)

    def storage(self, space: Space) -> list[Layer]:
        written = [Layer("index", self.index, "file")] if Path(space.root, self.index).exists() else []
        return [*super().storage(space), *written]


class LeavesTexts(Planted):
    """Deleted rows are not overwritten: their bytes stay in free pages until something else needs the room."""

    must = ("text_gone_after_closing", "vector_gone_after_closing", "deleted_from_bytes")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            # the reference overwrites with zeros what it deletes
            self.db.execute("PRAGMA secure_delete = OFF")


class LeavesALog(Planted):
    """Every write is also in a debug log that nobody thought of."""

    must = ("text_gone_after_compaction", "deleted_from_bytes")

    log = "debug.log"

    class Memory(ReferenceMemory):
        def add(self, item: Item, vector: bytes) -> Ack:
            with Path(self.space.root, LeavesALog.log).open("a") as file:
                file.write(f"add {item.text!r}\n")
            return super().add(item, vector)

    def storage(self, space: Space) -> list[Layer]:
        written = [Layer("log", self.log, "file")] if Path(space.root, self.log).exists() else []
        return [*super().storage(space), *written]


class ForgetsOnePage(Planted):
    """Forgetting a scope deletes the first page of 20."""

    must = ("scope_forgotten_from_listing", "scope_forgotten_from_search")

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            with self.writing():
                for row in self.db.execute(LISTED, asdict(scope)).fetchmany(20):
                    self.db.execute("DELETE FROM memories WHERE id = ?", [row["id"]])


class ForgetsTheNeighbour(Planted):
    """Off by one: the memory of the same scope that comes after a forgotten one goes too."""

    must = ("same_scope_over_deletion", "kept_for_writer", "over_deletion")

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            names = [row["id"] for row in self.visible(scope)]
            at = names.index(memory_id) if memory_id in names else len(names)
            for name in names[at + 1 : at + 2]:
                super().erase(scope, name)
            return super().erase(scope, memory_id)


class ForgetsWhatIsAlike(Planted):
    """Deletes by similarity: what is near to a forgotten text goes with it."""

    must = ("kept_lost_by_undo", "lost_between_handles", "over_deletion")

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            near = [
                hit.memory_id
                for row in self.visible(scope, memory_id)
                for hit in self.recall(row["text"], scope, 10, row["at"])
                if hit.memory_id != memory_id and (hit.score or 0) > 0.4
            ]
            for name in near:
                super().erase(scope, name)
            return super().erase(scope, memory_id)


class WipesTheOtherUser(Planted):
    """Forgetting a scope looks at the repository and forgets the user."""

    must = ("other_user_over_deletion", "scope_deletion_spill")

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            with self.writing():
                self.db.execute("DELETE FROM memories WHERE org IS :org AND repo IS :repo", asdict(scope))


class WipesTheSiblings(Planted):
    """Forgetting a scope takes its repository for the beginning of a name: `api` takes `api-internal` with it."""

    must = ("sibling_scope_over_deletion", "scope_deletion_spill")

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            alike = "SELECT DISTINCT repo FROM memories WHERE substr(repo, 1, length(:repo)) = :repo"
            # read to the end first, as the deletions below change what is read
            for (repo,) in self.db.execute(alike, asdict(scope)).fetchall():
                super().forget_scope(replace(scope, repo=repo))
            super().forget_scope(scope)


class ClaimsTheUnknown(Planted):
    """Says of every id that it is gone, of one that never was as well."""

    must = ("unknown_id_called_deleted",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            return [True for _ in super().forget(scope, memory_ids)]


class ClaimsWithoutForgetting(Planted):
    """A queue takes the deletion and says so; nobody works on the queue."""

    must = (
        "forgotten_from_search",
        "forgotten_from_listing",
        "forgotten_from_get",
        "forgetting_said_and_done",
        "left_after_undo",
        "deleted_for_writer",
        "deletion_acknowledged",
    )

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            return bool(self.visible(scope, memory_id))


class KeepsTheOldTextSearchable(Planted):
    """An update adds the new text to the index and leaves the old one in it."""

    must = ("replaced_gone_after_update",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            with self.writing():
                for row in self.visible(scope, memory_id):
                    old = Item(row["text"], self.hit(row).scope or scope, row["at"], row["kind"])
                    self.add(old, row["vector"])
            return super().update(scope, memory_id, item)


class OnlyAppends(Planted):
    """A successor is added, and what it supersedes stays as it was."""

    must = ("replaced_gone_after_supersede", "stale_exposure")

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            return super().supersede(scope, [], item)


class SupersedesItsOwnScopeOnly(Planted):
    """What is superseded from a narrower scope than its own stays as it was, beside its successor."""

    must = ("replaced_gone_after_supersede",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            own = {row["id"] for row in self.db.execute(LISTED, vars(scope))}
            return super().supersede(scope, [name for name in memory_ids if name in own], item)


class _SparesSome(ReferenceMemory):
    spared: ClassVar[str]

    def forget_scope(self, scope: Scope) -> None:
        with self.writing():
            self.db.execute(f"{ERASE_SCOPE} AND NOT ({self.spared})", vars(scope))


class SparesTheChangedOfAScope(Planted):
    """Forgetting a scope deletes the rows that were written there; what an update wrote is in another table."""

    must = ("scope_forgotten_from_listing",)

    class Memory(_SparesSome):
        spared = "earlier != '[]'"


class SparesProceduresOfAScope(Planted):
    """Forgetting a scope deletes facts and episodes; procedures have a table of their own."""

    must = ("scope_forgotten_from_listing",)

    class Memory(_SparesSome):
        spared = "kind = 'procedural'"


class SparesWhatEndsOfAScope(Planted):
    """Forgetting a scope deletes what has no end; what has one is left to end by itself."""

    must = ("scope_forgotten_from_listing",)

    class Memory(_SparesSome):
        spared = "expires IS NOT NULL"


class StopsForgettingAtTheUnknown(Planted):
    """Forgetting several stops at the first id that is not there; the rest is said to be gone."""

    must = ("forgetting_said_and_done",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            known = [bool(self.visible(scope, name)) for name in memory_ids]
            end = known.index(False) if False in known else len(known)
            # the unknown one itself is answered rightly: to claim it is another fault
            return [*super().forget(scope, memory_ids[: end + 1]), *(True for _ in memory_ids[end + 1 :])]


class UpsertsTheForgotten(Planted):
    """An update does not look whether its id is there: what was forgotten is stored again."""

    must = ("forgotten_from_search", "forgotten_from_listing", "forgotten_from_get", "forgotten_by_every_route")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.gone = set[str]()

        def erase(self, scope: Scope, memory_id: str) -> bool:
            done = super().erase(scope, memory_id)
            self.gone |= {memory_id} if done else set()
            return done

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            if memory_id not in self.gone or self.visible(scope, memory_id):
                return super().update(scope, memory_id, item)
            (vector,) = self.vectors([item])
            self.db.execute(ADD, {"id": memory_id, **self.columns(item, vector)})
            return Ack((memory_id,))


class HidesFromWhoAsked(Planted):
    """Who forgets from a narrower scope does not see a memory any more; all others do."""

    must = ("forgotten_from_search", "forgetting_said_and_done")

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS hidden (id TEXT, place TEXT)")

        def visible(self, place: Scope, memory_id: str | None = None) -> list[Any]:
            hidden = self.db.execute("SELECT id FROM hidden WHERE place = ?", [repr(place)])
            names = {row["id"] for row in hidden}
            return [row for row in super().visible(place, memory_id) if row["id"] not in names]

        def erase(self, scope: Scope, memory_id: str) -> bool:
            for row in self.visible(scope, memory_id):
                if self.hit(row).scope != scope:
                    self.db.execute("INSERT INTO hidden VALUES (?, ?)", [memory_id, repr(scope)])
                    return True
            return super().erase(scope, memory_id)
