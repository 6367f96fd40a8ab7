"""Scopes and sources as words: for backends that know names only, and few characters in them."""

from __future__ import annotations

import re
from dataclasses import asdict
from itertools import product
from typing import Any

from harness.adapter import Scope

EVERYWHERE = "everywhere"
KEPT, PLAIN = "surrogatepass", frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
# not to be mistaken for an escaped byte, which has two digits
EMPTY = "_e"
"""An empty name."""
_ESCAPED = re.compile(rb"_([0-9a-f]{2})")


def label(*values: Any, **more: Any) -> str:
    """Scopes and sources in characters that servers take for a name: `repo-storefront org-acme_20east`.

    What is not given is left out.
    """
    given = {part: each for value in values for part, each in asdict(value).items()} | more
    return " ".join(f"{part}-{_escape(str(each))}" for part, each in given.items() if each is not None)


def _escape(value: str) -> str:
    """Lower-case letters and digits as they are, every other byte in hexadecimal; no word ends in a mark.

    So names that differ in case only are different where a backend folds it.
    """
    return "".join(chr(each) if chr(each) in PLAIN else f"_{each:02x}" for each in value.encode("utf-8", KEPT)) or EMPTY


def read_label(word: object, known: Any) -> dict[str, str] | None:
    """None: it is not one of ours."""
    pairs = [part.partition("-") for part in str(word).split(" ")]
    # `adapters/mcp.py` tells a confidence with the source
    if any(part not in {*asdict(known), "confidence"} or not value for part, _, value in pairs):
        return None
    return {
        part: _ESCAPED.sub(_spell, value.removesuffix(EMPTY).encode()).decode("utf-8", KEPT) for part, _, value in pairs
    }


def _spell(escaped: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escaped[1].decode())


def name_scope(scope: Scope) -> str:
    return label(scope) or EVERYWHERE


def read_scope(word: object) -> Scope | None:
    """None: the server says none."""
    parts = {} if word == EVERYWHERE else read_label(word, Scope())
    return None if parts is None else Scope(**parts)


def holding_at(place: Scope) -> list[str]:
    """The labels of all scopes that apply to this place."""
    choices = product(*((None, value) if value is not None else (None,) for value in asdict(place).values()))
    return [name_scope(Scope(*parts)) for parts in choices]
