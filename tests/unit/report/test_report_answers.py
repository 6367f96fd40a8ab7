"""The answer in sentences: fair to both sides, from one table."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.compare import rows, statements, stats
from harness.compare.comparisons import compare_pairs
from harness.model.results import Comparison, Contrast, Pooled, Results
from harness.model.trial import Interval
from harness.report import answers, findings, markdown
from tests.support.runs import run

SWAPPED = {"left-better": "right-better", "right-better": "left-better", "no-difference-shown": "no-difference-shown"}
NEAR, FAR = (-0.02, 0.03), (0.1, 0.4)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return statements.results(run(tmp_path_factory.mktemp("run")))


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
    if verdict == "no-difference-shown":  # by name, as neither is better: only the numbers change places
        mine, theirs = (dict(re.findall(r"(keeper|store) \(([^)]*)\)", text)) for text in (before, after))
        assert mine == {"keeper": theirs["store"], "store": theirs["keeper"]}
        assert re.sub(r"\([^)]*\)", "", before) == re.sub(r"\([^)]*\)", "", after)
    else:
        assert after != before
        assert after == before.replace("keeper", "?").replace("store", "keeper").replace("?", "store")


def said(results: Results, measure: str, verdict: str, ends: tuple[float, float] | None, **fields: Any) -> str:
    made = pair(measure, "keeper", "store", verdict, interval=within(*ends) if ends else None, **fields)
    return answers.sentence(made, results)


def test_what_is_shown_names_the_better_side_first_each_with_its_own_number(results: Results) -> None:
    assert said(results, "stale_use", "left-better", FAR) == (
        "keeper (0/4) acted on stale rules in fewer decisions than store (4/4); "
        "difference \u2212.20 (\u2212.40 to \u2212.10), adjusted p 0.02."
    )
    near = said(results, "recall", "right-better", NEAR)
    assert near.startswith("store (8/8) brought back more answers than keeper (8/8), by less than .05; ")
    assert said(results, "recall", "right-better", None).endswith("; adjusted p 0.02.")
    assert "by less than" not in said(results, "tokens_total", "left-better", NEAR)  # no proportion, no margin


def test_what_is_not_shown_is_no_sameness(results: Results) -> None:
    assert said(results, "stale_use", "no-difference-shown", FAR) == (
        "What differs in decisions acted on stale rules between keeper (0/4) and store (4/4) could be chance; "
        "compatible with differences of up to .40 either way; this run could have shown much."
    )
    near = said(results, "recall", "no-difference-shown", NEAR)
    assert near == "keeper (8/8) and store (8/8) are within .05 of each other in answers recalled."
    same = said(results, "recall", "no-difference-shown", None, left_value=0.5, right_value=0.5)
    assert same == "keeper (8/8) and store (8/8) have equally many answers recalled."


def test_a_test_that_can_show_nothing_says_nothing_of_a_difference(results: Results) -> None:
    """Too few scenarios: every backend is counted by name, and there is neither a p nor a word of difference."""
    unable = [pair(measure, "keeper", "store", able=False) for measure in ("recall", "decisions_right", "stale_use")]
    told = " ".join(answers.lines(results.model_copy(update={"comparisons": tuple(unable)})))
    assert not [word for word in ("differ", "chance", "adjusted p", "shown", "compatible") if word in told]
    assert "Answers recalled: keeper 8/8 and store 8/8." in told
    assert "Right decisions: keeper 8/8, store 4/8 and no memory 4/8." in told


def test_facts_have_no_p() -> None:
    """Bytes are there or not, and a source is right or not."""
    assert not {"deleted_from_bytes", "source_verified"} & set(rows.BETWEEN)


@pytest.mark.parametrize("scenarios", range(1, 13))
def test_a_comparison_knows_whether_it_could_show_anything(scenarios: int) -> None:
    values = {name: {f"rename/s{at}": share for at in range(scenarios)} for name, share in (("x", 0.0), ("y", 1.0))}
    (found,) = compare_pairs("pairs", "recall", [("x", "y")], values)
    assert found.able == (found.adjusted_p <= stats.ALPHA) == (not found.detectable.startswith("nothing"))


NUMBERS = st.dictionaries(st.sampled_from(("keeper", "store", "other", "cold")), st.integers(0, 8), min_size=2)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NUMBERS, st.data())
def test_no_sentence_says_of_a_backend_what_its_numbers_do_not(
    results: Results, hits: dict[str, int], data: st.DataObject
) -> None:
    """Each backend stands with its own count; the side that is called better is better; what is alike is equal."""
    row = results.backends["keeper"]
    rows = {
        name: row.model_copy(
            update={"measures": {**row.measures, "recall": Pooled(value=n / 8, hits=n, of=8, scenarios=2)}}
        )
        for name, n in hits.items()
    }
    pairs = []
    for left, right in itertools.combinations(sorted(hits), 2):
        shown = hits[left] != hits[right] and data.draw(st.booleans())
        better = "left-better" if hits[left] > hits[right] else "right-better"
        verdict = better if shown else "no-difference-shown"
        values = {"left_value": hits[left] / 8, "right_value": hits[right] / 8}
        pairs.append(pair("recall", left, right, verdict, able=data.draw(st.booleans()), **values))
    backends = {**results.backends, **rows}
    for name in {"keeper", "store", "cold"} - hits.keys():
        backends.pop(name, None)
    told = results.model_copy(update={"backends": backends, "comparisons": tuple(pairs)})
    said_ = [each.text for one in answers.answers(told) if one.topic == "recalled" for each in one.sentences]
    for text in said_:
        for name, n in re.findall(r"(keeper|store|other|[Nn]o memory) \(?(\d)/8", text):
            assert int(n) == hits["cold" if name.lower() == "no memory" else name]
        if " than " in text:
            better_, worse = ([int(n) for n in re.findall(r"(\d)/8", side)] for side in text.split(" than "))
            assert min(better_) > max(worse)
        for clause in text.split("; "):
            if clause.endswith("equally many answers recalled"):
                assert len(set(re.findall(r"(\d)/8", clause))) == 1, text


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
    assert said == [
        "keeper (8/8) and other (8/8) brought back more answers than store (8/8)",
        "What differs in answers recalled between keeper (8/8) and other (8/8) could be chance",
    ]
    (one, _) = [
        each
        for each in answers.answers(wide.model_copy(update={"comparisons": won}))
        if each.topic in ("recalled", "cost")
    ]
    assert one.sentences[0].fine == "adjusted p at most 0.04"


def test_every_open_pair_is_told_once_and_all_in_one_sentence(results: Results) -> None:
    row = results.backends["keeper"]
    wide = results.model_copy(update={"backends": {**results.backends, **dict.fromkeys("abcd", row)}})
    open_ = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    others, said = clauses(wide, *(pair("recall", *names) for names in open_))
    assert "between a (8/8), b (8/8) and c (8/8), and between c (8/8) and d (8/8) could be chance" in said
    assert others == "Answers recalled: keeper 8/8 and store 8/8"  # no pair of theirs


def test_controls_are_no_part_of_the_answer(results: Results) -> None:
    told = " ".join(answers.lines(results))
    assert "oracle" not in told and "none" not in told and "no memory" in told


def test_what_a_look_up_changed_is_told_in_counts(results: Results) -> None:
    better = Pooled(value=1.0, hits=8, of=8, scenarios=2)
    made = Contrast(
        backend="store", write_policy="curated", read_policy="trusting", noise=0, primary=False,
        measures=dict.fromkeys(rows.CONTRASTED, better),
    )  # fmt: skip
    curated = results.model_copy(update={"contrasts": (*results.contrasts, made)})
    assert "Written with a look-up first (curated): right decisions store 8/8." in " ".join(answers.lines(curated))
    assert [column.head for column in findings.collect(curated).columns][:2] == [
        "Decided right, append", "Decided right, curated",
    ]  # fmt: skip
    assert findings.collect(results).columns[0].head == "Decided right"


def test_what_a_look_up_changed_is_compared_where_there_is_a_pair(results: Results) -> None:
    def made(name: str, hits: int) -> Contrast:
        pooled = Pooled(value=hits / 8, hits=hits, of=8, scenarios=2)
        return Contrast(
            backend=name, write_policy="curated", read_policy="trusting", noise=0, primary=False,
            measures=dict.fromkeys(rows.CONTRASTED, pooled),
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
        "Written with a look-up first (curated): store (6/8) took more right decisions than no memory (4/8)",
        "Curated: what differs in right decisions between keeper (7/8) and store (6/8) could be chance",
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
    said = findings.list_lacking(results)
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
