"""Numbers, counts and verdicts in words."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.results import Pooled
from harness.model.trial import Interval
from harness.report import words
from tests.support.made_results import results


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (4120, "4,120"), (4120.4, "4,120"), (41.26, "41.3"), (0.834, "0.83"), (-0.1, "-0.10")]
)
def test_numbers_carry_no_false_digit(value: float, text: str) -> None:
    assert words.format_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123, "12.3 ms"), (0.9994, "999 ms"), (0.9996, "1.0 s"), (1234.5, "1,234.5 s")]
)
def test_seconds_are_shown_without_powers_of_ten(value: float, text: str) -> None:
    assert words.format_amount(value, "seconds") == text


def test_a_share_never_stands_without_its_denominator() -> None:
    assert words.value(Pooled(value=0.8, hits=24, of=30)) == "24/30"
    assert words.value(Pooled(value=0.8, hits=24.5, of=30, at_least=True)) == "\u2265 24.5/30"
    assert words.format_interval(Interval(low=0, high=0.9, method="")) == "0 to .90"


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
    assert words.format_beside(pooled) == ".25 to .75, 2 cells unsupported, 1 cell failed"


def test_a_difference_carries_its_sign() -> None:
    assert [words.show_signed(value, words.share) for value in (-0.25, 0.0, 0.5)] == ["\u2212.25", "0", "+.50"]


@given(st.text(st.characters()), st.integers(0, 40), st.booleans())
def test_no_control_or_bidi_character_survives(text: str, limit: int, lines: bool) -> None:
    shown = words.make_visible(text, limit, lines=lines)
    left = {unicodedata.category(char) for char in shown if not (lines and char in "\n\t")}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.endswith(f"of {len(text):,} characters shown]") == (len(text) > limit)


COMMANDS = ("::error::x", "::add-mask::x", "##[error]x", "##vso[task.complete]x", "##teamcity[x]", "::", "#", ":", " ")


@given(st.lists(st.sampled_from(COMMANDS) | st.characters()).map("".join), st.integers(1, 30))
def test_what_is_printed_is_no_command_wherever_its_lines_are_broken(text: str, width: int) -> None:
    printed = words.make_plain(text)
    lines = [printed, *(printed[at : at + width] for at in range(len(printed)))]
    # the name follows at once and begins with a letter: GitHub takes no other for a command
    assert not [line for line in lines if re.match(r"\s*::[a-z][a-z-]*.*::", line, re.IGNORECASE)]
    assert not [line for line in lines if re.search(r"##(\[|vso\[|teamcity\[)", line, re.IGNORECASE)]


def test_what_is_printed_names_what_was_broken() -> None:
    assert (
        words.make_plain("a::error::b, mine:Adapter") == "a:\u27e8U+003A\u27e9error:\u27e8U+003A\u27e9b, mine:Adapter"
    )


def test_hidden_characters_become_visible() -> None:
    assert (
        words.make_visible("a\x1b[31m\u202eb\ud800") == "a\u27e8U+001B\u27e9[31m\u27e8U+202E\u27e9b\u27e8U+D800\u27e9"
    )


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
    assert words.format_interval(Interval(low=low, high=high, method="any")) == shown


def test_what_was_held_fixed_names_the_clock_of_the_story_and_who_has_the_wall_clock() -> None:
    made = results({"x": {"recall": [(1, 2)]}, "y": {"recall": [(1, 2)]}})
    assert "clock" not in words.describe_conditions(made)
    made = results({"x": {"recall": [(1, 2)]}, "y": {"recall": [(1, 2)]}}, clock="story")
    rows = {
        name: row.model_copy(update={"clock": "story" if name == "x" else "wall"})
        for name, row in made.backends.items()
    }
    assert words.describe_conditions(made.model_copy(update={"backends": rows})).partition(", the clock")[2] == (
        " of the story (the wall clock for y: a server keeps its memories)."
    )


def test_what_was_held_fixed_names_the_release_of_an_agent_program() -> None:
    made = results({"x": {"recall": [(1, 2)]}}, reader="agent:codex@m")
    assert "reader agent:codex@m, " in words.describe_conditions(made)
    run = made.run.model_copy(update={"programs": ("codex 0.171.0",)})
    assert "reader agent:codex@m (codex 0.171.0), " in words.describe_conditions(made.model_copy(update={"run": run}))
