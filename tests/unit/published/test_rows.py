"""The forms in which a file may come. Those who have no Parquet do without the extra that reads it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.published import rows
from harness.published.catalogue import SETS
from harness.published.sets import SetError
from tests.support import published_files as files


def to_lines(values: list[Any], file: Path) -> Path:
    file.write_text("".join(json.dumps(value) + "\n" for value in values))
    return file


def to_parquet(values: list[Any], folder: Path, name: str) -> Path:
    """As `datasets` writes it, whose columns hold one type each: what is mixed it marks."""
    os.environ.update(rows.OFFLINE)
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    folder.mkdir(exist_ok=True)
    lines, cache = to_lines(values, folder / "made.jsonl"), folder / "cache"
    made = datasets.load_dataset("json", data_files=str(lines), split="train", cache_dir=str(cache))
    made.to_parquet(folder / name)
    lines.unlink()
    return folder / name


def dump(name: str, file: Path) -> list[Any]:
    told = SETS[name].load(file)
    return [each.model_dump() for each in told.haystacks] + [dict(told.odd)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("locomo", [files.talk(), {**files.talk(), "sample_id": "talk-2"}]),
        ("longmemeval", [files.entry(), files.entry("q2_abs")]),
        ("forgeteval", [files.case(), files.case("purge")]),
        ("memorycode", [files.dialogue(), files.dialogue()]),
    ],
)
def test_a_set_is_the_same_in_json_in_lines_and_in_parquet(tmp_path: Path, name: str, values: list[Any]) -> None:
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps(values, indent=1))
    assert dump(name, whole) == dump(name, to_lines(values, tmp_path / "rows.jsonl"))
    assert dump(name, whole) == dump(name, to_parquet(values, tmp_path / "made", "[odd] *name.parquet"))


@pytest.mark.slow
def test_a_folder_may_hold_parquet_whose_days_are_times(tmp_path: Path) -> None:
    folder = files.write_devmembench(tmp_path / "set")
    before = dump("devmembench", folder)
    for name in ("sessions", "questions"):
        file = folder / f"{name}.json"
        to_parquet(json.loads(file.read_text()), tmp_path / "made", f"{name}.parquet").rename(
            file.with_suffix(".parquet")
        )
        file.unlink()
    assert dump("devmembench", folder) == before


@pytest.mark.slow
def test_personamem_in_parquet_has_numbers(tmp_path: Path) -> None:
    folder = files.write_personamem(tmp_path / "set")
    before = dump("personamem", folder)
    row = {"question_id": 1, "shared_context_id": "c1", "end_index_in_shared_context": 5, "question": "Rowing, or not?"}
    made = to_parquet([{**row, "distance_to_ref_in_blocks": 2}], tmp_path / "made", "questions.parquet")
    (folder / "questions_32k.csv").unlink()
    made.rename(folder / "questions_32k.parquet")
    after = dump("personamem", folder)
    before[0]["questions"][0]["id"] = "1"
    assert after == before


@pytest.mark.slow
def test_cut_parquet_is_one_clear_line_whatever_it_is_called(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = to_parquet([files.case()], tmp_path, "cases.parquet").read_bytes()
    for at in (6, len(whole) // 2, len(whole) - 1):
        cut = tmp_path / "cases.json"
        cut.write_bytes(whole[:at])
        with pytest.raises(SetError, match=r"cases.json: is no whole Parquet: ") as caught:
            rows.read(cut)
        assert len(str(caught.value).splitlines()) == 1
    assert capfd.readouterr() == ("", "")


def test_without_the_extra_the_line_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    file = tmp_path / "cases.parquet"
    file.write_bytes(b"PAR1")
    with pytest.raises(SetError, match=r"Parquet needs datasets, which is not installed: .*\[data\]"):
        rows.read(file)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.parquet", b"no Parquet", "a.parquet: not JSON: "),
        ("a.csv", b"\xff\xfe\x00", "a.csv: is no table: "),
        ("a.jsonl", b'{"a": 1}\n{"b": \n', "a.jsonl: not JSON: "),
        ("a.json", b"\x1f\x8b\x08\x00", "a.json: not JSON: "),
        ("a.json", b"", "a.json: not JSON: "),
    ],
)
def test_what_is_not_what_its_name_says_is_one_clear_line(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(SetError, match=says) as caught:
        rows.read(file)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.slow
def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    with file.open("wb") as opened:
        opened.truncate(rows.LARGEST + 1)
    with pytest.raises(SetError, match="larger than 500,000,000 bytes"):
        rows.read(file)
