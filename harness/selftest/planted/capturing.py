"""Faults of capturing a session. No drill captures one: checks of the contract have to notice them
(tests/unit/adapters/test_contract.py), and no measure does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.adapter import Ack, Item, Message, Scope
from harness.selftest.planted.base import Planted, ReferenceMemory


class HearsTheUserOnly(Planted):
    """Takes what the assistant and its tools say for chatter."""

    breaks = "finds_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return super().observe([each for each in transcript if each.role == "user"], scope, at, session)


class CapturesNothing(Planted):
    """Answers that a session was captured, and drops it."""

    breaks = "finds_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return Ack(())


class CapturesForAll(Planted):
    """Files a session under whom it was held with, and forgets in which repository."""

    breaks = "keeps_sessions_apart"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return super().observe(transcript, Scope(org=scope.org, user=scope.user), at, session)


class KeepsTheTranscript(Planted):
    """Deletes the memories of a scope, and makes them anew from the session that it still has."""

    breaks = "forgets_what_was_said"

    class Memory(ReferenceMemory):
        kept: tuple[Message, ...] = ()

        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            self.kept = self.kept or tuple(transcript)
            return super().observe(transcript, scope, at, session)

        def forget_scope(self, scope: Scope) -> None:
            super().forget_scope(scope)
            super().observe(self.kept, scope, "2026-01-01T00:00:00+00:00", "kept")


class DatesItToday(Planted):
    """Dates a session with the day on which it was captured."""

    breaks = "dates_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return super().observe(transcript, scope, "2026-11-26T00:00:00+00:00", session)


class TitlesTheBlank(Planted):
    """Keeps a title of each session, also of one in which nothing was said."""

    breaks = "names_what_it_captured"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            title = Item(f"{len(transcript)} messages in {session}", scope, at, "episodic")
            return Ack((*self.remember([title])[0].ids, *super().observe(transcript, scope, at, session).ids))


class CapturesTheLastTen(Planted):
    """Of a session, the last ten messages are looked at: what was said before them is not captured."""

    breaks = "finds_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return super().observe(transcript[-10:], scope, at, session)


class CapturesTheFirstTwenty(Planted):
    """A session is one request with room for twenty messages: what was said after them is not captured."""

    breaks = "finds_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return super().observe(transcript[:20], scope, at, session)


class KnowsSessionsByName(Planted):
    """A session of a name that was captured before, in whatever repository, is taken for the same one."""

    breaks = "keeps_sessions_apart"

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.known = set[str]()

        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            known, self.known = self.known, self.known | {session}
            return Ack(()) if session in known else super().observe(transcript, scope, at, session)
