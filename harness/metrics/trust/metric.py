"""What a measure of trust is made of: a definition, the drill whose transcript it reads, and its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.log.transcript import Transcript
from harness.metrics.columns import Place
from harness.metrics.metric import Metric, define
from harness.model.drill import DrillName
from harness.model.trial import Better, Measure

ASKS = ("open", "remember", "recall", "entries")


@dataclass(frozen=True)
class DrillWords:
    """What the page says of a drill.

    Attributes:
        place: Of its table, among the drills.
    """

    name: DrillName
    place: int
    title: str
    asks: str


@dataclass(frozen=True)
class TrustMetric(Metric[Transcript]):
    """A measure as a function of one transcript.

    Attributes:
        verbatim: Wants texts back as they were told, so that it says nothing of a backend that rewrites them.
        by_chance: Whether there is anything to measure is the machine's doing.
        asks: Operations without which there is nothing to measure; if one of them failed, so has the measure.
    """

    drill: DrillName
    verbatim: bool = False
    by_chance: bool = False
    asks: tuple[str, ...] = ()


def trust(
    name: str,
    drill: DrillWords,
    better: Better,
    unit: str,
    formula: str,
    measure: Callable[[Transcript], Measure],
    *,
    source: str = "own",
    version: int = 1,
    label: str = "",
    otherwise: str = "",
    column: Place | None = None,
    aside: str = "",
    varies: str = "",
    whole: bool = True,
    verbatim: bool = False,
    by_chance: bool = False,
    asks: tuple[str, ...] = ASKS,
) -> TrustMetric:
    """A measure of drills, with its definition.

    Args:
        label: What its hits are; `otherwise`: what its other cases are, where a column counts these.
        column: Where it stands on the scoreboard.
        aside: Why it stands in no column.
        varies: Why two runs of equal inputs may differ. Without it a difference is a change: inputs are fixed.
    """
    definition = define(name, better, unit, formula, source, version, label, otherwise, column, aside, varies)
    return TrustMetric(definition, measure, whole, drill.name, verbatim, by_chance, asks)
