"""A call of a slow backend gets more time in each command that opens one, not in `run` alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness import conformance, paths
from harness.backend.child import Deadlines
from harness.cli import commands
from harness.conformance import CHECKS, outcomes, promises
from harness.model.sequence import VERSION
from tests.support.faulty_backends import lend

STEPS = [
    {"op": "remember", "scope": {"repo": "api"}, "count": 1},
    {"op": "recall", "scope": {"repo": "api"}, "of": [0]},
]
OWN = """
import time
from tests.support.faulty_backends import recalling, SoundMemory
def wait(self, *asked):
    time.sleep(2.5)
    return SoundMemory.recall(self, *asked)
Slow = recalling(wait, "No fault: it takes two seconds and a half.")
Patient = recalling(wait, "No fault: the same, and says so.", call_seconds=20)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Slow backends of somebody's own, where a call may take a second unless somebody asks for more."""
    (tmp_path / "slow_backends.py").write_text(OWN)
    lend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(paths.PLACES, str(tmp_path))
    short = Deadlines(call=1.0, item=0.01)
    monkeypatch.setattr(promises, "DEADLINES", short)
    monkeypatch.setattr(conformance, "DEADLINES", short)
    only = [check for check in CHECKS if check.name == "knows_nothing_when_new"]
    monkeypatch.setattr(conformance, "CHECKS", only)
    monkeypatch.setattr(outcomes, "CHECKS", only)
    return tmp_path


def command(*words: str) -> Result:
    return CliRunner().invoke(commands, words)


ASKED = pytest.mark.parametrize(
    ("name", "more", "code"), [("Slow", [], 1), ("Slow", ["--call-seconds", "20"], 0), ("Patient", [], 0)]
)


@pytest.mark.slow
@ASKED
def test_a_hunt_waits_as_long_as_it_is_told(place: Path, name: str, more: list[str], code: int) -> None:
    case = place / "case.json"
    case.write_text(json.dumps({"version": VERSION, "backend": f"slow_backends:{name}", "steps": STEPS}))
    played = command("promises", "--replay", str(case), *more)
    assert ("recall timed-out" in played.output) is bool(code), played.output


@pytest.mark.slow
@ASKED
def test_a_check_waits_as_long_as_it_is_told(place: Path, name: str, more: list[str], code: int) -> None:
    checked = command("conform", f"slow_backends:{name}", *more)
    assert checked.exit_code == code, checked.output
    assert ("more time by --call-seconds" in checked.output) is bool(code)


@pytest.mark.parametrize("words", ["run --call-seconds", "run --chat-cost", "promises bm25 --seconds", "cache --older"])
@pytest.mark.parametrize("number", ["nan", "inf"])
def test_what_is_no_number_is_refused(words: str, number: str) -> None:
    done = command(*words.split(), number)
    assert done.exit_code == 2 and "Invalid value for '--" in done.output, done.output


def test_whoever_opens_a_backend_takes_the_option_that_its_error_names() -> None:
    for name in ("run", "conform", "promises", "import locomo", "ladder", "bisect", "mcp"):
        assert "--call-seconds" in command(*name.split(), "--help").output, name
