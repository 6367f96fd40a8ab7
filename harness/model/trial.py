"""The nouns of a run: spec, trial, cell, measure. Frozen, closed, and valid once they exist."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from harness.adapter import Operation

# in the order of tables: `Results.list_writes` takes it from here, append first
WritePolicy = Literal[
    "append", "curated", "matched", "deprecate", "expire", "on-commit", "deprecate-on-commit", "reviewed"
]
"""What an agent does with its memory beside adding what it learnt: harness/play/writing has each."""
NEEDS: Mapping[WritePolicy, tuple[Operation, ...]] = {
    "append": (), "curated": ("supersede",), "matched": ("supersede",), "deprecate": ("deprecate",),
    "expire": ("forget",), "on-commit": ("supersede", "forget"), "deprecate-on-commit": ("deprecate", "supersede"),
    "reviewed": (),
}  # fmt: skip
"""The operations without which it cannot be played."""
USUAL_WRITES: tuple[WritePolicy, ...] = ("append", "curated")
"""Those that are played unless others are asked for."""
ReadPolicy = Literal["trusting", "newest", "verifying", "careful", "filtered", "model"]
"""model: a chat model reads what came back, and believes what it will."""
READ_POLICIES: tuple[ReadPolicy, ...] = ("trusting", "newest", "verifying", "careful")
"""Those of the scripted reader that read one and the same answer, as harness/play/readers/scripted.py follows them."""
SCRIPTED_READS: tuple[ReadPolicy, ...] = (*READ_POLICIES, "filtered")
"""All of them. `filtered` asks anew, with a filter, and is played where the backend has one."""
FORMER_READS: tuple[ReadPolicy, ...] = ("trusting", "newest", "verifying")
"""Those of a log that names none: it was written before there were others."""
DrillSize = int | Literal["least"]
"""least: of each drill the size at which the self-test proves that it catches every planted fault."""
Feed = Literal["facts", "sessions", "native"]
"""What a memory is told of a session: what was learnt in it, a sentence each; all that was said, in pieces of ours; or
all that was said, to be captured in the backend's own way (`observe`)."""
FED: Mapping[Feed, str] = {
    "facts": "", "sessions": "fed with sessions", "native": "fed with sessions that each backend captures itself",
}  # fmt: skip
Clock = Literal["wall", "story"]
"""What a backend's processes take for now: the time of the machine, or that of the session."""
Arm = Literal["cold", "warm"]
Split = Literal["all", "dev", "held"]
SECRET = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


class Model(BaseModel):
    # JSON has no infinity: pydantic would write null, which reads as absent
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def digest(value: Any) -> str:
    """sha256 of the canonical JSON of a model or a plain value."""
    plain = value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value
    return hashlib.sha256(_encode_canonical(plain)).hexdigest()


def digest_each(values: Iterable[Any], name: str | None = None) -> str:
    """The digest of a list of plain values, of which one at a time is held.

    Args:
        name: The list is all that an object holds, under this name.
    """
    # byte for byte what `digest` would hash of the whole
    before, after = (b"[", b"]") if name is None else (b'{"%s":[' % name.encode(), b"]}")
    found, between = hashlib.sha256(before), b""
    for value in values:
        found.update(between + _encode_canonical(value))
        between = b","
    found.update(after)
    return found.hexdigest()


def _encode_canonical(plain: Any) -> bytes:
    return json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


class Spec(Model):
    """A backend as asked for, and settings that differ from the defaults.

    Attributes:
        adapter: A registered name, `module:Class`, or `NAME=module:Class`, which every table calls NAME.
        python: The interpreter that it runs in, None for ours; it is never written down, as another machine has it
            elsewhere.
        release: Of the backend as that interpreter has it.
        pinned: An environment of its own is made for that release (harness/backend/environments.py), of `python`.
        lock: What is installed there, with hashes; empty: not resolved yet.
    """

    adapter: str
    settings: Mapping[str, str] = {}
    python: str | None = Field(None, exclude=True)
    release: str = ""
    pinned: bool = False
    lock: str = Field("", exclude=True, repr=False)

    @property
    def label(self) -> str:
        release = f"@{self.release}" if self.release else ""
        # sorted, so that the order in which they were given makes no other row
        settings = (f"+{key}={self.shown[key]}" for key in sorted(self.shown))
        return "".join([self.adapter.partition("=")[0], release, *settings])

    @property
    def argument(self) -> str:
        """What `-b` is given for the same label. A secret, or an interpreter nobody knows, is in capitals."""
        # a pinned release ends in the Python that was asked for with it, if one was
        release, _, version = self.release.partition("-py") if self.pinned else ("", "", "")
        given = {key: key.upper() if SECRET.search(key) else value for key, value in self.settings.items()}
        if version or (self.release and not self.pinned):
            given["python"] = version or self.python or "PYTHON"
        name = f"{self.adapter}@{release}" if release else self.adapter
        return ",".join([name, *(f"{key}={given[key]}" for key in sorted(given))])

    @property
    def shown(self) -> Mapping[str, str]:
        """The settings with secrets redacted: what may be written down."""
        return {key: "[redacted]" if SECRET.search(key) else value for key, value in self.settings.items()}


