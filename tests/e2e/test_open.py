"""`--open`: the report is handed to the browser that BROWSER names. The process is real, the browser notes it down."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import paths

OPENS = "import sys, pathlib; from harness.cli.common import open_page; open_page(pathlib.Path(sys.argv[1]))"


def _browser(folder: Path) -> tuple[str, Path]:
    seen, script = folder / "seen.txt", folder / "browser.sh"
    script.write_text(f'#!/bin/sh\necho "$1" >> "{seen}"\n')
    script.chmod(0o755)
    return f"{script} %s", seen


def _coldwarm(cwd: Path, browser: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *words], cwd=cwd,
        env={**os.environ, "BROWSER": browser, "PYTHONPATH": str(paths.ROOT)},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "words", [("demo",), ("run", "-b", "notes", "-s", "forgotten-runbook", "-n", "0", "-d", "none", "-q")]
)
def test_the_report_of_a_run_is_opened(tmp_path: Path, words: tuple[str, ...]) -> None:
    browser, seen = _browser(tmp_path)
    done = _coldwarm(tmp_path, browser, *words, "--open", "--out", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stdout + done.stderr
    (address,) = seen.read_text().split()
    (page,) = (tmp_path / "runs").glob("2*/report.html")
    assert address == page.resolve().as_uri()


@pytest.mark.slow
@pytest.mark.parametrize("works", [True, False])
def test_a_browser_that_does_not_start_is_one_line(tmp_path: Path, works: bool) -> None:
    browser, seen = _browser(tmp_path)
    page = tmp_path / "report.html"
    page.write_text("<!doctype html>")
    command = browser if works else str(tmp_path / "absent %s")
    done = subprocess.run(
        [sys.executable, "-c", OPENS, str(page)],
        cwd=tmp_path, env={"PATH": str(tmp_path), "BROWSER": command, "PYTHONPATH": str(paths.ROOT)},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert seen.exists() is works
    assert ("no browser could be started: open report.html yourself" in done.stderr) is not works
