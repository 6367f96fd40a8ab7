"""Two runs side by side: what is paired, what is shown, and that nothing becomes green by going missing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.compare import stats
from harness.metrics import trust
from harness.model.drill import DrillTrial
from harness.model.regression import Change
from harness.model.results import Results, Suite
from harness.model.trial import Measured
from harness.regress import baseline, pairing, releases
from harness.regress.baseline import StoredStory
from harness.regress.baseline_files import Side
from tests.support.made_results import Said, results

GOOD, BAD = (20, 20), (5, 20)


def changes(old: Results, new: Results) -> dict[tuple[str, str], Change]:
    found = pairing.list_changes(baseline.make_baseline(old), baseline.make_baseline(new))
    assert len({(each.backend, each.measure) for each in found}) == len(found)
    return {(each.backend, each.measure): each for each in found}


def recall(old: Sequence[Said], new: Sequence[Said]) -> Change:
    return changes(results({"x": {"recall": old}}), results({"x": {"recall": new}}))["x", "recall"]


# --- what is shown ------------------------------------------------------------------------------------------------


def test_an_unchanged_run_is_the_same_in_every_scenario() -> None:
    found = recall([GOOD, BAD] * 10, [GOOD, BAD] * 10)
    assert (found.verdict, found.scenarios, found.difference, found.adjusted_p) == ("no-difference-shown", 20, 0, 1)
    assert found.interval is None and "same in every scenario" in found.reason
    assert (found.broken, found.mended, found.vanished) == ((), (), ())


@pytest.mark.parametrize(("name", "verdict"), [("recall", "worse"), ("stale_use", "better")])
def test_less_is_worse_or_better_as_the_measure_says(name: str, verdict: str) -> None:
    old, new = results({"x": {name: [GOOD] * 12}}), results({"x": {name: [BAD] * 12}})
    found, back = changes(old, new)["x", name], changes(new, old)["x", name]
    assert found.verdict == verdict and {verdict, back.verdict} == {"worse", "better"}
    assert (found.old_count, found.new_count, found.difference) == ((240, 240), (60, 240), -0.75)
    assert back.difference == 0.75 and back.broken == found.mended and back.mended == found.broken
    assert len(found.broken if verdict == "worse" else found.mended) == 12


def test_the_numbers_are_those_of_the_tests_that_are_named() -> None:
    old = [(hits, 20) for hits in (20, 18, 15, 12, 20, 9, 17, 20, 20, 4, 11, 20)]
    new = [(hits, 20) for hits in (10, 18, 9, 14, 16, 3, 17, 12, 19, 4, 5, 13)]
    found = recall(old, new)
    differences = [(b - a) / 20 for (a, _), (b, _) in zip(old, new, strict=True)]
    assert found.p == pytest.approx(stats.sign_flip(differences))
    assert found.interval is not None and (found.interval.low, found.interval.high) == stats.bound_mean(differences)
    assert (len(found.broken), len(found.mended)) == (8, 1)


def test_holm_counts_all_backends_of_one_measure() -> None:
    moved = [GOOD] * 4 + [BAD] * 8
    one = changes(results({"x": {"recall": [GOOD] * 12}}), results({"x": {"recall": moved}}))["x", "recall"]
    names = "abcdexyz"
    many = changes(
        results({name: {"recall": [GOOD] * 12} for name in names}),
        results({name: {"recall": moved if name == "x" else [GOOD] * 12} for name in names}),
    )["x", "recall"]
    assert (one.verdict, many.verdict) == ("worse", "no-difference-shown")
    assert one.p is not None and many.p == one.p and many.adjusted_p == pytest.approx(8 * one.p)
    assert one.interval and many.interval and one.interval.high < 0 <= many.interval.high, "each as the p beside it"
    assert "in 9 of 12 scenarios" in many.detectable and "in 6 of 12" in one.detectable


def test_below_ten_scenarios_there_is_no_interval_and_what_could_be_shown_is_said() -> None:
    found = recall([GOOD] * 4, [BAD] * 4)
    assert (found.verdict, found.interval, found.p) == ("no-difference-shown", None, 0.125)
    assert "adjusted p cannot fall below 0.12" in found.detectable and len(found.broken) == 4


@pytest.mark.slow
@given(st.integers(0, 99))
def test_the_order_of_cells_means_nothing(seed: int) -> None:
    old = results({"x": {"recall": [GOOD, BAD, (9, 20)] * 4}})
    new = results({"x": {"recall": [BAD, BAD, (8, 20)] * 4}})
    cells = list(new.cells)
    random.Random(seed).shuffle(cells)
    assert changes(old, new.model_copy(update={"cells": tuple(cells)})) == changes(old, new)


# --- what is gone -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["failed", "unsupported", "not-run", None])
def test_a_scenario_that_lost_its_number_is_a_regression_however_good_the_others_are(word: str | None) -> None:
    found = recall([BAD] * 12, [GOOD] * 11 + [word])
    assert found.verdict == "vanished" and found.vanished == ("x-11",) and found.scenarios == 11
    assert "1 scenario" in found.reason and (word or "not-run") in found.reason


def test_a_measure_with_nothing_to_measure_leaves_the_pairs_but_may_not_vanish_wholly() -> None:
    some = recall([GOOD] * 12, [GOOD] * 11 + ["not-applicable"])
    assert (some.verdict, some.vanished, some.scenarios) == ("no-difference-shown", ("x-11",), 11)
    assert recall([GOOD] * 12, ["not-applicable"] * 12).verdict == "vanished"


def test_a_backend_that_is_gone_has_lost_everything() -> None:
    old = results({"x": {"recall": [GOOD] * 3}, "y": {"recall": [GOOD] * 3}}, {"x": {"lost_by_kill": (0, 20)}})
    found = changes(old, results({"y": {"recall": [GOOD] * 3}}))
    assert found["x", "recall"].verdict == found["x", "lost_by_kill"].verdict == "vanished"
    assert found["x", "recall"].reason == found["x", "lost_by_kill"].reason == "not played in the new run"
    assert found["y", "recall"].verdict == "no-difference-shown"


def test_what_was_not_measured_before_has_appeared_or_stays_unsaid() -> None:
    assert recall(["unsupported"] * 3, [GOOD] * 3).verdict == "appeared"
    old = results({"x": {"recall": ["unsupported"] * 3}})
    assert changes(old, old) == {}


def test_an_exact_number_that_became_a_lower_bound_is_gone_and_no_improvement() -> None:
    bound = Measured(value=10, known="at-least")
    old = results({"x": {"tokens_total": [500.0] * 12}})
    new = results({"x": {"tokens_total": [bound] * 12}})
    assert changes(old, new)["x", "tokens_total"].verdict == "vanished"
    assert changes(new, new)["x", "tokens_total"].verdict == "not-comparable"


# --- what is not comparable ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"k": 7}, "k 5 then, 7 now"),
        ({"embedder": "f"}, "embedder e then, f now"),
        ({"headline_noise": 3}, "headline noise 0 then, 3 now"),
        ({"seeds": (1, 2)}, "seeds 1 then, 1, 2 now"),
        ({"chat": "a model"}, "chat nobody then, a model now"),
        ({"undated": True}, "undated False then, True now"),
        ({"clock": "story"}, "clock wall then, story now"),
        ({"writer": "chat@m"}, "writer scripted then, chat@m now"),
    ],
)
def test_other_conditions_compare_nothing(condition: dict[str, Any], said: str) -> None:
    old, new = (baseline.make_baseline(results({"x": {"recall": [GOOD] * 3}}, **more)) for more in ({}, condition))
    assert pairing.judge_comparability(old, new).differs == (said,) and pairing.list_changes(old, new) == ()


def test_a_level_of_noise_beside_the_headline_changes_nothing() -> None:
    old, new = (
        baseline.make_baseline(results({"x": {"recall": [GOOD] * 3}}, noise=levels)) for levels in ((0,), (0, 9))
    )
    assert pairing.judge_comparability(old, new).differs == ()


def test_runs_of_two_suites_say_so_instead_of_calling_every_measure_vanished() -> None:
    usual, deep = (
        baseline.make_baseline(results({"x": {"recall": [GOOD] * 3}}, drills)).model_copy(
            update={
                "suite": Suite(version=version, digest=version, split="all"),
                "stories": tuple(StoredStory(id=f"{version}/{at}", digest="d") for at in range(3)),
            }
        )
        for version, drills in (("3", {"x": {"writes_kept": (20, 20)}}), ("deep-1", {"x": {"writes_kept": (3, 20)}}))
    )
    said = "suite 3 then, deep-1 now: they have no story in common, so that none is compared"
    assert pairing.judge_comparability(usual, deep).differs == (said,)
    assert [each.measure for each in pairing.list_changes(usual, deep)] == ["writes_kept"], "drills know no suite"
    alone = deep.model_copy(update={"stories": (), "rows": ()})
    assert pairing.judge_comparability(usual, alone).differs == (), "without stories there is no other suite"


def test_a_story_that_changed_is_in_no_pair_and_is_named() -> None:
    old = results({"x": {"recall": [GOOD] * 12}})
    new = results({"x": {"recall": [BAD, *[GOOD] * 11]}}, digests={0: "another"})
    assert pairing.judge_comparability(baseline.make_baseline(old), baseline.make_baseline(new)).retold == (
        "rename/story-00",
    )
    found = changes(old, new)["x", "recall"]
    assert (found.scenarios, found.difference, found.broken, found.vanished) == (11, 0, (), ())
    every = changes(old, results({"x": {"recall": [BAD] * 12}}, digests=dict.fromkeys(range(12), "other")))
    assert every["x", "recall"].verdict == "not-comparable" and "another story" in every["x", "recall"].reason


def test_a_measure_of_which_no_formula_is_known_is_not_compared() -> None:
    old = baseline.make_baseline(results({"x": {"recall": [GOOD] * 3}}, {"x": {"lost_by_kill": (0, 20)}}))
    for side in (old.model_copy(update={"definitions": {}}), old):
        found = pairing.list_changes(side, old.model_copy(update={"definitions": {}}))
        assert {each.verdict for each in found} == {"not-comparable"} and "does not know" in found[0].reason


def test_another_definition_is_another_measure() -> None:
    old = baseline.make_baseline(
        results({"x": {"recall": [GOOD] * 3, "harm": [GOOD] * 3}}, {"x": {"lost_by_kill": (0, 20)}})
    )
    for name in ("recall", "lost_by_kill"):
        new = old.model_copy(update={"definitions": {**old.definitions, name: 99}})
        found = {each.measure: each for each in pairing.list_changes(old, new)}
        assert found[name].verdict == "not-comparable" and "then, 99 now" in found[name].reason
        assert found["harm"].verdict == "no-difference-shown"


# --- drills -------------------------------------------------------------------------------------------------------


def drill(name: str, old: Said, new: Said) -> Change:
    row = {"x": {"recall": [GOOD]}}
    return changes(results(row, {"x": {name: old}}), results(row, {"x": {name: new}}))["x", name]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("writes_kept", (20, 20), (19, 20)),
        ("forgotten_by_every_route", (12, 12), (7, 12)),
        ("leaks_by_pattern", (0, 144), (1, 144)),
        ("lost_by_kill", (1, 20), (2, 40)),  # no larger a share
        ("restored_probes", 1.0, 0.9),
    ],
)
def test_one_new_failure_of_a_drill_is_a_change_and_no_draw(name: str, old: Said, new: Said) -> None:
    found, back = drill(name, old, new), drill(name, new, old)
    assert (found.verdict, found.p, found.adjusted_p, len(found.broken)) == ("worse", None, None, 1)
    assert back.verdict in ("better", "vanished")
    assert drill(name, old, old).verdict == "no-difference-shown" and drill(name, old, old).reason == "the same"


def test_a_case_of_a_drill_that_counts_no_more_has_vanished() -> None:
    found = drill("lost_by_kill", (0, 37), (0, 5))
    assert (found.verdict, found.reason) == ("vanished", "5 cases count where 37 did")
    assert drill("lost_by_kill", (0, 5), (0, 37)).verdict == "no-difference-shown"


VARYING = [each.definition.name for each in trust.METRICS if each.definition.varies]


def test_measures_declare_that_they_vary_and_nothing_else_does() -> None:
    assert {"text_gone_after_churn", "recall_seconds", "bytes_per_memory", "torn_by_kill"} <= set(VARYING)
    assert not {"forgotten_by_every_route", "lost_by_kill", "writes_kept", "leaks_by_listing"} & set(VARYING)


@pytest.mark.parametrize("name", VARYING)
def test_what_varies_by_run_makes_no_regression_unless_it_is_more_than_that(name: str) -> None:
    """As a store that draws its ids at random overwrites now this page and now that one."""
    bad, worse = ((31, 32), (32, 32)) if trust.DEFINITIONS[name].better == "lower" else ((1, 32), (0, 32))
    found = drill(name, bad, worse)
    assert found.verdict == "no-difference-shown" and found.reason.startswith("varies by run (")
    assert "play both again" in found.reason and trust.DEFINITIONS[name].varies in found.reason


def test_of_what_varies_a_large_change_is_shown_and_a_first_failure_is_one() -> None:
    found = drill("text_gone_after_churn", (20, 32), (2, 32))
    assert found.verdict == "worse" and found.p == pytest.approx(stats.fisher(20, 32, 2, 32))
    first = drill("text_gone_after_churn", (32, 32), (31, 32))
    assert first.verdict == "worse" and "had no failure" in first.reason
    assert drill("text_gone_after_churn", (31, 32), (32, 32)).verdict == "no-difference-shown"


def test_what_a_drill_that_varies_could_have_shown_is_the_least_that_it_would_have() -> None:
    found = drill("seen_late", (2, 30), (2, 30))
    hits = int(found.detectable.split("/")[0])
    assert stats.fisher(2, 30, hits, 30) <= 0.05 < stats.fisher(2, 30, hits - 1, 30)
    assert drill("seen_late", (0, 1), (0, 1)).detectable.startswith("nothing")
    assert drill("lost_by_kill", (2, 30), (2, 30)).detectable == ""


def test_one_number_alone_shows_nothing_and_names_no_cell() -> None:
    found = drill("recall_seconds", 0.01, 0.5)
    assert (found.verdict, found.p, found.broken) == ("no-difference-shown", None, ())
    assert "it is a time" in found.reason


def test_a_drill_without_a_number_has_vanished_unless_it_was_the_machines_doing() -> None:
    assert drill("writes_kept", (20, 20), "failed").verdict == "vanished"
    assert drill("writes_kept", (20, 20), "not-applicable").verdict == "vanished"
    assert drill("torn_by_kill", (0, 4), "not-applicable").verdict == "not-comparable"
    assert drill("torn_by_kill", (0, 4), "failed").verdict == "vanished"


def test_drills_of_another_size_are_not_compared() -> None:
    row = {"x": {"recall": [GOOD]}}
    old, new = (results(row, {"x": {"writes_kept": (20, 20)}}, size=size) for size in (20, 40))
    assert changes(old, new)["x", "writes_kept"].verdict == "not-comparable"


def upgraded(older: str, kept: Said) -> Results:
    made = results({"x": {"recall": [GOOD]}}, {"x": {"kept_after_upgrade": kept}})
    (cell,) = made.trust
    played = DrillTrial(backend="x", drill=cell.drill, size=cell.size, seed=cell.seed, k=cell.k, older=older)
    return made.model_copy(update={"trust": (cell.model_copy(update={"older": older, "id": played.id}),)})


@pytest.mark.parametrize(("value", "text"), [(0.8333, "0.833"), (0.0, "0"), (41.26, "41.3"), (12345.0, "12,345")])
def test_readings_are_shown_without_powers_of_ten(value: float, text: str) -> None:
    assert str(releases.Reading(value)) == text


def test_upgrades_from_different_releases_are_not_compared_in_two_runs_and_are_on_a_ladder() -> None:
    old, same, other = (upgraded(older, kept) for older, kept in (("1", GOOD), ("1", BAD), ("2", BAD)))
    name = "x", "kept_after_upgrade"
    assert changes(old, same)[name].verdict == "worse"
    assert changes(old, other)[name].verdict == "not-comparable"
    rungs = (
        releases.make_side(Side(baseline.make_baseline(made), made, None), "x", "x").baseline for made in (old, other)
    )
    assert {each.verdict for each in pairing.list_changes(*rungs) if each.drill} == {"worse"}


# --- versions -----------------------------------------------------------------------------------------------------


def only_drilled(version: str | None) -> Results:
    made = results({"x": {"recall": [GOOD]}}, {"x": {"writes_kept": (20, 20)}})
    cells = tuple(cell.model_copy(update={"version": version}) for cell in made.trust)
    return made.model_copy(update={"backends": {}, "cells": (), "stories": (), "trust": cells})


def test_the_version_of_a_backend_that_was_only_drilled_is_that_of_its_drills() -> None:
    old, new, before = (baseline.make_baseline(only_drilled(version)) for version in ("1.0", "2.0", None))
    assert pairing.judge_comparability(old, new).versions == {"x": ("1.0", "2.0")}
    assert pairing.judge_comparability(before, new).versions == {"x": ("", "2.0")}


def test_a_run_that_went_on_after_an_upgrade_names_both_versions() -> None:
    made = results({"x": {"recall": [GOOD]}}, {"x": {"writes_kept": (20, 20)}}, version="1.0")
    cells = tuple(cell.model_copy(update={"version": "2.0"}) for cell in made.trust)
    assert baseline.make_baseline(made.model_copy(update={"trust": cells})).entrants[0].version == "1.0 and 2.0"
