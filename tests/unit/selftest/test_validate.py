"""Validating a story reads its texts as a run would, and tries each check once."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import paths
from harness.selftest.suite import validate
from tasks import skeleton


@pytest.fixture
def story(tmp_path: Path) -> Path:
    return skeleton.write("refactor/my-story", tmp_path / "tasks", paths.FIXTURES, "storefront", tmp_path / "cache")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "", None),
        (
            '"Reviewer of changes: desk-redstart"', '"Reviewer of changes: no longer desk-redstart"',
            "facts.reviewer-new.rewrites.0: read as a run reads it",
        ),
        ("read().strip())", "read().strip()[1:])", "jobs.request.reviewer.check: prints 'esk-redstart'"),
        ('["python3", "-c", "print', '["python3", "-c", "prlnt', "jobs.request.reviewer.check: prints nothing (exit"),
        ('check = ["python3",', 'check = ["no-such-program",', "needs: not proven: its tests need no-such-program"),
        ("schema = 1", "schema = 1\ncolour = 3", "colour: unknown key"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(old: str, new: str, says: str | None, story: Path, tmp_path: Path) -> None:
    text = story.read_text("utf-8")
    assert old in text
    story.write_text(text.replace(old, new, 1), encoding="utf-8")
    found = validate([story], paths.FIXTURES, tmp_path / "cache")
    if says is None:
        assert found == []
    else:
        (line,) = found
        assert line.startswith(f"{story}: {says}") and "\n" not in line
