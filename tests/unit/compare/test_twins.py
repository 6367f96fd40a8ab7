"""Rows that decide alike, and rows that have the oracle's answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import metrics
from harness.compare import statements
from harness.compare.twins import SAME_VECTORS, Fingerprint, compute_fingerprint, find_like_oracle, find_twins
from harness.model.trial import READ_POLICIES, SCRIPTED, Measured, Trial
from tests.support.logs import Tape
from tests.support.runs import run


def trial(backend: str, story: int = 0, seed: int = 1) -> Trial:
    return Trial(
        backend=backend, scenario=f"rename/s{story}", write_policy="append", noise=0, seed=seed, reader=SCRIPTED, k=5,
        budget=800,
    )  # fmt: skip


def made(decisions: str, **embedded: int) -> Fingerprint:
    return Fingerprint(
        {"trusting": decisions} if decisions else {}, {phase: (texts, 9 * texts) for phase, texts in embedded.items()}
    )


ROWS = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from(["x", "y", ""]), min_size=2, max_size=2), min_size=1
)


@given(ROWS)
def test_twins_are_an_equivalence_of_rows_that_decided_everywhere(rows: Mapping[str, list[str]]) -> None:
    played = [(trial(name, at), made(each)) for name, own in rows.items() for at, each in enumerate(own)]
    groups = [group.rows for group in find_twins(played, list(rows))]
    grouped = [name for group in groups for name in group]
    assert len(grouped) == len(set(grouped)) and all(len(group) > 1 for group in groups)
    for name, own in rows.items():
        for other, theirs in rows.items():
            together = any(name in group and other in group for group in groups)
            assert name == other or together == (own == theirs and all(own))


def test_a_row_that_was_played_elsewhere_too_and_a_control_are_no_twins() -> None:
    played = [(trial("a"), made("x")), (trial("b"), made("x")), (trial("c"), made("x")), (trial("c", 1), made("x"))]
    (group,) = find_twins([*played, (trial("none"), made("x"))], ["a", "b", "c"])
    assert group.rows == ("a", "b") and group.reason == ""


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ({"ingest": 9, "probe": 3}, {"ingest": 9, "probe": 3}, SAME_VECTORS),
        ({"ingest": 9, "probe": 3}, {"ingest": 8, "probe": 3}, ""),
        ({}, {}, ""),
    ],
)
def test_the_reason_is_what_the_embedder_was_asked_for(
    first: dict[str, int], second: dict[str, int], reason: str
) -> None:
    (group,) = find_twins([(trial("a"), made("x", **first)), (trial("b"), made("x", **second))], ["a", "b"])
    assert group.reason == reason


def test_decisions_are_alike_by_their_value_and_not_by_their_words(tmp_path: Path) -> None:
    def of(name: str, tool: str) -> Fingerprint:
        log = Tape(tmp_path, name).played().jobs(tool).log()
        return compute_fingerprint(log, metrics.views([log]))

    store, same, other = of("store", "betadeploy"), of("same", "betadeploy"), of("other", "alphadeploy")
    assert set(store.decisions) == {*READ_POLICIES}
    assert store.decisions == same.decisions != other.decisions


def test_who_has_the_oracles_answers_everywhere_is_told_and_its_rivals_are_not(tmp_path: Path) -> None:
    found = statements.compute_results(run(tmp_path))
    assert found.like_oracle == ("keeper",) and found.twins == ()
    cells = [
        cell.model_copy(update={"measures": {**cell.measures, "recall": Measured(value=0.5)}})
        if cell.backend == "keeper" and cell.read_policy == "newest"
        else cell
        for cell in found.cells
    ]
    assert find_like_oracle(cells, ["keeper", "store"]) == []


def test_rows_of_a_run_that_decide_alike_are_named_together(tmp_path: Path) -> None:
    found = statements.compute_results(run(tmp_path, stale="betadeploy", tool="betadeploy"))
    assert [group.rows for group in found.twins] == [("keeper", "store")]
    assert found.find_twins("store") == ("keeper", "store") and found.find_twins("cold") == ("cold",)
    decided = [each for each in found.comparisons if each.family == "pairs" and each.measure == "decisions_right"]
    assert decided == [], "there is nothing to compare"
