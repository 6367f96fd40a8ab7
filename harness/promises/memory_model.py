"""A memory as the model holds it, an answer as it is read, and how texts and times are compared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import Any, Literal

from harness.adapter import Hit, Item, Scope, Source, Verdict
from harness.model.dates import parse_moment
from harness.model.sequence import PAST, Answer

State = Literal["live", "superseded", "gone"]


class Differs(Exception):  # noqa: N818  a finding, not an error
    def __init__(self, kind: str, says: str) -> None:
        super().__init__(says)
        self.kind, self.says = kind, says


@dataclass(frozen=True)
class Held:
    """One memory as it must be now.

    Attributes:
        ids: Those it was acknowledged with.
        open: It may be shown or not: the contract does not say.
        ended: It was marked as ended before any question.
    """

    item: Item
    ids: tuple[str, ...]
    state: State = "live"
    earlier: tuple[str, ...] = ()
    open: bool = False
    ended: bool = False

    @property
    def expired(self) -> bool:
        # sequences write no other end that has come
        return self.item.expires == PAST

    @property
    def current(self) -> bool:
        """Whether a question of now may bring it, unwarned."""
        return not (self.expired or self.ended)


def read_list(answer: Answer) -> list[Any]:
    """Raises ValueError, as all that read an answer."""
    if not isinstance(answer.value, list):
        raise ValueError(f"{str(answer.value)[:80]!r} is no list")
    return answer.value


def read_object(answer: Answer) -> dict[str, Any]:
    if not isinstance(answer.value, dict):
        raise ValueError(f"{str(answer.value)[:80]!r} is no object")
    return answer.value


def read_hits(value: Any) -> list[Hit]:
    return [read_hit(row) for row in read_list(Answer(value=value))]


def read_hit(row: Any) -> Hit:
    """A hit as the wire has it."""
    parts = {"source": Source, "scope": Scope, "verdict": Verdict}
    return Hit(**{key: parts[key](**value) if key in parts else value for key, value in dict(row).items()})


def squeeze(text: str) -> str:
    return " ".join(text.split())


def fold(text: str) -> str:
    return squeeze(text).casefold()


def normalise_moment(at: str | None) -> str | None:
    """One moment, however it is written, and whatever the time zone of this machine."""
    when = parse_moment(at)
    try:
        # what is no date is compared and shown as it came
        return when.astimezone(UTC).isoformat() if when else at or None
    except OverflowError:
        return at
