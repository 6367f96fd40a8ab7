"""Every measure of the committed sample and of the golden drills, as it was when the table was last written.

`make golden` writes the table anew. For the same sample it refuses a value that moved under
the version of its measure; a sample that was played anew brings values of its own.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import metrics, paths
from harness.log import pack
from harness.log.folder import Folder
from harness.log.reader import read
from harness.metrics import trust
from harness.model.trial import Measure, Measured
from tests.support import golden_drills

SAMPLE = paths.ROOT / "reports" / "sample.tar.xz"
TABLE = Path(__file__).parents[1] / "golden" / "sample.json"
Table = dict[str, Any]


def table() -> Table:
    """The sample's digest, the names of cells and drills, and of each measure its entries with whose they are."""
    folder = Folder(pack.unpack(SAMPLE))
    logs = [read(path, folder.blobs) for path in sorted((folder.root / "logs").glob("*.jsonl"))]
    drilled = {
        f"{file.name} {cell.transcript}": cell.measures
        for file in (SAMPLE, *golden_drills.packed())
        for cell in trust.score(golden_drills.transcripts(file))
    }
    return {
        "sample": hashlib.sha256(SAMPLE.read_bytes()).hexdigest(),
        "stories": _rows({cell.id: cell.measures for cell in metrics.score(logs)}, metrics.DEFINITIONS),
        "drills": _rows(drilled, trust.DEFINITIONS),
    }


def _rows(cells: dict[str, Any], definitions: Any) -> Table:
    names = sorted(cells)
    found: Table = {"cells": names}
    for measure, definition in sorted(definitions.items()):
        each: dict[str, list[int]] = {}
        seen = [cells[name].get(measure) for name in names]
        for at, value in enumerate(seen):
            if value is not None:
                each.setdefault(_entry(value), []).append(at)
        more = hashlib.sha256(repr([_rest(value) for value in seen]).encode()).hexdigest()[:12]
        entries = {entry: _spans(places) for entry, places in sorted(each.items())}
        found[measure] = {"version": definition.version, **entries, "receipts and reasons": more}
    return found


def _entry(measure: Measure) -> str:
    if not isinstance(measure, Measured):
        return measure.status
    of = "" if measure.of is None else f" of {measure.of}"
    unanswered = f", {measure.unanswered} unanswered" if measure.unanswered else ""
    return f"{measure.value:.9g}{of}{unanswered}{', at least' if measure.known == 'at-least' else ''}"


def _rest(measure: Measure | None) -> Any:
    if measure is None:
        return None
    return measure.receipts, (measure.hits, measure.interval) if isinstance(measure, Measured) else measure.reason


def _spans(places: Sequence[int]) -> str:
    """1, 2, 3, 7 as `1-3 7`."""
    spans: list[list[int]] = []
    for at in places:
        if spans and spans[-1][1] == at - 1:
            spans[-1][1] = at
        else:
            spans.append([at, at])
    return " ".join(f"{first}-{last}" if first < last else str(first) for first, last in spans)


def moved(old: Table, new: Table) -> list[str]:
    """What the sample says otherwise now, one line for each measure that differs."""
    if old["sample"] != new["sample"]:
        return ["the sample is another one"]
    return [line for part in ("stories", "drills") for line in _moved(old[part], new[part])]


def _moved(old: Table, new: Table) -> Iterator[str]:
    if old["cells"] != new["cells"]:
        yield f"other cells: {_few(set(old['cells']) ^ set(new['cells']))}"
        return
    for measure in sorted({*old, *new} - {"cells"}):
        was, now = old.get(measure, {}), new.get(measure, {})
        if was == now:
            continue
        differ = [name for at, name in enumerate(old["cells"]) if _at(was, at) != _at(now, at)]
        first = old["cells"].index(differ[0]) if differ else 0
        how = f"{_at(was, first)}, now {_at(now, first)}: {_few(differ)}" if differ else "receipts, reasons or version"
        yield f"{measure}: {how}"


def _at(entries: Table, place: int) -> str:
    """The entry of one cell."""
    for entry, spans in entries.items():
        if entry not in ("version", "receipts and reasons"):
            for span in spans.split():
                first, _, last = span.partition("-")
                if int(first) <= place <= int(last or first):
                    return entry
    return "nothing"


def _few(names: Iterable[str], most: int = 3) -> str:
    listed = sorted(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def known() -> Table:
    read: Table = json.loads(TABLE.read_text("utf-8"))
    return read


def write() -> int:
    new = table()
    if TABLE.exists() and (old := known())["sample"] == new["sample"]:
        parts = ("stories", "drills")
        same = {name for part in parts for name, each in new[part].items() if name != "cells"
                and old[part].get(name, {}).get("version") == each["version"]}  # fmt: skip
        if lines := [line for line in moved(old, new) if line.partition(":")[0] in same]:
            sys.stderr.write("\n".join([*lines, "raise the version of these measures", ""]))
            return 1
    TABLE.write_text(json.dumps(new, indent=1) + "\n", "utf-8")
    return 0
