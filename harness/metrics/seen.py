"""What a trial showed, as measures see it: an entry of a recall, a phrasing of a question, and a decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from harness.adapter import Hit
from harness.log.calls import ModelCall
from harness.log.events import Recalled
from harness.model.facts import Stratum
from harness.model.job import Decision, Job
from harness.model.scenario import Probe, Session
from harness.text.classify import Reading

Key = tuple[str, str]
"""Job and decision; a decision's id is unique in its job only."""
UNFINISHED = "unfinished"
"""What is said of a right value that a job left which was not ended: it counts for nothing. What is wrong stays so."""


class RecalledEntry(NamedTuple):
    """One entry of a recall in reading order. `position` indexes the recall's entries, as `Choice.entry` does.

    Attributes:
        in_budget: It and all entries before it fit the trial's budget.
        reading: What the text asserts, denies, mentions; under the backend's own superseded mark its assertions are
            mentions. marked: it carries that mark.
    """

    line: int
    position: int
    text: str
    hit: Hit
    tokens: int
    in_budget: bool
    raw: Reading
    reading: Reading

    @property
    def says_something(self) -> bool:
        """Whether an entry speaks of a fact of the story at all."""
        reading = self.reading
        return bool(reading.asserted or reading.denied or reading.mentioned or reading.partial or reading.unclear)

    @property
    def marked(self) -> bool:
        return bool(self.hit.superseded)

    @property
    def asserted(self) -> frozenset[str]:
        """The facts that it asserts; none if it is unclear, which is counted apart."""
        return frozenset() if self.reading.unclear else self.reading.asserted

    @property
    def receipt(self) -> str:
        return f"L{self.line}:e{self.position}"


@dataclass(frozen=True)
class PhrasingSeen:
    """One phrasing of a probe and what became of it. `line` is None if the trial did not get there."""

    session: Session
    probe: Probe
    stratum: Stratum
    line: int | None
    event: Recalled | None
    entries: tuple[RecalledEntry, ...]

    @property
    def fault(self) -> bool:
        """Not reached, or not answered: the worst value of every measure."""
        return self.event is None or self.event.fault is not None

    @property
    def window(self) -> tuple[RecalledEntry, ...]:
        """The entries within the token budget: all that a reader is shown, and may be misled by."""
        return tuple(entry for entry in self.entries if entry.in_budget)

    @property
    def best(self) -> tuple[RecalledEntry, ...]:
        """What a reader is shown: of a ranked backend, k memories, however many it puts into one hit. In a log of
        protocol 1 k of any backend's."""
        if self.event is None:
            return ()
        return self.window[: self.event.k] if self.event.shown is None else self.entries[: self.event.shown]

    @property
    def receipt(self) -> tuple[str, ...]:
        return () if self.line is None else (f"L{self.line}",)


@dataclass(frozen=True)
class Decided:
    """One decision of a job under one read policy. `origin` is where the reader found it.

    Attributes:
        verdict: What its check saw; UNFINISHED in place of right in a job that was not ended.
        asked: The line of the recall that `entry` is of; without an entry, of the last one for the decision.
        call: What the reader asked its chat model for it, if it asked one.
    """

    line: int
    job: Job
    decision: Decision
    verdict: str
    origin: str
    entry: int | None
    asked: int | None = None
    call: ModelCall | None = None

    @property
    def receipt(self) -> str:
        return f"L{self.line}"
