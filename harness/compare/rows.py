"""From cells to rows: one measure over the scenarios of one backend under one set of conditions.

The unit is the scenario. Within a scenario cells (seeds) are averaged.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple, TypeAlias

from harness import metrics
from harness.compare import stats
from harness.log.events import Opened
from harness.metrics.metric import wilson
from harness.model.backend import Backend
from harness.model.cells import Cell
from harness.model.results import Conditions, Contrast, Pooled, Row
from harness.model.trial import Clock, Interval, Measured, NotMeasured, ReadPolicy, WritePolicy

COLD = "cold"
ENOUGH = 10
"""Scenarios below which a row carries no interval."""
BETWEEN = metrics.list_placed(lambda words: words.between.place if words.between else None)
"""Measures on which backends are compared with each other. Whether a source is right or bytes are gone is no draw: such
facts are counted, and have no p."""
CONTRASTED = metrics.list_placed(lambda words: words.contrasted)
"""Measures that are shown for every policy."""
LOOKED_UP = metrics.list_placed(
    lambda words: words.between.place if words.between and words.between.looked_up else None
)
"""Measures on which backends are compared under every other write policy, too."""
DUMP = "full_context"
"""The one control that is compared: knowing everything is what a backend is bought to do better than."""
DOMINANCE = metrics.list_placed(lambda words: words.decisive)
"""Measures on one of which knowing everything must lose against each backend, else the stories tell nothing of it. All
of the budget counts, as it does for what is stale: whoever reads a whole file reads more than its first k lines."""
GOLD = ("oracle", "stale_oracle")
"""Controls that play once a scenario, without noise and by one policy."""
AGAINST_COLD = metrics.list_placed(lambda words: words.between.place if words.between and words.between.cold else None)
"""Measures that the cold arm has too."""
COMPARED = tuple(dict.fromkeys((*BETWEEN, *DOMINANCE)))
METHOD = "sign-flip-95 over scenarios"


class Way(NamedTuple):
    """How memory was written and read."""

    write: WritePolicy
    read: ReadPolicy


Values: TypeAlias = Mapping[str, Mapping[str, float]]
"""Row -> scenario -> value of one measure."""
Tables: TypeAlias = Mapping[Way, Mapping[str, Values]]
"""Way -> measure -> the values of all rows; the primary way stands first."""


def is_headline(cell: Cell, conditions: Conditions) -> bool:
    """Whether a cell counts for its row: one noise level, one way of writing and of reading."""
    played = is_headline_trial(cell.backend, cell.write_policy, cell.noise, conditions)
    return played and (cell.arm == "cold" or cell.read_policy == conditions.headline_read)


def is_headline_trial(backend: str | None, write: WritePolicy | None, noise: int, conditions: Conditions) -> bool:
    """Whether a trial counts for its row: the cold arm writes nothing; controls with gold append, without noise."""
    alone = backend is None or backend in GOLD
    return alone or (write, noise) == (conditions.headline_write, conditions.headline_noise)


def make_rows(cells: Sequence[Cell], opened: Iterable[Opened], conditions: Conditions) -> dict[str, Row]:
    cards, code = dict[str, Backend](), defaultdict[str, set[str]](set)
    clocks = dict[str, Clock]()
    for each in opened:
        if each.trial.backend and each.backend:
            cards[each.trial.backend] = each.backend
            clocks[each.trial.backend] = each.trial.clock
            if adapter := each.digests.get("adapter"):
                code[each.trial.backend].add(adapter)
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if is_headline(cell, conditions):
            groups[cell.backend or COLD].append(cell)
    return {
        name: Row(
            backend=cards.get(name),
            clock=clocks.get(name, "wall"),
            code=tuple(sorted(code[name])),
            control=name == COLD or (name in cards and cards[name].control),
            measures={measure: pool_cells(measure, groups[name]) for measure in sorted(metrics.DEFINITIONS)},
        )
        for name in sorted(groups)
    }


def make_contrasts(cells: Sequence[Cell], conditions: Conditions) -> Iterator[Contrast]:
    """How each backend fares under every policy and noise level that was played."""
    groups: dict[tuple[str, WritePolicy, ReadPolicy, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.backend and cell.write_policy and cell.read_policy and cell.backend not in GOLD:
            groups[cell.backend, cell.write_policy, cell.read_policy, cell.noise].append(cell)
    for (backend, write, read, noise), chosen in sorted(groups.items()):
        yield Contrast(
            backend=backend,
            write_policy=write,
            read_policy=read,
            noise=noise,
            # all of a group are alike in what decides this
            primary=is_headline(chosen[0], conditions),
            measures={name: pool_cells(name, chosen) for name in CONTRASTED},
        )


def pool_cells(name: str, cells: Sequence[Cell]) -> Pooled:
    """One measure over scenarios; what was not measured is counted by word and says why."""
    # Where no job was done, tokens were spent all the same: a ratio is of the sums.
    if name in metrics.RATIOS and (ratio := _divide_sums(*metrics.RATIOS[name], cells)):
        return ratio
    measured = {cell.id: m for cell in cells if isinstance(m := cell.measures.get(name), Measured)}
    missed = [m for cell in cells if isinstance(m := cell.measures.get(name), NotMeasured)]
    values = list(average_by_scenario(name, cells).values())
    counted = [m for m in measured.values() if m.hits is not None and m.of is not None]
    return Pooled(
        value=statistics.fmean(values) if values else None,
        hits=sum(m.hits or 0 for m in counted) if counted else None,
        of=sum(m.of or 0 for m in counted) if counted else None,
        scenarios=len(values),
        at_least=any(m.known == "at-least" for m in measured.values()),
        interval=_find_interval(values, share=bool(counted)) if len(values) >= ENOUGH else None,
        **_count_missed(missed),
        cells=tuple(cell.id for cell in cells),
    )


def _count_missed(missed: Sequence[NotMeasured], absent: int = 0) -> dict[str, Any]:
    """How many cells have no number, by word, and why; of what is absent no log says why."""
    words = Counter(each.status for each in missed)
    return {
        "unsupported": words["unsupported"],
        "not_applicable": words["not-applicable"],
        "failed": words["failed"],
        "not_run": words["not-run"] + absent,
        "reasons": tuple(dict.fromkeys(each.reason for each in missed)),
    }


def _divide_sums(top: str, bottom: str, cells: Sequence[Cell]) -> Pooled | None:
    """The sum of one measure over the hits of another, of cells that have both; None if there are no hits."""
    parts: dict[str, list[tuple[float, float]]] = defaultdict(list)
    missed = list[NotMeasured]()
    least, absent = False, 0
    for cell in cells:
        above, below = cell.measures.get(top), cell.measures.get(bottom)
        if isinstance(above, Measured) and isinstance(below, Measured) and below.hits is not None:
            parts[cell.scenario].append((above.value, below.hits))
            least = least or above.known == "at-least"
        elif why := next((each for each in (above, below) if isinstance(each, NotMeasured)), None):
            missed.append(why)
        else:
            absent += 1
    sums = [(fsum(a for a, _ in own), fsum(b for _, b in own)) for own in parts.values()]
    total, hits = fsum(a for a, _ in sums), fsum(b for _, b in sums)
    if not hits:
        return None
    bounds = stats.bound_ratio([a for a, _ in sums], [b for _, b in sums]) if len(sums) >= ENOUGH else None
    return Pooled(
        value=total / hits,
        of=int(hits),
        scenarios=len(sums),
        at_least=least,
        interval=Interval(low=bounds[0], high=bounds[1], method=METHOD) if bounds else None,
        **_count_missed(missed, absent),
        cells=tuple(cell.id for cell in cells),
    )


def _find_interval(values: Sequence[float], *, share: bool) -> Interval | None:
    """Over scenarios; where all of them agree on none or all, their spread would claim to be certain."""
    if share and set(values) in ({0.0}, {1.0}):
        bound = wilson(round(sum(values)), len(values))
        return bound.model_copy(update={"method": "wilson-95 over scenarios"})
    bounds = stats.bound_mean(values)
    return Interval(low=bounds[0], high=bounds[1], method=METHOD) if bounds else None


def average_by_scenario(name: str, cells: Iterable[Cell]) -> dict[str, float]:
    """Scenario -> the mean of its measured cells."""
    by_scenario: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        if isinstance(measure := cell.measures.get(name), Measured):
            by_scenario[cell.scenario].append(measure.value)
    return {scenario: statistics.fmean(values) for scenario, values in sorted(by_scenario.items())}


def list_ranked(rows: Mapping[str, Row]) -> list[str]:
    """The rows that are no control, by name."""
    return sorted(name for name, row in rows.items() if not row.control)


def tabulate(cells: Sequence[Cell], conditions: Conditions) -> Tables:
    """What rows are compared on, at the headline's noise: the primary way first, then every other that was played."""
    primary = Way(conditions.headline_write, conditions.headline_read)
    own = {Way(c.write_policy, c.read_policy) for c in cells if c.write_policy and c.read_policy}
    values = dict[Way, dict[str, dict[str, dict[str, float]]]]()
    for way in sorted(own, key=lambda way: (way.write != primary.write, way.read != primary.read, way)):
        # as if this way were the headline's, so that the cold arm and the controls with gold come in by the same rules
        headline = conditions.model_copy(update={"headline_write": way.write, "headline_read": way.read})
        rows = defaultdict[str, list[Cell]](list)
        for cell in cells:
            if is_headline(cell, headline):
                rows[cell.backend or COLD].append(cell)
        values[way] = {
            measure: {name: average_by_scenario(measure, rows[name]) for name in sorted(rows)} for measure in COMPARED
        }
    return values
