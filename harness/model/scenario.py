"""The story: its sessions and steps. What it can prove about itself is checked here, the rest by the loader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Discriminator, Field, StringConstraints, Tag, model_validator

from harness.adapter import Scope, applies
from harness.model.facts import (
    CANARY,
    COMMIT,
    STRATA,
    Fact,
    Line,
    MemoryType,
    RemarkPhrase,
    Slug,
    Stratum,
    Text,
)
from harness.model.job import Job
from harness.model.transcript import Message
from harness.model.trial import Model

Kind = Literal[
    "refactor", "rename", "migration", "stale-deploy-rule", "incident-override", "unfinished-work",
    "preference", "cross-repo", "branch-scope", "failed-session", "secret-erasure", "experiment", "mined",
]  # fmt: skip
MINED: Kind = "mined"
"""Of stories that were written from a history: never in one suite with stories of authors."""


class Pinned(Model):
    """A repository of the suite's owner as a fixture, by a commit of it.

    Attributes:
        git: A path, from the folder of the story's file on, or a URL.
        commit: Its whole hash; the story plays in the history up to there.
    """

    git: Line
    commit: Annotated[str, StringConstraints(pattern=COMMIT)]

    def __str__(self) -> str:
        return f"{self.git} at {self.commit[:12]}"


SERIES, PINNED = "a series", "a pinned repository"
# the discriminator is called with a table when a file is read, and with the model when it is written
Fixture = Annotated[
    Annotated[Slug, Tag(SERIES)] | Annotated[Pinned, Tag(PINNED)],
    Discriminator(lambda value: PINNED if isinstance(value, dict | Pinned) else SERIES),
]


class Ask(Model):
    """One question in up to three strata; each phrasing is asked on its own and reported apart."""

    identifier: Line | None = None
    plain: Line | None = None
    paraphrase: Line | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.phrasings():
            raise ValueError("needs at least one of identifier, plain, paraphrase")
        return self

    def phrasings(self) -> list[tuple[Stratum, str]]:
        return [(stratum, text) for stratum in STRATA if (text := getattr(self, stratum)) is not None]


class Learn(Model):
    """Facts enter memory by the trial's write policy, in this phrasing."""

    do: Literal["learn"]
    facts: tuple[Slug, ...] = Field(min_length=1)
    stratum: Stratum = "plain"


class Remember(Model):
    """Texts enter memory as they are, whatever the write policy: restated rules, what a failed session concluded.

    Attributes:
        type: If it is not that of the first fact that a text asserts.
    """

    do: Literal["remember"]
    texts: tuple[RemarkPhrase, ...] = Field(min_length=1)
    type: MemoryType | None = None
    scope: Scope | None = None
    confidence: float | None = Field(None, gt=0, le=1)


class Forget(Model):
    """Facts with a canary leave memory by the ids under which they were stored."""

    do: Literal["forget"]
    facts: tuple[Slug, ...] = Field(min_length=1)


class Probe(Model):
    """A question to the memory. No gold: the right answer is that nothing is known.

    Attributes:
        history: The question is about the past, and the superseded fact is right.
    """

    do: Literal["probe"]
    id: Slug
    ask: Ask
    gold: tuple[Slug, ...] = ()
    history: bool = False


Step = Annotated[Learn | Remember | Forget | Probe | Job, Field(discriminator="do")]


class Session(Model):
    """One sitting: when, by whom, at which commit (the number of a patch, or a hash in a pinned repository), and what
    happened.

    Attributes:
        transcript: What was said in it; empty where a story tells its facts alone.
    """

    id: Slug
    at: AwareDatetime
    by: Slug
    commit: str
    scope: Scope | None = None
    steps: tuple[Step, ...] = Field(min_length=1)
    # left out where nothing was spoken, so that the digests of other stories stay
    transcript: tuple[Message, ...] = Field((), exclude_if=lambda transcript: not transcript)

    def list_told(self) -> dict[str, bool]:
        """The facts that its transcript tells or takes back: whether they hold by what was said last."""
        told = dict[str, bool]()
        for message in self.transcript:
            told |= dict.fromkeys(message.retracts, False) | dict.fromkeys(message.tells, True)
        return told

    def cite(self, facts: Iterable[str]) -> str:
        """What a memory of these facts names as its session: with a transcript, `ID#N` for the first message, from 1,
        that speaks of one of them."""
        wanted = frozenset(facts)
        numbers = (at for at, message in enumerate(self.transcript, 1) if wanted & message.anchored)
        telling = (at for at, message in enumerate(self.transcript, 1) if wanted.intersection(message.tells))
        # who tells it comes before who only speaks of it
        number = next(telling, next(numbers, None))
        return self.id if number is None else f"{self.id}#{number}"


Standing = Literal["current", "superseded", "out-of-scope", "retracted"]


