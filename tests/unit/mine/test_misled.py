"""For how long a line that tells agents what to do was wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.mine import mine
from harness.mine import mining, misled
from tests.support.foreign import Foreign

LINE = "# For agents\n\nRun `make {}` before each commit.\n"
DAYS = "2024-03-{:02d}T09:00:00Z"


def correct(foreign: Foreign, *steps: tuple[int, str, str]) -> None:
    """A day of March, what the Makefile calls its target, and what AGENTS.md says of it."""
    for day, target, said in steps:
        foreign.at = DAYS.format(day)
        foreign.commit({"Makefile": f"{target}:\n\techo\n", "AGENTS.md": LINE.format(said)})


@pytest.mark.parametrize(
    ("steps", "days"),
    [
        ([(1, "check-all", "check-all"), (5, "test-all", "check-all"), (17, "test-all", "test-all")], 12),
        ([(1, "check-all", "check-all"), (5, "test-all", "test-all")], 0),
        ([(1, "check-all", "check-all"), (5, "check-all", "test-all")], None),
        ([(1, "quay", "check-all"), (5, "quay", "test-all")], None),
    ],
    ids=["later", "at once", "said elsewhere still", "never said elsewhere"],
)
def test_a_line_was_wrong_since_the_rest_said_it_no_more(
    foreign: Foreign, tmp_path: Path, steps: list[tuple[int, str, str]],
    days: int | None,
) -> None:  # fmt: skip
    correct(foreign, *steps)
    mined = mining.search(str(foreign.path), None, 9, {}, tmp_path / "cache")
    assert list(mined.misled.values()) == [days]


def test_the_terminal_says_for_how_many_days(foreign: Foreign, tmp_path: Path) -> None:
    correct(foreign, (1, "check-all", "check-all"), (5, "test-all", "check-all"), (9, "test-all", "test-all"))
    words = [str(foreign.path), "--review", str(tmp_path / "page.html")]
    said = CliRunner().invoke(mine, words, env={"COLDWARM_CACHE": str(tmp_path / "cache")}).output
    assert "1 line for agents was corrected; of 1 it is known for how long it was wrong: 4 to 4 days, median 4" in said
    assert misled.tell({"a": None}) == "1 line for agents was corrected; of none it is known for how long it was wrong"
