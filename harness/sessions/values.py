"""The JSON values of a file that somebody else wrote: a value a line, or one document. A value at a time is in memory,
and what is wrong with a line is counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from harness.machine import documents, files
from harness.machine.documents import DocumentError

LONGEST = 32_000_000
"""Bytes of a line, or of a document, that is read."""
LINES, WHOLE = "lines", "whole"
_BOM = b"\xef\xbb\xbf"


def read(file: Path, size: int, wrong: Counter[str]) -> Iterator[Any]:
    """Raises OSError: not a regular file, or it cannot be read.

    Args:
        size: The bytes that are read: a session may be going on.
        wrong: Takes what is wrong with lines -> how often.
    """
    # the descriptor is closed by open_regular
    with files.open_regular(file) as opened, os.fdopen(opened, "rb", closefd=False) as stream:
        if _is_document(stream, size):
            stream.seek(0)
            yield documents.parse_json(documents.decode(stream.read(size).removeprefix(_BOM)))
            return
        stream.seek(0)
        yield from _read_lines(stream, size, wrong)


def _is_document(stream: BinaryIO, size: int) -> bool:
    """The first line is no value, and the whole is one."""
    first = stream.readline(min(size, LONGEST))
    # a document on one line is read as a line that holds one value
    if size > LONGEST or len(first) == size or _parses(first.removeprefix(_BOM)):
        return False
    return _parses((first + stream.read(size - len(first))).removeprefix(_BOM))


def _parses(data: bytes) -> bool:
    try:
        documents.parse_json(documents.decode(data))
    except DocumentError:
        return False
    return True


def _read_lines(stream: BinaryIO, size: int, wrong: Counter[str]) -> Iterator[Any]:
    remaining, first = size, True
    while remaining > 0 and (line := stream.readline(min(remaining, LONGEST))):
        remaining -= len(line)
        if len(line) == LONGEST and not line.endswith(b"\n"):
            remaining -= _pass_line(stream, remaining)
            wrong[f"a line of more than {LONGEST:,} bytes"] += 1
            continue
        if first:
            line, first = line.removeprefix(_BOM), False
        if not line.strip():
            continue
        try:
            value = documents.parse_json(documents.decode(line))
        except DocumentError as error:
            wrong[f"a line {tell_wrong(error)}"] += 1
        else:
            yield value


def _pass_line(stream: BinaryIO, remaining: int) -> int:
    """Reads on to the end of a line without keeping it; the bytes."""
    passed = 0
    while remaining > passed and (piece := stream.readline(min(remaining - passed, 1_000_000))):
        passed += len(piece)
        if piece.endswith(b"\n"):
            break
    return passed


def tell_wrong(error: DocumentError) -> str:
    """What is wrong, without a word of what stands there."""
    problem = str(error)
    for sign, words in (
        ("not UTF-8", "that is not UTF-8"),
        ("too deeply", "that is nested too deeply"),
        ("digits", "with a number of too many digits"),
        ("stands twice", "with a key that stands twice"),
        ("is no number", "with NaN or Infinity"),
    ):
        if sign in problem:
            return words
    return "that is not whole JSON"
