"""The JSON of the values that cross the process border: written by the parent and by the child, read by the child.

The parent reads with pydantic, which a child need not have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from harness.adapter.contract import Call, Filter, Item, Message, Scope, Source

_PLAIN = frozenset((str, int, float, bool, type(None)))


def to_wire(value: Any) -> Any:
    """Plain JSON values; absent fields are left out."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list | tuple):
        return [to_wire(part) for part in value]
    if hasattr(value, "__dataclass_fields__"):
        return {key: to_wire(part) for key, part in _present(value).items()}
    # what has no form on the wire is left to the encoder, which refuses it
    return value


@cache
def _list_names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _present(value: Any) -> dict[str, Any]:
    """Fields that are not absent; the values are as they are."""
    kind: Any = type(value)
    return {name: part for name in _list_names(kind) if (part := getattr(value, name)) is not None}


def _list_fields(value: Any) -> dict[str, Any]:
    if hasattr(value, "__dataclass_fields__"):
        return _present(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


encode = json.JSONEncoder(default=_list_fields, allow_nan=False).encode
"""The JSON of `to_wire(value)`, in compiled code. Raises TypeError and ValueError for what has none."""


def read_call(value: Mapping[str, Any]) -> Call:
    """A Call as `to_wire` wrote it."""
    return Call(**{**value, "scope": Scope(**value["scope"]), "of": tuple(value["of"])})


def read_item(value: Mapping[str, Any]) -> Item:
    """An Item as `to_wire` wrote it."""
    source = value.get("source")
    nested = {"scope": Scope(**value["scope"]), "source": None if source is None else Source(**source)}
    return Item(**{**value, **nested})


def read_filter(value: Mapping[str, Any]) -> Filter:
    """A Filter as `to_wire` wrote it."""
    return Filter(**{**value, "kinds": tuple(value["kinds"])})


def read_message(value: Mapping[str, Any]) -> Message:
    """A Message as `to_wire` wrote it."""
    return Message(**value)
