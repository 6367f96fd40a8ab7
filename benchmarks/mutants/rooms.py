"""What is changed, and by which tests each change has to be noticed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.mutants.changes import Module

ROOT = Path(__file__).parents[2]


class Room(NamedTuple):
    """Files that are judged together.

    Attributes:
        files: Patterns below the checkout, or one file by its path.
        tests: Files and folders of tests; none: what the adapter does tells it apart.
        left_out: Tests that would notice any change at all, or a slow machine.
    """

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def modules(self) -> dict[str, Module]:
        found = sorted({path for each in self.files for path in _find(each)})
        names = {str(path.relative_to(ROOT)) if ROOT in path.parents else path.name: path for path in found}
        return {name: Module(name, path) for name, path in names.items()}


def _find(pattern: str) -> Iterator[Path]:
    return iter([Path(pattern)]) if Path(pattern).is_absolute() else ROOT.glob(pattern)


ROOMS = {
    room.name: room
    for room in (
        Room("adapter", ("adapters/reference.py",)),
        Room("classifier", ("harness/text/cl*.py",), ("tests/unit/text",), ("tests/unit/text/test_linear.py",)),
        Room("scan", ("harness/scan/*.py", "harness/text/encodings.py"), ("tests/unit/scan",)),
        Room(
            "metrics",
            ("harness/metrics/**/*.py",),
            ("tests/unit/metrics", "tests/unit/play/test_writer.py"),
            ("tests/unit/metrics/test_formulas.py",),
        ),
    )
}
