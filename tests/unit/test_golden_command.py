"""What `make golden` says of a file that it wrote, and that it leaves out no table."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from harness import paths
from tests.support import golden, golden_drills


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ({"recall": {"version": 1}}, {"recall": {"version": 1}}, []),
        ({"recall": {"version": 1}}, {"recall": {"version": 2}}, ["recall > version"]),
        ({}, {"recall": {"version": 1}}, ["recall"]),
        ({"recall": 1, "gone": 2}, {"recall": 1}, ["gone"]),
        ([1], [1, 2], [""]),
    ],
)
def test_a_difference_is_named_by_its_keys(old: object, new: object, places: list[str]) -> None:
    assert golden.differ(old, new) == places


def test_a_line_names_the_file_and_the_first_three_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    file = tmp_path / "table.json"
    file.write_text(json.dumps({str(at): at for at in range(5)}), "utf-8")
    assert golden.tell(file, file.read_bytes()) == "table.json: unchanged"
    assert golden.tell(file, b'{"0": 0}') == "table.json: 4 changed: 1; 2; 3 and 1 more"


def test_a_step_that_refuses_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def write(name: str) -> int:
        ran.append(name)
        return int(name == "b")

    monkeypatch.setattr(golden, "STEPS", tuple((tmp_path / name, partial(write, name)) for name in "abc"))
    monkeypatch.setattr(golden, "tell", lambda file, before: file.name)
    assert golden.main([]) == 1 and ran == ["a", "b"]


def test_every_golden_table_that_is_ever_written_anew_is_among_the_steps() -> None:
    written = {file for file, _ in (*golden.STEPS, *golden.ASKED.values())}
    kept = {"events.json", "planted_promises.json"}  # never written anew, or by a hunt of hours
    assert {file.name for file in golden_drills.GOLDEN.glob("*.json")} - {file.name for file in written} == kept
