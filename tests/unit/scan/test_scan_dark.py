"""Bytes that look like no text, in files that show nothing: what may hold what nobody can recognise."""

from __future__ import annotations

import random
import sqlite3
from array import array
from contextlib import closing
from pathlib import Path

import pytest

from harness.adapter import Layer
from harness.scan.disk import Needles, Scan, scan

VECTOR = array("f", map(random.Random(1).gauss, [0.0] * 384, [1.0] * 384)).tobytes()
SEALED = bytes(range(0x80, 0x100)) * 4


def look(folder: Path, **files: bytes) -> Scan:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return scan(folder, Layer("all", ".", "file"), Needles({"pin": "cwpin7"}, {"pin": VECTOR}))


def test_a_file_counts_what_neither_text_nor_zeros_explain(tmp_path: Path) -> None:
    found = look(tmp_path, log=b"\n\t plain text\r\n" + bytes(5_000) + SEALED)
    assert (found.bytes, found.dark, found.vectorless) == (5_527, 512, 512)


@pytest.mark.parametrize(
    ("files", "dark", "vectorless"),
    [
        ({"seen": b"cwpin7" + SEALED}, 0, 512),
        ({"seen": b"cwpin7", "beside": SEALED}, 512, 512),
        ({"seen": VECTOR + SEALED}, 0, 0),
    ],
)
def test_a_file_in_which_something_is_recognised_is_not_dark(
    tmp_path: Path, files: dict[str, bytes], dark: int, vectorless: int
) -> None:
    found = look(tmp_path, **files)
    assert (found.dark, found.vectorless) == (dark, vectorless)


def test_a_file_is_weighed_whole_and_a_database_by_its_columns(tmp_path: Path) -> None:
    """Whatever is recognised in it; zeros weigh nothing."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as link:
        link.execute("CREATE TABLE said (text TEXT, cipher BLOB, at INTEGER)")
        link.execute("INSERT INTO said VALUES ('cwpin7', ?, 7)", [SEALED])
        link.commit()
    found = look(tmp_path, seen=b"cwpin7" + bytes(50) + SEALED)
    weights = {(each.path, each.place): (each.bytes, each.dark) for each in found.weights}
    assert weights["seen", ""] == (518, 512) and ("x.db", "") not in weights
    assert weights["x.db", "rows said.text"] == (6, 0) and weights["x.db", "rows said.cipher"] == (512, 512)
    assert ("x.db", "rows said.at") not in weights
