"""What tells how scopes lie around each other, and what says nothing of it."""

from __future__ import annotations

from pathlib import Path

from harness.adapter import Scope
from harness.log.transcript import Called
from tests.support.isolation_calls import ALL, BY_ROLE, FULL, OPEN, OTHER, PLACED, asked_for, call, found
from tests.support.measures import counts, unanswered


def test_a_search_that_does_not_bring_its_own_shows_no_part_that_the_store_ignores(tmp_path: Path) -> None:
    """Else the leak of another place would be no wonder, and would not be counted."""
    scope = BY_ROLE[FULL].item.scope
    blind = {FULL: call("place", "recall", scope, (FULL,), OTHER), OPEN: asked_for(OPEN, OTHER)}
    measures = found(tmp_path, {**PLACED, **blind})
    assert counts(measures["leaks_by_nesting"]) == (1, 2)
    assert measures["leaks_by_part"].status == "not-applicable"


def test_a_listing_without_its_own_memory_says_nothing_of_a_wider_one_and_one_that_failed_is_open(
    tmp_path: Path,
) -> None:
    def listed(*shown: str, fault: bool = False) -> dict[str, Called]:
        return {
            **PLACED,
            "listed": call("listed place", "entries", BY_ROLE[FULL].item.scope, (FULL,), *shown, fault=fault),
        }

    blind = found(tmp_path / "blind", listed(OPEN))
    assert counts(blind["wider_scope_in_listing"]) == (0, 2)
    broken = found(tmp_path / "broken", listed(fault=True))
    assert unanswered(broken["wider_scope_in_listing"]) == (1, 3, 1)


def test_a_place_counts_for_a_deletion_around_it_if_the_last_look_before_brought_it(tmp_path: Path) -> None:
    """One was never looked at, one was looked at in vain, and one could not be looked at."""
    looks = {name: call("around 1", "entries", BY_ROLE[name].item.scope, (name,)) for name in (FULL, OTHER, ALL)}
    spilt = {
        "around 1": call("around 1", "forget_scope", BY_ROLE[OPEN].item.scope, (OPEN,)),
        **{f"after {name}": look for name, look in looks.items()},
        "after own": call("around 1", "entries", BY_ROLE[OPEN].item.scope, (OPEN,)),
    }
    before = {
        OPEN: asked_for(OPEN),
        FULL: call("place", "recall", BY_ROLE[FULL].item.scope, (FULL,)),
        OTHER: call("place", "recall", BY_ROLE[OTHER].item.scope, (OTHER,), fault=True),
    }
    measures = found(tmp_path / "unseen", {**before, **spilt})
    for name in ("wider_scope_forgotten", "narrower_scope_forgotten"):
        assert measures[name].status == "not-applicable", name
    seen = found(tmp_path / "seen", {**before, ALL: asked_for(ALL), FULL: asked_for(FULL), **spilt})
    assert counts(seen["wider_scope_forgotten"]) == counts(seen["narrower_scope_forgotten"]) == (1, 1)


def test_a_deletion_in_a_scope_of_an_empty_name_counts_where_something_stood_before(tmp_path: Path) -> None:
    blank = {
        "blank": call("blank org", "forget_scope", Scope(org=""), ()),
        "after": call("blank org", "entries", BY_ROLE[ALL].item.scope, (ALL,)),
    }
    assert found(tmp_path / "unseen", blank)["empty_name_forgets_others"].status == "not-applicable"
    seen = found(tmp_path / "seen", {ALL: asked_for(ALL), **blank})
    assert counts(seen["empty_name_forgets_others"]) == (1, 1)
