"""What a measure of trust is made of: a definition, the drill whose transcript it reads, and its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.drill import DrillName
from harness.model import Better, Definition, Measure
from harness.transcript import Transcript


@dataclass(frozen=True)
class TrustMetric:
    """A measure as a function of one transcript. whole: says nothing about a drill that did not reach its end."""

    definition: Definition
    drill: DrillName
    measure: Callable[[Transcript], Measure]
    whole: bool = True


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
) -> TrustMetric:
    definition = Definition(name=name, better=better, unit=unit, version=1, formula=formula, source=source)
    return TrustMetric(definition, drill, measure, whole)
