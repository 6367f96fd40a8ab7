"""Plays one trial: the story's sessions in order, against one memory, and yields what happened as events.

The engine knows no adapter's name and computes no score. What it hands to a backend holds no gold.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import count, groupby
from math import ceil
from typing import Any

from harness.adapter import Item, Source
from harness.gateway.meter import Meter
from harness.log.blobs import pack
from harness.log.calls import CALLS
from harness.log.events import Began, Closed, Corrected, Event, Opened, Worked
from harness.log.parts import Written
from harness.model import canary
from harness.model.backend import Backend, Fault
from harness.model.facts import CANARY, STRATA, Fact, Remark
from harness.model.job import Job
from harness.model.scenario import Forget, Learn, Probe, Remember, Scenario, Session, Step
from harness.model.trial import NEEDS, ReadPolicy, Trial, WritePolicy
from harness.play import filtering, noise, readers, story_deletion, writing
from harness.play.drafting import Kept, draft_memories
from harness.play.questions import Questions
from harness.play.readers import AskMemory, Context
from harness.play.session import MemorySession, Part, Purpose, Query, Tools
from harness.play.store import Handle, Lost, Store
from harness.text.chunks import Chunk, cut_transcript, list_said

SHARE = 5
"""A call writes at most one memory more than a share of the noise: with little noise, its size would tell a remark that
stands alone."""


def make_canaries(scenario: Scenario, seed: int) -> dict[str, str]:
    """One string for each erasable fact, found in that fact's texts only."""
    return {fact.id: canary.make(scenario.id, seed, fact.id) for fact in scenario.facts if fact.erasable}


def list_texts(part: Part) -> Iterator[str]:
    """Every text that the trial will write or ask, so that it can be embedded before any clock starts."""
    scenario, found = part.scenario, []
    for fact in scenario.facts:
        mark = part.canaries.get(fact.id, "")
        written = [fact.phrase(stratum).text.replace(CANARY, mark) for stratum in STRATA]
        found += [*written, *(canary.query(text, mark) for text in written if mark)]
    for _, step in scenario.steps():
        if isinstance(step, Probe):
            found += [text for _, text in step.ask.phrasings()]
        elif isinstance(step, Job):
            found += [decision.question for decision in step.decisions]
        elif isinstance(step, Remember):
            found += [text.text for text in step.texts]
    if part.trial.feed == "sessions":  # how a backend cuts what it captures itself, nobody knows beforehand
        found += [chunk.text for session in scenario.sessions for chunk in _cut(part, session)]
    yield from found
    yield from (each.item.text for each in part.noise if not each.said)
    yield from map(canary.query_word, part.canaries.values())


def _cut(part: Part, session: Session) -> list[Chunk]:
    return cut_transcript(session, part.scenario.facts, part.canaries)


def play(
    part: Part,
    store: Store[Handle] | None,
    tools: Tools,
    meter: Meter | None = None,
    ways: Mapping[WritePolicy | None, type[writing.Way]] = writing.WAYS,
) -> Generator[Event, None, None]:
    """The events of a trial, `closed` included, whatever the backend does. Without a store: the cold arm."""
    backend = store.backend if store else None
    # as it is played, salted if its reader asks for that: scores are computed from the log and its blobs alone
    story = tools.blobs.put(part.scenario.model_dump_json(by_alias=True).encode())
    yield Opened(
        trial=part.trial,
        backend=backend,
        scenario=story,
        digests=part.digests,
        canaries=part.canaries,
        host=tools.host,
        policies=filtering.list_played(tools.reader.policies, part.trial, store.backend) if store else (),
    )
    if store is None:
        yield from _play_cold(part, tools)
        yield Closed(status="complete")
        return
    refusal = _explain_refusal(part.trial, store.backend)
    if refusal is not None:
        yield Closed(status="unsupported", fault=refusal)
        return
    memory_session = MemorySession(part, store, tools, meter)
    try:
        _check_out(memory_session, part.scenario.sessions[0])
        memory_session.open()
        yield from Warm(memory_session, ways[part.trial.write_policy]).story()
        memory_session.close()
        # weighed after closing, when nothing is held back any more
        yield Closed(status="complete", stored=memory_session.weigh())
    # Hindered passes by: `trouble.fence` ends the log with it, as the machine's fault
    except Lost as lost:
        yield Closed(status="failed", fault=lost.fault)
    finally:
        memory_session.abandon()


