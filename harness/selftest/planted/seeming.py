"""Cheats of answering: what looks good in a column, and is no better memory."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256

from harness.adapter import Hit, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory

PACKED = 25


class PacksManyIntoOne(Planted):
    """One hit that joins the twenty-five nearest memories: k was asked for, and five times as much is shown."""

    must = ("precision_in_budget",)
    never = ("recall", "recall_plain", "recall_paraphrase", "recall_upper", "decisions_right")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, PACKED if k else 0, at)
            return [replace(hits[0], text="\n".join(hit.text for hit in hits))] if hits else []


class EchoesTheQuestion(Planted):
    """What it is asked comes back first, as a memory that nobody stored, with the source and date of the best one."""

    must = ("hits_invented", "answers_invented")
    never = ("recall", "recall_plain", "recall_paraphrase", "recall_upper", "decisions_right", "abstention")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, k, at)
            # the same question gets the same id, as a memory would have it
            made = sha256(f"{query} {at}".encode()).hexdigest()[:16]
            first = hits[0] if hits else Hit(made, query, scope=scope)
            return [replace(first, memory_id=made, text=query, score=1.0), *hits][:k]


class EchoesUnderAnId(Planted):
    """What it is asked comes back under the id of the best memory, in its place."""

    must = ("hits_invented", "texts_whole")
    never = EchoesTheQuestion.never

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, k, at)
            return [replace(hit, text=query) if not place else hit for place, hit in enumerate(hits)]


class AnswersUnderOtherIds(Planted):
    """Every text of an answer stands under the id of the next one."""

    must = ("hits_invented", "texts_whole")

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            hits = super().recall(query, scope, k, at)
            ids = [hit.memory_id for hit in (*hits[1:], *hits[:1])]
            return [replace(hit, memory_id=name) for hit, name in zip(hits, ids, strict=True)]


class GuessesTheAnswer(Planted):
    """With what it found comes a sentence of its own: the words of the question, told as a fact."""

    must = ("hits_invented", "answers_invented")
    never = EchoesTheQuestion.never

    class Memory(ReferenceMemory):
        def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
            words = sorted(set(re.findall(r"[\w./-]{4,}", query)))
            guess = Hit(
                f"guess-{len(words)}-{len(query)}", f"It is known: {', '.join(words)}", 1.0, created=at, scope=scope
            )
            return [guess, *super().recall(query, scope, k, at)][:k]
