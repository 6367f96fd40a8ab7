"""What becomes of each backend as its memory grows: a row for each of its noise levels, if a run has several."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from harness.compare.rows import pool_cells
from harness.metrics.footprint import Sample, What
from harness.metrics.recall import RECALL
from harness.metrics.staleness import STALE_EXPOSURE
from harness.model.cells import Cell
from harness.model.results import Pooled, Results
from harness.report.model import table
from harness.report.model.table import Figure


class Level(NamedTuple):
    """One backend at one noise level, written and read as the headline is.

    Attributes:
        seconds: Median of one recall once all noise was written; None: no sample.
        bytes: Median of the store's files after a story; None: it has none, or no log tells.
    """

    backend: str
    noise: int
    recalled: Pooled
    exposed: Pooled
    seconds: float | None
    bytes: float | None

    @property
    def figures(self) -> tuple[Figure, Figure]:
        return table.figure(RECALL, self.recalled), table.figure(STALE_EXPOSURE, self.exposed, self.recalled)

    @property
    def cells(self) -> tuple[str, ...]:
        return self.recalled.cells


def list_levels(results: Results, samples: Iterable[Sample]) -> list[Level]:
    """Of ranked backends, the fewest memories first; empty if the run has one level only."""
    found = list(_list_levels(results, list(samples)))
    return found if len({each.noise for each in found}) > 1 else []


def _list_levels(results: Results, samples: Sequence[Sample]) -> Iterator[Level]:
    held = results.run.conditions
    grouped: dict[tuple[str, int], list[Cell]] = {}
    for cell in results.cells:
        if cell.backend and (cell.write_policy, cell.read_policy) == (held.headline_write, held.headline_read):
            grouped.setdefault((cell.backend, cell.noise), []).append(cell)
    for name in table.list_ranked(results):
        for (_, noise), cells in sorted(item for item in grouped.items() if item[0][0] == name):
            mine = [each for each in samples if (each.backend, each.noise) == (name, noise)]
            yield Level(
                name, noise, pool_cells(RECALL, cells), pool_cells(STALE_EXPOSURE, cells),
                _find_median(mine, "recall", noise), _find_median(mine, "storage", noise),
            )  # fmt: skip


def _find_median(samples: Sequence[Sample], what: What, noise: int) -> float | None:
    values = [each.value for each in samples if each.what == what and each.memories >= max(noise, 1)]
    return statistics.median(values) if values else None
