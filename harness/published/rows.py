"""A user's file -> its rows, in the forms in which sets are handed on: JSON, lines of JSON, CSV, Parquet."""

from __future__ import annotations

import csv
import glob
import io
import os
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from harness.machine import documents, extras
from harness.machine.documents import DocumentError
from harness.published.sets import SetError, Shape

LARGEST = 500_000_000
"""Bytes of the largest file that is read."""
FORMS = (".json", ".jsonl", ".csv", ".parquet")
_PARQUET = b"PAR1"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
"""What `datasets` has to know before it is imported."""


def read(file: Path) -> tuple[Shape, bytes]:
    """The rows of a file, and its bytes; JSON that is no list is one row. Raises SetError.

    Its first bytes tell Parquet from what is text, whatever it is called.
    """
    try:
        data = documents.read_bytes(file, LARGEST)
    except DocumentError as error:
        raise SetError(f"{file}: {error}") from None
    if data.startswith(_PARQUET):
        rows = _read_parquet(file)
    elif file.suffix == ".csv":
        rows = _parse_csv(file, data)
    else:
        rows = _parse_json(file, data)
    return Shape(file, rows), data


def find(folder: Path, pattern: str) -> Path:
    """The one file of a folder that matches, in any of the forms. Raises SetError."""
    paths = sorted(each for each in folder.glob(f"{pattern}.*") if each.suffix in FORMS) if folder.is_dir() else []
    if len(paths) != 1:
        forms = ", ".join(FORMS)
        raise SetError(f"{folder}: holds {len(paths)} files {pattern} ({forms}); name a folder that holds one")
    return paths[0]


def _parse_json(file: Path, data: bytes) -> list[Any]:
    """Rows of one JSON text, or of one in each line."""
    try:
        try:
            whole = documents.parse_json(data)
        except DocumentError as error:
            # what json says of a second value: then each line is one
            if "Extra data" not in str(error):
                raise
            return [documents.parse_json(line) for line in data.split(b"\n") if line.strip()]
    except DocumentError as error:
        raise SetError(f"{file}: {error}") from None
    return whole if isinstance(whole, list) else [whole]


def _parse_csv(file: Path, data: bytes) -> list[Any]:
    try:
        # -sig, as spreadsheets begin a file with a byte order mark
        return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    except (ValueError, csv.Error) as error:
        raise SetError(f"{file}: is no table: {str(error).splitlines()[0]}") from None


def _read_parquet(file: Path) -> list[Any]:
    """Through `datasets`, which knows how its own files say what one column cannot: rows, without its cache."""
    os.environ.update(OFFLINE)
    try:
        import datasets
    except ImportError:
        raise SetError(f"{file}: {extras.explain_lack('datasets', 'Parquet')}") from None
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what is wrong is told below, once
    with tempfile.TemporaryDirectory() as cache:
        try:
            return list(_stream(datasets, file, cache))
        except Exception as error:  # a foreign file, read by foreign code
            lines = str(error).splitlines() or [type(error).__name__]
            raise SetError(f"{file}: is no whole Parquet: {lines[0]}") from None


def _stream(datasets: Any, file: Path, cache: str) -> Iterator[Any]:
    # data_files takes patterns, and a path may look like one
    name = glob.escape(str(file.absolute()))
    rows = datasets.load_dataset("parquet", data_files=name, split="train", streaming=True, cache_dir=cache)
    return map(_convert_value, rows)


def _convert_value(value: Any) -> Any:
    """A value as JSON has it: what a row does not have is not there, and a time is text."""
    if isinstance(value, dict):
        return {key: _convert_value(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_convert_value(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value
