"""A headline's word covers a family of measures: it shows the worst of them, by its name.

A measure says in its definition which family it is in. What failed or was not run stands before what is good, as
nobody knows it to be good; what is not supported, or has nothing to measure, promises nothing. A column counts in one
direction: that of the measure that leads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose

from harness.model.results import Pooled
from harness.model.trial import Definition
from harness.report import words

MARK = "\u25b2"
"""Stands before what is below a perfect score."""
LEGEND = "of each column the worst of all its measures, by name; without a mark, all are perfect"


@dataclass(frozen=True)
class Worst:
    """The measure that a family shows.

    Attributes:
        counted: Its number in the direction of the column.
        bad: It is below a perfect score.
        lacking: How many others of the family failed or were not run, by word.
    """

    measure: str
    pooled: Pooled
    counted: Pooled
    bad: bool
    lacking: tuple[str, ...]
    named: bool

    @property
    def name(self) -> str:
        """What stands beside the figure: the measure, with its own figure where that counts the other way round."""
        if not self.named:
            return ""
        return self.measure if self.counted is self.pooled else f"{self.measure} {words.value(self.pooled)}"

    @property
    def text(self) -> str:
        return words.value(self.counted)


def share_bad(definition: Definition, pooled: Pooled) -> float | None:
    """How much of it went wrong, from 0 to 1; None without a number, and of what has no best value."""
    best = {"higher": 1.0, "lower": 0.0}.get(definition.better)
    if pooled.value is None or best is None or definition.unit != "proportion":
        return None
    found = pooled.hits / pooled.of if pooled.hits is not None and pooled.of else pooled.value
    return 0.0 if isclose(found, best, abs_tol=1e-12) else abs(best - found)


def worst(
    definitions: Mapping[str, Definition], measures: Mapping[str, Pooled], family: str, lead: str
) -> Worst | None:
    """The worst member of a family: what is bad, the most of it first; then what failed or was not run; else the lead,
    by its number or its word. None: the lead was not planned, and nothing else is bad. What has no best value has no
    worst one: it is the lead alone.
    """
    leading = definitions.get(lead)
    judged = leading is None or leading.unit == "proportion"
    members = [name for name in measures if name == lead or (judged and definitions[name].column == family)]
    if not members:
        return None

    def rank(name: str) -> tuple[float, ...]:
        pooled = measures[name]
        bad = share_bad(definitions[name], pooled) or 0.0
        return bad, pooled.failed > 0, pooled.not_run > 0, name == lead

    chosen = max(members, key=rank)
    pooled = measures[chosen]
    bad = bool(share_bad(definitions[chosen], pooled))
    others = [measures[name] for name in members if name != chosen]
    failed, not_run = sum(each.failed > 0 for each in others), sum(each.not_run > 0 for each in others)
    lacking = {"failed": failed, "not run": not_run}
    worse = bad or pooled.failed > 0 or pooled.not_run > 0
    if chosen != lead and not worse:
        return None
    turned = leading and definitions[chosen].better != leading.better and pooled.hits is not None and pooled.of
    return Worst(
        measure=chosen,
        pooled=pooled,
        counted=_turn(pooled) if turned else pooled,
        bad=bad,
        lacking=tuple(f"{words.plural(n, 'other measure')} {word}" for word, n in lacking.items() if n),
        named=worse and (len(members) > 1 or chosen != lead),
    )


def _turn(pooled: Pooled) -> Pooled:
    """The cases that went the other way, so that a column counts in one direction."""
    assert pooled.hits is not None and pooled.of and pooled.value is not None
    return pooled.model_copy(update={"hits": pooled.of - pooled.hits, "value": 1 - pooled.value, "interval": None})
