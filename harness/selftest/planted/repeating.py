"""Faults that the first time does not show: large orders, old answers, many versions and marks, short questions."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from harness.adapter import Ack, Hit, Item, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory, drop

# --- many at once -----------------------------------------------------------------------------------------------------


class ForgetsTwentyAtOnce(Planted):
    """An order to forget is worked on up to its twentieth id; all of them are called gone."""

    must: ClassVar[tuple[str, ...]] = ("forgotten_at_once",)

    class Memory(ReferenceMemory):
        most: ClassVar[int] = 20

        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            told = super().forget(scope, memory_ids[: self.most])
            return [*told, *(True for _ in memory_ids[self.most :])]


class ForgetsFiftyAtOnce(Planted):
    """An order to forget is worked on up to its fiftieth id."""

    must = ForgetsTwentyAtOnce.must

    class Memory(ForgetsTwentyAtOnce.Memory):
        most = 50


class ForgetsFiveHundredAtOnce(Planted):
    """A statement takes 500 ids, and nobody sends a second one."""

    must = ForgetsTwentyAtOnce.must

    class Memory(ForgetsTwentyAtOnce.Memory):
        most = 500


class ForgetsTheScopeInstead(Planted):
    """Whoever forgets more than a hundred at once is taken to mean all of the scope."""

    must = ("lost_by_forgetting_at_once",)

    class Memory(ReferenceMemory):
        def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
            told = super().forget(scope, memory_ids)
            if len(memory_ids) > 100:
                self.forget_scope(scope)
            return told


class DropsTheOldest(Planted):
    """Room for 1,100: whoever adds one more loses what was written first, in whatever scope."""

    must = ("kept_beside_a_batch",)

    class Memory(ReferenceMemory):
        room: ClassVar[int] = 1100

        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            # SQLite takes an OFFSET only behind a LIMIT; -1 is none
            over = "SELECT seq FROM memories WHERE mark = 0 ORDER BY seq DESC LIMIT -1 OFFSET ?"
            self.db.execute(f"DELETE FROM memories WHERE mark = 0 AND seq IN ({over})", [self.room])
            return ack


class DropsTheLeastUsed(Planted):
    """Room for 1,100: what was asked for least goes first."""

    must = ("batch_kept",)

    class Memory(ReferenceMemory):
        room: ClassVar[int] = 1100

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("CREATE TABLE IF NOT EXISTS used (id TEXT PRIMARY KEY, times INTEGER) WITHOUT ROWID")

        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, k, at)
            more = "INSERT INTO used VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET times = times + 1"
            self.db.executemany(more, [[hit.memory_id] for hit in hits])
            return hits

        def remember(self, items: Sequence[Item]) -> list[Ack]:
            acks = super().remember(items)
            order = "ORDER BY coalesce((SELECT times FROM used WHERE used.id = memories.id), 0) DESC, seq DESC"
            over = f"SELECT seq FROM memories WHERE mark = 0 {order} LIMIT -1 OFFSET ?"
            with self.writing():
                self.db.execute(f"DELETE FROM memories WHERE mark = 0 AND seq IN ({over})", [self.room])
            return acks


class RefusesBeyondAThousand(Planted):
    """Room for a thousand: what comes after is acknowledged and not stored."""

    must = ("batch_kept",)

    class Memory(ReferenceMemory):
        room: ClassVar[int] = 1000

        def add(self, item: Item, vector: bytes) -> Ack:
            ack = super().add(item, vector)
            (held,) = self.db.execute("SELECT count(*) FROM memories WHERE mark = 0").fetchone()
            if held > self.room:
                drop(self, ack.ids)
            return ack


# --- asked again ------------------------------------------------------------------------------------------------------


class _Caching(ReferenceMemory):
    """Keeps answers by question, scope and k."""

    def __init__(self, *args: Any) -> None:
        self.known: dict[tuple[object, ...], list[Hit]] = {}
        super().__init__(*args)

    def keep(self, hits: list[Hit]) -> bool:
        raise NotImplementedError

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        asked = (query, scope, k)
        if asked in self.known:
            return self.known[asked]
        hits = super().recall(query, scope, k, at)
        if self.keep(hits):
            self.known[asked] = hits
        return hits


class CachesMisses(Planted):
    """That nothing is known is remembered, and not forgotten when something is stored."""

    must = ("found_after_a_miss",)

    class Memory(_Caching):
        def keep(self, hits: list[Hit]) -> bool:
            return not hits


class CachesAnswersUntilChanged(Planted):
    """Answers are kept until something is changed or deleted; what is new does not empty the cache."""

    must = ("found_after_a_miss",)

    class Memory(_Caching):
        def keep(self, hits: list[Hit]) -> bool:
            return True

        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            self.known.clear()
            return super().update(scope, memory_id, item)

        def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
            self.known.clear()
            return super().supersede(scope, memory_ids, item)

        def erase(self, scope: Scope, memory_id: str) -> bool:
            self.known.clear()
            return super().erase(scope, memory_id)

        def forget_scope(self, scope: Scope) -> None:
            self.known.clear()
            super().forget_scope(scope)

        def restore(self, mark: str) -> None:
            self.known.clear()
            super().restore(mark)


class CachesAnswersUntilWritten(Planted):
    """Answers are kept until something new is written; what is changed or deleted stays in them."""

    must = ("changed_after_a_hit",)

    class Memory(_Caching):
        def keep(self, hits: list[Hit]) -> bool:
            return True

        def add(self, item: Item, vector: bytes) -> Ack:
            self.known.clear()
            return super().add(item, vector)


# --- changed again ----------------------------------------------------------------------------------------------------


class SkipsEqualTexts(Planted):
    """An update to the same text is none: the new source and date are dropped."""

    must = ("same_text_updated",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            rows = self.visible(scope, memory_id)
            if rows and rows[0]["text"] == item.text:
                return Ack((memory_id,))
            return super().update(scope, memory_id, item)


class _Trimming(ReferenceMemory):
    """Keeps a part of what an update replaced."""

    def trim(self, texts: list[str]) -> list[str]:
        raise NotImplementedError

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        ack = super().update(scope, memory_id, item)
        for row in self.visible(scope, memory_id):
            kept = json.dumps(self.trim(json.loads(row["earlier"])))
            self.db.execute("UPDATE memories SET earlier = ? WHERE id = ? AND mark = 0", [kept, memory_id])
        return ack


class KeepsTheLastVersion(Planted):
    """A history has room for the text and the one before it."""

    must = ("history_tells_all_versions",)

    class Memory(_Trimming):
        def trim(self, texts: list[str]) -> list[str]:
            return texts[-1:]


class KeepsThreeVersions(Planted):
    """A history has room for three texts."""

    must = ("history_tells_all_versions",)

    class Memory(_Trimming):
        def trim(self, texts: list[str]) -> list[str]:
            # the third is the text as it is now
            return texts[-2:]


class KeepsTheFirstVersions(Planted):
    """A history is the first text and the present one; what was between is skipped."""

    must = ("history_tells_all_versions",)

    class Memory(_Trimming):
        def trim(self, texts: list[str]) -> list[str]:
            return texts[:1]


class KeepsHistoryInTheProcess(Planted):
    """Earlier texts end with the process."""

    must = ("history_tells_all_versions",)

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.db.execute("UPDATE memories SET earlier = '[]'")


# --- marks ------------------------------------------------------------------------------------------------------------


class KeepsTwoMarks(Planted):
    """There is room for two marks: a third takes the place of the first."""

    must = ("marks_restored",)

    class Memory(ReferenceMemory):
        def snapshot(self) -> str:
            mark = super().snapshot()
            with self.writing():
                self.db.execute("DELETE FROM marks WHERE mark <= ?", [int(mark) - 2])
                # from 1 on, as 0 is the mark of what is live
                self.db.execute("DELETE FROM memories WHERE mark BETWEEN 1 AND ?", [int(mark) - 2])
            return mark


class RestoresTheNewestMark(Planted):
    """Whatever mark is named, the newest one is restored."""

    must = ("marks_restored",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            (newest,) = self.db.execute("SELECT max(mark) FROM marks").fetchone()
            super().restore(str(newest or mark))


class RestoringEndsLaterMarks(Planted):
    """A restore throws away every mark that was made after the one that it restores."""

    must = ("marks_restored",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            with self.writing():
                self.db.execute("DELETE FROM marks WHERE mark > ?", [int(mark)])
                self.db.execute("DELETE FROM memories WHERE mark > ?", [int(mark)])


class MarksHoldTheDifference(Planted):
    """A mark holds what was added since the one before; restored, it brings that alone and the first mark's."""

    must = ("marks_restored",)

    class Memory(ReferenceMemory):
        def restore(self, mark: str) -> None:
            super().restore(mark)
            between = "SELECT id FROM memories WHERE mark > 1 AND mark < ?"
            first = "SELECT id FROM memories WHERE mark = 1"
            with self.writing():
                self.db.execute(
                    f"DELETE FROM memories WHERE mark = 0 AND id IN ({between}) AND id NOT IN ({first})", [int(mark)]
                )


class UndoesByUpdatingBack(Planted):
    """An update back to an earlier text is taken for an undo: the history tells nothing of what came between."""

    must = ("history_tells_all_versions",)

    class Memory(ReferenceMemory):
        def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
            ack = super().update(scope, memory_id, item)
            with self.writing():
                for row in self.visible(scope, memory_id) if ack.ids else ():
                    earlier = json.loads(row["earlier"])
                    if row["text"] in earlier:
                        cut = json.dumps(earlier[: earlier.index(row["text"])])
                        self.db.execute("UPDATE memories SET earlier = ? WHERE id = ? AND mark = 0", [cut, row["id"]])
            return ack


# --- short questions --------------------------------------------------------------------------------------------------


class IgnoresShortQuestions(Planted):
    """A question of one or two words is none: nothing is answered."""

    must = ("short_questions_answered",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            return super().recall(query, scope, k, at) if len(re.findall(r"\w+", query)) > 2 else []


class ListsForShortQuestions(Planted):
    """A question of one or two words gets what was written last."""

    must = ("short_questions_answered",)

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            if len(re.findall(r"\w+", query)) > 2:
                return super().recall(query, scope, k, at)
            return [self.hit(row, 1.0) for row in self.visible(scope)[::-1][:k]]
