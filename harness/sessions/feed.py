"""Imported sessions put to a backend: what it captures of them, what that costs, and what it keeps of secrets.

Sessions are told in the order of their times, then some of their messages are asked for in their own words. For each
secret that was cut out stands an invented one, which looks like a key: it is looked for in what comes back and in the
bytes of the store, also after all that was told is deleted. Every call is logged; the figures count what the log holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from harness.adapter import Ack, Hit, Item, Scope, Source
from harness.conformance import Setting
from harness.gateway import tokens
from harness.gateway.meter import Meter
from harness.log.blobs import Blobs, Ref, pack
from harness.log.events import SCHEMA, Event
from harness.log.lines import Writer
from harness.log.parts import HITS
from harness.log.transcript import Ended
from harness.machine import files
from harness.model.backend import Backend, Fault
from harness.model.scenario import Session
from harness.model.transcript import MARKED
from harness.model.trial import Feed, digest
from harness.play.store import SETTLE_SECONDS, Handle, Lost, Store, StoreSession, must
from harness.scan.needles import Needles
from harness.sessions.folder import Entry, Spoken, read_index, read_session
from harness.text.chunks import LEAST, cut_transcript, list_said
from harness.text.clauses import normalise

K = 10
QUESTIONS = 200
"""Messages that are asked for, spread evenly over all that were told."""
ASKED = 300
"""Characters of a question."""
SIGN = 200
"""Characters of a line by which a message is known again."""


class Began(Event):
    """The opening event: which folder is put to whom, and how."""

    kind: Literal["began"] = "began"
    log_schema: int = SCHEMA
    backend: str
    described: Backend
    feed: Feed
    sessions: int
    secrets: int


class Fed(Event):
    """A session was told. `secrets` are those of which its messages hold an invented one."""

    kind: Literal["fed"] = "fed"
    session: str
    repository: str
    messages: int
    tokens: int
    secrets: tuple[str, ...]
    ids: tuple[str, ...] | None
    fault: Fault | None = None


class Asked(Event):
    """A message was asked for in its own words."""

    kind: Literal["asked"] = "asked"
    message: str
    found: bool
    secrets: tuple[str, ...] = ()
    hits: Ref | tuple[Hit, ...] | None
    fault: Fault | None = None


class Seen(Event):
    """The bytes of the store were searched for the invented secrets.

    Attributes:
        problem: What could not be looked at: never a pass.
    """

    kind: Literal["seen"] = "seen"
    when: Literal["told", "deleted"]
    bytes: int
    secrets: tuple[str, ...]
    problem: str | None = None


class Deleted(Event):
    """All that was told of a repository was deleted."""

    kind: Literal["deleted"] = "deleted"
    repository: str
    fault: Fault | None = None


class Question(NamedTuple):
    """`signs`: lines of the message, any of which shows that it came back."""

    message: str
    scope: Scope
    at: str
    text: str
    signs: tuple[str, ...]


def list_stand_ins(count: int) -> dict[str, str]:
    """For each secret that was cut out one that was never any."""
    return {f"secret-{at}": f"sk-{digest(['sessions', at])[:32]}" for at in range(1, count + 1)}


def play(folder: Path, setting: Setting, feed: Feed, out: Path) -> tuple[list[Event], Meter]:
    """Puts the sessions of a folder to one backend: what happened, and what it asked the models for.

    Raises SessionsError, MemoryFault if the backend cannot be opened, EmbedderError.
    """
    index = read_index(folder)
    label = setting.playable.spec.label
    events: list[Event] = []
    with Writer(files.find_free(out / "logs", label, ".jsonl")) as writer, setting.lend() as (store, meter):

        def note(event: Event) -> None:
            events.append(event)
            writer.append(event)

        def warm(texts: Sequence[str]) -> None:  # no clock runs while they are embedded
            setting.children.warm(texts, label)

        feeder = _Feeder(store, feed, list_stand_ins(index.secrets), Blobs(out / "blobs"), warm)
        described = setting.playable.backend
        sessions = len(index.sessions)
        note(Began(backend=label, described=described, feed=feed, sessions=sessions, secrets=index.secrets))
        try:
            for event in feeder.play(folder, index.sessions):
                note(event)
            note(Ended(status="complete"))
        except Lost as lost:
            note(Ended(status="failed", fault=lost.fault))
        finally:
            feeder.abandon()
    setting.children.check()
    setting.children.played(label, meter)
    return events, meter


class _Feeder(StoreSession[Handle]):
    def __init__(
        self,
        store: Store[Handle],
        feed: Feed,
        stand_ins: Mapping[str, str],
        blobs: Blobs,
        warm: Callable[[Sequence[str]], None],
    ) -> None:
        super().__init__(store)
        self._feed, self._stand_ins, self._blobs, self._warm = feed, stand_ins, blobs, warm
        self._needles = Needles(stand_ins) if stand_ins else None
        self._questions: list[Question] = []

    def play(self, folder: Path, entries: Sequence[Entry]) -> Iterator[Event]:
        """Raises Lost if the child is gone."""
        scopes = dict.fromkeys(map(_place, entries))
        must(self._enter)
        for entry in entries:
            yield self._tell(read_session(folder, entry))
            self.go_on()
        self.ask(lambda memory: memory.settle(SETTLE_SECONDS))
        self.go_on()
        for question in _spread(self._questions):
            yield self._ask_for(question)
            self.go_on()
        # closed first, as what a process holds back is in no file yet
        must(self._leave)
        yield self._look("told")
        # the store was closed, so only one that keeps its memories has anything to delete
        if self.supports("forget_scope", "persistent"):
            yield from self._delete(list(scopes))

    def _tell(self, spoken: Spoken) -> Fed:
        entry, scope, at = spoken.entry, _place(spoken.entry), spoken.entry.at.isoformat()
        session = Session.model_construct(  # of no story: it has no steps
            id=entry.id, at=entry.at, by=entry.program, commit=entry.commit, steps=(), transcript=spoken.messages
        )
        for number, message in enumerate(spoken.messages, 1):
            # a mark parts a line: where it stood, the backend was told an invented secret
            lines = map(normalise, MARKED.sub("\n", message.content).splitlines())
            signs = tuple(line[:SIGN] for line in lines if len(line) >= LEAST)
            if message.role == "user" and signs:
                text = MARKED.sub("", message.content)[:ASKED]
                self._questions.append(Question(f"{entry.id}#{number}", scope, at, text, signs))
        call: Callable[[Handle], tuple[str, ...]]
        if self._feed == "native":
            messages = list_said(session, self._stand_ins)
            texts = [f"{each.role}: {each.content}" for each in messages]
            call = lambda memory: memory.observe(messages, scope, at, entry.id).ids  # noqa: E731
        else:
            chunks = cut_transcript(session, (), self._stand_ins)
            texts = [chunk.text for chunk in chunks]
            items = [
                Item(chunk.text, scope, at, "episodic", Source(session=f"{entry.id}#{chunk.first}")) for chunk in chunks
            ]
            call = lambda memory: _flatten(memory.remember(items))  # noqa: E731
        self._warm(texts)  # how a backend cuts what it captures itself, nobody knows beforehand
        ids, fault, took = self.ask(call)
        marked = frozenset(name for message in spoken.messages for name in message.marked)
        return Fed(
            session=entry.id,
            repository=entry.repository,
            messages=len(spoken.messages),
            tokens=sum(map(tokens.count, texts)),
            secrets=tuple(sorted(marked & self._stand_ins.keys())),
            ids=ids,
            fault=fault,
            took=took,
        )

    def _ask_for(self, question: Question) -> Asked:
        self._warm([question.text])
        hits, fault, took = self.ask(lambda memory: memory.recall(question.text, question.scope, K, question.at))
        brought = [normalise(hit.text) for hit in hits or ()]
        return Asked(
            message=question.message,
            found=any(sign in text for sign in question.signs for text in brought),
            secrets=tuple(
                name for name, secret in self._stand_ins.items() if any(secret in hit.text for hit in hits or ())
            ),
            hits=None if hits is None else pack(self._blobs, HITS, tuple(hits)),
            fault=fault,
            took=took,
        )

    def _look(self, when: Literal["told", "deleted"]) -> Seen:
        if self._needles is None:
            return Seen(when=when, bytes=self.weigh() or 0, secrets=())
        looks = [scan for _, _, scan in self.scan(self._needles)]
        seen = {sighting.fact for scan in looks for sighting in scan.sightings}
        problems = "; ".join(filter(None, (scan.problem for scan in looks))) or None
        return Seen(when=when, bytes=self.weigh() or 0, secrets=tuple(sorted(seen)), problem=problems)

    def _delete(self, scopes: Sequence[Scope]) -> Iterator[Event]:
        must(self._enter)
        for scope in scopes:
            # the default binds the scope of this turn; mypy infers no type for a lambda with a default
            _, fault, took = self.ask(lambda memory, scope=scope: memory.forget_scope(scope))  # type: ignore[misc]
            yield Deleted(repository=scope.repo or "", fault=fault, took=took)
            self.go_on()
        self.ask(lambda memory: memory.settle(SETTLE_SECONDS))
        self.go_on()
        must(self._leave)
        yield self._look("deleted")


def _place(entry: Entry) -> Scope:
    """Sessions of which no repository is known share one."""
    return Scope(repo=entry.repository or "unknown")


def _flatten(acks: Sequence[Ack]) -> tuple[str, ...]:
    return tuple(name for ack in acks for name in ack.ids)


def _spread(questions: Sequence[Question]) -> Iterator[Question]:
    count = min(QUESTIONS, len(questions))
    return (questions[at * len(questions) // count] for at in range(count))
