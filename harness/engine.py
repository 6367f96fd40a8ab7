"""Plays one trial: the story's sessions in order, against one memory, and yields what happened as events.

The engine knows no adapter's name and computes no score. What it hands to a backend holds no gold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from harness import canary, erasure
from harness.adapter import Item, Source
from harness.curation import curate
from harness.events import Backend, Began, Closed, Event, Fault, Found, Opened, Worked, Written
from harness.exchange import Exchange, Host, Lost, Part, Question, Tools
from harness.model import READ_POLICIES, ReadPolicy, Trial
from harness.models.meter import Meter
from harness.readers import scripted
from harness.scenario import CANARY, STRATA, Fact, Forget, Job, Learn, Probe, Remember, Scenario, Session


def canaries(scenario: Scenario, seed: int) -> dict[str, str]:
    """One string for each erasable fact, found in that fact's texts only."""
    return {fact.id: canary.made(scenario.id, seed, fact.id) for fact in scenario.facts if fact.erasable}


def texts(part: Part) -> Iterator[str]:
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
    yield from found
    yield from (each.item.text for each in part.noise)
    yield from map(canary.asked, part.canaries.values())


def play(part: Part, host: Host | None, tools: Tools, meter: Meter | None = None) -> Iterator[Event]:
    """The events of a trial, `closed` included, whatever the backend does. No host: the cold arm."""
    backend = host.backend if host else None
    story = tools.blobs.put(part.scenario.model_dump_json(by_alias=True).encode())
    yield Opened(
        trial=part.trial, backend=backend, scenario=story, digests=part.digests, canaries=part.canaries, host=tools.host
    )
    if host is None:
        yield from _cold(part, tools)
        yield Closed(status="complete")
        return
    refusal = _refusal(part.trial, host.backend)
    if refusal is not None:
        yield Closed(status="unsupported", fault=refusal)
        return
    exchange = Exchange(part, host, tools, meter)
    try:
        exchange.open()
        yield from Warm(exchange).story()
        exchange.close()
        yield Closed(status="complete")
    except Lost as lost:
        yield Closed(status="failed", fault=lost.fault)
    finally:
        exchange.abandon()


def _refusal(trial: Trial, backend: Backend) -> Fault | None:
    """A curated story needs a backend that can replace a memory; it is never turned into a silent append."""
    if trial.write_policy != "curated" or backend.support["supersede"].level != "unsupported":
        return None
    return Fault(kind="refused", op="supersede", message=backend.support["supersede"].note or "unsupported")


def _cold(part: Part, tools: Tools) -> Iterator[Event]:
    """The jobs alone, by an agent that was told nothing."""
    for session in part.scenario.sessions:
        yield Began(session=session.id, at=session.at, commit=session.commit)
        for step in session.steps:
            if isinstance(step, Job):
                yield _worked(part.scenario, tools, session, step, {}, None)


