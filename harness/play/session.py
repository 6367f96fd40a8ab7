"""The conversation of one trial with its memory: every call, timed, with its event and its fault."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from harness.adapter import Ack, Filter, Hit, Memory, Scope, Source, Usage
from harness.gateway.meter import Meter
from harness.log.blobs import Blobs, pack
from harness.log.events import (
    Changed,
    Event,
    Listed,
    Metered,
    Phase,
    Recalled,
    RecallPurpose,
    Resolved,
    Settled,
    Stage,
    Wrote,
)
from harness.log.listing import HitsPacker
from harness.log.parts import FOUND, HITS, WRITTEN, ChatRefused, Checked, Found, Written
from harness.model.backend import Fault
from harness.model.canary import memory_word
from harness.model.facts import Stratum
from harness.model.scenario import Scenario, Session
from harness.model.trial import Trial
from harness.play import entries
from harness.play.readers import AskModel, ReadEntry, Reader
from harness.play.readers.explore import Explorer
from harness.play.readers.scripted import Scripted
from harness.play.store import SETTLE_SECONDS, Handle, Lost, Store, StoreSession, must
from harness.play.writer import ChatWriter
from harness.repo.checkout import Repo
from harness.repo.checks import WorkTrees
from harness.text.classify import Classifier
from harness.text.stored_texts import StoredTexts

T = TypeVar("T")
Purpose = Literal["learn", "remark"]


@dataclass(frozen=True)
class Part:
    """Everything that a trial is made of and that its digest covers."""

    trial: Trial
    scenario: Scenario
    noise: Sequence[Written]
    canaries: Mapping[str, str]
    digests: Mapping[str, str]


@dataclass(frozen=True)
class Tools:
    """What all trials of a run share.

    Attributes:
        writer: Decides what is remembered; None: all that a story tells is.
    """

    repo: Repo
    explorer: Explorer
    classifier: Classifier
    work_trees: WorkTrees
    blobs: Blobs
    count: Callable[[str], int]
    host: Mapping[str, str] = field(default_factory=dict)
    reader: Reader = field(default_factory=Scripted)
    ask_model: AskModel | None = None
    writer: ChatWriter | None = None


class Query(NamedTuple):
    """A recall that is still to be asked: why, for which probe, fact or decision, and in which words."""

    purpose: RecallPurpose
    ref: str
    query: str
    scope: Scope
    stratum: Stratum | None = None
    day: datetime | None = None
    """The story time that it asks about; None: its session's."""
    where: Filter | None = None


