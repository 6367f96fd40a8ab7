"""What each planted fault may move beside what has to flag it: a golden file beside the faults.

`coldwarm selftest measures --renew` writes it, and a person reviews what changed. It is read by the name of the fault,
and holds measures, or drills of which any measure may move.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from harness.selftest import planted

FILE = Path(planted.__path__[0], "may.json")
Allowed = Mapping[str, Sequence[str]]


def read() -> Allowed:
    found: dict[str, list[str]] = json.loads(FILE.read_text("utf-8"))
    return found


def write(renewed: Allowed, known: Collection[str]) -> None:
    """Writes a line for each of the `known` faults that may move anything; one that is not renewed keeps its line."""
    words = {name: sorted(each) for name, each in {**read(), **renewed}.items() if each and name in known}
    # a line for each fault, so that a review sees which of them moved
    lines = [f" {json.dumps(name)}: {json.dumps(words[name])}" for name in sorted(words)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
