"""Faults of scopes seen from every side: wider, narrower, next door, named alike, and in marks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from adapters.reference import LISTED, VISIBLE
from harness.adapter import Ack, Hit, Item, Layer, Scope, Space
from harness.selftest.planted.base import Planted, ReferenceMemory
from harness.selftest.planted.isolation import PARTS, LooksUp

PAGE = 100
ANYWHERE = "SELECT * FROM memories WHERE mark = 0 AND id = ?"
LEFT_OPEN = " AND ".join(f"(:{part} IS NULL OR {part} = :{part})" for part in PARTS)
"""Where a part that a scope leaves open stands for any."""


class ForgetsAHundred(Planted):
    """Forgetting a scope reads one page of 100, deletes it, and says that all went well."""

    must = ("scope_forgotten_from_listing",)

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            with self.writing():
                for row in self.db.execute(LISTED, asdict(scope)).fetchmany(PAGE):
                    self.db.execute("DELETE FROM memories WHERE id = ?", [row["id"]])


class ListsAHundred(Planted):
    """A listing ends after a page of 100."""

    must = ("large_scope_listed",)

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            return super().entries(scope)[:PAGE]


class SeesAHundred(Planted):
    """Listing and forgetting share a page of 100: what was never listed is what is left."""

    must = ("large_scope_listed", "scope_forgotten_from_listing")

    class Memory(ForgetsAHundred.Memory):
        def entries(self, scope: Scope) -> list[Hit]:
            return super().entries(scope)[:PAGE]


class ForgetsTheNarrower(Planted):
    """Forgetting a scope takes a part that it leaves open for any: all users of a repository go with it."""

    must = ("narrower_scope_over_deletion", "narrower_scope_forgotten")

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            with self.writing():
                self.db.execute(f"DELETE FROM memories WHERE {LEFT_OPEN}", asdict(scope))


class ForgetsTheWider(Planted):
    """Forgetting a scope deletes whatever its searches show, what holds for everybody as well."""

    must = ("wider_scope_over_deletion", "wider_scope_forgotten")

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            with self.writing():
                for row in self.db.execute(VISIBLE, {**asdict(scope), "id": None}).fetchall():
                    self.db.execute("DELETE FROM memories WHERE id = ?", [row["id"]])


class KeepsMarksInFiles(Planted):
    """Each mark is also exported to a file, in which nothing is ever deleted."""

    must = ("text_gone_after_closing", "text_gone_after_compaction")

    class Memory(ReferenceMemory):
        def snapshot(self) -> str:
            mark = super().snapshot()
            rows = self.db.execute("SELECT id, text FROM memories WHERE mark = ?", [mark])
            Path(self.space.root, f"mark-{mark}.json").write_text(json.dumps([list(row) for row in rows]))
            return mark

    def storage(self, space: Space) -> list[Layer]:
        marks = sorted(path.name for path in Path(space.root).glob("mark-*.json"))
        return [*super().storage(space), *(Layer(name, name, "file") for name in marks)]


class ForgetsAllForNone(Planted):
    """Forgetting the scope that names nothing deletes the whole store."""

    must = ("narrower_scope_forgotten",)

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            with self.writing():
                if scope == Scope():
                    self.db.execute("DELETE FROM memories")
            super().forget_scope(scope)


class ForgetsAllForAnEmptyName(Planted):
    """Forgetting takes a part with an empty name for one that is left open, and an open part for any."""

    must = ("empty_name_forgets_others",)

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            if "" in asdict(scope).values():
                with self.writing():
                    parts = {part: value or None for part, value in asdict(scope).items()}
                    self.db.execute(f"DELETE FROM memories WHERE {LEFT_OPEN}", parts)
            super().forget_scope(scope)


class TakesAnEmptyNameForAll(Planted):
    """A part with an empty name is no filter: whoever has no user name sees what belongs to all users."""

    must = ("leaks_into_empty_name",)

    class Memory(LooksUp):
        query = VISIBLE
        for part in PARTS:
            query = query.replace(f"{part} = :{part}", f"(:{part} = '' OR {part} = :{part})")


class ListsTheNarrower(Planted):
    """The listing of a scope takes a part that it leaves open for any."""

    must = ("leaks_by_listing",)

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            query = f"SELECT * FROM memories WHERE mark = 0 AND {LEFT_OPEN} ORDER BY seq"
            return [self.hit(row) for row in self.db.execute(query, asdict(scope))]


class ListsTheWider(Planted):
    """The listing of a scope shows what a search there may find, what holds for everybody as well."""

    must = ("wider_scope_in_listing",)

    class Memory(ReferenceMemory):
        def entries(self, scope: Scope) -> list[Hit]:
            return [self.hit(row) for row in self.visible(scope)]


class Keyed(ReferenceMemory):
    """Scopes are compared by a key made of them, not part by part."""

    def __init__(self, *args: Any) -> None:
        self.keys: dict[Scope, str] = {}
        super().__init__(*args)

    def key(self, scope: Scope) -> str:
        raise NotImplementedError

    def keyed(self, scope: Scope) -> str:
        """The key, computed once: every search compares those of all memories."""
        if scope not in self.keys:
            self.keys[scope] = self.key(scope)
        return self.keys[scope]

    def rows(self) -> list[sqlite3.Row]:
        return self.db.execute("SELECT * FROM memories WHERE mark = 0 ORDER BY seq").fetchall()

    def place(self, row: sqlite3.Row) -> Scope:
        return Scope(*(row[part] for part in PARTS))

    def visible(self, place: Scope, memory_id: str | None = None) -> list[sqlite3.Row]:
        wider = [Scope(**dict(zip(PARTS, parts, strict=True))) for parts in _list_choices(place)]
        keys = {self.keyed(scope) for scope in wider}
        return [row for row in self.rows() if memory_id in (None, row["id"]) and self.keyed(self.place(row)) in keys]

    def entries(self, scope: Scope) -> list[Hit]:
        own = self.keyed(scope)
        return [self.hit(row) for row in self.rows() if self.keyed(self.place(row)) == own]

    def forget_scope(self, scope: Scope) -> None:
        names = [hit.memory_id for hit in self.entries(scope)]
        with self.writing():
            self.db.executemany("DELETE FROM memories WHERE id = ?", [[name] for name in names])


def _list_choices(place: Scope) -> list[tuple[str | None, ...]]:
    """Each part as it is, or left open."""
    choices: list[tuple[str | None, ...]] = [()]
    for part in PARTS:
        # a set, as the place may leave this part open
        options = {getattr(place, part), None}
        choices = [(*each, option) for each in choices for option in options]
    return choices


class JoinsWithDashes(Planted):
    """The key of a scope is its parts, joined by a dash: organisation `a`, repository `a-a` is `a-a`, `a`."""

    must = ("leaks_by_join",)

    class Memory(Keyed):
        def key(self, scope: Scope) -> str:
            return "-".join(getattr(scope, part) or "" for part in ("org", "repo", "branch", "user"))


class JoinsWithSlashes(Planted):
    """The key of a scope is a path of those parts that are set: a user and an organisation of one name are the same."""

    must = ("leaks_by_join", "leaks_by_position")

    class Memory(Keyed):
        def key(self, scope: Scope) -> str:
            return "/".join(value for part in PARTS if (value := getattr(scope, part)))


class WritesNone(Planted):
    """The key of a scope is formatted without a look at what is not set: `None` is a user like any other."""

    must = ("leaks_by_word",)

    class Memory(Keyed):
        def key(self, scope: Scope) -> str:
            return "\n".join(f"{part}={getattr(scope, part)}" for part in PARTS)


class CutsNames(Planted):
    """A column for 30 characters: longer names are cut."""

    must = ("leaks_by_length",)

    class Memory(Keyed):
        limit = 30

        def key(self, scope: Scope) -> str:
            return json.dumps([value and value[: self.limit] for value in vars(scope).values()])


class CutsLabels(CutsNames):
    """A label of a cluster has at most 63 characters: longer names are cut."""

    class Memory(CutsNames.Memory):
        limit = 63


class CutsFileNames(CutsNames):
    """A scope is a file, whose name has at most 255 characters: longer names are cut."""

    class Memory(CutsNames.Memory):
        limit = 255


class DropsTheUser(Planted):
    """Where an organisation is set, the user is not looked at: an organisation is taken for one customer."""

    must = ("leaks_by_part",)

    class Memory(Keyed):
        def key(self, scope: Scope) -> str:
            return json.dumps(list(vars(replace(scope, user=None) if scope.org else scope).values()))


class TellsAnyHistory(Planted):
    """The audit trail is read by id; nobody asks whose memory it is."""

    must = ("history_across_scopes",)

    class Memory(ReferenceMemory):
        def history(self, scope: Scope, memory_id: str) -> list[str]:
            rows = self.db.execute(ANYWHERE, [memory_id])
            return [text for row in rows for text in (*json.loads(row["earlier"]), row["text"])]


class SupersedesAnyId(Planted):
    """A successor replaces what its ids name, whosever they are."""

    must = ("superseded_across_scopes",)

    class Memory(ReferenceMemory):
        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            rows = [row for name in memory_ids for row in self.db.execute(ANYWHERE, [name]).fetchall()]
            with self.writing():
                self.db.executemany("DELETE FROM memories WHERE id = ? AND mark = 0", [[row["id"]] for row in rows])
            return super().supersede(scope, [], item)


class RestoresOneScope(Planted):
    """A restore touches the repository's own scope only: other users, branches and repositories stay as they are."""

    must = ("other_scopes_restored",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            # the repository of the drill, which no child may import
            own = "user IS NULL AND branch IS NULL AND org IS NULL AND repo IS 'fieldkit'"
            with self.writing():
                self.db.execute(f"CREATE TEMP TABLE aside AS SELECT * FROM memories WHERE mark = 0 AND NOT ({own})")
            super().restore(mark)
            with self.writing():
                self.db.execute(f"DELETE FROM memories WHERE mark = 0 AND NOT ({own})")
                # all but seq, which restored rows may have taken meanwhile
                columns = (
                    "mark, id, text, repo, org, branch, user, at, kind, source, confidence, expires, vector, earlier"
                )
                self.db.execute(f"INSERT INTO memories ({columns}) SELECT {columns} FROM aside")
                self.db.execute("DROP TABLE aside")


class MarksOneScope(Planted):
    """A mark holds what has no user and no branch, and a restore empties the store before it puts that back."""

    must = ("other_scopes_restored",)

    class Memory(ReferenceMemory):
        def snapshot(self) -> str:
            mark = super().snapshot()
            self.db.execute("DELETE FROM memories WHERE mark = ? AND coalesce(user, branch) IS NOT NULL", [mark])
            return mark


class RevivesOtherScopes(Planted):
    """Forgetting a scope leaves it in the marks, and a restore brings it back."""

    must = ("resurrected_by_restore",)

    class Memory(ReferenceMemory):
        def forget_scope(self, scope: Scope) -> None:
            with self.writing():
                for row in self.db.execute(LISTED, asdict(scope)).fetchall():
                    self.db.execute("DELETE FROM memories WHERE mark = 0 AND id = ?", [row["id"]])
