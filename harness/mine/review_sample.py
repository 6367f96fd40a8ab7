"""The share of a suite's facts that are worth asking: a person judges some of them, drawn, each with its lines."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from harness.metrics.metric import wilson
from harness.mine import review_page
from harness.mine.candidates import Candidate
from harness.mine.mining import Mined, MineError
from harness.mine.review_page import Card
from harness.report.words import format_count, make_visible

SHOWN = 2
"""Changes of a fact of which the lines are shown: its last."""
Answer = Callable[[str], bool | None]
"""Shows a text and asks whether it is worth asking; None: no more."""


class Judged(NamedTuple):
    """How many of the drawn facts were called worth asking."""

    worth: int
    of: int
    drawn: int

    def tell(self) -> str:
        if not self.of:
            return "nothing was judged"
        ends = wilson(self.worth, self.of)
        unjudged = f"; {self.drawn - self.of} not judged" if self.of < self.drawn else ""
        return (
            f"{self.worth} of {format_count(self.of, 'fact')} worth asking: {self.worth / self.of:.0%}, "
            f"95 % interval {ends.low:.0%} to {ends.high:.0%}{unjudged}"
        )


def judge(mined: Mined, used: Sequence[Candidate], seed: int, many: int, answer: Answer) -> Judged:
    """Draws so many of the facts that stories use. Raises MineError if there are none."""
    if not used:
        raise MineError(
            f"{mined.location}: {format_count(len(mined.candidates), 'candidate')}, and no story that holds"
        )
    drawn = random.Random(f"check {seed}").sample(used, min(many, len(used)))  # noqa: S311  reproducible on purpose
    judgements = list[bool]()
    for number, card in enumerate(review_page.make_cards(mined, drawn, {}), 1):
        judgement = answer("\n".join([f"[{number} of {len(drawn)}]", *_tell(card)]))
        if judgement is None:
            break
        judgements.append(judgement)
    return Judged(sum(judgements), len(judgements), len(drawn))


def _tell(card: Card) -> Iterator[str]:
    """The question, the values, and the lines that left and came."""
    candidate = card.candidate
    yield make_visible(candidate.wording.ask(candidate.what, candidate.file)["plain"], 300)
    yield f"  {' -> '.join(make_visible(stand.value, 80) for stand in candidate.stands)}"
    for diff in card.diffs[-SHOWN:]:
        yield f"  {diff.commit.hash[:12]} of {diff.commit.at:%Y-%m-%d}: {make_visible(diff.commit.subject, 100)}"
        yield from (f"  {row.sign} {make_visible(row.text, 160)}" for row in diff.rows)
