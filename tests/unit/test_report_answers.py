"""The answer in sentences: fair to both sides, from one table."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from harness import compare
from harness.model import Interval
from harness.report import answers, findings, markdown
from harness.results import Comparison, Contrast, Pooled, Results
from tests.runs import run

SWAPPED = {"left-better": "right-better", "right-better": "left-better", "no-difference-shown": "no-difference-shown"}
NEAR, FAR = (-0.02, 0.03), (0.1, 0.4)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return compare.results(run(tmp_path_factory.mktemp("run")))


def pair(measure: str, left: str, right: str, verdict: str = "no-difference-shown", **fields: Any) -> Comparison:
    made = {
        "measure": measure, "left": left, "right": right, "scenarios": 2, "left_value": 0.2, "right_value": 0.4,
        "left_better": 0, "right_better": 2, "p": 0.01, "adjusted_p": 0.02, "verdict": verdict, "detectable": "much",
    }  # fmt: skip
    return Comparison.model_validate({**made, **fields})


def within(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, method="any")


def exchanged(results: Results, one: str, other: str) -> Results:
    """The same run with the names of two backends exchanged."""
    names = {one: other, other: one}

    def named(comparison: Comparison) -> Comparison:
        sides = {side: names.get(getattr(comparison, side), getattr(comparison, side)) for side in ("left", "right")}
        return comparison.model_copy(update=sides)

    return results.model_copy(
        update={
            "backends": {names.get(name, name): row for name, row in results.backends.items()},
            "comparisons": tuple(map(named, results.comparisons)),
        }
    )


CASES = list(itertools.product(SWAPPED, ("recall", "stale_use", "tokens_total", "updates_eligible"), (None, NEAR, FAR)))


@pytest.mark.parametrize(("verdict", "measure", "ends"), CASES)
def test_swapping_the_sides_says_the_same(
    results: Results, verdict: str, measure: str, ends: tuple[float, float] | None
) -> None:
    made = pair(measure, "keeper", "store", verdict, interval=within(*ends) if ends else None)
    swapped = pair(
        measure, "store", "keeper", SWAPPED[verdict], left_value=0.4, right_value=0.2,
        interval=within(-ends[1], -ends[0]) if ends else None,
    )  # fmt: skip
    assert answers.sentence(made, results) == answers.sentence(swapped, results)


@pytest.mark.parametrize(("verdict", "measure", "ends"), CASES)
def test_swapping_the_backends_swaps_the_wording(
    results: Results, verdict: str, measure: str, ends: tuple[float, float] | None
) -> None:
    made = pair(measure, "keeper", "store", verdict, interval=within(*ends) if ends else None)
    before = answers.sentence(made, results)
    other = exchanged(results.model_copy(update={"comparisons": (made,)}), "keeper", "store")
    after = answers.sentence(other.comparisons[0], other)
    if verdict == "no-difference-shown":
        assert after == before
    else:
        assert after != before
        assert after == before.replace("keeper", "?").replace("store", "keeper").replace("?", "store")


def test_every_line_of_the_table_has_its_wording(results: Results) -> None:
    def said(measure: str, verdict: str, ends: tuple[float, float] | None) -> str:
        return answers.sentence(
            pair(measure, "keeper", "store", verdict, interval=within(*ends) if ends else None), results
        )

    assert said("stale_use", "left-better", FAR) == (
        "keeper acted on stale rules in fewer decisions than store: 0 against 4 of 4; "
        "difference \u2212.20 (\u2212.40 to \u2212.10), adjusted p 0.02."
    )
    assert said("recall", "right-better", NEAR).startswith(
        "store brought back more answers than keeper, by less than .05: "
    )
    assert said("recall", "right-better", None).endswith("; adjusted p 0.02.")
    assert said("recall", "no-difference-shown", NEAR).startswith("Within .05 of each other: keeper and store, ")
    open_ = said("stale_use", "no-difference-shown", FAR)
    assert open_.startswith(
        "No difference shown between keeper and store: 0 to 4 of 4; compatible with differences of "
    )
    assert open_.endswith("up to .40 either way; this run could have shown much.")
    assert said("stale_use", "no-difference-shown", None).endswith("0 to 4 of 4; this run could have shown much.")
    assert "by less than" not in said("tokens_total", "left-better", NEAR)  # no proportion, no margin
    assert set(answers.SAYS) == set(itertools.product(("shown", "open"), ("none", "inside", "beyond")))


def clauses(results: Results, *pairs: Comparison) -> list[str]:
    told = answers.answers(results.model_copy(update={"comparisons": pairs}))
    return [said.text for each in told if each.topic == "recalled" for said in each.sentences]


def test_pairs_that_say_the_same_are_one_sentence(results: Results) -> None:
    backends = {**results.backends, "other": results.backends["keeper"]}
    wide = results.model_copy(update={"backends": backends})
    won = (
        pair("recall", "keeper", "store", "left-better"),
        pair("recall", "other", "store", "left-better", adjusted_p=0.04),
    )
    said = clauses(wide, *won, pair("recall", "keeper", "other"))
    assert [text.partition(":")[0] for text in said] == [
        "keeper and other brought back more answers than store", "No difference shown between keeper and other",
    ]  # fmt: skip
    (one, _) = [
        each
        for each in answers.answers(wide.model_copy(update={"comparisons": won}))
        if each.topic in ("recalled", "cost")
    ]
    assert one.sentences[0].fine == "adjusted p at most 0.04"


def test_every_open_pair_is_told_once(results: Results) -> None:
    row = results.backends["keeper"]
    wide = results.model_copy(update={"backends": {**results.backends, **dict.fromkeys("abcd", row)}})
    open_ = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    said = clauses(wide, *(pair("recall", *names) for names in open_))
    assert [text.partition(":")[0].partition("between ")[2] for text in said] == ["a, b and c", "c and d"]


def test_controls_are_no_part_of_the_answer(results: Results) -> None:
    told = " ".join(answers.lines(results))
    assert "oracle" not in told and "none" not in told and "no memory" in told


def test_what_a_look_up_changed_is_told_in_counts(results: Results) -> None:
    better = Pooled(value=1.0, hits=8, of=8, scenarios=2)
    made = Contrast(
        backend="store", write_policy="curated", read_policy="trusting", noise=0, primary=False,
        measures=dict.fromkeys(compare.CONTRASTED, better),
    )  # fmt: skip
    curated = results.model_copy(update={"contrasts": (*results.contrasts, made)})
    assert "Written with a look-up first (curated): store 8 of 8." in " ".join(answers.lines(curated))
    assert [column.head for column in findings.collect(curated).columns][:2] == [
        "Decided right, append", "Decided right, curated",
    ]  # fmt: skip
    assert findings.collect(results).columns[0].head == "Decided right"


def test_what_a_look_up_changed_is_compared_where_there_is_a_pair(results: Results) -> None:
    def made(name: str, hits: int) -> Contrast:
        pooled = Pooled(value=hits / 8, hits=hits, of=8, scenarios=2)
        return Contrast(
            backend=name, write_policy="curated", read_policy="trusting", noise=0, primary=False,
            measures=dict.fromkeys(compare.CONTRASTED, pooled),
        )  # fmt: skip

    pairs = (
        pair("decisions_right", "keeper", "store", write_policy="curated"),
        pair("decisions_right", "cold", "store", "right-better", write_policy="curated"),
    )
    told = results.model_copy(
        update={"contrasts": (*results.contrasts, made("keeper", 7), made("store", 6)), "comparisons": pairs}
    )
    (help_,) = [each for each in answers.answers(told) if each.label == "Help"]
    assert [said.text for said in help_.sentences[-2:]] == [
        "Written with a look-up first (curated): store took more right decisions than no memory: 6 against 4 of 8",
        "Curated: no difference shown between keeper and store: 6 to 7 of 8",
    ]
    assert sum("(curated)" in said.text for said in help_.sentences) == 1


# --- findings ---------------------------------------------------------------------------------------------------------


def test_what_a_job_has_cost_stands_with_how_many_there_were(results: Results) -> None:
    job = results.backends["keeper"].measures["tokens_per_job"]
    said = " ".join(answers.lines(results))
    assert f"keeper \u2265 {job.value:,.0f} (4 jobs), store n/a (no job)" in said
    (line,) = [line for line in findings.collect(results).lines if line.name == "keeper"]
    assert f"\u2265 {job.value:,.0f}" in [figure.text for figure in line.figures]


def test_what_has_no_number_is_told_with_its_word_and_reason(results: Results) -> None:
    said = findings.lacking(results)
    assert "tokens per job done of store: n/a (no job was done)" in said
    assert said[-1] == "absent: not run (not installed)"


def test_a_stand_in_is_marked_in_every_table(results: Results) -> None:
    backend = results.backends["store"].backend
    assert backend
    support = {
        **backend.support,
        "extracts": backend.support["entries"].model_copy(update={"level": "native", "note": ""}),
    }
    row = results.backends["store"].model_copy(update={"backend": backend.model_copy(update={"support": support})})
    run = results.run.model_copy(
        update={"conditions": results.run.conditions.model_copy(update={"chat": "stand-in an-extractor"})}
    )
    marked = results.model_copy(update={"backends": {**results.backends, "store": row}, "run": run})
    assert [line.name for line in findings.collect(marked).lines if "\u2021" in line.name] == ["store \u2021"]
    assert "\u2021 Chat calls inside store were answered by stand-in an-extractor" in markdown.summary(marked)
    assert "\u2021" not in markdown.summary(results)
