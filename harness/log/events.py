"""What can happen in a trial: the events of its log, schema version 2. Observations only, no scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AwareDatetime, Field, TypeAdapter

from harness.adapter import Filter, Hit, Layer, Scope
from harness.log.blobs import Ref
from harness.log.calls import Draft, ModelCall, OwnCount
from harness.log.parts import ChatRefused, Check, Checked, Choice, Found, Read, Sighting, Weight, Written
from harness.model.backend import Backend, Fault
from harness.model.facts import Stratum
from harness.model.trial import FORMER_READS, SCRIPTED, Model, ReadPolicy, Trial

SCHEMA = 2
"""2: lines are numbered, and the last one is sealed (harness/log/lines.py); the events are those of 1."""
PROTOCOL = 2
"""2: a reader, a curator and a writer are shown what `Recalled.shown` says, and pay for no more than the budget; an
unranked answer is read in the order in which it came. Before: all of it, in an order drawn by seed."""
LATE = "late"
UNANSWERED = "unanswered"
"""The trouble of a chat model that gave no answer, by the doing of its endpoint."""

Stage = Literal["lookup", "before", "after", "reopened", "end"]
Route = Literal["search", "forbidden", "entries", "get", "history"]
RetiringRule = Literal["expired", "gone", "replaced"]
"""Why an agent takes a memory away that nobody asked it to delete: its lifetime has passed, the line that it cites is
gone, or a new one says otherwise."""
Retirement = Literal["forget", "deprecate", "expire", "lapse"]
"""How: what is deprecated is marked as ended, and stays in the store. expire: by an update that tells the backend's own
lifetime that it is over. lapse: by nothing, as the write has told when it is over, and the backend's clock is there."""
RecallPurpose = Literal["probe", "lookup", "decision", "filtered", "correction"]
"""filtered: for a decision, asked once more with a filter. correction: for a decision of a job that is done again."""
Phase = Literal["ingest", "probe", "job", "filtered", "erase"]
"""filtered: what a job asks once more with a filter."""


class Event(Model):
    """One line of a log.

    Attributes:
        took: Seconds spent inside the adapter. No equality looks at it.
        closes: None may follow.
    """

    closes: ClassVar[bool] = False
    took: float | None = None

    @property
    def trouble(self) -> str:
        """The kind of its fault, `late` for writes that were not settled in time, `unanswered` for calls to a chat
        model that another try may see answered; empty: it went as it should."""
        fault: Fault | None = getattr(self, "fault", None)
        return fault.kind if fault else ""


class Opened(Event):
    """The opening event: who plays what.

    Attributes:
        policies: The ways in which its reader reads; none in the cold arm, and in logs of before.
    """

    kind: Literal["opened"] = "opened"
    log_schema: int = SCHEMA
    protocol: int = PROTOCOL
    trial: Trial
    backend: Backend | None = None
    scenario: Ref
    digests: Mapping[str, str]
    canaries: Mapping[str, str] = {}
    host: Mapping[str, str] = {}
    policies: tuple[ReadPolicy, ...] = ()

    @property
    def reads(self) -> tuple[ReadPolicy, ...]:
        """The ways in which its reader reads, the headline's first; none without a memory."""
        if self.trial.backend is None:
            return ()
        return self.policies or (FORMER_READS if self.trial.reader == SCRIPTED else ("model",))


class Began(Event):
    """A session began."""

    kind: Literal["began"] = "began"
    session: str
    at: AwareDatetime
    commit: str


class Wrote(Event):
    """A batch of writes, or a session that was captured. `ids` are one tuple per item, None if the outcome is unknown.

    Attributes:
        purpose: Why the story writes; `noise` in old logs, in which noise was written apart.
        tokens: Of the batch.
        noise: Those of the noise that is mixed into it, which are not among them.
    """

    kind: Literal["wrote"] = "wrote"
    op: Literal["remember", "observe", "supersede"]
    purpose: Literal["learn", "remark", "noise"]
    session: str
    items: tuple[Written, ...] | Ref
    replaces: tuple[str, ...] = ()
    ids: tuple[tuple[str, ...], ...] | None = None
    fault: Fault | None = None
    tokens: int = 0
    noise: int = 0