class MemorySession(StoreSession[Handle]):
    """A trial's open memory, what it has acknowledged, and what is known of its texts."""

    def __init__(self, part: Part, store: Store[Handle], tools: Tools, meter: Meter | None) -> None:
        super().__init__(store)
        self.part, self.tools, self._meter = part, tools, meter
        self.scenario, self.trial = part.scenario, part.trial
        self.ids: dict[str, tuple[str, ...]] = {}
        self.alive: set[str] = set()
        self.places: dict[str, Scope] = {}
        self._stored = StoredTexts()
        self._cutter = entries.EntryCutter(part.trial, store.backend, tools.count, self._stored)
        self._listed: dict[Scope, dict[str, Hit]] = {}
        self._dirty = False
        self._usage: Usage | None = None
        self._usage_fault: Fault | None = None
        self._resolved: set[tuple[Source, str]] = set()
        self._at = part.scenario.sessions[0].at

    def open(self) -> None:
        self.begin(self._at)
        must(self._enter)

    def begin(self, at: datetime) -> None:
        """A session at this time: the clock of a story shows it, but for writes and questions of another day."""
        self._at = at
        self.store.set_clock(at.isoformat())

    def close(self) -> None:
        must(self._leave)

    def phase(self, name: Phase) -> None:
        if self._meter is not None:
            self._meter.phase = name

    def _set_day(self, at: str) -> None:
        """What a backend takes for now: by the clock of the story, or else in the prompts of models inside it."""
        if self.trial.clock == "story":
            self.store.set_clock(at)
        elif self._meter is not None:
            self._meter.day = date.fromisoformat(at[:10])

    def wrote(self) -> None:
        """A write or a delete was acknowledged: the next question settles first."""
        self._dirty = True

    def entries(
        self, scope: Scope, stage: Stage, wanted: Callable[[Hit], bool] = lambda _: False
    ) -> Generator[Event, None, list[str]]:
        """All live memories of a scope are listed; the ids of those that are wanted."""
        packer, found = HitsPacker(self.tools.blobs), list[str]()

        def take(page: list[Hit]) -> None:
            packer.add(page)
            found.extend(hit.memory_id for hit in page if wanted(hit))

        _, fault, took = self.ask(lambda memory: memory.page_entries(scope, take))
        listed = () if fault else packer.finish()
        yield Listed(stage=stage, scope=scope, hits=listed, fault=fault, took=took)
        self.go_on()
        # a listing that broke off does not have all of them
        return [] if fault else found

    def note_changes(self, session: Session) -> Iterator[Event]:
        """What a backend has made of what was said, in each scope of the story: nobody else can tell."""
        yield from self.settle(session)
        places = dict.fromkeys(map(self.scenario.place, self.scenario.sessions))
        places |= dict.fromkeys(map(self.scenario.home, self.scenario.facts))
        # a backend without scopes lists the same in each
        for scope in places if self.supports("scope_repo") else [*places][:1]:
            now, before = dict[str, Hit](), self._listed.get(scope, {})
            _, fault, took = self.ask(partial(_list_into, now, scope))
            if fault:
                yield Changed(session=session.id, scope=scope, fault=fault, took=took)
            else:
                self._listed[scope] = now
                new = tuple(hit for name, hit in now.items() if before.get(name) != hit)
                gone = tuple(name for name in before if name not in now)
                hits = pack(self.tools.blobs, HITS, new)
                yield Changed(session=session.id, scope=scope, hits=hits, gone=gone, took=took)
            self.go_on()

    def settle(self, session: Session) -> Iterator[Event]:
        """Waits for acknowledged writes before the next question; asked once after each run of writes."""
        if self._dirty:
            ok, fault, took = self.ask(lambda memory: memory.settle(SETTLE_SECONDS))
            self._dirty = False
            yield Settled(session=session.id, ok=bool(ok), fault=fault, took=took)
            self.go_on()

    def recall(self, question: Query, session: Session) -> Generator[Event, None, list[ReadEntry]]:
        """Asks, yields the question with what came back, then what git says of new sources.

        Returns: What whoever asked is shown of it.
        """
        yield from self.settle(session)
        query, scope, k, at = question.query, question.scope, self.trial.k, (question.day or session.at).isoformat()
        self._set_day(at)
        hits, fault, took = self.ask(partial(_recall, query, scope, k, at, question.where))
        # a question about another day is over: what follows happens in the session
        self.store.set_clock(self._at.isoformat())
        until = time.monotonic() + entries.OWN_SECONDS
        try:
            found, tokens = self._cutter.cut(hits or [], until)
        except Lost as lost:
            hits, found, tokens, fault = None, Found(), 0, lost.fault
            # ends the story in `go_on`, after the question is logged
            self._lost = fault
        shown = self._cutter.count_shown(found.entries)
        yield Recalled(
            purpose=question.purpose,
            ref=question.ref,
            stratum=question.stratum,
            session=session.id,
            at=session.at,
            day=question.day,
            where=question.where,
            query=query,
            scope=scope,
            k=k,
            pool=len(self.alive),
            found=pack(self.tools.blobs, FOUND, found) if hits else found,
            fault=fault,
            asking=self.tools.count(query),
            # nobody is shown, or pays for, more than the budget
            tokens=min(tokens, self.trial.budget),
            shown=shown,
            took=took,
        )
        self.go_on()
        if hits:
            yield from self._resolve(found.hits, session.commit, until)
        return entries.read(found, shown)

    def _resolve(self, hits: Sequence[Hit], head: str, until: float) -> Iterator[Event]:
        """Each source that came back is looked up in git, once for each checkout from which it was seen."""
        new = [source for hit in hits if (source := hit.source) and (source, head) not in self._resolved]
        checked = []
        for source in dict.fromkeys(new):
            entries.limit_time(until)
            self._resolved.add((source, head))
            if source.commit and source.path and source.line is not None:
                says = self.tools.repo.line(source.commit, source.path, source.line)
                trace = self.tools.repo.trace(source.commit, source.path, source.line, head)
                checked.append(
                    Checked(source=source, says=says, state=trace.state, path=trace.path, line=trace.line, by=trace.by)
                )
        if checked:
            yield Resolved(head=head, sources=tuple(checked))

    def write(
        self, session: Session, purpose: Purpose, written: Sequence[Written], replaces: Sequence[str] = ()
    ) -> Iterator[Event]:
        """Remembers a batch; with `replaces`, one item as the successor of those memories. Sessions are captured one by
        one.
        """
        if len(written) > 1 and any(each.said for each in written):
            for each in written:
                yield from self.write(session, purpose, [each])
            return
        if not written:
            return
        written = [self.date(each) for each in written]
        items = [each.item for each in written]
        self._set_day(items[0].at)
        ids: tuple[tuple[str, ...], ...] | None
        if replaces:
            ack, fault, took = self.ask(lambda memory: memory.supersede(items[0].scope, replaces, items[0]))
            ids = None if ack is None else (ack.ids,)
            self.alive.difference_update(replaces if ack is not None else ())
        elif written[0].said:
            ack, fault, took = self.ask(partial(_observe, written[0]))
            ids = None if ack is None else (ack.ids,)
        else:
            acks, fault, took = self.ask(lambda memory: memory.remember(items))
            ids = None if acks is None else tuple(each.ids for each in acks)
        # the memories of an undated story have another day than the session, which goes on
        self.store.set_clock(self._at.isoformat())
        # after a fault, too: what was not acknowledged may be stored all the same
        self._store(written, ids or ())
        yield Wrote(
            op="supersede" if replaces else "observe" if written[0].said else "remember",
            purpose=purpose,
            session=session.id,
            items=pack(self.tools.blobs, WRITTEN, tuple(written)),
            replaces=tuple(replaces),
            ids=ids,
            fault=fault,
            tokens=sum(self.tools.count(each.item.text) for each in written if not each.noise),
            noise=sum(self.tools.count(each.item.text) for each in written if each.noise),
            took=took,
        )
        self.go_on()

    def date(self, written: Written) -> Written:
        """A memory as it is, or with the date that all memories of an undated story have."""
        if not self.trial.undated:
            return written
        first = self.scenario.sessions[0].at.isoformat()
        return replace(written, item=replace(written.item, at=first))

    def _store(self, written: Sequence[Written], ids: Sequence[tuple[str, ...]]) -> None:
        """What a write means for the pool, for a later forget, and for cutting hits into entries."""
        self.wrote()
        names_of_texts = [names for each, names in zip(written, ids, strict=False) for _ in each.texts]
        self._stored.add([text for each in written for text in each.texts], names_of_texts)
        # `ids` is empty after a fault
        for each, names in zip(written, ids, strict=False):
            for name in (each.name, *self._list_erasable(each)):
                # a fact may be written by several calls, and a forget has to reach all of them
                self.ids[name] = self.ids.get(name, ()) + names
            self.alive.update(names)
            self.places |= dict.fromkeys(names, each.item.scope)

    def _list_erasable(self, written: Written) -> list[str]:
        """The facts that a story may ask to forget and that a model put into this memory, under the names of their
        texts."""
        if not written.name.startswith(("draft:", "chunk:")):
            return []
        return [f"fact:{name}" for name, mark in self.part.canaries.items() if memory_word(mark) in written.item.text]

    def note_usage(self) -> None:
        """An adapter counts from its opening on, so it is asked before it closes."""
        if self.supports("usage"):
            usage, fault, _ = self.ask(lambda memory: memory.usage())
            self._usage_fault = self._usage_fault or fault
            if usage is not None:
                before = self._usage or Usage()
                self._usage = Usage(
                    before.prompt + usage.prompt, before.completion + usage.completion, before.calls + usage.calls
                )

    def read_meter(self) -> Metered:
        """What the endpoint counted, and what the backend says of its models over all opens, where it can tell."""
        self.note_usage()
        usage, meter = self._usage, self._meter or Meter()
        if self._usage_fault:  # what one open did not tell is missing in the sum of all
            usage = None
        return Metered(
            embeddings={phase: dict(vars(count)) for phase, count in meter.counts().items()},
            chat={phase: count.to_log() for phase, count in meter.chat().items()},
            models=meter.models(),
            refused=tuple(ChatRefused(**each._asdict(), times=times) for each, times in meter.faults().items()),
            prompt=usage.prompt if usage else None,
            completion=usage.completion if usage else None,
            calls=usage.calls if usage else None,
            fault=self._usage_fault,
        )


def _recall(query: str, scope: Scope, k: int, at: str, where: Filter | None, memory: Memory) -> list[Hit]:
    return memory.recall_where(query, scope, k, at, where) if where else memory.recall(query, scope, k, at)


def _observe(written: Written, memory: Memory) -> Ack:
    item = written.item
    return memory.observe(written.said, item.scope, item.at, (item.source and item.source.session) or "")


def _list_into(found: dict[str, Hit], scope: Scope, memory: Handle) -> None:
    memory.page_entries(scope, lambda page: found.update((hit.memory_id, hit) for hit in page))
