"""How many stories a run needs: the simulation finds what is there, no more than chance allows, and more with more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compare import power, stats
from harness.compare.power import PilotStory

STORIES = [PilotStory((share,), 5, 0.6) for share in (-0.2, 0.0, 0.0, 0.2, 0.2, 0.4, 0.0, 0.2)]
shares = st.integers(-3, 3).map(lambda own: own / 5)
pilots = st.lists(
    st.builds(
        PilotStory, st.lists(shares, min_size=1, max_size=3).map(tuple), st.integers(1, 9), st.sampled_from([0.4, 0.8])
    ),
    min_size=6,
    max_size=14,
)


@pytest.mark.slow
@given(pilots, st.sampled_from([6, 12, 31]), st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_of_runs_without_a_difference_no_more_than_chance_show_one(
    pilot: list[PilotStory], stories: int, seeds: int
) -> None:
    found = power.count_found(pilot, stories, seeds, 0.0)
    level = stats.ALPHA / 2
    centre = sum(each.difference for each in pilot) / len(pilot)
    assert found <= level + 4 * (level * (1 - level) / power.RUNS) ** 0.5 or centre == 0 == found


@given(pilots, st.integers(1, 5), st.sampled_from([0.1, 0.3]))
@settings(max_examples=15, deadline=None)
def test_with_fewer_than_six_stories_nothing_is_ever_shown(
    pilot: list[PilotStory], stories: int, difference: float
) -> None:
    assert power.count_found(pilot, stories, 1, difference) == 0 < power.STORIES[0] == stats.sweep(1, stats.ALPHA)


@pytest.mark.slow
@given(pilots)
@settings(max_examples=10, deadline=None)
def test_a_larger_difference_more_stories_and_fewer_comparisons_are_found_as_often_at_least(
    pilot: list[PilotStory],
) -> None:
    base = power.count_found(pilot, 12, 1, 0.1)
    slack = 4 * (0.5 / power.RUNS) ** 0.5
    assert power.count_found(pilot, 12, 1, 0.3) >= base - slack
    assert power.count_found(pilot, 31, 1, 0.1) >= base - slack
    assert power.count_found(pilot, 12, 1, 0.1, compared=8) <= base, "the same runs, judged more strictly"


@given(pilots, st.sampled_from([0.0, 0.1, 0.35]))
@settings(max_examples=15, deadline=None)
def test_simulated_stories_differ_by_as_much_as_they_are_given(pilot: list[PilotStory], difference: float) -> None:
    drawn = power.draw_differences(pilot, 100, 2, difference, 200)
    assert drawn.mean() == pytest.approx(difference, abs=0.03)


def test_a_pilot_in_which_nothing_moved_does_not_promise_that_every_story_moves() -> None:
    drawn = power.draw_differences([PilotStory((0.0,), 5, 0.6)] * 8, 12, 1, 0.1, 200)
    assert 0.3 < (drawn == 0).mean() < 0.9, "a gain falls on some decisions of some stories"


@pytest.mark.slow
def test_another_seed_saves_what_seeds_differ_by_and_nothing_where_they_agree() -> None:
    noisy = [PilotStory((share - 0.4, share + 0.4), 5, 0.6) for share in (0.0, 0.1, 0.2) * 3]
    assert power.count_found(noisy, 20, 5, 0.2) > power.count_found(noisy, 20, 1, 0.2) + 0.2
    assert power.count_found(STORIES, 20, 5, 0.2) == pytest.approx(power.count_found(STORIES, 20, 1, 0.2), abs=0.1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_fewest_stories_that_are_enough_are_found_and_too_many_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(power, "PILOTS", 5)
    found = power.find_stories(STORIES, 1, 0.2, 0.8)
    assert found in power.STORIES
    at = power.STORIES.index(found or 0)
    assert power.count_found(STORIES, power.STORIES[at], 1, 0.2) >= 0.8
    assert at == 0 or power.count_found(STORIES, power.STORIES[at - 1], 1, 0.2) < 0.8
    assert power.find_stories(STORIES, 1, 0.01, 0.8, runs=50) is None
    low, high = power.find_range(STORIES, 1, 0.2, 0.8)
    assert low is not None and low <= (found or 0) and (high is None or high >= low)
