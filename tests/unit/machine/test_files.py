"""What lies below a folder, weighed without following what a backend may have put there."""

from __future__ import annotations

import os
from pathlib import Path

from harness.machine import files


def test_regular_files_count_links_and_pipes_do_not(tmp_path: Path) -> None:
    store, other = tmp_path / "store", tmp_path / "other"
    (store / "below").mkdir(parents=True)
    (store / "a").write_bytes(b"x" * 10)
    (store / "below" / "b").write_bytes(b"x" * 7)
    other.mkdir()
    (other / "large").write_bytes(b"x" * 1000)
    (store / "link").symlink_to(other / "large")
    (store / "folder").symlink_to(other)
    (store / "round").symlink_to(store)
    os.mkfifo(store / "pipe")
    assert files.weigh(store) == 17


def test_what_is_not_there_weighs_nothing(tmp_path: Path) -> None:
    assert files.weigh(tmp_path / "none") == 0
