"""For how long a line that tells agents what to do was wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.mine import mine
from harness.mine import mining, misled, stories
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3", "4", "5"])
def test_a_line_for_agents_that_was_wrong_is_drawn_first(foreign: Foreign, tmp_path: Path, seed: str) -> None:
    for value in ("check", "test"):
        for at in range(12):
            foreign.commit({f"part{at}/{'AGENTS' if at == 7 else f'GUIDE{at}'}.md": LINE.format(f"{value}-{at}")})
    mined = mining.search(str(foreign.path), None, 99, {}, tmp_path / "cache")
    assert [each.worth for each in mined.candidates] == [3] * 12
    assert len({each.kind for each in mined.candidates}) == 1
    (group,) = stories.draw(mined.repo, mined.candidates, 1, seed)
    assert "part7/AGENTS.md" in [each.file for each in group] and len(group) < 12
