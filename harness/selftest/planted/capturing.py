"""Faults of capturing a session. No drill captures one: checks of the contract have to notice them
(tests/unit/adapters/test_contract.py), and no measure does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.adapter import Ack, Item, Message, Scope, Source, Space
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
            # a day that is fixed, and not the clock's, so that each play says the same
            return super().observe(transcript, scope, "2026-11-26T00:00:00+00:00", session)


class DatesTheAnswersToday(Planted):
    """What a user says has the date of the session; what else is said, that of the day on which it was captured."""

    breaks = "dates_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            asked = [each for each in transcript if each.role == "user"]
            answers = [each for each in transcript if each.role != "user"]
            told = super().observe(asked, scope, at, session).ids
            return Ack((*told, *super().observe(answers, scope, "2026-11-26T00:00:00+00:00", session).ids))


class DropsTheOffset(Planted):
    """Reads the time of a session as UTC, whatever offset it has."""

    breaks = "dates_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return super().observe(transcript, scope, f"{at[:19]}+00:00", session)


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


class _Rewriting(ReferenceMemory):
    """Captures what it makes of what was said."""

    def rewrite(self, said: str) -> str:
        raise NotImplementedError

    def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
        said = [replace(each, content=self.rewrite(each.content)) for each in transcript]
        return super().observe(said, scope, at, session)


class DropsCode(Planted):
    """What stands in a code block is no fact."""

    breaks = "finds_what_was_said"

    class Memory(_Rewriting):
        def rewrite(self, said: str) -> str:
            return re.sub(r"(?s)```.*?(```|$)", "", said)


class CutsMessages(Planted):
    """Of a message the first 8,000 characters are looked at."""

    breaks = "finds_what_was_said"

    class Memory(_Rewriting):
        def rewrite(self, said: str) -> str:
            return said[:8000]


class CapturesAsciiOnly(Planted):
    """A message in another script is not captured."""

    breaks = "finds_what_was_said"

    class Memory(_Rewriting):
        def rewrite(self, said: str) -> str:
            # a blank message is not captured
            return said if said.isascii() else " "


class DropsTheMiddle(Planted):
    """Of a long session the first ten and the last ten messages are looked at."""

    breaks = "finds_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            kept = transcript if len(transcript) <= 20 else [*transcript[:10], *transcript[-10:]]
            return super().observe(kept, scope, at, session)


class KeepsTheLastSession(Planted):
    """What it keeps of a place is what the last session said."""

    breaks = "keeps_the_session_before"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            self.forget_scope(scope)
            return super().observe(transcript, scope, at, session)


class ForgetsOnTheWord(Planted):
    """A session in which somebody says "forget" empties its place."""

    breaks = "keeps_the_session_before"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            if any("forget" in each.content.lower() for each in transcript):
                self.forget_scope(scope)
            return super().observe(transcript, scope, at, session)


class SkipsWhatIsAlike(Planted):
    """A message that shares most of its words with a memory says nothing new: a corrected number is not captured."""

    breaks = "keeps_the_session_before"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            known = [{*hit.text.split()} for hit in self.entries(scope)]
            fresh = [each for each in transcript if not self.is_alike({each.role, *each.content.split()}, known)]
            return super().observe(fresh, scope, at, session)

        @staticmethod
        def is_alike(said: set[str], known: Sequence[set[str]]) -> bool:
            return any(len(said & words) > 0.7 * len(said) for words in known)


class CapturesForEveryBranch(Planted):
    """Files a session under its repository, whatever branch it was held on."""

    breaks = "keeps_sessions_apart"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return super().observe(transcript, replace(scope, branch=None), at, session)


class CapturesForEveryUser(Planted):
    """Files a session under its repository, whoever it was held with."""

    breaks = "keeps_sessions_apart"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            return super().observe(transcript, replace(scope, user=None), at, session)


class CarriesTheLastWordOver(Planted):
    """The last message of a session is context for the next one, of whatever repository, and is filed there, too."""

    breaks = "keeps_sessions_apart"

    class Memory(ReferenceMemory):
        last: tuple[Message, ...] = ()

        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            said, self.last = [*self.last, *transcript], tuple(transcript[-1:])
            return super().observe(said, scope, at, session)


class TellsItsExample(Planted):
    """With each session it captures the example of its own prompt."""

    breaks = "adds_nothing_to_what_was_said"

    class Memory(ReferenceMemory):
        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            told = super().observe(transcript, scope, at, session).ids
            example = Item("The user prefers tabs over spaces.", scope, at, "user", Source(session=session))
            return Ack((*told, *self.remember([example])[0].ids)) if told else Ack(())


class NamesTheSessionBefore(Planted):
    """A memory names the session before its own."""

    breaks = "adds_nothing_to_what_was_said"

    class Memory(ReferenceMemory):
        before = ""

        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            named, self.before = self.before or session, session
            return super().observe(transcript, scope, at, named)


class CitesTheReadme(Planted):
    """A memory of a session cites a line that nobody spoke of."""

    breaks = "adds_nothing_to_what_was_said"

    class Memory(ReferenceMemory):
        def remember(self, items: Sequence[Item]) -> list[Ack]:
            said = [replace(each.source or Source(), path="README.md", line=1) for each in items]
            return super().remember([replace(each, source=source) for each, source in zip(items, said, strict=True)])


class CapturesTheForgottenAgain(Planted):
    """Makes the memories of a place from all of its sessions each time: what was deleted by its id comes back."""

    breaks = "captures_nothing_forgotten"

    class Memory(ReferenceMemory):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.said: dict[Scope, list[Message]] = {}

        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            said = self.said.setdefault(scope, [])
            said += transcript
            self.forget(scope, [hit.memory_id for hit in self.entries(scope)])
            return super().observe(said, scope, at, session)


class CapturesOnClosing(Planted):
    """A session is only stored for good when the store is closed: a kill loses it."""

    breaks = "keeps_a_session_through_a_kill"

    class Memory(ReferenceMemory):
        told: tuple[Any, ...] = ()

        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            self.told = (*self.told, (transcript, scope, at, session))
            return Ack(())

        def close(self) -> None:
            for each in self.told:
                super().observe(*each)
            super().close()


class ForgetsNothingObserved(Planted):
    """What was captured from a session is not deleted by its id, although the answer says so."""

    breaks = "captures_nothing_forgotten"

    class Memory(ReferenceMemory):
        def __init__(self, path: Path, space: Space, numpy: Any) -> None:
            super().__init__(path, space, numpy)
            with self.writing():
                self.db.execute("CREATE TABLE IF NOT EXISTS observed (id TEXT PRIMARY KEY)")

        def observe(self, transcript: Sequence[Message], scope: Scope, at: str, session: str) -> Ack:
            ack = super().observe(transcript, scope, at, session)
            with self.writing():
                self.db.executemany("INSERT OR IGNORE INTO observed VALUES (?)", [(name,) for name in ack.ids])
            return ack

        def erase(self, scope: Scope, memory_id: str) -> bool:
            if self.db.execute("SELECT 1 FROM observed WHERE id = ?", [memory_id]).fetchone():
                return bool(self.visible(scope, memory_id))
            return super().erase(scope, memory_id)