class Asking(Event):
    """What a chat model of ours takes part in.

    Attributes:
        unanswered: Of its calls, those that got no answer by the doing of the endpoint.
    """

    # left out where all were answered, so that other logs keep their bytes
    unanswered: int = Field(0, exclude_if=lambda unanswered: not unanswered)

    @property
    def trouble(self) -> str:
        return super().trouble or (UNANSWERED if self.unanswered else "")


class Drafted(Asking):
    """What a model made of what a session told, before any of it is written to the memory.

    Attributes:
        told: The lines of the transcript, in its order.
        known: The memories that it was shown beside it, as they were read.
        kept: What it wrote down; nothing, if its last call came to nothing.
        secret: The credential that the harness put into the transcript.
        prompt, completion: Tokens by our own count.
    """

    kind: Literal["drafted"] = "drafted"
    session: str
    at: AwareDatetime
    told: tuple[Written, ...] | Ref
    known: tuple[Hit, ...] | Ref = ()
    kept: tuple[Draft, ...] | Ref = ()
    calls: tuple[ModelCall, ...] | Ref
    secret: str
    prompt: int
    completion: int


class Settled(Event):
    kind: Literal["settled"] = "settled"
    session: str
    ok: bool
    fault: Fault | None = None

    @property
    def trouble(self) -> str:
        return super().trouble or ("" if self.ok else LATE)


class Recalled(Event):
    """A question to the memory.

    Attributes:
        purpose: correction: a decision, in a later round of its job.
        tokens: What a reader loads of the answer: all of it, or as much as the trial's budget has room for. In logs of
            protocol 1 all of it, whatever its size.
        asking: The query itself.
        shown: How many of the entries, from the first on, a reader is shown: those that fit the budget; of a ranked
            backend no more than k. None: a log of protocol 1, in which decisions were taken from all of them.
        day: The story time that it asked about, where that is another one.
        where: What it was kept to.
    """

    kind: Literal["recalled"] = "recalled"
    purpose: RecallPurpose
    ref: str
    stratum: Stratum | None = None
    session: str
    at: AwareDatetime
    day: AwareDatetime | None = Field(None, exclude_if=lambda day: day is None)
    where: Filter | None = Field(None, exclude_if=lambda where: where is None)
    query: str
    scope: Scope
    k: int
    pool: int
    found: Found | Ref = Found()
    fault: Fault | None = None
    asking: int = 0
    tokens: int = 0
    shown: int | None = Field(None, exclude_if=lambda shown: shown is None)  # so that other logs keep their bytes


class Resolved(Event):
    """What git says of the sources that came back: the line at the cited commit, and where it stands at `head`."""

    kind: Literal["resolved"] = "resolved"
    head: str
    sources: tuple[Checked, ...]


class Round(Asking):
    """One round of a job under one read policy (None: cold, no memory), and how the checks saw it left.

    Attributes:
        calls: Of the reader's chat model; None if it asked none.
        printed: What an agent program told of itself, with its own times and names.
        told: What it counts of its own, where its profile knows where that stands.
        visible: The tests that the repository has; run where a job may take several rounds.
    """

    kind: str
    job: str
    session: str
    at: AwareDatetime
    read_policy: ReadPolicy | None = None
    choices: tuple[Choice, ...]
    reads: tuple[Read, ...]
    prompt: int
    completion: int
    diff: str | Ref
    ran: tuple[Check, ...] = ()
    checks: tuple[Check, ...]
    calls: tuple[ModelCall, ...] | Ref | None = None
    printed: str | Ref | None = Field(None, exclude_if=lambda text: text is None)
    told: OwnCount | None = Field(None, exclude_if=lambda told: told is None)
    visible: tuple[Check, ...] = Field((), exclude_if=lambda visible: not visible)


class Worked(Round):
    """A job done: its first round."""

    kind: Literal["worked"] = "worked"


class Corrected(Round):
    """A later round of a job, in the work tree of the one before.

    Attributes:
        number: Of the round, from 2 on.
        review: What the reader was told of the round before.
    """

    kind: Literal["corrected"] = "corrected"
    number: int = Field(ge=2)
    review: str


