"""The file of a baseline, and what stands behind a path: a run, its results or a saved baseline.

The file is JSON with one row a line, sorted, so that a diff names what changed. It holds a digest of its own content.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError

from harness.log import pack
from harness.machine import documents
from harness.machine.documents import DocumentError
from harness.model.results import Results
from harness.model.trial import Model
from harness.regress.baseline import Baseline, RegressError, find_digest, make_baseline

MOST = 200_000_000
"""Bytes of the results of a run."""


def write_text(baseline: Baseline) -> str:
    """The file: sorted, one row a line."""
    plain = _strip_value(baseline.model_dump(mode="json", by_alias=True))
    parts = [f"{json.dumps(key)}: {_write_lines(part)}" for key, part in sorted(plain.items())]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _write_lines(part: Any) -> str:
    if isinstance(part, list) and part:
        return "[\n" + ",\n".join(json.dumps(row, sort_keys=True) for row in part) + "\n]"
    if isinstance(part, dict) and part:
        pairs = (f"{json.dumps(key)}: {json.dumps(each, sort_keys=True)}" for key, each in sorted(part.items()))
        return "{\n" + ",\n".join(pairs) + "\n}"
    return json.dumps(part, sort_keys=True)


def _strip_value(part: Any) -> Any:
    """Counts without a decimal point, and nothing that is empty anyway."""
    if isinstance(part, dict):
        # `is`, as 0 equals False and is a number to keep
        return {key: _strip_value(each) for key, each in part.items() if each is not False and each != {}}
    if isinstance(part, list):
        return [_strip_value(each) for each in part]
    return int(part) if isinstance(part, float) and part.is_integer() else part


def read(content: bytes, name: str) -> Baseline:
    """A saved baseline, called `name` in errors. Raises RegressError, also for one that was edited by hand."""
    return _read(_parse(content, name), content, name)


def _read(plain: Any, content: bytes, name: str) -> Baseline:
    _check_schema(plain, Baseline, name)
    try:
        baseline = Baseline.model_validate_json(content)
    except ValidationError as error:
        raise RegressError(
            f"{name}: not a baseline of this coldwarm: {documents.tell_first(error)}; save it again"
        ) from None
    if baseline.digest != find_digest(baseline):
        raise RegressError(f"{name}: edited since it was saved: its digest differs; save it again from its run")
    if any(len(row.points) != len(baseline.stories) for row in (*baseline.rows, *baseline.contrasts)):
        raise RegressError(f"{name}: a row has not one point for each scenario; save it again from its run")
    return baseline


def load(path: Path) -> Baseline:
    """The baseline behind a run (a folder, or packed), a results.json or a baseline file. Raises RegressError.

    Of a run its results.json is read; `coldwarm score` writes that again.
    """
    return load_evidence(path).baseline


class Side(NamedTuple):
    """One of two runs that are compared.

    Attributes:
        results: None of a baseline file.
        root: The folder with its logs; None of a single file.
    """

    baseline: Baseline
    results: Results | None = None
    root: Path | None = None


def load_evidence(path: Path) -> Side:
    """A baseline, as `load` finds it, with what the numbers were made from, where that is there.
    Raises RegressError.
    """
    try:
        path = pack.unpack(path) if pack.is_packed(path) else path
    except pack.PackError as error:
        raise RegressError(str(error)) from None
    place = path / "results.json" if path.is_dir() else path
    try:
        content = documents.read_bytes(place, MOST)
    except DocumentError as error:
        hint = "; write it by `coldwarm score`" if path.is_dir() else ""
        raise RegressError(f"{place}: {error}{hint}") from None
    plain = _parse(content, str(place))
    if not (isinstance(plain, dict) and "cells" in plain):  # a baseline has none
        return Side(_read(plain, content, str(place)))
    _check_schema(plain, Results, str(place))
    try:
        results = Results.model_validate_json(content)
    except ValidationError as error:
        raise RegressError(
            f"{place}: not results of this coldwarm: {documents.tell_first(error)}; write it again by `coldwarm score`"
        ) from None
    if results.run.shard or results.run.missing:
        raise RegressError(f"{place}: only a part of a run: join all of its shards by `coldwarm merge`")
    return Side(make_baseline(results), results, path if path.is_dir() else None)


def _parse(content: bytes, name: str) -> Any:
    try:
        return documents.parse_json(content)
    except DocumentError as error:
        raise RegressError(f"{name}: {error}") from None


def _check_schema(plain: Any, kind: type[Model], name: str) -> None:
    """Refuses what another coldwarm wrote before its other fields can confuse anyone."""
    (known,) = get_args(kind.model_fields["schema_"].annotation)
    schema = plain.get("schema", known) if isinstance(plain, dict) else known
    if schema != known:
        raise RegressError(
            f"{name}: not of this coldwarm: it has schema {str(schema)[:40]}, and schema {known} is read; "
            "write it again"
        )
