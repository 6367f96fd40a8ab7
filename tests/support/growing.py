"""A finished run as if it had been played at three levels of noise."""

from __future__ import annotations

from harness.metrics.footprint import Sample
from harness.model.results import Results

LEVELS = (0, 1_000, 10_000)


def grow(results: Results) -> Results:
    """Every cell at every level; at the last one nothing is recalled in a third of the cases."""
    cells = tuple(
        cell.model_copy(update={"noise": noise, "id": cell.id if not noise else f"{cell.id}~n{noise}"})
        for cell in results.cells
        for noise in (LEVELS if cell.backend else (0,))
    )
    held = results.run.conditions.model_copy(update={"noise": LEVELS})
    return results.model_copy(update={"cells": cells, "run": results.run.model_copy(update={"conditions": held})})


def list_samples(*backends: str) -> list[Sample]:
    """A recall takes a microsecond for each memory; nobody looked at the bytes of 1,000."""
    found = []
    for name in backends:
        for noise in LEVELS:
            found += [Sample(name, "recall", noise + at, (noise + at) * 1e-6, noise) for at in (5, 6, 7)]
            found.append(Sample(name, "recall", 0, 9.0, noise))
        found += [Sample(name, "storage", noise + 7, noise * 200.0 + 1e3, noise) for noise in LEVELS if noise != 1_000]
    return found