class Forgot(Event):
    """A request to delete.

    Attributes:
        ids: What was asked for.
        said: What the backend answered, one per id.
    """

    kind: Literal["forgot"] = "forgot"
    session: str
    fact: str
    ids: tuple[str, ...]
    said: tuple[bool, ...] | None = None
    fault: Fault | None = None


class Retired(Event):
    """Memories that the agent deleted by a rule of its own, marked as ended, or had expire.

    Attributes:
        names: Of what was written under these ids.
        said: What the backend answered, one per id; of what lapses, to the write.
    """

    kind: Literal["retired"] = "retired"
    session: str
    rule: RetiringRule
    op: Retirement = Field("forget", exclude_if=lambda op: op == "forget")
    names: tuple[str, ...]
    ids: tuple[str, ...]
    said: tuple[bool, ...] | None = None
    fault: Fault | None = None


class Withheld(Event):
    """What the agent did not write when it was told, as nothing confirmed it yet."""

    kind: Literal["withheld"] = "withheld"
    session: str
    at: AwareDatetime
    items: tuple[Written, ...]


class Sought(Event):
    """A look for the canary of one fact by one route of the interface."""

    kind: Literal["sought"] = "sought"
    stage: Stage
    route: Route
    fact: str
    found: bool | None = None
    where: str = ""
    fault: Fault | None = None


class Listed(Event):
    """All live entries of a scope, as the backend lists them. `lookup`: by a curating writer; `end`: at the last."""

    kind: Literal["listed"] = "listed"
    stage: Stage
    scope: Scope
    hits: tuple[Hit, ...] | Ref = ()
    fault: Fault | None = None


class Changed(Event):
    """How a scope differs from when it was last listed, after sessions were captured.

    Attributes:
        hits: The memories that are new, or not as they were.
        gone: The ids of those that are not there any more.
    """

    kind: Literal["changed"] = "changed"
    session: str
    scope: Scope
    hits: tuple[Hit, ...] | Ref = ()
    gone: tuple[str, ...] = ()
    fault: Fault | None = None


class Scanned(Event):
    """A look at the bytes of one declared layer; unless the stage is `before`, its owner's process has ended.

    Attributes:
        declared: False for all that lies in the trial's folder outside of what the adapter declares.
        weights: None in an old log.
    """

    kind: Literal["scanned"] = "scanned"
    stage: Stage
    layer: Layer
    declared: bool = True
    files: int
    bytes: int
    sightings: tuple[Sighting, ...] = ()
    weights: tuple[Weight, ...] | Ref | None = Field(None, exclude_if=lambda weights: weights is None)
    problem: str | None = None


class Metered(Event):
    """What the trial used up: embeddings and chat calls by phase, counted at the endpoint; and as the backend reports.

    Attributes:
        chat: Phase -> calls, prompt, completion, counted, failed, cached (`harness.gateway.meter.ChatCount`).
        models: The name under which a chat model answered -> calls.
        prompt, completion, calls: Of models inside, in the backend's words.
        fault: Of the first question for that which failed.
    """

    kind: Literal["metered"] = "metered"
    embeddings: Mapping[str, Mapping[str, int]] = {}
    chat: Mapping[str, Mapping[str, int]] = {}
    models: Mapping[str, int] = {}
    refused: tuple[ChatRefused, ...] = ()
    prompt: int | None = None
    completion: int | None = None
    calls: int | None = None
    fault: Fault | None = None


class Closed(Event):
    """The last event. A failed trial says what ended it; all that was logged before still counts.

    unsupported: the backend declares that it cannot do what the write policy needs, so nothing was played.

    Attributes:
        stored: Bytes of the store's files after closing; None: it has none, or the log is older than this.
    """

    closes: ClassVar[bool] = True
    kind: Literal["closed"] = "closed"
    status: Literal["complete", "failed", "unsupported"]
    fault: Fault | None = None
    stored: int | None = Field(None, exclude_if=lambda stored: stored is None)


AnyEvent: TypeAlias = Annotated[
    Opened | Began | Drafted | Wrote | Settled | Recalled | Resolved | Worked | Corrected | Forgot | Retired | Withheld
    | Sought | Listed | Changed | Scanned | Metered | Closed,
    Field(discriminator="kind"),
]  # fmt: skip
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
