"""What a user hands us is read within bounds, and what is wrong with it is one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.machine import documents
from harness.machine.documents import DocumentError


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[" * 100_000, "not JSON: nested too deeply"),
        (b'{"a":' * 100_000, "not JSON: nested too deeply"),
        (b"9" * 5_000, "not JSON: a number of too many digits"),
        (b'{"a": [{"b": 1, "c": 2, "b": 3}]}', "the key 'b' stands twice"),
        (b'{"a": NaN}', "NaN is no number"),
        (b"\xff\xfe\xfd", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_json_that_is_none_is_one_line(data: bytes, says: str) -> None:
    with pytest.raises(DocumentError, match=says) as caught:
        documents.parse_json(data)
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 100_000, "not TOML: nested too deeply"),
        ("a = " + "9" * 5_000, "not TOML: a number of too many digits"),
        ("a = 1\na = 2", "not TOML: Cannot overwrite"),
        ("a = 2026-05-32", "not TOML"),
    ],
)
def test_toml_that_is_none_is_one_line(text: str, says: str) -> None:
    with pytest.raises(DocumentError, match=says) as caught:
        documents.parse_toml(text)
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_none_or_too_large_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(500_000_000)
    for name, says in (("pipe", "not a regular"), ("device", "not a regular"), ("large", "larger than 16,000,000")):
        with pytest.raises(DocumentError, match=f"cannot be read: {says}"):
            documents.read_json(tmp_path / name)
