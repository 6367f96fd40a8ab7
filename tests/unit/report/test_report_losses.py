"""The chart of where right decisions are lost: whose bar it shows, and what its letters say."""

from __future__ import annotations

import pytest

from harness.compare import statements
from harness.log.folder import Folder
from harness.metrics.losses import STAGES
from harness.model.results import Results
from harness.report.charts import decisions
from tests.support.chart_results import missed, share, texts, with_row


@pytest.fixture(scope="module")
def plain(folder: Folder) -> Results:
    return statements.compute_results(folder)


def lose(results: Results, **counts: int) -> Results:
    """Every row under test loses so many of 100 decisions at these stages."""
    lost = {f"lost_{stage.name}": share(counts.get(stage.name, 0), 100) for stage in STAGES}
    right = share(100 - sum(counts.values()), 100)
    for name in chart_names(results):
        results = with_row(results, name, decisions_right=right, **lost)
    return results


def chart_names(results: Results) -> list[str]:
    return [name for name, row in results.backends.items() if not row.control]


@pytest.mark.slow
def test_a_bar_is_cut_by_the_stages_at_which_decisions_are_lost(plain: Results) -> None:
    assert decisions.chart_losses(plain) is None, "the stories are not told as they were spoken"
    results = lose(plain, uncaptured=20, unretrieved=30, unused=5)
    drawn = decisions.chart_losses(results)
    assert drawn is not None and (drawn.name, drawn.topic) == ("losses", "lost")
    assert {row[0] for row in drawn.rows} == {*chart_names(results)}
    assert {row[1:] for row in drawn.rows} == {("100", "45", "0", "20", "0", "0", "0", "0", "30", "5", "0")}
    assert all(int(row[1]) == sum(map(int, row[2:])) for row in drawn.rows)
    assert f"{drawn.rows[0][0]}: 30/100 not retrieved" in drawn.says
    written = texts(drawn)
    assert [each for each in written if ": " in each] == [
        f"{a}: {b}" for a, b in zip("abcdefghij", drawn.heads[2:], strict=True)
    ]
    none = decisions.chart_losses(lose(plain))
    assert none is not None and none.says == "No row lost a decision."


def test_a_row_of_which_a_stage_is_not_known_has_no_bar(plain: Results) -> None:
    name, *_ = chart_names(plain)
    results = with_row(lose(plain, unused=5), name, lost_unused=missed("failed"))
    drawn = decisions.chart_losses(results)
    assert name not in {row[0] for row in (drawn.rows if drawn else ())}
