"""The commands of receipts, really run: what the scan saw, grep, sqlite3 and od see."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
import subprocess
from array import array
from pathlib import Path

import pytest

from harness.adapter import Layer
from harness.report.timeline.repeat import repeat
from harness.scan.disk import Needles, scan

CANARY = "cw0123456789abcdef0123"
HARD = 'Zoë\'s "key" \\ 日本 $(id)'


def run(root: Path, command: str) -> str:
    done = subprocess.run(["sh", "-c", command], cwd=root, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@pytest.mark.parametrize("canary", [CANARY, HARD])
def test_grep_prints_the_offsets_that_the_scan_saw(tmp_path: Path, canary: str) -> None:
    forms = {
        "utf-8": canary.encode(),
        "utf-16": canary.encode("utf-16-be"),
        "json": json.dumps(canary)[1:-1].encode(),
        "base64": base64.b64encode(b"1" + canary.encode() + b"23"),
        "hex": canary.encode().hex().encode(),
    }
    if canary.isascii():
        del forms["json"]  # the same as UTF-8
    for form, data in forms.items():
        root = tmp_path / f"it's a {form}"
        root.mkdir()
        (root / "a 'file'").write_bytes(b"\xff\x00--" + data + b"\n\n" + data + b"!")
        layer = Layer("all", ".", "file")
        seen = next(each for each in scan(root, layer, Needles({"x": canary})).sightings if each.form == form)
        lines = run(tmp_path, repeat(layer, seen, canary, root.name)).splitlines()
        offsets = [int(line.partition(":")[0]) for line in lines if line[:1].isdigit()]
        assert (seen.count, seen.offset) == (2, offsets[0]) and len(offsets) == 2, (form, lines)


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="needs the sqlite3 command")
@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("canary", [CANARY, HARD])
def test_sqlite3_counts_the_rows_that_the_scan_saw(tmp_path: Path, mode: str, canary: str) -> None:
    root = tmp_path / "a#b?c%20d"
    root.mkdir()
    link = sqlite3.connect(root / "x.db")
    link.execute(f"pragma journal_mode = {mode}")
    link.execute('create table "a.b\'""c" (id integer, "order" text)')
    link.executemany('insert into "a.b\'""c" values (?, ?)', [(1, f"say {canary}"), (2, canary), (3, "else")])
    link.commit()
    layer = Layer("db", "x.db", "sqlite")
    seen = [each for each in scan(root, layer, Needles({"x": canary})).sightings if each.place.startswith("rows")]
    assert [(each.form, each.count) for each in seen] == [("utf-8", 2)]
    assert run(tmp_path, repeat(layer, seen[0], canary, root.name)) == "2\n"
    link.close()


def test_od_shows_the_numbers_of_a_vector(tmp_path: Path) -> None:
    numbers = array("f", [(-1) ** at * (1 + at / 8) for at in range(32)])
    (tmp_path / "index.bin").write_bytes(b"head" + numbers.tobytes())
    layer = Layer("index", "index.bin", "file")
    (seen,) = scan(tmp_path, layer, Needles({}, {"v": numbers.tobytes()})).sightings
    shown = run(tmp_path, repeat(layer, seen, "")).split("\n")
    assert [float(word) for line in shown for word in line.split()[1:]] == list(numbers[:16])


def test_a_hostile_path_is_data_in_a_command(tmp_path: Path) -> None:
    name = "$(touch made)`touch made`;touch made \n\x1b[31m"
    (tmp_path / name).write_text(CANARY)
    layer = Layer("all", ".", "file")
    (seen,) = scan(tmp_path, layer, Needles({"x": CANARY})).sightings
    command = repeat(layer, seen, CANARY)
    assert "\x1b" not in command and "\n" not in command
    subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True)
    assert not (tmp_path / "made").exists()
