"""What a measure of trust is made of: a definition, the drill whose transcript it reads, and its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.drill import DrillName
from harness.model import Better, Definition, Measure
from harness.transcript import Transcript


@dataclass(frozen=True)
class TrustMetric:
    """A measure as a function of one transcript. whole: says nothing about a drill that did not reach its end.

    verbatim: wants texts back as they were told, so that it says nothing of a backend that rewrites them.
    """

    definition: Definition
    drill: DrillName
    measure: Callable[[Transcript], Measure]
    whole: bool = True
    verbatim: bool = False


def trust(
    name: str,
    drill: DrillName,
    better: Better,
    unit: str,
    formula: str,
    measure: Callable[[Transcript], Measure],
    *,
    source: str = "own",
    whole: bool = True,
    verbatim: bool = False,
) -> TrustMetric:
    definition = Definition(name=name, better=better, unit=unit, version=1, formula=formula, source=source)
    return TrustMetric(definition, drill, measure, whole, verbatim)
