"""Rows: counts add up over scenarios, values average over them, and no interval claims to be certain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness import metrics
from harness.compare import statements
from harness.compare.rows import pool_cells
from harness.log.folder import Attempt, Folder
from harness.log.reader import Log
from harness.metrics.metric import wilson
from harness.model.cells import Cell
from harness.model.drill import Plan
from harness.model.trial import Measure, Measured, NotMeasured
from tests.support.runs import run
from tests.support.transcripts import transcript


def cell(number: int, measure: Measure) -> Cell:
    scenario = f"rename/story-{number:02}"
    return Cell(
        id=f"c{number}", trial=f"t{number}", backend="x", scenario=scenario, kind="rename", arm="warm",
        write_policy="append", read_policy="trusting", noise=0, seed=1, reader="scripted", k=5, pool=9,
        status="complete", log="l", log_sha256="0", measures={"recall": measure},
    )  # fmt: skip


def share(hits: int, of: int) -> Measured:
    return Measured(value=hits / of, hits=hits, of=of)


def test_values_average_over_scenarios_and_counts_add_up() -> None:
    row = pool_cells("recall", [cell(1, share(1, 2)), cell(2, share(3, 3))])
    assert (row.value, row.hits, row.of, row.scenarios, row.interval) == (0.75, 4, 5, 2, None)


def test_what_was_not_measured_is_counted_by_word_and_is_no_zero() -> None:
    missing = NotMeasured(status="not-applicable", reason="nothing to measure")
    row = pool_cells("recall", [cell(1, share(1, 1)), cell(2, missing)])
    assert (row.value, row.not_applicable, row.failed, row.reasons) == (1.0, 1, 0, ("nothing to measure",))
    assert pool_cells("recall", [cell(1, missing)]).value is None


@pytest.mark.parametrize("hits", [0, 3])
def test_unanimous_scenarios_still_leave_room(hits: int) -> None:
    row = pool_cells("recall", [cell(i, share(hits, 3)) for i in range(20)])
    bound = wilson(20 if hits else 0, 20)
    assert row.interval is not None and (row.interval.low, row.interval.high) == (bound.low, bound.high)
    assert row.interval.high - row.interval.low > 0.1


def test_ten_scenarios_have_an_interval_around_their_mean() -> None:
    row = pool_cells("recall", [cell(i, share(i % 3, 3)) for i in range(10)])
    assert row.interval is not None and row.value is not None
    assert row.interval.low < row.value < row.interval.high
    assert pool_cells("recall", [cell(i, share(i % 3, 3)) for i in range(9)]).interval is None


def paid(number: int, tokens: float, done: int) -> Cell:
    none = NotMeasured(status="not-applicable", reason="none")
    measures: dict[str, Measure] = {
        "tokens_total": Measured(value=tokens),
        "jobs_done": share(done, 2),
        "tokens_per_job": Measured(value=tokens / done) if done else none,
    }
    return cell(number, share(1, 1)).model_copy(update={"measures": measures})


def test_tokens_a_job_are_all_tokens_over_all_jobs_done() -> None:
    """A scenario in which no job was done has cost tokens, too."""
    row = pool_cells("tokens_per_job", [paid(1, 900, 0), paid(2, 300, 2)])
    assert (row.value, row.of, row.scenarios, row.interval) == (600, 2, 2, None)
    nothing = pool_cells("tokens_per_job", [paid(1, 900, 0)])
    assert (nothing.value, nothing.not_applicable, nothing.reasons) == (None, 1, ("none",))
    many = pool_cells("tokens_per_job", [paid(i, 100 + i, 1 + i % 2) for i in range(12)])
    assert many.interval is not None and many.value is not None
    assert many.interval.low < many.value < many.interval.high
    rare = pool_cells("tokens_per_job", [paid(i, 100, int(i == 0)) for i in range(12)])
    assert (rare.value, rare.interval) == (1200, None)


def test_what_broke_is_not_said_to_be_unplayed_where_others_make_a_ratio() -> None:
    broken = paid(2, 300, 2)
    broken = broken.model_copy(
        update={"measures": {**broken.measures, "tokens_total": NotMeasured(status="failed", reason="no count")}}
    )
    row = pool_cells("tokens_per_job", [paid(1, 600, 2), broken, paid(3, 0, 0).model_copy(update={"measures": {}})])
    assert (row.value, row.failed, row.not_run, row.reasons) == (300, 1, 1, ("no count",))


@pytest.mark.slow
def test_a_transcript_of_a_drill_that_is_no_more_is_a_problem_with_its_name(tmp_path: Path) -> None:
    made = transcript(tmp_path, Plan(pieces=()), [], drill="flood")
    file = tmp_path / "drills" / f"{made.trial.id}.1.jsonl"
    file.parent.mkdir()
    made.path.replace(file)
    found = statements.compute_results(run(tmp_path, drills=(made.trial,)))
    assert f"{file}: this coldwarm knows no drill flood" in found.run.problems
    assert [(cell.drill, cell.status) for cell in found.trust] == [("flood", "not-run")]


@pytest.mark.slow
def test_a_story_that_cannot_be_scored_is_a_line_with_its_log_and_takes_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run(tmp_path, stories=2)
    sound = statements.compute_results(folder)
    first, *_ = folder.list_stories()
    read = Folder.read_story

    def breaks(self: Folder, attempts: Sequence[Attempt]) -> tuple[dict[str, Log], list[str]]:
        if attempts == first:
            raise KeyError("boom")
        return read(self, attempts)

    monkeypatch.setattr(Folder, "read_story", breaks)
    found = statements.compute_results(folder)
    (line,) = found.run.problems
    assert line.startswith(f"{first[0].path} and ") and "this story could not be scored" in line and "KeyError" in line
    mine = {each.trial for each in first}
    assert {cell.status for cell in found.cells if cell.trial in mine} == {"not-run"}
    assert [cell for cell in found.cells if cell.trial not in mine] == [
        cell for cell in sound.cells if cell.trial not in mine
    ]


@pytest.mark.slow
def test_processes_change_no_byte_of_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = transcript(tmp_path, Plan(pieces=()), [], drill="flood")
    data = made.path.read_bytes()
    folder = run(tmp_path / "run", drills=(made.trial,), stories=2)
    (folder.root / "drills").mkdir(exist_ok=True)
    (folder.root / "drills" / f"{made.trial.id}.1.jsonl").write_bytes(data)
    next((folder.root / "logs").glob("*.jsonl")).write_text("damaged\n")
    alone = statements.compute_results(folder)
    monkeypatch.setattr(statements, "WORTH", 0)
    monkeypatch.setattr(metrics, "score_and_view", None)  # not asked in this process
    beside = statements.compute_results(folder, processes=2)
    assert len(alone.run.problems) > 1 and len(folder.list_stories()) > 1
    assert beside.model_dump_json() == alone.model_dump_json()
