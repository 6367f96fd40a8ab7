"""Isolation, from transcripts made by hand: one pair of scopes, what it shows, and what makes it count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Scope, to_wire
from harness.log.transcript import Called
from harness.metrics.trust.isolation import METRICS
from harness.model.trial import Measured
from harness.play.drills.isolation import plan
from tests.support.drill_player import measured
from tests.support.isolation_calls import (
    AROUND,
    BEYOND,
    BY_ROLE,
    LINES,
    NEVER,
    NOWHERE,
    PLAN,
    SEARCH,
    SOUND,
    A,
    B,
    call,
    found,
    lines,
    places,
    wrote,
)
from tests.support.measures import counts
from tests.support.transcripts import transcript


def test_a_sound_backend(tmp_path: Path) -> None:
    measures = found(tmp_path)
    assert {name: counts(each) for name, each in measures.items() if each.status == "measured"} == {
        SEARCH: (0, 2),
        "leaks_by_listing": (0, 2),
        "missed_in_own_scope": (0, 3),
        "wider_scope_in_listing": (0, 2),
        "read_across_scopes": (0, 2),
        "updated_across_scopes": (0, 1),
        "forgotten_across_scopes": (0, 1),
        "scope_deletion_spill": (0, 1),
        "leaks_into_no_scope": (0, 2),
        "leaks_into_unwritten_scope": (0, 2),
        "scope_names_refused": (0, 2),
        "scope_names_kept": (4, 4),
    }
    assert measures["leaks_by_case"].status == "not-applicable", "no such pair was played"
    assert measures["crowded_out_of_scope"].status == "not-applicable", "nobody is in the way"


LEAKS: list[tuple[str, str, Called, str]] = [
    (SEARCH, "cross A", call("cross", "recall", A, ("far",), "near", "far"), "cross A"),
    (SEARCH, "cross B", call("cross", "recall", B, ("near",), "far", "near"), "cross B"),
    (SEARCH, "cross A", call("cross", "recall", A, ("far",), "dropped"), "cross A"),
    ("leaks_by_listing", "list A", call("listed", "entries", A, ("near",), "near", "edited"), "list A"),
    ("read_across_scopes", "cross get A", call("cross", "get", A, ("far",), "far"), "cross get A"),
    ("leaks_into_no_scope", "empty", call("empty", "recall", NOWHERE, ("far",), "far"), "empty"),
    ("leaks_into_no_scope", "list all", call("empty", "entries", NOWHERE, (), "everywhere", "near"), "list all"),
    ("leaks_into_unwritten_scope", "unwritten", call("unwritten", "recall", NEVER, ("far",), "far"), "unwritten"),
    ("updated_across_scopes", "crossed",
     call("cross written", "entries", B, BEYOND, "far", "overwrite", "dropped"), "crossed"),
    ("forgotten_across_scopes", "crossed", call("cross written", "entries", B, BEYOND, "far", "edited"),
     "crossed"),
    ("scope_deletion_spill", "after B", call("after forget_scope", "entries", B, BEYOND, "far"), "after B"),
    ("scope_names_refused", "write A", wrote("near", stored=0), "write A"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "where", "changed", "receipt"), LEAKS)
def test_what_crosses_is_counted_with_its_receipt(
    tmp_path: Path, name: str, where: str, changed: Called, receipt: str
) -> None:
    measure = found(tmp_path, {where: changed})[name]
    assert counts(measure)[0] == 1 and lines(measure) == [LINES[receipt]]
    assert all(place.memory and place.stored for place in places(measure))


FAILING: list[tuple[str, dict[str, Called], str]] = [
    (SEARCH, {"cross A": call("cross", "recall", A, ("far",), fault=True),
              "cross B": call("cross", "recall", B, ("near",), fault=True)}, "cross A"),
    ("leaks_by_listing", {"list A": call("listed", "entries", A, ("near",), fault=True)}, "list A"),
    ("read_across_scopes", {"cross get A": call("cross", "get", A, ("far",), fault=True),
                            "cross get B": call("cross", "get", B, ("near",), fault=True)}, "cross get A"),
    ("updated_across_scopes", {"crossed": call("cross written", "entries", B, BEYOND, fault=True)}, "crossed"),
    ("forgotten_across_scopes", {"crossed": call("cross written", "entries", B, BEYOND, fault=True)}, "crossed"),
    ("scope_deletion_spill", {"after B": call("after forget_scope", "entries", B, BEYOND, fault=True)}, "after B"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changed", "receipt"), FAILING)
def test_where_every_look_failed_there_is_neither_a_leak_nor_none(
    tmp_path: Path, name: str, changed: dict[str, Called], receipt: str
) -> None:
    measure = found(tmp_path, changed)[name]
    assert measure.status == "failed" and LINES[receipt] in lines(measure)


def test_one_look_that_failed_counts_as_the_worst_and_says_so(tmp_path: Path) -> None:
    measure = found(tmp_path, {"cross A": call("cross", "recall", A, ("far",), fault=True)})[SEARCH]
    assert counts(measure) == (1, 2) and isinstance(measure, Measured) and measure.unanswered == 1


UNCONTROLLED: list[tuple[str, dict[str, Called | None], int]] = [
    (SEARCH, {"search B": call("own", "recall", B, ("far",), "edited")}, 0),
    (SEARCH, {"search A": call("own", "recall", A, ("near",), fault=True)}, 0),
    ("leaks_by_listing", {"list B": call("listed", "entries", B, BEYOND)}, 0),
    ("read_across_scopes", {"get B": call("own", "get", B, ("far",))}, 1),
    ("updated_across_scopes", {"changed": call("own written", "entries", B, BEYOND, "far", "edited")}, 0),
    ("updated_across_scopes", {"list B": call("listed", "entries", B, BEYOND, "far")}, 0),
    ("forgotten_across_scopes", {"changed": call("own written", "entries", B, BEYOND, "dropped", "revision")}, 0),
    ("scope_deletion_spill", {"after A": call("after forget_scope", "entries", A, ("near",), "near")}, 0),
    ("scope_deletion_spill", {"before": call("before forget_scope", "entries", B, BEYOND)}, 0),
    ("leaks_into_no_scope", {"search all": call("own", "recall", NOWHERE, ("everywhere",), fault=True)}, 0),
    ("leaks_into_unwritten_scope", {"search B": None}, 1),
]


@pytest.mark.parametrize(("name", "changes", "left"), UNCONTROLLED)
def test_nothing_counts_that_could_not_be_seen(
    tmp_path: Path, name: str, changes: dict[str, Called | None], left: int
) -> None:
    measure = found(tmp_path, changes)[name]
    if left:
        assert counts(measure) == (0, left)
    else:
        assert measure.status == "not-applicable"


def test_a_change_needs_no_other_control(tmp_path: Path) -> None:
    """A backend that moves what is updated to the asker's scope: the owner's own update finds nothing any more."""
    changes = {
        "crossed": call("cross written", "entries", B, BEYOND, "far", "dropped"),
        "changed": call("own written", "entries", B, BEYOND, "far"),
    }
    assert counts(found(tmp_path, changes)["updated_across_scopes"]) == (1, 1)


def test_what_belongs_to_nobody_is_no_leak(tmp_path: Path) -> None:
    listed = {"list A": call("listed", "entries", A, ("near",), "near", "everywhere")}
    assert counts(found(tmp_path, listed)["leaks_by_listing"]) == (0, 2)


def test_a_refused_name_is_neither_a_leak_nor_a_pass(tmp_path: Path) -> None:
    """Written, but not to be searched: nothing else is said of the pair."""
    measures = found(tmp_path, {"search A": call("own", "recall", A, ("near",), fault=True)})
    assert counts(measures["scope_names_refused"]) == (1, 2)
    assert lines(measures["scope_names_refused"]) == [LINES["write A"]]
    assert measures[SEARCH].status == "not-applicable"


def test_a_scope_comes_back_as_it_was_given(tmp_path: Path) -> None:
    def asked(**hit: Any) -> Called:
        text = BY_ROLE["near"].item.text
        return SOUND["search A"].model_copy(update={"answer": [to_wire(replace(Hit("near", text), **hit))]})

    folded = found(tmp_path / "folded", {"search A": asked(scope=Scope(repo="API"))})["scope_names_kept"]
    assert counts(folded) == (3, 4) and lines(folded) == [LINES["search A"]]
    without = {
        name: event.model_copy(update={"answer": [to_wire(Hit(role, BY_ROLE[role].item.text))]})
        for name, event in SOUND.items()
        if event.step in ("own", "wider") and event.op == "recall"
        for role in [PLAN.by_name[event.about[0]].role]
    }
    assert found(tmp_path / "without", without)["scope_names_kept"].status == "not-applicable"


def test_crowding_out_needs_a_crowd(tmp_path: Path) -> None:
    """Six alike in six scopes, k = 5: one of two searches does not bring the only memory of its scope."""
    made = plan(30, 1)
    nears = made.of("near")

    def ask(step: str, at: int, *shown: int) -> Called:
        hits = [to_wire(Hit(nears[each].name, nears[each].item.text)) for each in shown]
        scope = to_wire(nears[at].item.scope)
        return Called(step=step, op="recall", about=(nears[at].name,), request={"scope": scope}, answer=hits)

    wrote_all = Called(step="write", op="remember", about=(nears[0].name,), answer=[{"ids": ["1"]}])
    calls = [wrote_all, *(ask("own", at, at) for at in range(6)), ask("crowd", 0, 0), ask("crowd", 1)]
    told = transcript(tmp_path, made, calls, drill="isolation")
    measure = measured(METRICS, told)["crowded_out_of_scope"]
    assert counts(measure) == (1, 2) and lines(measure) == ["L10"]


@pytest.mark.parametrize(
    ("lacks", "names"),
    [
        (("entries",), {"leaks_by_listing", "wider_scope_in_listing"}),
        (("get",), {"read_across_scopes"}),
        (("update",), {"updated_across_scopes"}),
        (("forget",), {"forgotten_across_scopes"}),
        (("supersede",), {"superseded_across_scopes"}),
        (("history",), {"history_across_scopes", "deleted_history_across_scopes"}),
        (("forget_scope",), {"scope_deletion_spill", "empty_name_forgets_others", *AROUND}),
        (("scope_repo", "scope_user", "scope_org", "scope_branch"), {metric.definition.name for metric in METRICS}),
    ],
)
def test_what_is_not_offered_is_unsupported(tmp_path: Path, lacks: tuple[str, ...], names: set[str]) -> None:
    measures = found(tmp_path, lacks=dict.fromkeys(lacks, "not made for it"))
    assert {name for name, each in measures.items() if each.status == "unsupported"} == names
    for name in names:
        measure = measures[name]
        assert not isinstance(measure, Measured) and measure.reason.endswith("not made for it")


def test_without_a_listing_each_memory_is_searched_for(tmp_path: Path) -> None:
    """One search for each memory instead of one look at all of them."""

    def looked(step: str, *shown: str) -> list[Called]:
        return [call(step, "recall", B, (role,), *shown) for role in BEYOND]

    events = [
        *(event for event in SOUND.values() if event.op != "entries"),
        *looked("listed", "far", "edited", "dropped"),
        *looked("cross written", "far", "overwrite", "dropped"),
        *looked("own written", "far", "revision"),
        *looked("before forget_scope", "far", "revision"),
        *looked("after forget_scope", "far"),
    ]
    measures = measured(METRICS, transcript(tmp_path, PLAN, events, drill="isolation", lacks={"entries": "none"}))
    assert counts(measures["updated_across_scopes"]) == (1, 1)
    assert counts(measures["forgotten_across_scopes"]) == (0, 1)
    assert counts(measures["scope_deletion_spill"]) == (1, 1)


def test_pairs_that_no_supported_respect_tells_apart_are_not_applicable(tmp_path: Path) -> None:
    measures = measured(METRICS, transcript(tmp_path, PLAN, [], drill="isolation", lacks={"scope_repo": "none"}))
    assert {each.status for each in measures.values()} == {"not-applicable"}
