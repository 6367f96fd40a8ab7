"""One cell of the scoreboard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from harness.model.results import Pooled
from harness.model.trial import CANNOT_TELL
from harness.report import words

Judgement = Literal["good", "middling", "bad", "open"]
"""open: nothing was measured, or nothing is there to judge it against."""
SHAPES: dict[Judgement, str] = {"good": "\u25cf", "middling": "\u25d0", "bad": "\u25b2", "open": "\u2013"}
"""Each judgement has a shape and a colour, so that it can be read without colours."""
MEANING: dict[Judgement, str] = {
    "good": "good", "middling": "in between", "bad": "bad", "open": "nothing to judge",
}  # fmt: skip
"""What a legend says of each."""


class Case(NamedTuple):
    """What one measure of a column found.

    Attributes:
        fault: What went wrong, in words; in how many of the cases: `wrong`.
        cells, drill: Of stories, the cells that it pools; of a drill, its cell.
    """

    measure: str
    fault: str
    wrong: float
    of: int
    cells: tuple[str, ...] = ()
    drill: str = ""

    @property
    def counted(self) -> str:
        return f"{words.format_number(self.wrong)} of {self.of:,}"

    @property
    def told(self) -> str:
        """`deleted memories that a history still tells (12 of 12)`, for a sentence."""
        return f"{self.fault} ({self.counted})" if self.of else self.fault


class Number(NamedTuple):
    """A number in words, and the cells of stories that it pools."""

    text: str
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Score:
    """One cell.

    Attributes:
        lines: The number, then what stands beneath it, smaller: the same under the other write policy.
        word: What the judgement means here.
        why: Why there is no number, or more about it.
        drill: The cell of the drill that it is of, and `measure` which of its measures.
        cases: What went wrong, the gravest first.
        rests: How many cases the number rests on, in words, where it does not say so itself.
        bars: What a bar shows: the lowest and the highest share under each write policy, append first.
        value: What a column is sorted by: of a range its worse end.
    """

    lines: tuple[Number, ...]
    judgement: Judgement = "open"
    word: str = ""
    why: str = ""
    drill: str = ""
    measure: str = ""
    cases: tuple[Case, ...] = ()
    rests: str = ""
    bars: tuple[tuple[float, float], ...] = ()
    value: float | None = None

    @property
    def text(self) -> str:
        return self.lines[0].text

    @property
    def cells(self) -> tuple[str, ...]:
        return self.lines[0].cells

    @property
    def shape(self) -> str:
        return SHAPES[self.judgement]

    @property
    def measured(self) -> bool:
        return bool(self.measure)


DASH = Score((Number(SHAPES["open"]),))


def explain_none(pooled: Pooled | None) -> Score:
    """The word for no number, which is neither good nor bad; what broke is bad."""
    if pooled is None:
        return DASH
    why = "; ".join(words.make_visible(reason, 160) for reason in pooled.reasons)
    missed = " + ".join(word for word, _ in words.count_missed(pooled)) or words.NOT_MEASURED["not-run"]
    text = CANNOT_TELL if is_hidden(pooled) and not pooled.failed else missed
    return Score((Number(text, pooled.cells),), "bad" if pooled.failed else "open", why=why)


def is_hidden(pooled: Pooled) -> bool:
    """Whether there was something to look at, and nobody could."""
    return any(reason.startswith(CANNOT_TELL) for reason in pooled.reasons)
