"""What every measure says of the golden drills and of the committed sample when a few of their events are damaged.

`make golden` writes the table anew; tests/golden/README.md says when.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from random import Random

from harness import metrics
from harness.log import pack
from harness.log.folder import Folder
from harness.log.reader import Log, read
from harness.log.transcript import Transcript
from harness.metrics import trust
from harness.model.cells import AnyCell, TrustCell
from harness.model.trial import Measure, Measured
from tests.support import golden_drills
from tests.support.damage import damage
from tests.support.golden_sample import SAMPLE

TABLE = golden_drills.GOLDEN / "damaged.json"
ROUNDS = 12
"""Damaged copies of each drill."""
TURNS = 4
"""Damaged copies of the whole sample; in every second one the cold logs and the controls are whole."""
LAYERS = "(layers)"
Table = dict[str, dict[str, str]]
"""Drill, or turn of the sample -> measure -> the version of its formula, and a digest of what it says."""


@cache
def drills() -> dict[str, Transcript]:
    found = [(file, each) for file in golden_drills.packed() for each in golden_drills.transcripts(file)]
    return {f"{file.name.partition('.')[0]} {each.path.name}": each for file, each in found}


@cache
def sample() -> list[Log]:
    folder = Folder(pack.unpack(SAMPLE))
    return [read(path, folder.blobs) for path in sorted((folder.root / "logs").glob("*.jsonl"))]


def score_drill(name: str) -> list[AnyCell]:
    """The cells of all damaged copies of one."""
    whole = drills()[name]
    return [*trust.score(damage(whole, Random(f"{name} {turn}")) for turn in range(ROUNDS))]


def score_sample(turn: int) -> list[AnyCell]:
    def is_control(log: Log) -> bool:
        return log.opened.backend is None or bool(log.opened.backend.control)

    spared = turn % 2 == 0
    logs = [
        log if spared and is_control(log) else damage(log, Random(f"{log.path.name} {turn}"), 6) for log in sample()
    ]
    return [*metrics.score(logs)]


def table() -> Table:
    stories = {f"sample {turn}": entries(score_sample(turn)) for turn in range(TURNS)}
    played = {name: entries(score_drill(name)) for name in drills()}
    return {"sample": {"sha256": hashlib.sha256(SAMPLE.read_bytes()).hexdigest()}, **played, **stories}


def entries(cells: Iterable[AnyCell]) -> dict[str, str]:
    """Measure -> its version, and the digest."""
    said: dict[str, list[str]] = {}
    for cell in cells:
        for name, measure in cell.measures.items():
            said.setdefault(name, []).append(_say(measure))
        if isinstance(cell, TrustCell) and cell.layers:
            said.setdefault(LAYERS, []).append(repr(cell.layers))
    known = {**metrics.DEFINITIONS, **trust.DEFINITIONS}
    return {
        name: f"v{known[name].version if name in known else 1} {hashlib.sha256(repr(each).encode()).hexdigest()[:12]}"
        for name, each in sorted(said.items())
    }


def _say(measure: Measure) -> str:
    """All but the words of a reason."""
    if not isinstance(measure, Measured):
        return repr((measure.status, measure.receipts))
    value = f"{measure.value:.9g}"
    return repr((value, measure.hits, measure.of, measure.known, measure.unanswered, measure.receipts))


def moved(old: Table, new: Table) -> Iterator[str]:
    """Measures that say something else under the same version. Another sample says what it says."""
    same = old.get("sample") == new.get("sample")
    for name in (each for each in old if each != "sample" and (same or not each.startswith("sample "))):
        for measure, was in old[name].items():
            now = new.get(name, {}).get(measure, "gone")
            if now != was and now.split()[0] in (was.split()[0], "gone"):
                yield f"{name}: {measure}"


def known() -> Table:
    read: Table = json.loads(TABLE.read_text("utf-8"))
    return read


def write() -> int:
    new = table()
    if lines := list(moved(known() if TABLE.exists() else {}, new)):
        sys.stderr.write("\n".join([*lines, "what a measure says moved: raise its version", ""]))
        return 1
    TABLE.write_text(json.dumps(new, indent=1) + "\n", "utf-8")
    return 0
