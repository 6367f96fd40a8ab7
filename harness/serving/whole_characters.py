"""Messages with whole characters only: a parser refuses half of one before anybody knows whom to answer."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

# every escape is taken whole: behind an escaped backslash `ud800` is plain text
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""In JSON: a pair of surrogates, half of one, or any other escape."""
INSTEAD = rb"\ufffd"


def mend(line: bytes) -> bytes:
    """The JSON text with U+FFFD in place of halves of characters."""
    return _ESCAPE.sub(lambda found: INSTEAD if found["half"] else found[0], line) if rb"\u" in line else line


@contextmanager
def replace_stdin() -> Iterator[None]:
    """Standard input with mended lines; no child process reads what is meant for us."""
    wire, before = os.dup(0), sys.stdin
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    source = os.fdopen(wire, "rb")
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Mended(source)), "utf-8", "replace")
    try:
        yield
    finally:
        sys.stdin = before


class _Mended(io.RawIOBase):
    def __init__(self, source: IO[bytes]) -> None:
        self._source, self._rest = source, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        self._rest = self._rest or mend(self._source.readline())
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size