class Scenario(Model):
    """One scripted story. Commits are as the file names them until the loader has resolved them to hashes.

    Attributes:
        beside: Further fixtures, in which sessions play as well: their commits are named "other/0007".
        others: What else is true of its repository, in sentences that tell none of its facts: noise takes them first.
        needs: Programs that its tests run, beside Python and git. Where one is not installed, the story is left out.
    """

    id: str
    # the underscore, as pydantic's models have a `schema` of their own
    schema_: Literal[1] = Field(alias="schema")
    version: int = Field(ge=1)
    kind: Kind
    title: Line
    story: str
    fixture: Fixture
    beside: tuple[Slug, ...] = Field((), exclude_if=lambda beside: not beside)
    scope: Scope
    facts: tuple[Fact, ...] = Field(min_length=1)
    sessions: tuple[Session, ...] = Field(min_length=1)
    others: tuple[Line, ...] = Field((), exclude_if=lambda others: not others)  # so that no other digest moves
    needs: tuple[Annotated[str, StringConstraints(pattern=r"^[\w.+-]+$")], ...] = Field(
        (), exclude_if=lambda needs: not needs
    )

    @property
    def spoken(self) -> bool:
        """Whether the scenario has its sessions as they were spoken, and not what is learnt in them alone."""
        return any(session.transcript for session in self.sessions)

    @cached_property
    def by_id(self) -> Mapping[str, Fact]:
        return {fact.id: fact for fact in self.facts}

    @cached_property
    def successor(self) -> Mapping[str, Fact]:
        """Fact id -> the fact that took its place; of several, the first that did."""
        # so that the earliest successor is put in last, and stays
        latest_first = sorted(self.facts, key=lambda fact: fact.since, reverse=True)
        return {fact.supersedes: fact for fact in latest_first if fact.supersedes}

    @cached_property
    def changes(self) -> frozenset[str]:
        """The commits by which one of its facts took another one's place."""
        after = (fact.source.commit for fact in self.facts if fact.supersedes and fact.source)
        return frozenset(commit for commit in after if commit)

    @cached_property
    def forgotten(self) -> Mapping[str, datetime]:
        """Fact id -> when the story asked for it to be forgotten."""
        return {name: session.at for session, step in self.steps() if isinstance(step, Forget) for name in step.facts}

    def steps(self) -> Iterator[tuple[Session, Step]]:
        for session in self.sessions:
            for step in session.steps:
                yield session, step

    def writes(self) -> Iterator[tuple[Session, tuple[Learn | Remember, ...]]]:
        """The batches of the story: steps of one session that write, without another step between them."""
        for session in self.sessions:
            for writing, steps in groupby(session.steps, lambda step: isinstance(step, Learn | Remember)):
                if writing:
                    yield session, tuple(step for step in steps if isinstance(step, Learn | Remember))

    def kind_of(self, step: Remember, text: Text) -> MemoryType:
        """The type under which a remark is stored: that of what it restates, unless the step says another one."""
        restated: list[MemoryType] = [self.by_id[name].type for name in text.asserts]
        return step.type or (restated[0] if restated else "episodic")

    def probes(self) -> list[tuple[Session, Probe]]:
        return [(session, step) for session, step in self.steps() if isinstance(step, Probe)]

    @cached_property
    def _jobs(self) -> list[tuple[Session, Job]]:
        return [(session, step) for session, step in self.steps() if isinstance(step, Job)]

    def jobs(self) -> list[tuple[Session, Job]]:
        """The list is kept, as most measures ask for it: read only."""
        return self._jobs

    def find_day(self, session: Session, probe: Probe) -> datetime:
        """The story time that a probe asks about: of one about the past the last session in which its gold held."""
        if not (probe.history and probe.gold):
            return session.at
        place = self.place(session)
        held = [
            each.at
            for each in self.sessions
            if each.at <= session.at
            and all(
                self.by_id[name].since <= each.at and self.find_standing(name, each.at, place) == "current"
                for name in probe.gold
            )
        ]
        return max(held, default=session.at)

    def place(self, session: Session) -> Scope:
        """The scope from which a session asks."""
        return session.scope or self.scope

    def home(self, fact: Fact) -> Scope:
        """The scope under which a fact is stored: its own, else the story's."""
        return self.scope if fact.scope == Scope() else fact.scope

    def predecessors(self, name: str) -> tuple[str, ...]:
        """The chain of facts that this one replaced, newest first."""
        chain: list[str] = []
        while (before := self.by_id[name].supersedes) is not None and before not in chain:
            chain.append(before)
            name = before
        return tuple(chain)

    def find_standing(self, name: str, at: datetime, place: Scope) -> Standing:
        """How a fact stands at a story time, seen from a place."""
        fact, after = self.by_id[name], self.successor.get(name)
        if not applies(self.home(fact), place):
            return "out-of-scope"
        if name in self.forgotten and self.forgotten[name] <= at:
            return "retracted"
        if after is not None and after.since <= at:
            return "superseded"
        if fact.until is not None and fact.until <= at:
            return "superseded"
        return "current"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # the first alone: a later check looks up what an earlier one has found to be there
        for problem in self._problems():
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        """Each breach names its key; the first one is raised."""
        yield from self._fixture_problems()
        yield from self._find_repeated("facts", [fact.id for fact in self.facts])
        yield from self._find_repeated("sessions", [session.id for session in self.sessions])
        yield from self._find_repeated("probes", [step.id for _, step in self.probes()])
        yield from self._find_repeated("jobs", [step.id for _, step in self.jobs()])
        moments = [session.at for session in self.sessions]
        if moments != sorted(moments):
            yield "sessions: not in story order"
        # before the checks below, which look facts up by these names
        for key, name in self._references():
            if name not in self.by_id:
                yield f"{key}: unknown fact '{name}'"
        for fact in self.facts:
            yield from self._fact_problems(fact)
        for name in self.forgotten:
            if not self.by_id[name].erasable:
                yield f"forget: fact '{name}' carries no {CANARY}"
        for session, step in self.steps():
            if isinstance(step, Remember):
                yield from self._remark_problems(f"sessions.{session.id}.remember", step)
        for session, job in self.jobs():
            yield from self._job_problems(session, job)

    def _fixture_problems(self) -> Iterator[str]:
        yield from self._find_repeated("beside", list(self.beside))
        if self.beside and (isinstance(self.fixture, Pinned) or self.fixture in self.beside):
            yield "beside: `fixture` must be a folder of the fixtures, and is not named again"

    def _fact_problems(self, fact: Fact) -> Iterator[str]:
        before = self.by_id[fact.supersedes] if fact.supersedes else None
        if before is not None and before.since >= fact.since:
            yield f"facts.{fact.id}.supersedes: '{before.id}' is not older"
        if len({CANARY in text.text for text in fact.own_texts()}) > 1:
            yield f"facts.{fact.id}: {CANARY} must stand in all of its texts or in none"

    def _remark_problems(self, key: str, step: Remember) -> Iterator[str]:
        for text in step.texts:
            if CANARY in text.text:
                yield f"{key}: {CANARY} belongs to a fact; learn the fact instead"
            if text.cites and (text.cites not in text.asserts or self.by_id[text.cites].source is None):
                yield f"{key}: cites '{text.cites}', which the text does not assert or which has no source"

    def _references(self) -> Iterator[tuple[str, str]]:
        for fact in self.facts:
            if fact.supersedes:
                yield f"facts.{fact.id}.supersedes", fact.supersedes
            for text in fact.own_texts():
                for name in (*text.asserts, *text.denies, *text.mentions):
                    yield f"facts.{fact.id}", name
        for session in self.sessions:
            for at, message in enumerate(session.transcript, 1):
                yield from ((f"transcripts.{session.id}.messages.{at}", name) for name in sorted(message.anchored))
        yield from self._step_references()

    def _step_references(self) -> Iterator[tuple[str, str]]:
        for session, step in self.steps():
            key = f"sessions.{session.id}.{step.do}"
            if isinstance(step, Learn | Forget):
                yield from ((key, name) for name in step.facts)
            elif isinstance(step, Remember):
                yield from ((key, name) for t in step.texts for name in (*t.asserts, *t.denies, *t.mentions))
                yield from ((key, text.cites) for text in step.texts if text.cites)
            elif isinstance(step, Probe):
                yield from ((f"{key}.{step.id}.gold", name) for name in step.gold)
            else:
                yield from ((f"{key}.{step.id}.{d.id}", o.fact) for d in step.decisions for o in d.options)

    def _job_problems(self, session: Session, job: Job) -> Iterator[str]:
        wanted = {"right": "current", "stale": "superseded", "lure": "out-of-scope"}
        for decision in job.decisions:
            key = f"jobs.{job.id}.{decision.id}"
            yield from self._find_repeated(f"{key}.options", decision.list_values())
            if [option.verdict for option in decision.options].count("right") != 1:
                yield f"{key}.options: exactly one must be right"
            for option in decision.options:
                standing = self.find_standing(option.fact, session.at, self.place(session))
                if standing != wanted[option.verdict]:
                    yield f"{key}.{option.value}: called {option.verdict}, but fact '{option.fact}' is {standing} then"

    @staticmethod
    def _find_repeated(key: str, names: list[str]) -> Iterator[str]:
        for name in sorted(name for name, count in Counter(names).items() if count > 1):
            yield f"{key}: '{name}' is there twice"
