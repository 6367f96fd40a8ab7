"""A sequence of operations on one store: data, so that whoever has it plays exactly the same. Nothing is judged here.

Memories have numbers in the order in which a sequence stores them, marks likewise. The text and the fields of a memory
follow from its number, its form and its scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, JsonValue, ValidationError

from harness.adapter import Filter, Item, Scope, Source
from harness.model.backend import Fault
from harness.model.trial import Model

VERSION = 1
"""Of the meaning of steps: another one is refused, as its texts and numbers could be others."""
UNKNOWN = -1
"""The number of a memory that nobody stored."""
StepOp = Literal[
    "remember", "update", "supersede", "forget", "forget_scope", "entries", "get", "history", "recall",
    "reopen", "kill", "snapshot", "restore", "deprecate", "recall_where",
]  # fmt: skip
LOOKS: tuple[StepOp, ...] = ("entries", "get", "history", "recall", "recall_where")
Form = Literal[
    "plain", "again", "capitals", "spaces", "long", "longer", "odd", "expired", "bare", "cited", "blank", "filed",
]  # fmt: skip
Part = Literal["kind", "path", "confidence"]
"""What a filter can ask for."""
AT = "2026-02-03T10:00:00+00:00"
NOW = "2026-03-02T10:00:00+00:00"
"""The story times at which sequences write and ask."""
ENDED, LATER = "2026-02-20T10:00:00+00:00", "2026-04-01T10:00:00+00:00"
"""Ends of marked memories: before the questions, and after them."""
KINDS = ("project", "procedural", "episodic", "user")
"""By turns, those of what is filed."""
PAST, FUTURE = "2000-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00"
# a part of what VERSION stands for: another list makes other texts of the numbers in old cases
SUBJECTS = (
    "invoice service", "label printer", "search index", "mail queue", "price table", "image resizer", "audit trail",
    "kiosk app", "tax rules", "webhook keys", "backup job", "login page", "wish list",
)  # fmt: skip


class Step(Model):
    """One operation.

    Attributes:
        who: The handle on the store: a, or a second process b.
        scope: Where it is asked, and where a new memory holds.
        of: The memories that it is about, by number, the last that whose text a form repeats; of `restore`, the mark.
        count: Memories of a batch.
        form: How the text of a new memory is made.
        where: Of `recall_where`: what must be as it is of the memory whose text is asked for.
        k: Of recalls: hits asked for.
        later: Of `deprecate`: it ends only after all questions.
    """

    op: StepOp
    who: Literal["a", "b"] = "a"
    scope: Scope = Scope()
    of: tuple[int, ...] = ()
    count: int = Field(1, ge=1)
    form: Form = "plain"
    where: tuple[Part, ...] = ()
    k: int = Field(10, ge=1)
    later: bool = False

    @property
    def stores(self) -> int:
        """How many memories get a number."""
        return self.count if self.op == "remember" else int(self.op == "supersede")


Steps: TypeAlias = tuple[Step, ...]


class Answer(Model):
    """What a backend answered to a step.

    Attributes:
        value: As it went over the wire.
        again: The same asked again, where the first answer lacked something that a search need not find.
        fault: Of the step, or of the waiting before it.
    """

    value: JsonValue = None
    again: JsonValue = None
    fault: Fault | None = None


class Difference(Model):
    """Where an answer is not what the model says.

    Attributes:
        at: The step, from 0.
        kind: What sort of difference: two plays show the same one if step and kind are equal.
        says: What was expected and what was seen, in one line.
    """

    at: int
    kind: str
    says: str


class Case(Model):
    """A broken promise as a file: what was played on what, and how it ended."""

    version: int
    backend: str
    release: str = ""
    seed: int | None = None
    says: str = ""
    steps: Steps


class SequenceError(ValueError):
    """A file that holds no sequence of this version. One line, for users."""


def read_case(path: Path, text: str | bytes) -> Case:
    """Raises SequenceError."""
    try:
        made = Case.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise SequenceError(f"{path}: not a sequence of operations: {where}: {first['msg']}") from None
    if made.version != VERSION:
        raise SequenceError(f"{path}: a sequence of version {made.version}; this coldwarm plays version {VERSION}")
    return made


def number_steps(steps: Steps) -> Iterator[tuple[Step, range]]:
    """Each step with the numbers of the memories that it stores."""
    made = 0
    for step in steps:
        yield step, range(made, made + step.stores)
        made += step.stores


def write_text(form: Form, of: int, twin: str = "") -> str:
    """The text of memory `of`.

    Args:
        twin: The text of another memory, which `again`, `capitals` and `spaces` repeat.
    """
    # 37 and a prime: no two of the first 9973 rules name one desk
    plain = f"Rule {of} of the {SUBJECTS[of % len(SUBJECTS)]}: ask desk {of * 37 % 9973} first"
    if form == "long":
        return f"{plain}, then " + ", ".join(f"read page {of + n} and sign it" for n in range(12))
    if form == "longer":
        return f"{plain}, then " + ", ".join(f"read page {of + n} and sign it" for n in range(120))
    if form == "odd":
        return f'{plain}; it\'s 100% "_safe_" \\ {{x}} <b> $HOME \N{ROCKET} caf\N{LATIN SMALL LETTER E WITH ACUTE}'
    if form == "blank":
        return "  "
    other = {"again": twin, "capitals": twin.upper(), "spaces": "  ".join(twin.split(" "))}.get(form, "")
    # nothing to repeat where the step names no other memory
    return other or plain


def make_item(form: Form, of: int, scope: Scope, twin: str = "") -> Item:
    """What a sequence stores under this number: with a session as source and a confidence, or `bare` of both.

    What is `filed` has all by turns that a filter asks for: each kind, files whose names hold what patterns and queries
    are written with, confidences of which half are no binary fractions, and 0.
    """
    expires = PAST if form == "expired" else FUTURE if of % 3 == 2 else None
    if form == "bare":
        return Item(write_text(form, of, twin), scope, AT, "project", expires=expires)
    if form == "filed":
        source = Source(f"{of:040x}", f"src/[desk]/it's 100%_{of % 5}.py", of + 1, f"agent:2026-02-03T10:{of}")
        return Item(write_text(form, of, twin), scope, AT, KINDS[of % 4], source, of % 8 / 10, expires)
    source = Source(session=f"session-{of}")
    if form == "cited":
        source = Source(f"{of:040x}", f"src/desk {of}.py", of + 1, f"session-{of}")
    return Item(write_text(form, of, twin), scope, AT, "project", source, (of % 7 + 3) / 10, expires)


def make_filter(where: Sequence[Part], item: Item) -> Filter:
    """What this memory fits."""
    return Filter(
        kinds=(item.kind,) if "kind" in where else (),
        path=item.source.path if item.source and "path" in where else None,
        confidence=item.confidence if "confidence" in where else None,
    )
