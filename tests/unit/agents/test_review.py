"""What a reviewer says: which checks fail and what they saw, and never what would be right."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")
from harness.agents import review
from harness.log.parts import Check
from harness.repo.checks import Work
from tests.unit.gateway.test_perform import JOB

TRACE = """Traceback (most recent call last):
  File "hidden/look.py", line 9
AssertionError: expected kestrelway, got harborline
"""


def write(number: int = 1, visible: tuple[Check, ...] = (), **check: Any) -> str:
    made = {"decision": "target", "command": ("true",), "exit": 0, "output": "", **check}
    return review.write(JOB, Work("", (), (Check.model_validate(made),), visible), number)


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ({"value": "harborline", "output": "kestrelway was wanted\nharborline"}, "it sees `harborline`"),
        ({"value": None}, "it finds nothing settled"),
        ({"value": "hidden: kestrelway", "output": "x"}, "it sees something else"),
        ({"exit": 1, "output": TRACE}, "it does not come to its end, exit 1 (AssertionError)"),
        ({"exit": 124, "output": "kestrelway"}, "it does not come to its end, exit 124"),
    ],
)
def test_a_failing_check_is_named_with_what_it_saw(check: dict[str, Any], told: str) -> None:
    said = write(2, **check)
    assert said.startswith("Review after round 2")
    assert said.endswith(f"- Check target (Which target?): {told}")
    assert "kestrelway" not in said


def test_what_is_right_has_no_review() -> None:
    assert write(value="kestrelway") == ""


def test_a_visible_test_that_fails_is_told_with_its_end() -> None:
    output = "begins" + "x" * 5000 + "\nends"
    failed = Check(decision="run", command=("python3", "-m", "unittest"), exit=1, output=output)
    passed = Check(decision="run", command=("true",), exit=0, output="")
    said = write(visible=(passed, failed), value="kestrelway")
    assert "- Test python3 -m unittest: exit 1\nx" in said and said.endswith("ends") and "begins" not in said
    assert said.count("- Test") == 1 and len(said) < 2500
