"""Comparisons: what they say of two rows, and that nothing which should not matter changes it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compare import stats
from harness.compare.comparisons import compare_pairs, compare_rows, describe_reach, find_dominated, find_reach
from harness.compare.rows import AGAINST_COLD, BETWEEN, COLD, COMPARED, DOMINANCE, DUMP, LOOKED_UP, Tables, Values, Way
from harness.model.results import Comparison, TwinGroup

WAYS = [Way(write, read) for write in ("append", "curated") for read in ("trusting", "newest", "verifying")]
ROWS = ("a", "b", "c", "d")
SHARES = st.sampled_from([0.0, 0.2, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.8, 1.0])


@st.composite
def tables(draw: st.DrawFn, most: int = 14) -> Tables:
    """Of up to six ways, with one table of shares for all measures of a way; stories that a row lacks are left out."""
    stories = [f"rename/story-{at:02}" for at in range(draw(st.integers(0, most)))]
    ways = WAYS[: draw(st.integers(1, len(WAYS)))]

    def values(name: str) -> Mapping[str, float]:
        return {each: draw(SHARES) for each in stories if name == COLD or draw(st.integers(0, 9))}

    cold = values(COLD)
    drawn = {way: {COLD: cold, **{name: values(name) for name in (DUMP, *ROWS)}} for way in ways}
    return {way: {measure: shares for measure in COMPARED} for way, shares in drawn.items()}  # noqa: C420


def of_row(found: list[Comparison], name: str) -> list[Comparison]:
    return [each for each in found if each.family == "cold" and each.right == name]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(tables(), st.sets(st.sampled_from(ROWS), min_size=1), st.booleans())
def test_what_is_said_of_a_row_against_no_memory_depends_on_no_other_row(
    made: Tables, kept: set[str], twins: bool
) -> None:
    groups = [TwinGroup(rows=("a", "b"))] if twins else []
    everybody = list(compare_rows(made, ROWS, groups))
    fewer = {
        way: {m: {n: v for n, v in values.items() if n in (COLD, *kept)} for m, values in table.items()}
        for way, table in made.items()
    }
    alone = list(compare_rows(fewer, sorted(kept), []))
    for name in kept:
        assert of_row(alone, name) == of_row(everybody, name)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(tables())
def test_an_adjusted_p_is_no_smaller_and_the_interval_beside_it_agrees(made: Tables) -> None:
    for each in compare_rows(made, ROWS, []):
        assert each.p <= each.adjusted_p <= 1 and each.compared >= 1
        assert (each.adjusted_p <= stats.ALPHA) == (each.verdict != "no-difference-shown")
        assert each.able or each.verdict == "no-difference-shown"
        if each.interval:
            assert (each.interval.low > 0 or each.interval.high < 0) == (each.adjusted_p <= stats.ALPHA)
            difference = each.right_value - each.left_value
            assert each.interval.low - 1e-9 <= difference <= each.interval.high + 1e-9


def test_what_others_have_shown_leaves_more_reach_to_the_rest() -> None:
    """Six stories reach no adjusted p of two comparisons, but that of the one that the step-down test has left."""
    stories = {f"s{at}": 0.0 for at in range(8)}
    better = dict.fromkeys(stories, 1.0)
    few = {each: better[each] for each in list(better)[:6]}
    eight, six = compare_pairs("pairs", "recall", [("x", "y"), ("x", "z")], {"x": stories, "y": better, "z": few})
    assert (eight.verdict, six.verdict) == ("right-better", "right-better")
    assert eight.able and six.able and six.compared == 2 and six.reach == find_reach(6)
    (alone,) = compare_pairs("pairs", "recall", [("x", "z")], {"x": stories, "z": few})
    assert alone.able
    flat = compare_pairs("pairs", "recall", [("x", "w"), ("x", "z")], {"x": stories, "w": stories, "z": few})
    assert not flat[1].able and flat[1].verdict == "no-difference-shown"


def test_only_the_decisions_are_compared_in_every_way_and_knowing_everything_only_in_the_first() -> None:
    stories = {f"rename/s{at}": at / 12 for at in range(12)}
    names = (COLD, DUMP, *ROWS)
    made: Tables = {way: dict.fromkeys(COMPARED, dict.fromkeys(names, stories)) for way in WAYS}
    found = list(compare_rows(made, ROWS, []))

    def measures(family: str, way: Way) -> set[str]:
        return {c.measure for c in found if (c.family, c.write_policy, c.read_policy) == (family, *way)}

    for way in WAYS:
        assert measures("cold", way) == set(AGAINST_COLD)
        assert measures("pairs", way) == set(BETWEEN if way == WAYS[0] else LOOKED_UP)
        assert measures("dump", way) == set(DOMINANCE if way == WAYS[0] else ())
    assert {each.compared for each in found if each.family == "cold"} == {2}, "a row's own two write policies"
    assert {each.compared for each in found if each.family == "pairs"} == {6}
    assert {frozenset((each.left, each.right)) for each in found if each.family == "pairs"} == {
        frozenset(pair) for pair in itertools.combinations(ROWS, 2)
    }


def test_twins_stand_for_each_other_where_their_values_are_equal_and_only_there() -> None:
    def values(*of: float) -> Mapping[str, float]:
        return {f"rename/s{at}": each for at, each in enumerate(of)}

    same, other = {"a": values(0, 1), "b": values(0, 1), "c": values(1, 1)}, {"a": values(0, 1), "b": values(1, 1)}
    made: Tables = {WAYS[0]: {"decisions_right": same, "recall": other}}
    found = list(compare_rows(made, ("a", "b", "c"), [TwinGroup(rows=("a", "b"))]))
    assert [(each.measure, each.left, each.right, each.compared) for each in found] == [
        ("recall", "a", "b", 1),
        ("decisions_right", "a", "c", 1),
    ]


@pytest.mark.parametrize("stories", range(0, 41, 4))
def test_any_number_of_scenarios_can_be_compared(stories: int) -> None:
    values = {name: {f"s{at}": (at * step % 5) / 4 for at in range(stories)} for name, step in (("x", 1), ("y", 3))}
    found = compare_pairs("pairs", "recall", [("x", "y")], values)
    assert [(each.scenarios, each.interval is not None) for each in found] == [(stories, stories >= 10)] * bool(stories)


# --- what a run of this size can find ---------------------------------------------------------------------------------


@pytest.mark.parametrize("compared", [1, 2, 6, 66, 378])
@pytest.mark.parametrize("stories", [0, 1, 5, 6, 7, 12, 14, 16, 31, 40])
def test_the_reach_is_that_of_the_test(stories: int, compared: int) -> None:
    reach = find_reach(stories, compared)

    def shown(for_: int, against: int = 0, family: int = compared) -> bool:
        moved = [1.0] * for_ + [-1.0] * against
        return family * stats.sign_flip(moved + [0.0] * (stories - len(moved))) <= stats.ALPHA

    assert reach.able == shown(stories)
    assert not any(shown(fewer, family=1) for fewer in range(min(reach.least, stories + 1)))
    if reach.able and reach.enough <= stories:
        assert shown(reach.enough) and not shown(reach.enough - 1)
    if reach.evenly is not None and 2**stories <= stats.RESAMPLES:
        assert shown(reach.evenly, stories - reach.evenly)
        assert not shown(reach.evenly - 1, stories - reach.evenly + 1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 1), min_size=6, max_size=14), st.integers(0, 6))
def test_how_much_stories_differ_changes_nothing_of_what_is_enough(sizes: list[float], unmoved: int) -> None:
    reach = find_reach(len(sizes) + unmoved)
    assert (stats.sign_flip(sizes + [0.0] * unmoved) <= stats.ALPHA) == (len(sizes) >= reach.enough)


# --- knowing everything -----------------------------------------------------------------------------------------------


def comparison(measure: str, left: str, right: str, left_value: float, right_value: float) -> Comparison:
    return Comparison(
        family="dump", measure=measure, left=left, right=right, scenarios=3, left_value=left_value,
        right_value=right_value, left_better=0, right_better=0, p=1, adjusted_p=1, verdict="no-difference-shown",
        detectable="",
    )  # fmt: skip


VALUES = st.tuples(*[st.sampled_from([0.0, 0.25, 0.5])] * 3)


@given(everything=VALUES, other=VALUES, swapped=st.booleans())
def test_full_context_dominates_what_it_never_loses_to_whichever_side_it_stands_on(
    everything: tuple[float, ...], other: tuple[float, ...], swapped: bool
) -> None:
    sides = [("full_context", everything), ("a-store", other)]
    (left, ours), (right, theirs) = sides[::-1] if swapped else sides
    compared = [comparison(measure, left, right, a, b) for measure, a, b in zip(DOMINANCE, ours, theirs, strict=True)]
    recall, stale, tokens = (a - b for a, b in zip(everything, other, strict=True))
    wins = recall >= 0 and stale <= 0 and tokens <= 0 and everything != other
    assert find_dominated(compared) == (["a-store"] if wins else [])
    assert find_dominated(compared[1:]) == []


def test_only_what_both_measured_says_that_full_context_dominates() -> None:
    """Over all of its scenarios the store recalls less; where both were asked, it recalls more."""

    def dominated(recall: Values) -> list[str]:
        others = {name: dict.fromkeys(own, 1.0) for name, own in recall.items()}
        tables: Tables = {WAYS[0]: dict.fromkeys(DOMINANCE, others) | {DOMINANCE[0]: recall}}
        return find_dominated(compare_rows(tables, ["a-store"], []))

    store = {"s1": 0.6, "s2": 0.0}
    assert dominated({DUMP: {"s1": 0.5}, "a-store": store}) == []
    assert dominated({DUMP: {"s1": 0.5, "s2": 0.2}, "a-store": store}) == ["a-store"]


def test_one_scenario_is_said_as_one() -> None:
    assert describe_reach(find_reach(1)) == "nothing: with 1 scenario the adjusted p cannot fall below 1"
