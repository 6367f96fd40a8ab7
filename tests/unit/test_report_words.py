"""Numbers, counts and verdicts in words."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import compare
from harness.model import Interval
from harness.report import words
from harness.results import Comparison, Pooled, Results
from tests.runs import run


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return compare.results(run(tmp_path_factory.mktemp("run")))


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (4120, "4,120"), (4120.4, "4,120"), (41.26, "41.3"), (0.834, "0.83"), (-0.1, "-0.10")]
)
def test_numbers_carry_no_false_digit(value: float, text: str) -> None:
    assert words.number(value) == text


def test_a_share_never_stands_without_its_denominator() -> None:
    assert words.value(Pooled(value=0.8, hits=24, of=30)) == "24/30"
    assert words.value(Pooled(value=0.8, hits=24.5, of=30, at_least=True)) == "\u2265 24.5/30"
    assert words.interval(Interval(low=0, high=0.9, method="")) == "0 to .90"


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"unsupported": 2}, "unsupported"),
        ({"not_applicable": 1, "failed": 1}, "n/a + failed"),
        ({"not_run": 3}, "not run"),
        ({}, "not run"),
    ],
)
def test_no_number_is_one_of_four_words_and_never_zero(counts: dict[str, int], text: str) -> None:
    assert words.value(Pooled(value=None, **counts)) == text


def test_what_is_missing_stands_beside_what_was_measured() -> None:
    interval = Interval(low=0.25, high=0.75, method="")
    pooled = Pooled(value=0.5, hits=1, of=2, interval=interval, failed=1, unsupported=2)
    assert words.beside(pooled) == ".25 to .75, 2 cells unsupported, 1 cell failed"


SWAPPED = {"left-better": "right-better", "right-better": "left-better", "no-difference-shown": "no-difference-shown"}


@pytest.mark.parametrize("verdict", SWAPPED)
@pytest.mark.parametrize("measure", ["recall", "stale_use", "updates_eligible"])
def test_swapping_the_sides_says_the_same(results: Results, verdict: str, measure: str) -> None:
    made = {
        "measure": measure, "left": "keeper", "right": "store", "scenarios": 2, "left_value": 0.2, "right_value": 0.4,
        "left_better": 0, "right_better": 2, "p": 0.01, "adjusted_p": 0.02, "verdict": verdict, "detectable": "",
    }  # fmt: skip
    swapped = {
        **made, "left": "store", "right": "keeper", "left_value": 0.4, "right_value": 0.2, "left_better": 2,
        "right_better": 0, "verdict": SWAPPED[verdict],
    }  # fmt: skip
    said = words.sentence(Comparison.model_validate(made), results)
    assert said == words.sentence(Comparison.model_validate(swapped), results)
    assert ("No difference shown" in said) == (verdict == "no-difference-shown")


def test_fewer_is_said_of_the_better_side_where_lower_is_better(results: Results) -> None:
    comparison = Comparison(
        measure="stale_use", left="keeper", right="store", scenarios=2, left_value=0, right_value=1, left_better=2,
        right_better=0, p=0.01, adjusted_p=0.03, verdict="left-better", detectable="",
    )  # fmt: skip
    said = words.sentence(comparison, results)
    assert said.startswith("keeper has fewer decisions acted on stale rules than store: 0/4 against 4/4, over 2")


def test_one_sentence_says_that_nothing_was_shown_at_all(results: Results) -> None:
    (said,) = words.findings(results)
    assert said.startswith("No difference shown between cold, keeper and store, in any of: ")


@given(st.text(st.characters()), st.integers(0, 40), st.booleans())
def test_no_control_or_bidi_character_survives(text: str, limit: int, lines: bool) -> None:
    shown = words.visible(text, limit, lines=lines)
    left = {unicodedata.category(char) for char in shown if not (lines and char in "\n\t")}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.endswith(f"of {len(text):,} characters shown]") == (len(text) > limit)


def test_hidden_characters_become_visible() -> None:
    assert words.visible("a\x1b[31m\u202eb\ud800") == "a\u27e8U+001B\u27e9[31m\u27e8U+202E\u27e9b\u27e8U+D800\u27e9"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.0, 1.0, "0 to 1"),
        (0.041, 0.5, ".04 to .50"),
        (-0.3, 0.02, "-.30 to .02"),
        (550.74, 6301.17, "551 to 6,301"),
        (100.0, 1000.0, "100 to 1,000"),
        (10.04, 40.0, "10.0 to 40"),
    ],
)
def test_an_interval_keeps_every_digit_before_the_point(low: float, high: float, shown: str) -> None:
    assert words.interval(Interval(low=low, high=high, method="any")) == shown
