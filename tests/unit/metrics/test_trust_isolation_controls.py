"""Isolation, from transcripts made by hand: what counts where looks are missing or fail, or a part is not looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from harness.adapter import Hit, Scope, to_wire
from harness.log.transcript import Called
from harness.metrics.trust.isolation import METRICS, NOT_FOUND
from harness.model.drill import Plan
from harness.model.trial import Measure, NotMeasured
from harness.play.drills import scopes
from harness.play.drills.isolation import plan
from tests.support.drill_player import measured
from tests.support.isolation_calls import BEYOND, BY_ROLE, LINES, PLACES, PLAN, SOUND, A, B, call, found, lines
from tests.support.measures import counts
from tests.support.transcripts import transcript

USER = ("prefix-user-1", Scope(user="ana"), Scope(user="ana2"))
REPO = ("prefix-repo-1", Scope(repo="api"), Scope(repo="api-internal"))
PART = ("part-user-2", Scope(org="o", user="ana"), Scope(org="o", user="kim"))
ONE_USER, OTHER_USER = "lattice.org+user", "lattice.org+user!user"


@pytest.mark.parametrize(
    ("name", "look", "receipt"),
    [
        ("updated_across_scopes", "crossed", "cross update"),
        ("forgotten_across_scopes", "crossed", "cross forget"),
        ("scope_deletion_spill", "after B", "forget_scope"),
    ],
)
def test_where_no_look_shows_what_a_change_left_the_change_is_the_receipt(
    tmp_path: Path, name: str, look: str, receipt: str
) -> None:
    measure = found(tmp_path, {look: None})[name]
    assert measure.status == "failed" and lines(measure) == [LINES[receipt]]


def test_a_listing_of_what_stands_in_no_pair_needs_no_other_one(tmp_path: Path) -> None:
    listed = call("listed", "entries", B, ("edited",), "edited", "near")
    measure = found(tmp_path, {"list A": None, "list B": listed})["leaks_by_listing"]
    assert counts(measure) == (1, 1)


def test_an_update_of_which_the_search_for_the_new_text_failed_may_have_taken_effect(tmp_path: Path) -> None:
    """Without listings each text is searched for; the old one is there, and the new one may be there beside it."""

    def looked(step: str, *shown: str, failing: str = "") -> list[Called]:
        return [call(step, "recall", B, (role,), *shown, fault=role == failing) for role in BEYOND]

    def measure(folder: str, failing: str = "") -> Measure:
        events = [
            *(event for event in SOUND.values() if event.op != "entries"),
            *looked("listed", "far", "edited", "dropped"),
            *looked("cross written", "far", "edited", "dropped", failing=failing),
            *looked("own written", "far", "revision"),
        ]
        lacks = {"entries": "none"}
        told = transcript(tmp_path / folder, PLAN, events, drill="isolation", lacks=lacks)
        return measured(METRICS, told)["updated_across_scopes"]

    assert counts(measure("sound")) == (0, 1)
    assert measure("failing", "overwrite").status == "failed"


# --- scopes that come back --------------------------------------------------------------------------------------------


def test_a_hit_without_a_scope_among_hits_that_have_one_is_lost(tmp_path: Path) -> None:
    bare: Any = [to_wire(Hit("near", BY_ROLE["near"].item.text))]
    measure = found(tmp_path, {"search A": SOUND["search A"].model_copy(update={"answer": bare})})["scope_names_kept"]
    assert counts(measure) == (3, 4) and lines(measure) == [LINES["search A"]]


def test_a_memory_that_comes_back_twice_has_to_have_its_scope_each_time(tmp_path: Path) -> None:
    twice: Any = [to_wire(Hit(str(scope), BY_ROLE["near"].item.text, scope=scope)) for scope in (A, B)]
    measure = found(tmp_path, {"search A": SOUND["search A"].model_copy(update={"answer": twice})})["scope_names_kept"]
    assert counts(measure) == (3, 4)


# --- a part that the store does not look at ---------------------------------------------------------------------------


def blind(folder: Path, *pairs: tuple[str, Scope, Scope]) -> dict[str, Measure]:
    """What is said of these pairs and of two users of one organisation, if a search brings those of any user."""
    with (
        patch.object(scopes, "make_pairs", lambda: iter(pairs)),
        patch.object(scopes, "make_places", lambda: iter(PLACES)),
    ):
        made: Plan = plan(5 * len(pairs), 1)

    def ask(step: str, scope: Scope, about: str, *shown: str) -> Called:
        hits: Any = [to_wire(Hit(name, made.by_name[name].item.text)) for name in shown]
        return Called(step=step, op="recall", about=(about,), request={"scope": to_wire(scope)}, answer=hits)

    scope = {piece.name: piece.item.scope for piece in made.pieces}
    calls = [Called(step="write", op="remember", about=(f"{pairs[0][0]}.near",), answer=[{"ids": ["1"]}])]
    for name, first, second in pairs:
        near, far = f"{name}.near", f"{name}.far"
        calls += [ask("own", first, near, near), ask("own", second, far, far)]
        calls += [ask("cross", first, far, far), ask("cross", second, near, near)]
    both = (ONE_USER, OTHER_USER)
    calls += [ask("place", scope[name], name, *both) for name in both]
    return measured(METRICS, transcript(folder, made, calls, drill="isolation"))


def test_a_leak_between_names_that_are_alike_is_no_wonder_where_the_whole_part_is_not_looked_at(tmp_path: Path) -> None:
    measures = blind(tmp_path / "user", USER)
    prefix = measures["leaks_by_prefix"]
    assert isinstance(prefix, NotMeasured) and prefix.status == "not-applicable"
    assert "user is not told apart: see leaks_by_part" in prefix.reason
    assert counts(measures["leaks_by_part"]) == (2, 2)
    assert counts(blind(tmp_path / "both", USER, REPO)["leaks_by_prefix"]) == (2, 2), "the repositories still count"


def test_a_pair_that_differs_in_a_part_counts_under_that_part_where_it_is_not_looked_at(tmp_path: Path) -> None:
    assert counts(blind(tmp_path, PART)["leaks_by_part"]) == (4, 4)


def test_where_every_part_is_looked_at_no_wider_cause_is_named(tmp_path: Path) -> None:
    measure = found(tmp_path)["leaks_by_case"]
    assert isinstance(measure, NotMeasured) and measure.reason == NOT_FOUND
