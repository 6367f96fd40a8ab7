"""The committed sample: its logs and blobs still give the very page, summary and test report that lie beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness import paths
from tests.e2e.conftest import Cli

pytestmark = pytest.mark.slow

SAMPLE, PAGES = paths.ROOT / "reports" / "sample.tar.xz", paths.ROOT / "reports" / "sample"
SHOWN = ("report.html", "summary.md", "junit.xml")


def test_the_sample_is_what_its_logs_say(cli: Cli, tmp_path: Path) -> None:
    """If it differs because the page has changed: `coldwarm report reports/sample.tar.xz`, and look at it."""
    assert SAMPLE.stat().st_size < 2_000_000
    shutil.copy(SAMPLE, tmp_path)
    done = cli("report", tmp_path / SAMPLE.name)
    assert (done.returncode, done.stderr) == (0, "")
    for name in SHOWN:
        same = (tmp_path / "sample" / name).read_bytes() == (PAGES / name).read_bytes()
        assert same, f"coldwarm report reports/{SAMPLE.name} writes another {name}"