class Chat(Model):
    """Who answers when a model inside a backend is asked: the stand-in, a real model, or recordings of either.

    Attributes:
        folder: Where recordings are answered from; beside another answerer, where they are written to.
    """

    answers: Literal["stand-in", "model", "recordings"]
    folder: str | None = None


DEFAULT_BACKENDS = ("none", "refusal", "random", "full_context", "notes", "bm25", "vector_file", "chroma", "mem0")
DEFAULT_NOISE = (0, 100)
DEFAULT_K = 5
DEFAULT_CALL_SECONDS = 30.0
"""What a call of a backend may take, beside more for each memory that it handles."""
DEFAULT_BUDGET = 800
"""Tokens of memory text that count for the primary recall: a few long memories, or a dozen short ones."""

MOST_ROUNDS = 5

SCRIPTED = "scripted"
"""The reader that follows fixed rules and understands every text; the writer that writes all that a story tells."""


RELEASE = r"\d+(?:\.\d+)+(?:[-.]?[a-z][\w.-]*)?"
"""Of an agent program, as a regular expression: 1.2.3 or 1.2.3-rc.4."""
_WITH_RELEASE = re.compile(rf"agent:[^@]+@{RELEASE}(?:\+\w+)*(?=@)")


def name_reader(name: str, model: str = "") -> str:
    """What a reader or writer is called wherever it stands beside results: `choice@MODEL`, if a chat model works for
    it; `agent:codex@RELEASE@MODEL`."""
    # an `@` at the end tells `split_reader` that the one before it begins a release, and no model
    return f"{name}@{model}" if model or "@" in name else name


def split_reader(label: str) -> tuple[str, str]:
    """The reader or writer and its model; empty, if none works for it. A model's name may hold `@` itself."""
    if found := _WITH_RELEASE.match(label):
        return found[0], label[found.end() + 1 :]
    name, _, model = label.partition("@")
    return name, model


def list_policies(label: str) -> tuple[ReadPolicy, ...]:
    """How a reader reads the memories of a trial, the headline's way first."""
    return ("model",) if split_reader(label)[1] else SCRIPTED_READS


class Selection(Model):
    """What was asked for. The cold arm and the controls with gold always come along: they are what others mean."""

    backends: tuple[Spec, ...]
    scenarios: tuple[str, ...] = ()
    split: Split = "all"
    held_seed: int = Field(0, ge=0, exclude_if=lambda seed: not seed)
    """Draws which stories are held."""
    writes: tuple[WritePolicy, ...] = USUAL_WRITES
    noise: tuple[int, ...] = DEFAULT_NOISE
    seeds: tuple[int, ...] = (1,)
    k: int = DEFAULT_K
    budget: int = DEFAULT_BUDGET
    drills: tuple[str, ...] = ()
    drill_size: DrillSize | None = None
    """Memories in the store of every drill; None: what each drill is made for."""
    chat: Chat | None = None
    """None: nobody answers chat calls, so backends with a model inside cannot be played."""
    reader: str = SCRIPTED
    """Who does the jobs: a registered name, or module:Class; `@MODEL` behind it, if a chat model reads for it."""
    writer: str = SCRIPTED
    """Who decides what is remembered: `chat@MODEL`, if a chat model does."""
    undated: bool = False
    """Every memory is written with the date of the story's first session: which of two rivals is newer is not told."""
    feed: Feed = "facts"
    clock: Clock = Field("wall", exclude_if=lambda clock: clock == "wall")
    rounds: int = Field(1, ge=1, le=MOST_ROUNDS, exclude_if=lambda rounds: rounds == 1)
    """How often a reader may work at a job: after each round but the last it is told which checks fail."""

    @property
    def headline_write(self) -> WritePolicy:
        """The one way of writing of the headline table: append, or the first that was asked for."""
        return "append" if "append" in self.writes else self.writes[0]

    @property
    def headline_noise(self) -> int:
        """The one noise level of the headline table: the highest that was played."""
        return max(self.noise)


