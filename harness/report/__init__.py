"""What a run says, written down: `results.json` with its JSON Schema, `summary.md`, `junit.xml`, `report.html`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness.log.folder import Folder, FolderError
from harness.machine import files, shortage
from harness.model.cells import Cell
from harness.model.results import Results
from harness.report.model import evidence
from harness.report.model.evidence import Evidences
from harness.report.outputs import ci, markdown
from harness.report.outputs import page as html


@dataclass(frozen=True)
class ReportFiles:
    """Where each file is, and what they say: the results, with a problem for each log that could not be shown."""

    said: Results
    results: Path
    schema: Path
    summary: Path
    junit: Path
    page: Path


def write(folder: Folder, results: Results, parts: Evidences, out: Path | None = None) -> ReportFiles:
    """Writes all files to `out`, if not beside the logs, each one whole or not at all. Equal logs give equal bytes.

    Raises FolderError, one line, if they cannot be written.

    Args:
        parts: Of every story and drill, as `evidence.read` gives them with the results.
    """
    root = out or folder.root
    seen = evidence.gather(results, parts)
    # Into the results, so that every file names these logs, not the page alone.
    if seen.problems:
        run = results.run.model_copy(update={"problems": (*results.run.problems, *seen.problems)})
        results = results.model_copy(update={"run": run})
    names = ("results.json", "results.schema.json", "summary.md", "junit.xml", "report.html")
    written = ReportFiles(results, *(root / name for name in names))
    texts = {
        written.results: _encode_line(_dump(results)),
        written.schema: _encode_line(Results.model_json_schema(by_alias=True, mode="serialization")),
        written.summary: markdown.write_summary(results, seen.receipts),
        written.junit: ci.write_junit(results),
        written.page: html.render(results, seen),
    }
    # Not before all texts are made: what cannot be made leaves the files of an earlier report whole.
    for path, text in texts.items():
        _replace(path, text)
    return written


def _dump(results: Results) -> dict[str, Any]:
    """As JSON values, cell by cell as they are asked for: a run's cells are large."""
    value = results.model_dump(mode="json", by_alias=True, exclude={"cells"})
    return {**value, "cells": map(_encode_cell, results.cells)}


def _encode_cell(cell: Cell) -> dict[str, Any]:
    """Of a measure only what it has, as most of a run's bytes would be its nulls."""
    value = cell.model_dump(mode="json")
    value["measures"] = {
        name: {key: part for key, part in measure.items() if part is not None and part != []}
        for name, measure in value["measures"].items()
    }
    return value


def _encode_line(value: Any) -> str:
    """One line for each cell, comparison and so on: a run has thousands of them."""
    parts = [f"{json.dumps(key)}:{_encode_lines(part)}" for key, part in sorted(value.items())]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _encode_lines(value: Any) -> str:
    compact = partial(json.dumps, sort_keys=True, separators=(",", ":"))
    if not isinstance(value, list | map):
        return compact(value)
    lines = ",\n".join(map(compact, value))
    return f"[\n{lines}\n]" if lines else "[]"


def _replace(path: Path, text: str) -> None:
    try:
        files.write(path, text)
    except OSError as error:
        why = f"{path}: cannot be written: {shortage.tell(error)}"
        raise FolderError(f"{why}; `coldwarm report RUN --out FOLDER` writes it elsewhere") from None
