"""The golden drills: packed transcripts that every later version has to load, and to score as it did.

`make golden` writes the table of their values anew; tests/golden/README.md says when.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harness.log import pack
from harness.log.folder import Folder
from harness.log.transcript import Transcript
from harness.metrics import trust
from harness.model.trial import Measure, Measured

GOLDEN = Path(__file__).parents[1] / "golden"
TABLE = GOLDEN / "drills.json"
Table = dict[str, dict[str, str]]
"""Transcript -> measure -> the version of its formula, and its value or why it has none."""


def packed() -> list[Path]:
    return sorted(GOLDEN.glob(f"drills-*{pack.SUFFIX}"))


def transcripts(file: Path) -> list[Transcript]:
    """All of a packed run, in the order of their names."""
    found, problems = Folder(pack.unpack(file)).transcripts()
    if problems:
        raise ValueError("\n".join(problems))
    return [found[name] for name in sorted(found)]


def table() -> Table:
    cells = [cell for file in packed() for cell in trust.score(transcripts(file))]
    return {
        cell.transcript: {name: _entry(name, each) for name, each in sorted(cell.measures.items())} for cell in cells
    }


def _entry(name: str, measure: Measure) -> str:
    version = f"v{trust.DEFINITIONS[name].version}"
    if not isinstance(measure, Measured):
        return f"{version} {measure.status}"
    of = "" if measure.of is None else f" of {measure.of}"
    return f"{version} {measure.value:.9g}{of}"


def moved(old: Table, new: Table) -> list[str]:
    """What an old transcript says otherwise now, although the measure's version is the same, or does not say at all."""
    return [
        f"{transcript}: {name}: {entry}, now {now}"
        for transcript, entries in old.items()
        for name, entry in entries.items()
        if (now := new.get(transcript, {}).get(name, "gone")) != entry and _version(now) in (_version(entry), "gone")
    ]


def _version(entry: str) -> str:
    return entry.partition(" ")[0]


def known() -> Table:
    read: Table = json.loads(TABLE.read_text("utf-8"))
    return read


def write() -> int:
    new = table()
    if lines := moved(known() if TABLE.exists() else {}, new):
        sys.stderr.write("\n".join([*lines, "a golden drill keeps its values: raise the version of the measure", ""]))
        return 1
    TABLE.write_text(json.dumps(new, indent=1) + "\n", "utf-8")
    return 0
