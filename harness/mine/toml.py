"""Stories as TOML, as a person would write them: a table a fact, a line a step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

WIDTH = 120


def dump(data: Mapping[str, Any]) -> str:
    """The text of a story file."""
    return "\n".join(_list_lines(data)) + "\n"


def _list_lines(data: Mapping[str, Any]) -> Iterator[str]:
    for key, value in data.items():
        if key not in ("facts", "sessions"):
            yield f"{key} = {_write_rows(value) if key == 'others' else write(value)}"
    for key in ("facts", "sessions"):
        for each in data[key]:
            yield ""
            yield f"[[{key}]]"
            for name, value in each.items():
                yield f"{name} = {_write_rows(value) if name == 'steps' else write(value)}"


def _write_rows(values: Sequence[Any]) -> str:
    """A list with a line for each entry; a table in it must stand in one line."""
    if len(values) == 1 and len(write(values)) < WIDTH:
        return write(values)
    return "\n".join(["[", *(f"  {write(each)}," for each in values), "]"])


def write(value: Any) -> str:
    """A value as TOML has it; a list of tables goes over lines."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, str):
        # TOML forbids DEL, which JSON leaves as it is
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {write(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], Mapping):  # an array may go over lines even within a table
            return "[\n" + "\n".join(f"    {write(each)}," for each in value) + "\n  ]"
        return "[" + ", ".join(map(write, value)) + "]"
    return str(value)