class Trial(Model):
    """What is played, logged and resumed. `backend` is the spec's label; None plays the story cold."""

    backend: str | None = None
    scenario: str
    write_policy: WritePolicy | None = None
    noise: int = Field(ge=0)
    seed: int
    reader: str
    k: int = Field(ge=1)
    budget: int = Field(ge=1)
    # What most trials lack is not told, so that they keep their ids.
    undated: bool = Field(False, exclude_if=lambda undated: not undated)
    writer: str = Field(SCRIPTED, exclude_if=lambda writer: writer == SCRIPTED)
    feed: Feed = Field("facts", exclude_if=lambda feed: feed == "facts")
    clock: Clock = Field("wall", exclude_if=lambda clock: clock == "wall")
    rounds: int = Field(1, ge=1, le=MOST_ROUNDS, exclude_if=lambda rounds: rounds == 1)

    @cached_property
    def id(self) -> str:
        """Names the log, the test and the anchor; readable, and unique by its tail."""
        words = [
            self.backend or "cold",
            self.scenario.rpartition("/")[2],
            self.write_policy or "",
            "" if self.feed == "facts" else self.feed,
            f"n{self.noise}",
            f"s{self.seed}",
        ]
        slug = "-".join(re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-") for word in words if word)
        # cut short, as it is part of the names of files
        return f"{slug[:150]}-{digest(self)[:8]}"


class CellKey(Model):
    """What is reported: a trial, the arm and how its memory was read (None: the cold arm reads none)."""

    trial: Trial
    arm: Arm
    read_policy: ReadPolicy | None = None

    @property
    def id(self) -> str:
        return f"{self.trial.id}-{self.read_policy or self.arm}"


# --- measures -----------------------------------------------------------------------------------------------------

Better = Literal["higher", "lower", "neither"]


class Definition(Model):
    """What a measure is; `version` changes when its formula does.

    Attributes:
        label: What its hits are, to stand before `12 of 30` and in a sentence; empty: its name with blanks.
        otherwise: What its other cases are, where they are counted, too.
        column: The column of the scoreboard that it belongs to, by id; None: it is in none, and `aside` says why.
        gravity: Its place in the column's order, 0 the gravest; None outside of a column.
        varies: Why two runs of equal inputs may differ; empty if they may not.
    """

    name: str
    better: Better
    unit: str
    version: int
    formula: str
    source: str
    label: str = ""
    otherwise: str = ""
    column: str | None = None
    gravity: int | None = None
    aside: str = ""
    varies: str = ""

    @model_validator(mode="before")
    @classmethod
    def _drop_family(cls, read: Any) -> Any:
        """Results of before the columns name another grouping."""
        return {key: value for key, value in read.items() if key != "family"} if isinstance(read, dict) else read

    def call(self, better: Better) -> str:
        """What the cases are that a column of this direction counts."""
        label = self.label or self.name.replace("_", " ")
        return label if better == self.better else self.otherwise or f"not met: {label}"


class Interval(Model):
    low: float
    high: float
    method: str


class Measured(Model):
    """A number that was measured. A proportion has `hits` of `of`; other units have `value` over `of` cases.

    Attributes:
        unanswered: Of these cases, those of which the calls that could have told failed. They count as the worst.
    """

    status: Literal["measured"] = "measured"
    value: float
    hits: float | None = None
    of: int | None = None
    interval: Interval | None = None
    known: Literal["exact", "at-least"] = "exact"
    unanswered: int | None = None
    receipts: tuple[str, ...] = ()


CANNOT_TELL = "cannot be told"
"""How the reason begins where something was there to be looked at, and could not be."""


class NotMeasured(Model):
    """Four different words for no number, never 0 and never green; each says why."""

    status: Literal["unsupported", "not-applicable", "failed", "not-run"]
    reason: str
    receipts: tuple[str, ...] = ()

    @property
    def untold(self) -> bool:
        """Whether what it is about may be there all the same, so that nothing beside it is a clean answer."""
        return self.reason.startswith(CANNOT_TELL)


Measure = Annotated[Measured | NotMeasured, Field(discriminator="status")]
