"""JSON and TOML that a user hands us: read within bounds, and what is wrong said in one line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.machine import files

if TYPE_CHECKING:
    from pydantic import ValidationError

MOST = 16_000_000
"""Bytes of a document, where a reader names no other bound."""


class DocumentError(ValueError):
    """What cannot be read: why, without the name of the file. One line."""


def tell_first(error: ValidationError) -> str:
    """The first thing that is wrong with a document: where, unless that is all of it, and why."""
    first = error.errors()[0]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))


def read_text(path: Path, most: int = MOST) -> str:
    """Raises DocumentError."""
    return decode(read_bytes(path, most))


def read_bytes(path: Path, most: int = MOST) -> bytes:
    """Raises DocumentError."""
    try:
        return files.read(path, most)
    except (OSError, ValueError) as error:  # ValueError: a null in the name
        raise DocumentError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read_json(path: Path, most: int = MOST) -> Any:
    """Raises DocumentError."""
    return parse_json(read_bytes(path, most))


def read_toml(path: Path, most: int = MOST) -> dict[str, Any]:
    """Raises DocumentError."""
    return parse_toml(read_text(path, most))


def decode(data: bytes) -> str:
    """Raises DocumentError."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"not UTF-8 text (at line {line})") from None


def parse_json(data: bytes | str) -> Any:
    """A key that stands twice is refused: whoever wrote it meant one of the two. Raises DocumentError."""
    return _parse("JSON", lambda: json.loads(data, object_pairs_hook=_build_object, parse_constant=_refuse_constant))


def parse_toml(text: str) -> dict[str, Any]:
    """Raises DocumentError."""
    found: dict[str, Any] = _parse("TOML", lambda: tomllib.loads(text))
    return found


def _parse(what: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    # a ValueError as well, and already in plain words
    except DocumentError:
        raise
    except RecursionError:
        raise DocumentError(f"not {what}: nested too deeply") from None
    except ValueError as error:  # also a number of more digits than are converted
        complaint = "a number of too many digits" if "integer string conversion" in str(error) else str(error)
        raise DocumentError(f"not {what}: {complaint.splitlines()[0] if complaint else 'empty'}") from None


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set[str]()
        # `add` returns None, so a key that is new is noted and passed over
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DocumentError(f"not JSON: the key '{twice[:60]}' stands twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    # json takes NaN and Infinity, which JSON does not have
    raise DocumentError(f"not JSON: {name} is no number")