def _check_out(memory_session: MemorySession, session: Session) -> None:
    """Brings the work trees of a backend that reads them to where a session works, before any of its calls: of the
    repository that it plays in to its commit, of those beside it to their newest one; the story's own stays."""
    if not memory_session.supports("work_tree"):
        return
    repo, scenario = memory_session.tools.repo, memory_session.scenario
    here = repo.find(session.commit)
    for at, part in enumerate(repo.parts):
        # a backend knows the story's repository by the name in its scopes, which need not be the fixture's
        tree = memory_session.store.lend_work_tree(part.name if at else scenario.scope.repo or part.name)
        commit = session.commit if part is here else part.find_newest(session.at) if at else None
        if commit is not None:
            part.check_out(commit, tree)


def _explain_refusal(trial: Trial, backend: Backend) -> Fault | None:
    """A way of writing that a backend cannot follow is never turned into a silent append."""
    for needed in NEEDS[trial.write_policy] if trial.write_policy else ():
        if not backend.supports(needed):
            return Fault(kind="refused", op=needed, message=backend.support[needed].note or "unsupported")
    return None


def _play_cold(part: Part, tools: Tools) -> Iterator[Event]:
    """The jobs alone, by an agent that was told nothing."""
    for session in part.scenario.sessions:
        yield Began(session=session.id, at=session.at, commit=session.commit)
        for step in session.steps:
            if isinstance(step, Job):
                yield from _work(part, tools, session, step, lambda *_: (), None)


