"""The command by which a reviewer sees with his own eyes what a scan saw."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from harness.adapter import Layer
from harness.log.events import Sighting
from harness.report.words import visible
from harness.text import encodings

_NAME = r'\w+|"(?:[^"]|"")*"'
_ROWS = re.compile(rf"rows ({_NAME})\.({_NAME})")
_NUMBERS = {"float32": "f4", "float64": "f8", "float16": "x2", "bfloat16": "x2", "int8 floats": "d1"}
_BITS = {"zlib": 15, "gzip": 31, "deflate": -15}
"""How od shows the forms of a vector."""
SHOWN = 64
"""Bytes of a vector that are shown."""
_MOST = 4096


def repeat(layer: Layer, sighting: Sighting, canary: str, store: str = ".") -> str:
    """One line for a shell, with the store's folder at `store`.

    Of a string every offset in the file, or the number of rows that hold it. Of a vector (`canary` does not matter) its
    first bytes as numbers.
    """
    file = str(PurePosixPath(store, visible(sighting.path, _MOST)))
    form, _, packing = sighting.form.partition(" in ")
    if packing:
        return _unpack(file, sighting.offset, packing, canary if form in encodings.TEXT else "")
    if sighting.form in encodings.VECTOR:
        kind = _NUMBERS.get(sighting.form, "c")
        return f"od -A d -t {kind} -j {sighting.offset} -N {SHOWN} -- {shlex.quote(file)}"
    needles = [needle for needle, form in encodings.of_text(canary).items() if form == sighting.form]
    rows = _ROWS.fullmatch(sighting.place) if layer.format == "sqlite" else None
    if rows and needles:
        return _select(file, rows[1], rows[2], needles)
    if form == "another case":
        return f"grep -aobiF -e {shlex.quote(canary)} -- {shlex.quote(file)}"
    pattern = "|".join("".join(f"\\x{byte:02x}" for byte in needle) for needle in needles)
    if all(re.fullmatch(rb"[ -~]+", needle) for needle in needles):
        words = " ".join(f"-e {shlex.quote(needle.decode())}" for needle in needles)
        return f"grep -aobF {words} -- {shlex.quote(file)}"
    return f"LC_ALL=C grep -aobP {shlex.quote(pattern)} -- {shlex.quote(file)}"


def _unpack(file: str, offset: int, packing: str, canary: str) -> str:
    """What a stream at an offset unpacks to, and whether the string stands in it."""
    made = {
        "bz2": "__import__('bz2').BZ2Decompressor()", "xz": "__import__('lzma').LZMADecompressor()",
    }.get(packing, f"__import__('zlib').decompressobj({_BITS.get(packing, 15)})")  # fmt: skip
    script = f"import sys; sys.stdout.buffer.write({made}.decompress(sys.stdin.buffer.read()))"
    shown = f"grep -aobiF -e {shlex.quote(canary)}" if canary else f"od -A d -t x1 -N {SHOWN}"
    return f"tail -c +{offset + 1} -- {shlex.quote(file)} | python3 -c {shlex.quote(script)} | {shown}"


def _select(file: str, table: str, column: str, needles: list[bytes]) -> str:
    """The log beside a database belongs to its rows, so the file is read only, but not as if nothing lay beside it."""
    table, column = (visible(name if name.startswith('"') else f'"{name}"', _MOST) for name in (table, column))
    where = " OR ".join(f"instr(CAST({column} AS BLOB), {_literal(needle)})" for needle in needles)
    select = f"SELECT count(*) FROM {table} WHERE {where}"  # noqa: S608  for a person to run
    database = "file:" + "".join(f"%{ord(char):02x}" if char in "%?#" else char for char in file) + "?mode=ro"
    return f"sqlite3 {shlex.quote(database)} {shlex.quote(select)}"


def _literal(needle: bytes) -> str:
    if re.fullmatch(rb"[ -&(-~]+", needle):
        return f"CAST('{needle.decode()}' AS BLOB)"
    return f"X'{needle.hex()}'"
