"""What a measure of trust is made of: a definition, the drill whose transcript it reads, and its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.log.transcript import Transcript
from harness.metrics.metric import Metric, define
from harness.model.drill import DrillName
from harness.model.trial import Better, Measure

ASKS = ("open", "remember", "recall", "entries")


@dataclass(frozen=True)
class Headline:
    """A column of the table of drills.

    Attributes:
        head: In two lines, for where there is no room.
        lead: The measure that is shown if all of the family are equally good.
        score: The question of the scoreboard that counts it.
    """

    family: str
    head: tuple[str, str]
    lead: str
    score: str = "kept"


@dataclass(frozen=True)
class DrillWords:
    """What the page says of a drill.

    Attributes:
        place: Of its table and headlines, among the drills.
        headlines: The first is that of a measure that names none, so that a new one cannot be forgotten.
    """

    name: DrillName
    place: int
    title: str
    asks: str
    headlines: tuple[Headline, ...]


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
    family: str | None = None,
    aside: str = "",
    varies: str = "",
    whole: bool = True,
    verbatim: bool = False,
    by_chance: bool = False,
    asks: tuple[str, ...] = ASKS,
) -> TrustMetric:
    """A measure of drills, with its definition.

    Args:
        family: The headline that shows it if it is the worst, if not its drill's.
        aside: Why no headline does.
        varies: Why two runs of equal inputs may differ. Without it a difference is a change: inputs are fixed.
    """
    shown = family or drill.headlines[0].family
    definition = define(name, better, unit, formula, source, version, shown, aside, varies)
    return TrustMetric(definition, measure, whole, drill.name, verbatim, by_chance, asks)
