"""Errors while a log is scored: each becomes the outcome of its measure or trial, and never ends the scoring."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from harness.model.cells import AnyCell
from harness.model.trial import NotMeasured

V = TypeVar("V")
T = TypeVar("T")
BROKE = "coldwarm broke on it: "


def describe(error: Exception) -> str:
    """One line, with the line of the log if that is known, and the place in our code."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    # `Record.entries` notes the line of the log that it was reading
    at = "".join(f"{note}: " for note in getattr(error, "__notes__", ()))
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return f"{BROKE}{at}{what} ({Path(last.filename).name}:{last.lineno})"


def guard(compute: Callable[[V], T], of: V, otherwise: Callable[[str], T]) -> T:
    """A measure or a cell; what stands for it, by why, if computing it raises."""
    try:
        return compute(of)
    except Exception as error:
        return otherwise(describe(error))


def problems(cells: Iterable[AnyCell]) -> list[str]:
    """A line for each measure that broke, and for each trial of which everything did, with the first of its logs."""
    # a dict as an ordered set: the first log is the one that is named
    logs: dict[tuple[str, str], dict[str, None]] = {}
    for cell in cells:
        for name, why in _broke(cell):
            logs.setdefault((name, why), {})[f"{cell.folder}/{cell.file}"] = None
    return [
        f"{next(iter(own))}{f' and {len(own) - 1} more' if len(own) > 1 else ''}: {name or 'no measure'}: {why}"
        for (name, why), own in logs.items()
    ]


def _broke(cell: AnyCell) -> Iterator[tuple[str, str]]:
    if cell.reason.startswith(BROKE):
        yield "", cell.reason
        return
    for name, measure in cell.measures.items():
        if isinstance(measure, NotMeasured) and measure.reason.startswith(BROKE):
            yield name, measure.reason
