"""Puts a published set to backends: each store remembers its documents in one batch, then every question is asked.

What happens is logged call by call, as a drill's calls are; the figures are computed from the logs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from harness.adapter import Ack, Hit, Item, Scope, Source
from harness.conformance import Setting
from harness.log.blobs import Blobs, Ref, pack, unpack
from harness.log.events import SCHEMA, Event
from harness.log.lines import LogError, Writer, load
from harness.log.parts import HITS
from harness.log.transcript import Ended
from harness.machine import files
from harness.model.backend import Backend, Fault
from harness.play.store import SETTLE_SECONDS, Handle, Lost, StoreSession, must
from harness.published.sets import Document, Haystack, Mutation, PublishedSet

T = TypeVar("T")
_PLACE = Scope(repo="published")
_ACKS: TypeAdapter[tuple[Ack, ...]] = TypeAdapter(tuple[Ack, ...])


class Posed(Event):
    """The opening event: which store of which set is put to whom.

    Attributes:
        sha256: Of the file of the set.
        haystack: Its documents and questions.
    """

    kind: Literal["posed"] = "posed"
    log_schema: int = SCHEMA
    name: str
    unit: str
    wording: str
    sha256: str
    backend: str
    described: Backend
    k: int
    haystack: Ref


class Remembered(Event):
    """The documents of the store were told in one batch, in their order."""

    kind: Literal["remembered"] = "remembered"
    acks: Ref | tuple[Ack, ...] | None
    fault: Fault | None = None


class Settled(Event):
    """Whether what was acknowledged is seen from here on."""

    kind: Literal["settled"] = "settled"
    ok: bool | None
    fault: Fault | None = None


class Changed(Event):
    """A mutation of the store, by its number: the first memory that its words bring back was changed.

    Attributes:
        told: How: unsupported stands for what the backend declares that it cannot do.
        acks: Of what took its place.
    """

    kind: Literal["changed"] = "changed"
    mutation: int
    told: Literal["done", "nothing found", "unsupported", "failed"]
    acks: tuple[Ack, ...] = ()
    fault: Fault | None = None


class Asked(Event):
    """A question of the store, by its number, and what came back."""

    kind: Literal["asked"] = "asked"
    question: int
    hits: Ref | tuple[Hit, ...] | None
    fault: Fault | None = None


_EVENT: TypeAdapter[Posed | Remembered | Settled | Changed | Asked | Ended] = TypeAdapter(
    Annotated[Posed | Remembered | Settled | Changed | Asked | Ended, Field(discriminator="kind")]
)


@dataclass(frozen=True)
class Answered:
    """One store as its log tells it.

    Attributes:
        ids: The id of a memory -> the document that it was acknowledged for.
        answers: Question by question, what came back; None: the call failed, or was not reached.
        unable: The backend declares that it cannot do one of the mutations.
    """

    posed: Posed
    haystack: Haystack
    ids: dict[str, str]
    answers: tuple[tuple[Hit, ...] | None, ...]
    ended: Ended | None
    unable: bool = False


def play(data: PublishedSet, setting: Setting, k: int, folder: Path) -> list[Path]:
    """Plays every store that is asked anything against one backend; the logs, in `folder`, beside their blobs.

    Raises MemoryFault if the backend cannot be opened, EmbedderError if it embeds and nobody here can.
    """
    blobs, logs = Blobs(folder / "blobs"), list[Path]()
    haystacks = [each for each in data.haystacks if each.questions]
    _try_out(setting, haystacks[0].documents[0])
    for haystack in haystacks:
        log = files.find_free(folder / "logs", f"{setting.playable.spec.label}-{haystack.id}", ".jsonl")
        # embedded beforehand, so that no call's time includes it
        texts = [each.text for each in haystack.documents] + [each.text for each in haystack.questions]
        setting.children.warm(texts, setting.playable.spec.label)
        with Writer(log) as writer, setting.lend() as (store, _):
            asker = _Asker(store)
            writer.append(_pose_question(data, haystack, setting, k, blobs))
            try:
                for event in asker.play(haystack, k, blobs):
                    writer.append(event)
                writer.append(Ended(status="complete"))
            except Lost as lost:
                writer.append(Ended(status="failed", fault=lost.fault))
            finally:
                asker.abandon()
        setting.children.check()
        logs.append(log)
    return logs


def _try_out(setting: Setting, document: Document) -> None:
    """Writes and asks for one memory in a store of its own: whether the backend embeds anything is known from there.

    Raises MemoryFault.
    """
    if setting.playable.embeds:  # loading the model is no part of the first call
        setting.children.warm([document.text], setting.playable.spec.label)
    with setting.lend() as (store, meter):
        memory = store.open()
        try:
            memory.remember([_make_item(document)])
            memory.settle(SETTLE_SECONDS)
            memory.recall(document.text, _PLACE, 1, document.at)
            memory.close()
        finally:
            memory.kill()
    setting.children.played(setting.playable.spec.label, meter)


def _make_item(document: Document) -> Item:
    return Item(document.text, _PLACE, document.at, "episodic", Source(session=document.name))


def _pose_question(data: PublishedSet, haystack: Haystack, setting: Setting, k: int, blobs: Blobs) -> Posed:
    return Posed(
        name=data.name,
        unit=data.unit,
        wording=data.wording,
        sha256=data.sha256,
        backend=setting.playable.spec.label,
        described=setting.playable.backend,
        k=k,
        haystack=blobs.put(haystack.model_dump_json().encode()),
    )


class _Asker(StoreSession[Handle]):
    """One store of the set, open in a process of its own."""

    def play(self, haystack: Haystack, k: int, blobs: Blobs) -> Iterator[Event]:
        """Raises Lost if the child is gone."""
        # asked at the time of the last document, when all of them have been told
        items, last = [_make_item(each) for each in haystack.documents], haystack.documents[-1].at
        must(self._enter)
        acks, fault, took = self.ask(lambda memory: memory.remember(items))
        yield Remembered(acks=_keep(blobs, _ACKS, acks), fault=fault, took=took)
        self.go_on()
        settled, fault, took = self.ask(lambda memory: memory.settle(SETTLE_SECONDS))
        yield Settled(ok=settled, fault=fault, took=took)
        self.go_on()
        for at, mutation in enumerate(haystack.mutations):
            yield self._change(at, mutation, last)
            self.go_on()
        for at, question in enumerate(haystack.questions):
            hits, fault, took = self.ask(_recall(question.text, k, last))
            yield Asked(question=at, hits=_keep(blobs, HITS, hits), fault=fault, took=took)
            self.go_on()
        must(self._leave)

    def _change(self, at: int, mutation: Mutation, when: str) -> Changed:
        """Changes memories without ids: what is meant is what the words bring back first. What replaces nothing is
        remembered.
        """
        if not self.supports("supersede" if mutation.op == "supersede" else "forget"):
            return Changed(mutation=at, told="unsupported")
        hits, fault, took = self.ask(_recall(mutation.query, 1, when))
        if hits is None:
            return Changed(mutation=at, told="failed", fault=fault, took=took)
        # a backend may bring more than it was asked for
        ids = [each.memory_id for each in hits[:1]]
        acks: Sequence[Ack] | None = ()
        if mutation.op == "supersede":
            item = Item(mutation.text, _PLACE, when, "episodic", Source(session=f"mutation-{at}"))
            acks, fault, took = self.ask(
                lambda memory: [memory.supersede(_PLACE, ids, item)] if ids else memory.remember([item])
            )
        elif ids:
            _, fault, took = self.ask(lambda memory: memory.forget(_PLACE, ids))
        if fault is None:
            _, fault, took = self.ask(lambda memory: memory.settle(SETTLE_SECONDS))
        outcome: Literal["failed", "done", "nothing found"] = "failed" if fault else "done" if ids else "nothing found"
        return Changed(mutation=at, told=outcome, acks=tuple(acks or ()), fault=fault, took=took)


def _keep(blobs: Blobs, kind: TypeAdapter[tuple[T, ...]], values: Sequence[T] | None) -> tuple[T, ...] | Ref | None:
    if values is None:
        return None
    return pack(blobs, kind, tuple(values))


def _recall(query: str, k: int, at: str) -> Callable[[Handle], list[Hit]]:
    return lambda memory: memory.recall(query, _PLACE, k, at)


def read(log: Path) -> Answered:
    """A log as it was played. Raises LogError."""
    blobs = Blobs(log.parent.parent / "blobs")
    try:
        events = [_EVENT.validate_json(line) for line in load(log, "published set").events]
    except ValidationError as error:
        raise LogError(f"{log}: not an event of a published set: {str(error).splitlines()[0]}") from None
    posed = events[0]
    if not isinstance(posed, Posed):
        raise LogError(f"{log}:1: not the opening event of a published set")
    haystack = Haystack.model_validate_json(blobs.get(posed.haystack))
    ids: dict[str, str] = {}
    answers: dict[int, tuple[Hit, ...]] = {}
    for event in events:
        if isinstance(event, Remembered) and event.acks is not None:
            acks = unpack(blobs, _ACKS, event.acks)
            # not strict, as a backend may acknowledge fewer than it was told
            ids |= {
                each: document.name for document, ack in zip(haystack.documents, acks, strict=False) for each in ack.ids
            }
        elif isinstance(event, Changed):
            # an id that a store gives again stands from here on for what took its place
            ids |= {each: f"mutation-{event.mutation}" for ack in event.acks for each in ack.ids}
        elif isinstance(event, Asked) and event.hits is not None:
            answers[event.question] = unpack(blobs, HITS, event.hits)
    ended = events[-1] if isinstance(events[-1], Ended) else None
    hits_by_question = tuple(answers.get(at) for at in range(len(haystack.questions)))
    unable = any(isinstance(event, Changed) and event.told == "unsupported" for event in events)
    return Answered(posed, haystack, ids, hits_by_question, ended, unable)