class Warm:
    """The story as it is told to one memory."""

    def __init__(self, memory_session: MemorySession, way: type[writing.Way]) -> None:
        self._memory_session = memory_session
        self._scenario, self._trial = memory_session.scenario, memory_session.trial
        self._noise = list(memory_session.part.noise)
        self._fed = set[str]()
        self._way = way(memory_session)

    def story(self) -> Iterator[Event]:
        memory_session = self._memory_session
        batches = count()
        for session in self._scenario.sessions:
            yield Began(session=session.id, at=session.at, commit=session.commit)
            memory_session.begin(session.at)
            if session is not self._scenario.sessions[0]:  # which it was opened in
                _check_out(memory_session, session)
            memory_session.phase("ingest")
            yield from self._way.begin(session)
            for writes, steps in groupby(session.steps, lambda step: isinstance(step, Learn | Remember)):
                if writes:
                    memory_session.phase("ingest")
                    yield from self._write(session, next(batches), list(steps))
                else:
                    for step in steps:
                        yield from self._step(session, step)
            # its transcript goes in with the first batch, and this session has none
            if self._trial.feed != "facts" and session.id not in self._fed:
                memory_session.phase("ingest")
                yield from memory_session.write(session, "learn", self._list_spoken(session))
                yield from self._note_changes(session)
        if memory_session.supports("extracts") and memory_session.supports("entries"):
            yield from self._list_left(self._scenario.sessions[-1])
        if self._scenario.forgotten:
            memory_session.phase("erase")
            yield from story_deletion.play_aftermath(memory_session, self._scenario.sessions[-1])
        yield from self._meter()

    def _note_changes(self, session: Session) -> Iterator[Event]:
        if self._trial.feed == "native" and self._memory_session.supports("entries"):
            yield from self._memory_session.note_changes(session)

    def _list_left(self, session: Session) -> Iterator[Event]:
        """What a backend has made of what it was told, scope by scope: its texts are its own, so only they can tell."""
        yield from self._memory_session.settle(session)
        for scope in dict.fromkeys(self._scenario.home(fact) for fact in self._scenario.facts):
            yield from self._memory_session.entries(scope, "end")

    def _step(self, session: Session, step: Step) -> Iterator[Event]:
        memory_session = self._memory_session
        if isinstance(step, Probe):
            memory_session.phase("probe")
            return self._probe(session, step)
        if isinstance(step, Forget):
            memory_session.phase("erase")
            return story_deletion.forget(memory_session, session, step)
        assert isinstance(step, Job)
        memory_session.phase("job")
        return self._job(session, step)

    # --- writing ---

    def _write(self, session: Session, number: int, steps: Sequence[Step]) -> Iterator[Event]:
        """What these steps tell and the noise of their batch, mixed. Who looks up writes its facts one by one, last.

        A model that writes decides what of it is kept; where it may replace memories, those that do come last.
        """
        learnt = [
            self._item(session, fact, fact.phrase(step.stratum).text)
            for step in steps
            if isinstance(step, Learn)
            for fact in map(self._scenario.by_id.__getitem__, step.facts)
        ]
        remarks, replacing = self._remarks(session, steps), list[Kept]()
        if self._trial.feed != "facts":  # all at once: a transcript is there when its session has ended
            learnt, remarks = [], [] if session.id in self._fed else self._list_spoken(session)
        if self._memory_session.tools.writer:
            kept = yield from draft_memories(self._memory_session, session, number, [*learnt, *remarks])
            learnt, replacing = [], [each for each in kept if each.replaces]
            remarks = [each.written for each in kept if not each.replaces]
        written = [*remarks, *(each for each in self._noise if noise.find_batch(each) == number)]
        if not self._way.looks_up:
            written += learnt
        written = yield from self._way.take(session, written)
        # mixed by seed, so that no place in a call tells facts from noise
        random.Random(f"{self._scenario.id} {self._trial.seed} {number}").shuffle(written)  # noqa: S311  reproducible
        most = 1 + self._trial.noise // SHARE
        calls = ceil(len(written) / most)
        purpose: Purpose = "learn" if learnt and not self._way.looks_up else "remark"
        for at in range(calls):
            # parts of equal size: a short last one would tell something of what it holds
            part = written[len(written) * at // calls : len(written) * (at + 1) // calls]
            yield from self._memory_session.write(session, purpose, part)
        for each in replacing:
            yield from self._memory_session.write(session, "learn", [each.written], each.replaces)
        if self._way.looks_up:
            for fact in learnt:
                yield from self._way.learn(session, fact)
        if written:
            yield from self._note_changes(session)

    def _list_spoken(self, session: Session) -> list[Written]:
        """All that was said in a session: as it is, or in pieces."""
        self._fed.add(session.id)
        part = self._memory_session.part
        if self._trial.feed == "native":
            said = list_said(session, part.canaries)
            text = "\n".join(f"{each.role}: {each.content}" for each in said)
            return [Written(f"session:{session.id}", self._spoken(session, text, session.id), said)]
        return [
            Written(f"chunk:{session.id}:{at}", self._spoken(session, chunk.text, f"{session.id}#{chunk.first}"))
            for at, chunk in enumerate(_cut(part, session))
        ]

    def _spoken(self, session: Session, text: str, source: str) -> Item:
        place = self._scenario.place(session)
        return Item(text, place, session.at.isoformat(), "episodic", Source(session=source))

    def _item(self, session: Session, fact: Fact, text: str) -> Written:
        source = fact.source or Source()
        item = Item(
            text=text.replace(CANARY, self._memory_session.part.canaries.get(fact.id, "")),
            scope=self._scenario.home(fact),
            at=session.at.isoformat(),
            kind=fact.type,
            source=Source(source.commit, source.path, source.line, session.cite([fact.id])),
            confidence=fact.confidence,
            expires=fact.until.isoformat() if fact.until else None,
        )
        return Written(name=f"fact:{fact.id}", item=item)

    def _remarks(self, session: Session, steps: Sequence[Step]) -> list[Written]:
        """Named by session and place in it, as a batch holds all that a session says at once."""
        # steps are compared by identity, as a session may say the same twice
        remarks = [(step, text) for step in session.steps if isinstance(step, Remember) for text in step.texts]
        return [
            Written(name=f"remark:{session.id}:{at}", item=self._remark(session, step, text))
            for at, (step, text) in enumerate(remarks)
            if any(step is each for each in steps)
        ]

    def _remark(self, session: Session, step: Remember, text: Remark) -> Item:
        cited = (self._scenario.by_id[text.cites].source if text.cites else None) or Source()
        return Item(
            text=text.text,
            scope=step.scope or self._scenario.place(session),
            at=session.at.isoformat(),
            kind=self._scenario.kind_of(step, text),
            source=Source(cited.commit, cited.path, cited.line, session.cite(text.asserts)),
            confidence=step.confidence,
        )

    def _probe(self, session: Session, probe: Probe) -> Iterator[Event]:
        for stratum, text in probe.ask.phrasings():
            day = self._scenario.find_day(session, probe)
            other = None if day == session.at else day
            query = Query("probe", probe.id, text, self._scenario.place(session), stratum, other)
            yield from self._memory_session.recall(query, session)

    def _job(self, session: Session, job: Job) -> Iterator[Event]:
        """The reader does it under each of its policies; what it asked before is not asked again."""
        tools, questions = self._memory_session.tools, Questions(self._memory_session, session, job)
        backend = self._memory_session.store.backend
        asks_with = partial(questions.ask, where=filtering.choose_filter(self._trial, backend))
        for policy in filtering.list_played(tools.reader.policies, self._trial, backend):
            self._memory_session.phase("filtered" if policy == "filtered" else "job")
            ask = asks_with if policy == "filtered" else questions.ask
            played = _work(self._memory_session.part, tools, session, job, ask, policy, questions.remember)
            # else a reader's work tree stays open until the generator is collected
            with closing(played) as rounds:
                while True:
                    worked = None
                    with suppress(Lost):  # what was asked until then is logged first
                        worked = next(rounds, None)
                    yield from questions.take_log()
                    if worked is None:
                        break
                    yield worked
                    if self._trial.rounds > 1:
                        questions.begin_correction()

    def _meter(self) -> Iterator[Event]:
        yield self._memory_session.read_meter()
        self._memory_session.go_on()


def _work(
    part: Part,
    tools: Tools,
    session: Session,
    job: Job,
    ask: AskMemory,
    policy: ReadPolicy | None,
    remember: Callable[[str], bool] | None = None,
) -> Generator[Worked | Corrected, None, None]:
    """Has a job decided, round by round, and does it in a work tree of the session's commit, unless the reader did it
    in one."""
    repo = tools.repo.find(session.commit)
    context = Context(
        repo=repo,
        explorer=tools.explorer,
        classifier=tools.classifier,
        count=tools.count,
        commit=session.commit,
        place=part.scenario.place(session),
        at=session.at,
        policy=policy,
        seed=part.trial.seed,
        ask_model=tools.ask_model,
        remember=remember,
        rounds=part.trial.rounds,
        try_out=lambda values: tools.work_trees.do(repo, session.commit, job, values).ran,
    )
    begun = time.monotonic()
    with closing(readers.play_rounds(tools.reader, job, context, ask)) as rounds:
        for number, outcome in enumerate(rounds, 1):
            values = {choice.decision: choice.value for choice in outcome.choices}
            # taken before the checks run, which is not the reader's work
            took = time.monotonic() - begun
            done = outcome.work or tools.work_trees.do(repo, session.commit, job, values)
            told: dict[str, Any] = {
                "job": job.id,
                "session": session.id,
                "at": session.at,
                "read_policy": policy,
                "choices": tuple(outcome.choices),
                "reads": tuple(outcome.reads),
                "prompt": outcome.prompt,
                "completion": outcome.completion,
                "diff": tools.blobs.put(done.diff.encode("utf-8", "replace")),
                "ran": done.ran,
                "checks": done.checks,
                "calls": pack(tools.blobs, CALLS, tuple(outcome.calls)) if outcome.calls else None,
                "took": took,
                "told": outcome.told,
                "printed": tools.blobs.put(outcome.printed.encode("utf-8", "replace")) if outcome.printed else None,
                "unanswered": sum(call.passing for call in outcome.calls),
                "visible": done.visible,
            }
            yield Worked(**told) if number == 1 else Corrected(**told, number=number, review=outcome.review)
            # what the caller did with the round before is not the reader's time
            begun = time.monotonic()
