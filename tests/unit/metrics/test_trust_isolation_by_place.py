"""Isolation, from transcripts made by hand: what is reached by an id, and how places lie around each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import JsonValue

from harness.adapter import Scope
from harness.log.transcript import Called
from harness.model.trial import Measure
from tests.support.isolation_calls import (
    ALL,
    AROUND,
    BEYOND,
    BY_ROLE,
    FULL,
    NAMES,
    OPEN,
    OTHER,
    PLACED,
    SOUND,
    A,
    B,
    asked_for,
    call,
    found,
)
from tests.support.measures import counts

# --- by id, and by place ----------------------------------------------------------------------------------------------


def told(step: str, scope: Scope, role: str, *shown: str) -> Called:
    texts: Any = [BY_ROLE[each].item.text for each in shown]
    return call(step, "history", scope, (role,)).model_copy(update={"answer": texts})


@pytest.mark.parametrize("gone", ["", " gone"])
def test_a_history_counts_if_its_own_scope_may_read_it(tmp_path: Path, gone: str) -> None:
    role = "dropped" if gone else "far"
    own, cross = told(f"own{gone}", B, role, role), told(f"cross{gone}", A, role, role)
    name = f"{'deleted_' if gone else ''}history_across_scopes"
    assert counts(found(tmp_path / "told", {"own h": own, "cross h": cross})[name]) == (1, 1)
    silent = {"own h": own, "cross h": told(f"cross{gone}", A, role)}
    assert counts(found(tmp_path / "silent", silent)[name]) == (0, 1)
    nothing = {"own h": told(f"own{gone}", B, role), "cross h": cross}
    assert found(tmp_path / "nothing", nothing)[name].status == "not-applicable"


def test_what_another_scope_supersedes_is_gone_or_marked(tmp_path: Path) -> None:
    def measure(name: str, crossed: Called, owned: Called = SOUND["changed"]) -> Measure:
        changes = {
            "list B": call("listed", "entries", B, BEYOND, "far", "replaced"),
            "cross supersede": call("cross", "supersede", A, ("replaced", "usurper")),
            "crossed": crossed,
            "changed": owned,
        }
        return found(tmp_path / name, changes)["superseded_across_scopes"]

    left = call("cross written", "entries", B, BEYOND, "far", "replaced")
    hits = [{**hit, "superseded": "api" in NAMES} for hit in cast(list[dict[str, JsonValue]], left.answer)]
    assert counts(measure("left", left)) == (0, 1)
    assert counts(measure("taken", call("cross written", "entries", B, BEYOND, "far"))) == (1, 1)
    assert counts(measure("marked", left.model_copy(update={"answer": hits}))) == (1, 1)
    stays = call("own written", "entries", B, BEYOND, "far", "replaced")
    assert measure("no control", left, stays).status == "not-applicable"


@pytest.mark.parametrize(
    ("name", "shown", "bad"),
    [
        (FULL, OTHER, {"leaks_by_part": (1, 2)}),
        (FULL, OPEN, {}),
        (OPEN, OTHER, {"leaks_by_nesting": (1, 2)}),
        (ALL, FULL, {"leaks_by_nesting": (1, 2)}),
    ],
)
def test_what_a_place_brings_is_named_by_how_scopes_lie(
    tmp_path: Path, name: str, shown: str, bad: dict[str, tuple[int, int]]
) -> None:
    measures = found(tmp_path, {**PLACED, name: asked_for(name, shown)})
    seen = {each: counts(measures[each]) for each in ("leaks_by_part", "leaks_by_nesting")}
    assert seen == {"leaks_by_part": (0, 2), "leaks_by_nesting": (0, 2), **bad}


def test_of_a_store_that_looks_at_no_user_only_the_part_is_told(tmp_path: Path) -> None:
    both = {FULL: asked_for(FULL, OTHER), OTHER: asked_for(OTHER, FULL), OPEN: asked_for(OPEN, OTHER)}
    measures = found(tmp_path, {**PLACED, **both})
    assert counts(measures["leaks_by_part"]) == (2, 2)
    assert counts(measures["leaks_by_nesting"]) == (0, 1)


def test_what_holds_in_a_wider_scope_is_to_come_in_a_narrower_one(tmp_path: Path) -> None:
    def within(name: str, *shown: str) -> Called:
        return call("within", "recall", BY_ROLE[FULL].item.scope, (name,), *shown)

    asked = {**PLACED, "open": within(OPEN), "all": within(ALL, ALL)}
    assert counts(found(tmp_path / "found", asked)["wider_scope_missed"]) == (1, 2)
    unseen = {**asked, OPEN: call("place", "recall", BY_ROLE[OPEN].item.scope, (OPEN,))}
    assert counts(found(tmp_path / "unseen", unseen)["wider_scope_missed"]) == (0, 1), "it is not found at all"


def test_a_search_in_its_own_scope_that_brings_nothing_counts(tmp_path: Path) -> None:
    silent = {"search A": call("own", "recall", A, ("near",))}
    assert counts(found(tmp_path, silent)["missed_in_own_scope"]) == (1, 3)


def test_a_listing_is_of_exactly_one_scope(tmp_path: Path) -> None:
    def listed(*shown: str) -> dict[str, Called]:
        return {**PLACED, "listed": call("listed place", "entries", BY_ROLE[FULL].item.scope, (FULL,), FULL, *shown)}

    for at, (shown, leaks, wider) in enumerate([((), 0, 0), ((OPEN,), 0, 1), ((OTHER,), 1, 0)]):
        measures = found(tmp_path / str(at), listed(*shown))
        assert counts(measures["leaks_by_listing"]) == (leaks, 3)
        assert counts(measures["wider_scope_in_listing"]) == (wider, 3)


def test_what_a_deletion_takes_is_named_by_where_it_stood(tmp_path: Path) -> None:
    def after(step: str, target: str, *left: str, of: tuple[str, ...]) -> dict[str, Called]:
        scope = BY_ROLE[target].item.scope if target in BY_ROLE else Scope(org="")
        looks = {f"{step} {name}": call(step, "entries", BY_ROLE[name].item.scope, (name,),
                                        *({name} & set(left))) for name in of}  # fmt: skip
        return {step: call(step, "forget_scope", scope, (target,) if target in BY_ROLE else ()), **looks}

    def measures(*left: str, blank: tuple[str, ...] = (ALL,)) -> dict[str, Measure]:
        own = after("around 1", OPEN, *left, of=(OPEN, FULL, OTHER, ALL))
        folder = tmp_path / f"{len(list(tmp_path.iterdir())) if tmp_path.exists() else 0}"
        return found(folder, {**PLACED, **own, **after("blank org", "", *blank, of=(ALL,))})

    def seen(told: dict[str, Measure]) -> dict[str, Any]:
        return {name: each.value for name, each in told.items() if name in AROUND and each.status == "measured"}

    assert seen(measures(FULL, OTHER, ALL)) == {"wider_scope_forgotten": 0, "narrower_scope_forgotten": 0}
    assert seen(measures(FULL, ALL)) == {"wider_scope_forgotten": 0, "narrower_scope_forgotten": 1}
    assert seen(measures(FULL, OTHER)) == {"wider_scope_forgotten": 1, "narrower_scope_forgotten": 0}
    assert seen(measures(FULL, OTHER, ALL, OPEN)) == {}, "a deletion without effect says nothing of what it spares"
    assert counts(measures(ALL)["empty_name_forgets_others"]) == (0, 1)
    assert counts(measures(ALL, blank=())["empty_name_forgets_others"]) == (1, 1)
