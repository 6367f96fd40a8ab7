"""The committed sample: its logs and blobs still give the very page, summary and test report that lie beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness import paths
from tests.e2e.conftest import Cli

pytestmark = pytest.mark.slow

SAMPLE = paths.REPORTS / "sample"
SHOWN = ("report.html", "summary.md", "junit.xml")


def test_the_sample_is_what_its_logs_say(cli: Cli, tmp_path: Path) -> None:
    """If it differs because the page has changed: `coldwarm report reports/sample`, and look at it."""
    run = tmp_path / "run"
    shutil.copytree(SAMPLE, run)
    for name in SHOWN:
        (run / name).unlink()
    done = cli("report", run)
    assert (done.returncode, done.stderr) == (0, "")
    for name in SHOWN:
        assert (run / name).read_bytes() == (SAMPLE / name).read_bytes(), name
