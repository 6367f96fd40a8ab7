"""The sentence of each chart says what its table says: recomputed here from the same rows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.compare.rows import Way
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.footprint import Sample
from harness.metrics.recall import RECALL
from harness.model.results import Contrast, Pooled
from harness.model.trial import READ_POLICIES
from harness.report.charts import cost, decisions, deletion, growth, policies, stories
from harness.report.model.ways import Spread, show_range
from tests.support.made_results import play, results


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        (("better", "better"), "Better than no memory whatever the agent takes: a."),
        (("better", "could be chance"), "Better under some ways of reading: a."),
        (("better", "worse"), "Better under some ways of reading: a. Worse under some ways of reading: a."),
        (("too few stories", "could be chance"), "No difference to no memory was shown."),
    ],
)
def test_the_sentence_of_the_forest(shown: tuple[str, str], said: str) -> None:
    assert decisions.describe_work([("a", "append", "", "9", "", "", "", each) for each in shown]) == said


def reach(*values: float) -> Spread:
    return Spread("append", {read: Pooled(value=each) for read, each in zip(READ_POLICIES, values, strict=False)})


POINTS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=6)


@pytest.mark.slow
@given(POINTS)
def test_who_is_beaten_is_named_with_who_beats_it(drawn: list[tuple[int, int, int]]) -> None:
    """By right decisions and tokens under each read policy; ties beat nobody."""
    points = [
        decisions.Point(f"b{at}", "append", reach(right, right + more), reach(paid, paid))
        for at, (right, paid, more) in enumerate(drawn)
    ]
    for at, (right, paid, span) in enumerate(drawn):
        beats = {
            f"b{nth}" for nth, (rival, less, more) in enumerate(drawn)
            if rival >= right and rival + more >= right + span and less <= paid
            and (rival, rival + more, less) != (right, right + span, paid)
        }  # fmt: skip
        assert set(decisions.list_better(points[at], points)) == beats


def test_who_cannot_be_read_in_one_way_is_beaten_by_the_others() -> None:
    """Only backends with filters are read with one: where that is not played, nobody wins or loses by it."""
    plain = decisions.Point("plain", "append", reach(4, 5), reach(9, 9))
    filtering = decisions.Point("filtering", "append", reach(5, 6, 3), reach(2, 2, 2))
    unpaid = decisions.Point("unpaid", "append", reach(5, 6), reach(1))
    points = [plain, filtering, unpaid]
    assert [decisions.list_better(each, points) for each in points] == [["filtering"], [], []]


COUNT = st.integers(0, 30).map(lambda hits: f"{hits}/30")


KINDS = st.dictionaries(
    st.sampled_from(("rename", "refactor", "secret-erasure")),
    st.tuples(COUNT | st.just("n/a"), COUNT | st.just("n/a")),
    min_size=1,
)


@pytest.mark.slow
@given(KINDS)
def test_the_kinds_that_mislead_most_and_least(table: dict[str, tuple[str, str]]) -> None:
    """Recomputed from the table; ties are all named."""
    said = stories.describe_stale(
        [*((kind, "3", *row, "") for kind, row in table.items()), ("all kinds", "9", "0/1", "0/1", "")]
    )
    hits = {kind: [int(text.split("/")[0]) for text in row if text != "n/a"] for kind, row in table.items()}
    rates = {kind: sum(own) / (30 * len(own)) for kind, own in hits.items() if own}
    most = {kind for kind in rates if rates[kind] == max(rates.values())}
    least = {kind for kind in rates if rates[kind] == min(rates.values())}
    named = dict(re.findall(r"([a-z-]+) \((\d+/\d+)\)", said))
    assert named == (
        {kind: f"{sum(hits[kind])}/{30 * len(hits[kind])}" for kind in most | least} if any(rates.values()) else {}
    )
    if len(set(rates.values())) > 1:
        before, after = said.split("least in")
        assert all(f"{kind} (" in before for kind in most) and all(f"{kind} (" in after for kind in least)


LEVELS = st.tuples(COUNT | st.just("failed"), COUNT | st.just("n/a"))


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abc"), LEVELS, min_size=1))
def test_what_noise_does_is_told_as_it_is(table: dict[str, tuple[str, str]]) -> None:
    body = [(name, "9", level, pair[at], "") for name, pair in table.items() for at, level in enumerate(("0", "50"))]
    said = growth.describe_noise(body)
    for name, (quiet, loud) in table.items():
        if "/" not in quiet or not quiet[0].isdigit() or not loud[0].isdigit():
            assert f"{name} (" not in said
            continue
        change = int(loud.split("/")[0]) - int(quiet.split("/")[0])
        word = "fewer with" if change < 0 else "more with" if change > 0 else "as many with"
        (part,) = (part for part in re.split(r"; | were ", said) if part.startswith(word))
        assert f"{name} ({loud} against {quiet})" in part


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abc"), st.tuples(COUNT, COUNT, COUNT | st.just("unsupported")), min_size=1))
def test_what_policies_change_is_told_as_it_is(table: dict[str, tuple[str, str, str]]) -> None:
    """The range over the ways to read, of the best way to write; the other beside it where it has numbers."""
    ways = ((f"look up{policies.BEST}", "trusting"), (f"look up{policies.BEST}", "newest"), ("append", "trusting"))
    body = [(name, "9", *way, row[at], "", "1/2", "") for name, row in table.items() for at, way in enumerate(ways)]
    parts = policies.describe_policies(body).removesuffix(".").split(": ")[1].split("; ")
    for (name, (one, two, other)), part in zip(table.items(), parts, strict=True):
        low, high = sorted(int(each.split("/")[0]) for each in (one, two))
        told = f"{name} look up {show_range(low, high)}/30"
        assert part == told + (f" instead of append {other}" if other != "unsupported" else "")


def test_a_range_over_unequal_numbers_of_decisions_has_no_denominator() -> None:
    whole, part = ({DECISIONS_RIGHT: told} for told in ([(2, 2), (2, 2)], [(2, 2)]))
    by_way = {Way("append", "trusting"): whole, Way("append", "newest"): part, Way("expire", "trusting"): part}
    chart = policies.chart_ways(play({"x": by_way}))
    assert chart is not None and chart.says.endswith("suits each backend best: x append 2\u20134.")


def test_controls_alone_are_compared_with_nothing() -> None:
    played = results({"full_context": {RECALL: [(1, 2)]}})
    row = played.backends["full_context"].model_copy(update={"control": True})
    levels = [
        Contrast(backend="full_context", write_policy="append", read_policy="trusting", noise=noise, primary=not noise,
                 measures=row.measures) for noise in (0, 20)
    ]  # fmt: skip
    changes = {"backends": {"full_context": row}, "contrasts": tuple(levels)}
    chart = growth.chart_noise(played.model_copy(update=changes))
    assert chart is not None and chart.says.startswith("Only controls were played at several levels.")
    told = cost.describe([], ("cold", "", "9", "1/2", "30"))
    assert told.endswith("suits each backend best: 30 without memory (1/2 jobs).")
    assert cost.describe([], None).endswith("suits each backend best: only controls were played.")


def test_sizes_are_pooled_by_half_powers_of_ten() -> None:
    samples = [Sample("a", "recall", n, n / 1000) for n in (1, 3, 4, 9, 10, 31, 32, 99, 100)]
    found = growth.list_points([*samples, Sample("a", "recall", 0, 9.0)])
    assert [(p.sizes, p.n, p.value) for p in found] == [
        ("1 to 3", 2, 2.0), ("4 to 9", 2, 6.5), ("10 to 31", 2, 20.5), ("32 to 99", 2, 65.5), ("100", 1, 100.0),
    ]  # fmt: skip


def test_times_are_told_with_their_sizes_and_rank_nobody() -> None:
    body = [
        ("a", "one recall, ms", "1 to 3", "9", "4.00", ""), ("a", "one recall, ms", "100", "9", "7.00", ""),
        ("b", "one recall, ms", "100", "9", "0.10", ""), ("b", "one write, ms", "", "0", "no sample", ""),
        ("c", "one recall, ms", "", "0", "no sample", ""),
    ]  # fmt: skip
    rest = "Times and bytes are those of the machine that played: no ranking."
    assert (
        growth.describe_footprint(body)
        == f"Median time of a recall, among 100 memories a 7.00 ms and b 0.10 ms. {rest}"
    )
    assert growth.describe_footprint(body[-2:]) == rest


def test_what_was_found_after_the_deletion_is_never_called_not_found_again() -> None:
    """Only the last look used to be told: a text that a compaction took away had never been there."""
    body = [
        ("a", "text: db", "9", "9", "9 left", "9 left", "gone"), ("a", "asked: search", "9", "9", "gone", "gone", ""),
        ("b", "text: db", "9", "9", "gone", "gone", "gone"), ("c", "text: db", "9", "9", "9 left", "unknown", "9 left"),
        ("c", "text: log", "9", "9", "unknown", "unknown", ""),
    ]  # fmt: skip
    assert deletion.describe_chart(body) == (
        "Deleted, and still found at the last look: c, text: db (9 left). "
        "Found after the deletion, and gone at the last look: a, text: db. "
        "Not found again wherever they were seen before: b. Cannot be told everywhere: c."
    )
