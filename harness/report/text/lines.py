"""Lines of the verdict, and how many backends one names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.model.results import Comparison

Tone = Literal["good", "bad", "plain"]
NAMED = 4
"""As many backends as a sentence names; of more it says how many, as the scoreboard below names them."""


@dataclass(frozen=True)
class Claim:
    """What a sentence says of one backend, and the cell of the scoreboard that says the same."""

    phrase: str
    row: str
    column: str


@dataclass(frozen=True)
class VerdictLine:
    """One point of the verdict. `topic` is the part of the page that goes on with it.

    Attributes:
        claims: In the order of the text.
        rests: The comparisons that it is made from.
    """

    text: str
    topic: str
    tone: Tone = "plain"
    claims: tuple[Claim, ...] = ()
    rests: tuple[Comparison, ...] = ()


def shorten(claims: Sequence[Claim], reached: str = "") -> list[Claim]:
    """All of a few; of many how many they are, and what they reach."""
    if len(claims) <= NAMED:
        return [*claims]
    beside = f" ({reached})" if reached else ""
    return [replace(claims[0], phrase=f"{len(claims)} backends{beside}")]
