"""Faults of questions: how they are read, and what is there to answer them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from sqlite3 import Row

from harness.adapter import Filter, Hit, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

ALL = 1_000_000


class _Sieving(ReferenceMemory):
    """Leaves something out of its answers."""

    def lets(self, row: Row, query: str, at: str) -> bool:
        raise NotImplementedError

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        # all, so that what is left out takes no place among the k; nothing where nothing is asked for
        hits = super().recall_where(query, scope, min(k, 1) * ALL, at, where)
        kept = {row["id"] for row in self.visible(scope) if self.lets(row, query, at)} if hits else set()
        return [hit for hit in hits if hit.memory_id in kept][:k]


# --- syntax -----------------------------------------------------------------------------------------------------------


class DemandsTheQuoted(Planted):
    """What stands in quotes in a question has to stand in a memory, to the letter."""

    must = ("self_reachability",)

    class Memory(_Sieving):
        def lets(self, row: Row, query: str, at: str) -> bool:
            return all(phrase.lower() in row["text"].lower() for phrase in re.findall(r'"([^"]+)"', query))


class ReadsFieldsInQuestions(Planted):
    """A word and a colon at the beginning of a question name a field, which no memory has."""

    must = ("self_reachability",)

    class Memory(_Sieving):
        def lets(self, row: Row, query: str, at: str) -> bool:
            field = re.match(r"[a-z]+:", query)
            return field is None or field[0] in row["text"]


class ExcludesWhatComesAfterNot(Planted):
    """NOT in capitals is an operator: no memory comes that has the next word."""

    must = ("self_reachability",)

    class Memory(_Sieving):
        def lets(self, row: Row, query: str, at: str) -> bool:
            words = set(re.findall(r"\w+", row["text"]))
            return not words & set(re.findall(r"\bNOT (\w+)", query))


# --- when, how often, and for whom ------------------------------------------------------------------------------------


class WaitsForItsClock(Planted):
    """What is dated after the question is left out, and dates are compared as texts, whatever their zones."""

    must = ("self_reachability",)

    class Memory(_Sieving):
        def lets(self, row: Row, query: str, at: str) -> bool:
            return str(row["at"]) <= at


class IndexesAtNight(Planted):
    """The index is made at night: what was told today is found tomorrow."""

    must = ("self_reachability",)

    class Memory(_Sieving):
        def lets(self, row: Row, query: str, at: str) -> bool:
            told, asked = (datetime.fromisoformat(each).astimezone(UTC).date() for each in (row["at"], at))
            return told != asked


class KeepsUsersOutOfRepositories(Planted):
    """What names a user alone is a personal note, which is not looked for in a repository."""

    must = ("wider_scope_missed",)

    class Memory(_Sieving):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            self.repo = scope.repo
            return super().recall_where(query, scope, k, at, where)

        def lets(self, row: Row, query: str, at: str) -> bool:
            return self.repo is None or row["user"] is None or row["repo"] is not None


class KeepsOrganisationsOutOfBranches(Planted):
    """On a branch, what names an organisation alone is not looked for."""

    must = ("wider_scope_missed",)

    class Memory(_Sieving):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            self.branch = scope.branch
            return super().recall_where(query, scope, k, at, where)

        def lets(self, row: Row, query: str, at: str) -> bool:
            return self.branch is None or row["org"] is None or row["repo"] is not None or row["branch"] is not None


class SwallowsThrottling(Planted):
    """After a hundred questions of a process the service behind it refuses the next ten, which is taken for no hit."""

    must = ("missed_in_own_scope",)

    class Memory(ReferenceMemory):
        asked = 0

        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            self.asked += 1
            return [] if self.asked % 110 > 100 else super().recall_where(query, scope, k, at, where)


class ForgetsItsIndexAfterAWhile(Planted):
    """The index is a cache with room for the last 200 scopes that were written to; others bring nothing."""

    must = ("missed_in_own_scope",)

    class Memory(ReferenceMemory):
        def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
            parts = "repo, org, branch, user"
            last = f"SELECT {parts} FROM memories GROUP BY {parts} ORDER BY MAX(seq) DESC LIMIT 200"
            indexed = {Scope(**row) for row in self.db.execute(last)}
            return [hit for hit in super().recall_where(query, scope, k, at, where) if hit.scope in indexed]


# --- a part of it -----------------------------------------------------------------------------------------------------


class _Reading(ReferenceMemory):
    """Asks something else than it is asked."""

    def read(self, query: str) -> str:
        raise NotImplementedError

    def recall_where(self, query: str, scope: Scope, k: int, at: str, where: Filter) -> list[Hit]:
        return super().recall_where(self.read(query), scope, k, at, where)


class ReadsTheFirstLine(Planted):
    """A question is one line: what follows it is not searched for."""

    must = ("self_reachability",)

    class Memory(_Reading):
        def read(self, query: str) -> str:
            return query.partition("\n")[0]


class ReadsTheLastLine(Planted):
    """Of a question, the last line is searched for; what stands before it is taken for a quotation."""

    must = ("self_reachability",)

    class Memory(_Reading):
        def read(self, query: str) -> str:
            return query.rstrip().rpartition("\n")[2]


class ReadsTheFirstSentence(Planted):
    """A question is one sentence: what follows it is not searched for."""

    must = ("self_reachability",)

    class Memory(_Reading):
        def read(self, query: str) -> str:
            return re.split(r"(?<=[.!?:])\s", query, maxsplit=1)[0]


class CutsQuestionsAtFifty(Planted):
    """Only the first fifty characters of a question are searched for."""

    must = ("self_reachability",)

    class Memory(_Reading):
        def read(self, query: str) -> str:
            return query[:50]


# --- letters ----------------------------------------------------------------------------------------------------------


class AsksInAscii(Planted):
    """Letters beyond ASCII are dropped from a question."""

    must = ("short_questions_answered",)

    class Memory(_Reading):
        def read(self, query: str) -> str:
            return query.encode("ascii", "ignore").decode()


class ComparesInAscii(Planted):
    """Letters beyond ASCII are dropped from questions, and from texts before they are indexed."""

    must = AsksInAscii.must

    class Memory(AsksInAscii.Memory):
        def ask(self, texts: Sequence[str]) -> list[list[float]]:
            return super().ask([self.read(text) for text in texts])


class _Folding(_Sieving):
    """Looks for the words of a question, which are folded in another way than those of the texts."""

    def fold(self, text: str) -> str:
        """The words of a text."""
        return text.lower()

    def lets(self, row: Row, query: str, at: str) -> bool:
        asked, told = query.casefold(), self.fold(row["text"])
        return bool({*re.findall(r"\w+", asked)} & {*re.findall(r"\w+", told)})


class FoldsQuestionsOnly(Planted):
    """Words of questions are folded by Unicode, those of texts put into lower case: a sharp s is ss in one alone."""

    must = AsksInAscii.must

    class Memory(_Folding):
        pass


class FoldsTextsInAscii(Planted):
    """Words of questions are folded by Unicode, those of texts by the database, which knows the case of ASCII alone."""

    must = AsksInAscii.must

    class Memory(_Folding):
        def fold(self, text: str) -> str:
            return "".join(each.lower() if each.isascii() else each for each in text)
