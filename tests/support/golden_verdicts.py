"""The sentences and marks of eight recorded runs, word by word.

`make golden` writes the table anew, after a change that was meant.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from harness.compare import statements
from harness.compare.comparisons import compare_rows
from harness.compare.rows import is_headline, list_ranked, make_contrasts, pool_cells, tabulate
from harness.compare.twins import find_like_oracle
from harness.log import pack
from harness.log.folder import Folder
from harness.model.cells import Cell
from harness.model.results import Results
from harness.report.model import board
from harness.report.model.table import DASH
from harness.report.text import verdict
from tests.support.golden_drills import GOLDEN
from tests.support.golden_sample import SAMPLE

TABLE = GOLDEN / "verdicts.json"


@cache
def _read(file: Path) -> Results:
    return statements.compute_results(Folder(pack.unpack(file)))


def _narrow(keep: Callable[[Cell], bool], *, drills: bool = True) -> Results:
    """The sample as if only some of its cells had been played; what is compared is compared anew."""
    whole = _read(SAMPLE)
    held, cells = whole.run.conditions, [cell for cell in whole.cells if keep(cell)]
    own = {
        name: [c for c in cells if (c.backend or "cold") == name and is_headline(c, held)] for name in whole.backends
    }
    rows = {
        name: row.model_copy(update={"measures": {each: pool_cells(each, own[name]) for each in row.measures}})
        for name, row in whole.backends.items()
        if own[name]
    }
    ranked, stories = list_ranked(rows), {cell.scenario for cell in cells}
    twins = [group for group in whole.twins if set(group.rows) <= set(ranked)]
    changed: dict[str, Any] = {
        "cells": tuple(cells), "backends": rows, "twins": tuple(twins), "gates": (),
        "contrasts": tuple(make_contrasts(cells, held)),
        "comparisons": tuple(compare_rows(tabulate(cells, held), ranked, twins)),
        "like_oracle": tuple(find_like_oracle(cells, ranked)),
        "stories": tuple(story for story in whole.stories if story.id in stories),
        "trust": tuple(cell for cell in whole.trust if drills and (not cells or cell.backend in rows)),
    }  # fmt: skip
    return whole.model_copy(update=changed)


FEW = ("rename/two-names-ago", "refactor/half-moved-store", "preference/at-whose-desk")
RUNS: Mapping[str, Callable[[], Results]] = {
    "sample": lambda: _read(SAMPLE),
    "appended only, without drills": lambda: _narrow(lambda cell: cell.write_policy != "curated", drills=False),
    "one way of reading": lambda: _narrow(lambda cell: cell.read_policy in (None, "trusting")),
    "one backend": lambda: _narrow(lambda cell: cell.backend in ("mem0", "oracle", None)),
    "three stories": lambda: _narrow(lambda cell: cell.scenario in FEW),
    "drills alone": lambda: _narrow(lambda cell: False),
    "faulty stores": lambda: _read(GOLDEN / "drills-schema2.tar.xz"),
    "a broken promise": lambda: _read(GOLDEN / "drills-promises-broken.tar.xz"),
}


def tell(results: Results) -> dict[str, Any]:
    """The verdict's sentences, and of each cell of the scoreboard its mark, numbers and word."""
    made = board.collect(results)
    return {
        "verdict": [f"{line.tone}: {line.text}" for line in verdict.judge(results, made)],
        "board": {
            f"{row.key}, {head.id}": " | ".join([score.judgement, *(each.text for each in score.lines), score.word])
            for row in made.rows
            for head, score in zip(made.columns, row.scores, strict=True)
            if score != DASH
        },
    }


def known() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
    return read


def write() -> int:
    table = {name: tell(make()) for name, make in RUNS.items()}
    TABLE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0
