"""Readers do the jobs of a story: from what a memory answers, from the repository, or not at all.

A reader is looked up by the name of an entry point in the group `coldwarm.readers`, or as `module:Class` on Python's
module path, in the folders of COLDWARM_ADAPTER_PATH and in the checkout. It runs in this process, so it is code that
you trust, as a suite is. `NAME:WORD` makes the reader NAME of that word, `agent` of the name of a profile.
"""

from __future__ import annotations

import difflib
import hashlib
import inspect
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from harness import paths
from harness.adapter import Hit, Scope, applies
from harness.gateway.chat.client import Reply
from harness.log.calls import ModelCall, OwnCount
from harness.log.parts import Check, Choice, Read
from harness.model.job import Decision, Job
from harness.model.trial import ReadPolicy, split_reader
from harness.play.readers.explore import Explorer
from harness.repo.checkout import Repo
from harness.repo.checks import Work
from harness.text.classify import Classifier

READERS = "coldwarm.readers"
SHIPPED = ("chat", "chat-json", "choice", "scripted")
"""Those that are a part of the harness."""


class ReaderError(ValueError):
    """A reader that nobody knows, or that is none: which, and what was probably meant. One line."""


class InstallError(ReaderError):
    """A reader whose program cannot be installed here. One line."""


class BrokenReader(Exception):  # noqa: N818  no error of ours: it ends one trial, by the fault of the reader
    """A reader raised, or brought no outcome."""


@dataclass(frozen=True)
class ReadEntry:
    """One memory as the reader meets it: a stretch of a hit, with what the backend said about the hit.

    Attributes:
        sole: The hit holds no other one.
    """

    position: int
    text: str
    hit: Hit
    sole: bool = True


def is_for(entry: ReadEntry, place: Scope) -> bool:
    """Whether it is meant for this place, as far as the backend says for which it is."""
    return entry.hit.scope is None or applies(entry.hit.scope, place)


def render(text: str, hit: Hit) -> str:
    """What a reader is shown of a memory: its text, then source and date where the backend gives them."""
    source = hit.source
    line = f":{source.line}" if source and source.line is not None else ""
    place = f"{source.path}{line} @ {(source.commit or '')[:7]}" if source and source.path else None
    notes = ", ".join(note for note in (place, hit.created and hit.created[:10]) if note)
    return f"- {text} ({notes})" if notes else f"- {text}"


class StoreGone(Exception):  # noqa: N818  not an error: it ends the story
    """The store cannot answer any more."""


AskMemory = Callable[[str, Decision], Sequence[ReadEntry]]
"""A question to the memory, in the reader's words, for one decision -> the entries that fit the trial's budget, in
reading order. It is logged as asked; a job asks the same words for the same decision once. In the cold arm it brings
nothing."""
AskModel = Callable[[Mapping[str, Any]], Reply]
"""A chat request, in OpenAI's form, to the model of the run: counted, limited and recorded on its way."""


@dataclass(frozen=True)
class Context:
    """What an agent has before it when it starts a job: the checkout, where it stands, what it can read.

    Attributes:
        policy: How far it may believe what a memory says; None in the cold arm.
        seed: Of the trial, for what the reader draws.
        ask_model: None where nobody answers.
        remember: Keeps a text in the memory, and says whether it did; None where there is none.
        rounds: How often the job may be worked at: after a round, whoever can is told which checks fail.
        try_out: Does the job with these values in a work tree of its own, and says what its commands printed.
    """

    repo: Repo
    explorer: Explorer
    classifier: Classifier
    count: Callable[[str], int]
    commit: str
    place: Scope
    at: datetime
    policy: ReadPolicy | None
    seed: int = 0
    ask_model: AskModel | None = None
    remember: Callable[[str], bool] | None = None
    rounds: int = 1
    try_out: Callable[[Mapping[str, str | None]], Sequence[Check]] = lambda _: ()


@dataclass
class Outcome:
    """How a job was decided and what deciding it took. Tokens of memory text are on the recalls, not here.

    Attributes:
        prompt, completion: Tokens by our own count, so that readers compare; what an upstream counts is on the calls.
        work: What a reader did that works in a tree itself; None: the values of its choices are edited in.
        printed: What an agent program told of itself; told: what it counts of its own, where that can be read.
        review: What it was told of the round before; empty in the first.
    """

    choices: list[Choice] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    prompt: int = 0
    completion: int = 0
    work: Work | None = None
    printed: str = ""
    told: OwnCount | None = None
    review: str = ""


class Reader(Protocol):
    """Does one job.

    Attributes:
        policies: The read policies that it can follow; it does each job once under each of them.
    """

    policies: Sequence[ReadPolicy]

    def work(self, job: Job, context: Context, ask: AskMemory) -> Outcome: ...


