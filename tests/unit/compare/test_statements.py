"""Rows: counts add up over scenarios, values average over them, and no interval claims to be certain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import metrics
from harness.compare import statements
from harness.log.folder import Attempt, Folder
from harness.log.reader import Log
from harness.metrics.metric import wilson
from harness.model.drill import Plan
from harness.model.results import Cell, Comparison, Conditions, Row
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
    row = statements.pool_cells("recall", [cell(1, share(1, 2)), cell(2, share(3, 3))])
    assert (row.value, row.hits, row.of, row.scenarios, row.interval) == (0.75, 4, 5, 2, None)


def test_what_was_not_measured_is_counted_by_word_and_is_no_zero() -> None:
    missing = NotMeasured(status="not-applicable", reason="nothing to measure")
    row = statements.pool_cells("recall", [cell(1, share(1, 1)), cell(2, missing)])
    assert (row.value, row.not_applicable, row.failed, row.reasons) == (1.0, 1, 0, ("nothing to measure",))
    assert statements.pool_cells("recall", [cell(1, missing)]).value is None


@pytest.mark.parametrize("hits", [0, 3])
def test_unanimous_scenarios_still_leave_room(hits: int) -> None:
    row = statements.pool_cells("recall", [cell(i, share(hits, 3)) for i in range(20)])
    bound = wilson(20 if hits else 0, 20)
    assert row.interval is not None and (row.interval.low, row.interval.high) == (bound.low, bound.high)
    assert row.interval.high - row.interval.low > 0.1


def test_ten_scenarios_have_an_interval_around_their_mean() -> None:
    row = statements.pool_cells("recall", [cell(i, share(i % 3, 3)) for i in range(10)])
    assert row.interval is not None and row.value is not None
    assert row.interval.low < row.value < row.interval.high
    assert statements.pool_cells("recall", [cell(i, share(i % 3, 3)) for i in range(9)]).interval is None


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
    row = statements.pool_cells("tokens_per_job", [paid(1, 900, 0), paid(2, 300, 2)])
    assert (row.value, row.of, row.scenarios, row.interval) == (600, 2, 2, None)
    nothing = statements.pool_cells("tokens_per_job", [paid(1, 900, 0)])
    assert (nothing.value, nothing.not_applicable, nothing.reasons) == (None, 1, ("none",))
    many = statements.pool_cells("tokens_per_job", [paid(i, 100 + i, 1 + i % 2) for i in range(12)])
    assert many.interval is not None and many.value is not None
    assert many.interval.low < many.value < many.interval.high
    rare = statements.pool_cells("tokens_per_job", [paid(i, 100, int(i == 0)) for i in range(12)])
    assert (rare.value, rare.interval) == (1200, None)


# --- knowing everything -----------------------------------------------------------------------------------------------


def test_decisions_are_compared_under_the_other_write_policy_too_and_each_is_a_family_of_its_own() -> None:
    wins = {("a", "append"): 1, ("a", "curated"): 4, ("b", "append"): 1, ("b", "curated"): 3}
    told = [
        cell(number, share(hits, 4)).model_copy(
            update={
                "backend": name, "write_policy": write,
                "measures": dict.fromkeys(statements.BETWEEN, share(hits, 4)),
            }
        )
        for number in range(12)
        for (name, write), hits in wins.items()
    ]  # fmt: skip
    told += [cell(number, share(2, 4)).model_copy(
        update={
            "backend": None, "arm": "cold", "write_policy": None, "read_policy": None,
            "measures": dict.fromkeys(statements.AGAINST_COLD, share(2, 4)),
        }
    ) for number in range(12)]  # fmt: skip
    rows = {
        name: Row(backend=None, control=name == statements.COLD, measures={}) for name in ("a", "b", statements.COLD)
    }
    held = Conditions(
        k=5, budget=800, reader="scripted", embedder="e", tokens="t", seeds=(1,), noise=(0,), headline_noise=0
    )
    found = list(statements.comparisons(told, rows, held))
    appended = [each for each in found if each.write_policy == "append"]
    assert {each.measure for each in found if each.write_policy == "curated"} == set(statements.LOOKED_UP)
    decided = {(c.left, c.right): c for c in found if (c.measure, c.write_policy) == ("decisions_right", "curated")}
    assert [(c.left_value, c.right_value, c.verdict) for c in decided.values()] == [
        (1, 0.75, "left-better"), (0.5, 1, "right-better"), (0.5, 0.75, "right-better"),
    ]  # fmt: skip
    alone = [each for each in told if each.write_policy != "curated"]
    assert list(statements.comparisons(alone, rows, held)) == appended, "one policy changes nothing of the other"


def comparison(measure: str, left: str, right: str, left_value: float, right_value: float) -> Comparison:
    return Comparison(
        measure=measure, left=left, right=right, scenarios=3, left_value=left_value, right_value=right_value,
        left_better=0, right_better=0, p=1, adjusted_p=1, verdict="no-difference-shown", detectable="",
    )  # fmt: skip


VALUES = st.tuples(*[st.sampled_from([0.0, 0.25, 0.5])] * 3)


@given(everything=VALUES, other=VALUES, swapped=st.booleans())
def test_full_context_dominates_what_it_never_loses_to_whichever_side_it_stands_on(
    everything: tuple[float, ...], other: tuple[float, ...], swapped: bool
) -> None:
    sides = [("full_context", everything), ("a-store", other)]
    (left, ours), (right, theirs) = sides[::-1] if swapped else sides
    compared = [
        comparison(measure, left, right, a, b) for measure, a, b in zip(statements.DOMINANCE, ours, theirs, strict=True)
    ]
    recall, stale, tokens = (a - b for a, b in zip(everything, other, strict=True))
    wins = recall >= 0 and stale <= 0 and tokens <= 0 and everything != other
    assert statements.find_dominated(compared) == (["a-store"] if wins else [])
    assert statements.find_dominated(compared[1:]) == []


def test_only_what_both_measured_says_that_full_context_dominates() -> None:
    """Over all of its scenarios the store recalls less; where both were asked, it recalls more."""

    def measured(number: int, backend: str, recall: float) -> Cell:
        values = zip(statements.DOMINANCE, (recall, 0.5, 100.0), strict=True)
        return cell(number, share(1, 1)).model_copy(
            update={"backend": backend, "measures": {name: Measured(value=value) for name, value in values}}
        )

    cells = [measured(1, "full_context", 0.5), measured(1, "a-store", 0.6), measured(2, "a-store", 0.0)]

    def dominated(cells: list[Cell]) -> list[str]:
        pairs = [("a-store", "full_context")]
        return statements.find_dominated(
            each for name in statements.DOMINANCE for each in statements.family(name, pairs, cells)
        )

    assert dominated(cells) == []
    assert dominated([*cells, measured(2, "full_context", 0.2)]) == ["a-store"]


def test_a_transcript_of_a_drill_that_is_no_more_is_a_problem_with_its_name(tmp_path: Path) -> None:
    made = transcript(tmp_path, Plan(pieces=()), [], drill="flood")
    file = tmp_path / "drills" / f"{made.trial.id}.1.jsonl"
    file.parent.mkdir()
    made.path.replace(file)
    found = statements.results(run(tmp_path, drills=(made.trial,)))
    assert f"{file}: this coldwarm knows no drill flood" in found.run.problems
    assert [(cell.drill, cell.status) for cell in found.trust] == [("flood", "not-run")]


def test_a_story_that_cannot_be_scored_is_a_line_with_its_log_and_takes_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run(tmp_path, stories=2)
    sound = statements.results(folder)
    first, *_ = folder.list_stories()
    read = Folder.read_story

    def breaks(self: Folder, attempts: Sequence[Attempt]) -> tuple[dict[str, Log], list[str]]:
        if attempts == first:
            raise KeyError("boom")
        return read(self, attempts)

    monkeypatch.setattr(Folder, "read_story", breaks)
    found = statements.results(folder)
    (line,) = found.run.problems
    assert line.startswith(f"{first[0].path} and ") and "this story could not be scored" in line and "KeyError" in line
    mine = {each.trial for each in first}
    assert {cell.status for cell in found.cells if cell.trial in mine} == {"not-run"}
    assert [cell for cell in found.cells if cell.trial not in mine] == [
        cell for cell in sound.cells if cell.trial not in mine
    ]


def test_processes_change_no_byte_of_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = transcript(tmp_path, Plan(pieces=()), [], drill="flood")
    data = made.path.read_bytes()
    folder = run(tmp_path / "run", drills=(made.trial,), stories=2)
    (folder.root / "drills").mkdir(exist_ok=True)
    (folder.root / "drills" / f"{made.trial.id}.1.jsonl").write_bytes(data)
    next((folder.root / "logs").glob("*.jsonl")).write_text("damaged\n")
    alone = statements.results(folder)
    monkeypatch.setattr(statements, "WORTH", 0)
    monkeypatch.setattr(metrics, "score_and_view", None)  # not asked in this process
    beside = statements.results(folder, processes=2)
    assert len(alone.run.problems) > 1 and len(folder.list_stories()) > 1
    assert beside.model_dump_json() == alone.model_dump_json()