class Warm:
    """The story as it is told to one memory."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._scenario, self._trial = exchange.scenario, exchange.trial
        self._noise = list(exchange.part.noise)

    def story(self) -> Iterator[Event]:
        exchange = self._exchange
        for session in self._scenario.sessions:
            yield Began(session=session.id, at=session.at, commit=session.commit)
            exchange.phase("ingest")
            yield from exchange.write(session, "noise", self._due(session))
            for step in session.steps:
                yield from self._step(session, step)
        if exchange.supports("extracts") and exchange.supports("entries"):
            yield from self._left(self._scenario.sessions[-1])
        if self._scenario.forgotten:
            exchange.phase("erase")
            yield from erasure.aftermath(exchange, self._scenario.sessions[-1])
        yield from self._metered()

    def _left(self, session: Session) -> Iterator[Event]:
        """What a backend has made of what it was told, scope by scope: its texts are its own, so only they can tell."""
        yield from self._exchange.settle(session)
        for scope in dict.fromkeys(self._scenario.home(fact) for fact in self._scenario.facts):
            yield from self._exchange.entries(scope, "end")

    def _step(self, session: Session, step: Learn | Remember | Forget | Probe | Job) -> Iterator[Event]:
        exchange = self._exchange
        if isinstance(step, Learn):
            exchange.phase("ingest")
            return self._learn(session, step)
        if isinstance(step, Remember):
            exchange.phase("ingest")
            return exchange.write(session, "remark", self._remarks(session, step))
        if isinstance(step, Probe):
            exchange.phase("probe")
            return self._probe(session, step)
        if isinstance(step, Forget):
            exchange.phase("erase")
            return erasure.forget(exchange, session, step)
        exchange.phase("job")
        return self._job(session, step)

    def _due(self, session: Session) -> list[Written]:
        """Noise of the time before this session."""
        due = [noise for noise in self._noise if datetime.fromisoformat(noise.item.at) <= session.at]
        self._noise = self._noise[len(due) :]
        return due

    def _learn(self, session: Session, step: Learn) -> Iterator[Event]:
        facts = [self._scenario.by_id[name] for name in step.facts]
        written = [self._item(session, fact, fact.phrase(step.stratum).text) for fact in facts]
        if self._trial.write_policy == "append":
            yield from self._exchange.write(session, "learn", written)
            return
        for fact, item in zip(facts, written, strict=True):
            yield from curate(self._exchange, session, fact, item)

    def _item(self, session: Session, fact: Fact, text: str) -> Written:
        source = fact.source or Source()
        item = Item(
            text=text.replace(CANARY, self._exchange.part.canaries.get(fact.id, "")),
            scope=self._scenario.home(fact),
            at=session.at.isoformat(),
            kind=fact.type,
            source=Source(source.commit, source.path, source.line, session.id),
            confidence=fact.confidence,
            expires=fact.until.isoformat() if fact.until else None,
        )
        return Written(name=f"fact:{fact.id}", item=item)

    def _remarks(self, session: Session, step: Remember) -> list[Written]:
        scope, at = step.scope or self._scenario.place(session), session.at.isoformat()
        items = [Item(text.text, scope, at, step.type, Source(session=session.id)) for text in step.texts]
        return [Written(name=f"remark:{session.id}:{i}", item=item) for i, item in enumerate(items)]

    def _probe(self, session: Session, probe: Probe) -> Iterator[Event]:
        for stratum, text in probe.ask.phrasings():
            asked = Question("probe", probe.id, text, self._scenario.place(session), stratum)
            yield from self._exchange.recall(asked, session)

    def _job(self, session: Session, job: Job) -> Iterator[Event]:
        """One recall for each decision; every read policy then reads the same entries."""
        place, recalls = self._scenario.place(session), {}
        for decision in job.decisions:
            asked = Question("decision", f"{job.id}/{decision.id}", decision.question, place)
            found = yield from self._exchange.recall(asked, session)
            recalls[decision.id] = _entries(found)
        for policy in READ_POLICIES:
            yield _worked(self._scenario, self._exchange.tools, session, job, recalls, policy)

    def _metered(self) -> Iterator[Event]:
        yield self._exchange.metered()
        self._exchange.go_on()


def _worked(
    scenario: Scenario,
    tools: Tools,
    session: Session,
    job: Job,
    recalls: Mapping[str, Sequence[scripted.Entry]],
    policy: ReadPolicy | None,
) -> Worked:
    """Decides a job and does it in a work tree of the session's commit."""
    desk = scripted.Desk(
        repo=tools.repo,
        explorer=tools.explorer,
        classifier=tools.classifier,
        count=tools.count,
        commit=session.commit,
        place=scenario.place(session),
        at=session.at,
    )
    outcome = scripted.work(desk, job, recalls, policy)
    values = {choice.decision: choice.value for choice in outcome.choices}
    done = tools.workshop.do(tools.repo, session.commit, job, values)
    return Worked(
        job=job.id,
        session=session.id,
        at=session.at,
        read_policy=policy,
        choices=tuple(outcome.choices),
        reads=tuple(outcome.reads),
        prompt=outcome.prompt,
        completion=outcome.completion,
        diff=tools.blobs.put(done.diff.encode("utf-8", "replace")),
        ran=done.ran,
        checks=done.checks,
    )


def _entries(found: Found) -> list[scripted.Entry]:
    return [
        scripted.Entry(position, found.hits[span.hit].text[span.start : span.end], found.hits[span.hit])
        for position, span in enumerate(found.entries)
    ]
