"""An agent program's own counts of tokens, read where its profile says: shown, and relied on nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from harness.agents.profile import Usage
from harness.log.calls import OwnCount

MOST = 10**12
"""Tokens of one place that are believed to be a number of tokens."""


def read_usage(places: Usage | None, transcript: bytes) -> OwnCount | None:
    """None: the profile names no place, or nothing stands at any of them. What a program writes is not trusted."""
    if places is None:
        return None
    values = list(_parse(transcript.decode("utf-8", "replace")))
    prompt, completion = (_sum(values, each) for each in (places.prompt, places.completion))
    if prompt is None and completion is None:
        return None
    return OwnCount(prompt=prompt or 0, completion=completion or 0)


def _parse(text: str) -> Iterator[Any]:
    """The text as one JSON value, else each line that is one."""
    try:
        yield json.loads(text)
        return
    except (ValueError, RecursionError):
        pass
    # not splitlines(): JavaScript writes U+2028 into its JSON as it is
    for line in text.split("\n"):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _sum(values: Sequence[Any], places: Sequence[str]) -> int | None:
    """None: no number stands there."""
    found = [number for place in places for value in values for number in _find(value, place.split("."))]
    return sum(found) if found else None


def _find(value: Any, path: Sequence[str]) -> Iterator[int]:
    if not path:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
            yield value
    elif path[0] == "*" and isinstance(value, list):
        for each in value:
            yield from _find(each, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _find(value[path[0]], path[1:])
