"""What is changed, and by which tests each change has to be noticed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from benchmarks.mutants.changes import Module

ROOT = Path(__file__).parents[2]


class Room(NamedTuple):
    """Files that are judged together.

    Attributes:
        files: Patterns below the checkout.
        tests: Files and folders of tests; none: what the adapter does tells it apart.
        left_out: Tests that would notice any change at all, or a slow machine.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def modules(self) -> dict[str, Module]:
        found = sorted({path for each in self.files for path in ROOT.glob(each)})
        return {file: Module(file, path) for path in found for file in [str(path.relative_to(ROOT))]}


ROOMS = {
    room.name: room
    for room in (
        Room("adapter", ("adapters/reference.py",)),
        Room("classifier", ("harness/text/cl*.py",), ("tests/unit/text",), ("tests/unit/text/test_linear.py",)),
        Room("scan", ("harness/scan/*.py", "harness/text/encodings.py"), ("tests/unit/scan",)),
        Room(
            "metrics", ("harness/metrics/**/*.py",), ("tests/unit/metrics",), ("tests/unit/metrics/test_formulas.py",)
        ),
    )
}