@runtime_checkable
class Correctable(Protocol):
    """Does one job in several rounds, in one work tree: after each, while checks fail, it is told which."""

    def work_until_green(self, job: Job, context: Context, ask: AskMemory) -> Generator[Outcome, None, None]: ...


def play_rounds(reader: Reader, job: Job, context: Context, ask: AskMemory) -> Generator[Outcome, None, None]:
    """What the reader made of the job, round by round. Raises BrokenReader, and what `ask` raises if the store is
    gone."""
    if context.rounds == 1 or not isinstance(reader, Correctable):
        yield _check(job, lambda: reader.work(job, context, ask))
        return
    with closing(reader.work_until_green(job, context, ask)) as rounds:
        # a mark of its own, as a StopIteration inside `_check` would count as the reader's fault
        end = Outcome()
        while (outcome := _check(job, lambda: next(rounds, end))) is not end:
            yield outcome


def _check(job: Job, work: Callable[[], object]) -> Outcome:
    try:
        outcome = work()
    except StoreGone:
        raise
    except Exception as error:
        raise BrokenReader(f"job {job.id}: {type(error).__name__}: {error}") from error
    if not isinstance(outcome, Outcome):
        raise BrokenReader(f"job {job.id}: work returned {type(outcome).__name__}, no Outcome")
    return outcome


def find(label: str) -> Reader:
    """The reader of that label (`NAME` or `NAME@MODEL`), made anew. Raises ReaderError."""
    name, model = split_reader(label)
    kind, word = _find_kind(name)
    if model and not inspect.signature(kind).parameters:
        raise ReaderError(f"reader '{name}' asks no model: leave out --model, or name one that does (choice, chat)")
    try:
        # what is empty takes no place: a reader that has no word takes the model first
        made: Reader = kind(*filter(None, (word, model)))
    except Exception as error:
        raise _explain_unmade(label, error) from error
    if not (callable(getattr(made, "work", None)) and getattr(made, "policies", None)):
        raise ReaderError(f"reader '{label}' is none: it needs `policies` and `work(job, context, ask)`")
    return made


def uses_salt(label: str) -> bool:
    """Whether stories get names of their own for each seed, so that no model can know them. Raises ReaderError."""
    return bool(getattr(_find_kind(split_reader(label)[0])[0], "salts", False))


def can_correct(label: str) -> bool:
    """Whether it works at a job in several rounds. Raises ReaderError."""
    return hasattr(_find_kind(split_reader(label)[0])[0], "work_until_green")


def warn(label: str) -> str:
    """What is to be known before it plays; empty: nothing. Raises ReaderError."""
    return _ask_kind(label, "warn")


@cache
def name_program(label: str) -> str:
    """The program that does the jobs for it, with its release; empty: none does. Raises ReaderError."""
    return _ask_kind(label, "name_program")


def _ask_kind(label: str, what: Literal["warn", "name_program"]) -> str:
    kind, word = _find_kind(split_reader(label)[0])
    told = getattr(kind, what, None)
    return str(told(word)) if word and told else ""


@cache
def digest(label: str) -> str:
    """Of the source of the reader's module, and of what its word stands for: another may decide otherwise.

    Raises ReaderError.
    """
    kind, word = _find_kind(split_reader(label)[0])
    said, read = Path(inspect.getfile(kind)).read_bytes(), getattr(kind, "read_source", None)
    if word and read is None:
        raise ReaderError(f"reader '{label}' takes no word: '{word}' means nothing to it")
    if word and read is not None:
        try:
            said += bytes(read(word))
        except Exception as error:
            raise _explain_unmade(label, error) from error
    return hashlib.sha256(said).hexdigest()


@cache
def _find_kind(name: str) -> tuple[Callable[..., Reader], str]:
    """Who makes the reader, and of which word; empty: of none."""
    points = {point.name: point for point in entry_points(group=READERS)}
    first, _, word = name.partition(":")
    # in `module:Class` what stands behind the colon is no word
    if first in points:
        name = first
    else:
        word = ""
    if ":" not in name and name not in points:
        near = difflib.get_close_matches(name, points, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(points))}"
        raise ReaderError(f"reader '{name}' is not known; {hint} (module:Class works too)")
    places = [*paths.list_paths(paths.PLACES), paths.ROOT]
    # at the end, so that nothing in these folders hides an installed module
    sys.path += [str(place) for place in places if str(place) not in sys.path]
    try:
        # an entry point made on the spot imports what `module:Class` names
        kind: Callable[..., Reader] = (points.get(name) or EntryPoint(name, name, READERS)).load()
    except Exception as error:
        raise _explain_unmade(name, error) from error
    return kind, word


def _explain_unmade(name: str, error: Exception) -> ReaderError:
    reason = str(error) if isinstance(error, ReaderError) else f"{type(error).__name__}: {error}"
    kind = InstallError if isinstance(error, InstallError) else ReaderError
    return kind(f"reader '{name}' cannot be made: {reason}")
