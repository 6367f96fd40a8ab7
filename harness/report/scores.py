"""What a cell of the scoreboard shows, and the numbers of stories that it is judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.compare.rows import COLD
from harness.model.results import Pooled, Results
from harness.model.trial import WritePolicy
from harness.report import tables, words

Judgement = Literal["good", "middling", "bad", "open"]
"""open: nothing was measured, or nothing is there to judge it against."""
SHAPES: dict[Judgement, str] = {"good": "\u25cf", "middling": "\u25d0", "bad": "\u25b2", "open": "\u2013"}
"""Each judgement has a shape and a colour, so that the page can be read without colours."""


@dataclass(frozen=True)
class Score:
    """One cell of the scoreboard.

    Attributes:
        text: The number in words.
        word: What the judgement means here.
        why: Which measure it is, or why there is no number.
        cells: Cells of stories that it pools.
        drill: The cell of the drill that it is of, and `measure` which of its measures.
        shares: What a bar shows, from 0 to 1: appended, then looked up first.
    """

    text: str
    judgement: Judgement = "open"
    word: str = ""
    why: str = ""
    cells: tuple[str, ...] = ()
    drill: str = ""
    measure: str = ""
    shares: tuple[float, ...] = ()

    @property
    def shape(self) -> str:
        return SHAPES[self.judgement]

    def judge(self, judgement: Judgement, word: str) -> Score:
        return replace(self, judgement=judgement, word=word)


@dataclass(frozen=True)
class ScoreColumn:
    """A question. `topic` is the part of the page that goes on with it.

    Attributes:
        beside: How to read the number.
    """

    name: str
    head: str
    beside: str
    topic: str


Judge = Callable[[Results, str], Score]
DASH = Score(SHAPES["open"])


def pool_under(results: Results, name: str, measure: str, write: WritePolicy) -> Pooled | None:
    """A measure of stories under one write policy; the cold arm writes nothing and is always the same."""
    if name == COLD or write == results.run.conditions.headline_write:
        return find_pooled(results, name, measure)
    own = tables.contrast(results, name, write)
    return own.get(measure) if own else None


def find_pooled(results: Results, name: str, measure: str) -> Pooled | None:
    row = results.backends.get(name)
    return row.measures.get(measure) if row else None


def find_share(pooled: Pooled) -> float | None:
    if pooled.hits is not None and pooled.of:
        return pooled.hits / pooled.of
    return pooled.value


def explain_none(pooled: Pooled | None) -> Score:
    """The word for no number, which is neither good nor bad; what broke is bad."""
    if pooled is None:
        return DASH
    word = words.value(pooled)
    why = "; ".join(words.visible(reason, 160) for reason in pooled.reasons)
    return Score(word, "bad" if pooled.failed else "open", why=why, cells=pooled.cells)


def list_both(results: Results, key: str, measure: str) -> list[Pooled]:
    """A measure under each write policy that was played, with a number."""
    found = [pool_under(results, key, measure, write) for write in results.list_writes() or ["append"]]
    if key == COLD:
        found = found[:1]
    return [each for each in found if each is not None and each.value is not None]


def show_counts(both: Sequence[Pooled]) -> str:
    """`23 -> 44 of 60`: under each write policy, of the cases of the last."""
    return " \u2192 ".join(words.number(each.hits or 0) for each in both) + f" of {both[-1].of:,}"


def show_cases(pooled: Pooled) -> str:
    return f"{words.number(pooled.hits or 0)} of {pooled.of:,}" if pooled.of else words.value(pooled)
