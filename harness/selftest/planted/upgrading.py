"""Faults of a newer release: what it makes of a store that the sound reference, or an older release here, wrote."""

from __future__ import annotations

import re
import time
from typing import Any

from adapters._base import sdk
from adapters.reference import Reference
from harness.adapter import Scope, Space
from harness.selftest.planted.base import ReferenceMemory, Upgraded

OWN, MIGRATED = 1, 2
"""Of `user_version`: a store that this release made, and one that it took over from an older one."""
TOMBSTONE = -1
"""The mark of what an older release kept of the deleted."""


class MigratingMemory(ReferenceMemory):
    """Changes a store that an older release wrote, once; `reopen` is what it does with it after that."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        version = self.db.execute("PRAGMA user_version").fetchone()[0]
        # an empty store without a version was made just now, not by an older release
        older = not version and self.db.execute("SELECT 1 FROM memories").fetchone() is not None
        if older:
            with self.writing():
                self.migrate()
        if not version:
            # a PRAGMA takes no parameters
            self.db.execute(f"PRAGMA user_version = {MIGRATED if older else OWN}")
        self.migrated = older or version == MIGRATED
        if version == MIGRATED:
            with self.writing():
                self.reopen()

    def migrate(self) -> None:
        """What an older release wrote is brought into the form of this one."""

    def reopen(self) -> None:
        """Of a store that was taken over before."""


class KeepsTombstones(Reference):
    """An older release: sound in its answers, but what it deletes stays in the file."""

    class Memory(ReferenceMemory):
        def erase(self, scope: Scope, memory_id: str) -> bool:
            found = bool(self.visible(scope, memory_id))
            if found:
                self.db.execute("UPDATE memories SET mark = ? WHERE id = ? AND mark = 0", [TOMBSTONE, memory_id])
            return found

    def open(self, space: Space) -> ReferenceMemory:
        return self.Memory(self.path(space), space, sdk("numpy", "coldwarm"))


class LosesDatesOnUpgrade(Upgraded):
    """Memories of the older release get the day of the upgrade as their date."""

    must = ("date_kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("UPDATE memories SET at = '2026-11-01T00:00:00+00:00'")


class RoundsDecimalsOnUpgrade(Upgraded):
    """The migration passes what looks like a number through a float: 3.10 is 3.1."""

    must = ("text_kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            for row in self.db.execute("SELECT seq, text FROM memories").fetchall():
                text = re.sub(r"\b(\d+\.\d+?)0+\b", r"\1", row["text"])
                self.db.execute("UPDATE memories SET text = ? WHERE seq = ?", [text, row["seq"]])


class TakesClocksForUtcOnUpgrade(Upgraded):
    """The new column of dates has no zone: what the clock showed is taken for UTC."""

    must = ("date_kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("UPDATE memories SET at = substr(at, 1, 19) || '+00:00'")


class LosesSourcesOnUpgrade(Upgraded):
    """The column of sources is not copied into the new table."""

    must = ("source_kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("UPDATE memories SET source = NULL")


class LosesScopesOnUpgrade(Upgraded):
    """Memories of the older release hold in the whole organisation: their repository is lost."""

    must = ("scope_kept_after_upgrade", "kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("UPDATE memories SET repo = NULL")


class LosesMemoriesOnUpgrade(Upgraded):
    """A migration in batches leaves out the last one."""

    must = ("kept_after_upgrade", "found_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            last = "SELECT seq FROM memories WHERE mark = 0 ORDER BY seq DESC LIMIT 8"
            self.db.execute(f"DELETE FROM memories WHERE seq IN ({last})")


class LeavesTheIndexBehind(Upgraded):
    """The new index has no vector of the older release's memories: they are listed, and no question finds them."""

    must = ("found_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            # zeros of the same length: the matrix of vectors needs them, and no question is near to them
            self.db.execute("UPDATE memories SET vector = zeroblob(length(vector))")


class PairsAnewOnUpgrade(Upgraded):
    """Ids and texts are taken over one after the other, in two orders: under each id stands the text of another."""

    must = ("wrong_after_upgrade",)

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            rows = self.db.execute("SELECT seq, text, vector FROM memories WHERE mark = 0 ORDER BY id").fetchall()
            for row, other in zip(rows, [*rows[1:], *rows[:1]], strict=True):
                content = [other["text"], other["vector"], row["seq"]]
                self.db.execute("UPDATE memories SET text = ?, vector = ? WHERE seq = ?", content)


class ResurrectsOnUpgrade(Upgraded):
    """The migration copies every row of the older release, and does not know that some are marked as deleted."""

    must = ("deleted_stays_deleted_after_upgrade", "silently_wrong_after_upgrade")
    older = "harness.selftest.planted.upgrading:KeepsTombstones"

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("UPDATE memories SET mark = 0 WHERE mark = ?", [TOMBSTONE])


class WritesToTheOldTable(Upgraded):
    """What is written into a store that was taken over goes to a table that the next start replaces."""

    must = ("written_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("CREATE TABLE old (seq INTEGER)")
            self.db.execute("INSERT INTO old SELECT seq FROM memories")

        def reopen(self) -> None:
            self.db.execute("DELETE FROM memories WHERE seq NOT IN (SELECT seq FROM old)")


class RestoresItsBackup(Upgraded):
    """Each start brings back from the backup of the upgrade what is not in the store: what was deleted since."""

    must = ("deleted_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("CREATE TABLE backup AS SELECT * FROM memories")

        def reopen(self) -> None:
            self.db.execute("INSERT INTO memories SELECT * FROM backup WHERE seq NOT IN (SELECT seq FROM memories)")


class OpensOldStoresEmpty(Upgraded):
    """A store of another form is put aside, and an empty one opened, without a word."""

    must = ("kept_after_upgrade", "found_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("CREATE TABLE aside AS SELECT * FROM memories")
            self.db.execute("DELETE FROM memories")


class RefusesOldStores(Upgraded):
    """Says which form a store has, and that it reads another one. Nothing is wrong in silence."""

    must = ("kept_after_upgrade", "found_after_upgrade", "written_after_upgrade")
    never = ("silently_wrong_after_upgrade",)

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            raise RuntimeError("this store has form 0, and form 1 is read: export it with the release that wrote it")


class MigratesSlowly(Upgraded):
    """Computes for seconds at the first opening."""

    must = ("upgrade_seconds",)

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            time.sleep(1.5)


class LosesConfidenceOnUpgrade(Upgraded):
    """The column of confidences is not copied into the new table."""

    must = ("confidence_kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("UPDATE memories SET confidence = NULL")


class RevivesTheEndedOnUpgrade(Upgraded):
    """The new table has a column for a memory's own end, and what was marked as ended had none."""

    must = ("ends_kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("UPDATE memories SET expires = NULL")


class ForgetsEndedOnUpgrade(Upgraded):
    """The migration copies what holds on the day of the upgrade."""

    must = ("ends_kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("DELETE FROM memories WHERE expires IS NOT NULL")


class LosesHistoriesOnUpgrade(Upgraded):
    """Only the text as it is now is copied into the new table."""

    must = ("history_kept_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("UPDATE memories SET earlier = '[]'")


class DropsTheSnapshotsOnUpgrade(Upgraded):
    """Snapshots have another form, and are not migrated: the next restore says that there is none."""

    must = ("restored_after_upgrade",)

    class Memory(MigratingMemory):
        def migrate(self) -> None:
            self.db.execute("DELETE FROM memories WHERE mark > 0")
            self.db.execute("DELETE FROM marks")


class RestoresNothingAfterUpgrade(Upgraded):
    """A snapshot of the older release is taken for one of this release, which has nothing to bring back."""

    must = ("restored_after_upgrade", "silently_wrong_after_upgrade")

    class Memory(MigratingMemory):
        def restore(self, mark: str) -> None:
            if not self.migrated:
                super().restore(mark)
