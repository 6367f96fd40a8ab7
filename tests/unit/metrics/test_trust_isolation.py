"""Isolation, from transcripts made by hand: one pair of scopes, what it shows, and what makes it count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pytest
from pydantic import JsonValue

from harness.adapter import Hit, Scope, to_wire
from harness.log.receipts import Receipt, read
from harness.log.transcript import Called, Op
from harness.metrics.trust.isolation import METRICS
from harness.metrics.trust.places import DIRECTIONS
from harness.model.backend import Fault
from harness.model.drill import Plan
from harness.model.trial import Measure, Measured
from harness.play.drills import scopes
from harness.play.drills.isolation import plan
from tests.support.drill_player import measured
from tests.support.measures import counts
from tests.support.transcripts import transcript

NAMES = ("api", "api-internal")


def one_pair(pair: tuple[str, Scope, Scope] = ("prefix-repo-3", Scope(repo=NAMES[0]), Scope(repo=NAMES[1]))) -> Plan:
    with (
        patch.object(scopes, "make_pairs", lambda: iter([pair])),
        patch.object(scopes, "make_places", lambda: iter(PLACES)),
    ):
        return plan(5, 1)


PLACES = (
    ("lattice.", Scope()), ("lattice.org", Scope(org="o")), ("lattice.org+user", Scope(org="o", user="u")),
    ("lattice.org+user!user", Scope(org="o", user="v")),
)  # fmt: skip
PLAN: Plan = one_pair()
"""One pair, the repositories `api` and `api-internal`; and four places."""
BY_ROLE = {piece.name if piece.role == "place" else piece.role: piece for piece in PLAN.pieces}
A, B, NOWHERE = BY_ROLE["near"].item.scope, BY_ROLE["far"].item.scope, Scope()
NEVER = Scope(repo="never-written")
BEYOND = ("far", "edited", "dropped", "replaced", "overwrite", "revision", "heir")
SEARCH = "leaks_by_prefix"
AROUND = {f"{direction}_scope_forgotten" for direction in DIRECTIONS}


def call(step: str, op: Op, scope: Scope, about: tuple[str, ...], *shown: str, fault: bool = False) -> Called:
    """A call that is about these roles and shows those."""
    hits = [to_wire(Hit(role, BY_ROLE[role].item.text, scope=BY_ROLE[role].item.scope)) for role in shown]
    return Called(
        step=step,
        op=op,
        about=tuple(BY_ROLE[role].name for role in about),
        request={"scope": to_wire(scope)},
        answer=None if fault else hits,
        fault=Fault(kind="crashed", op=op, message="gone") if fault else None,
    )


def wrote(*roles: str, stored: int = 1) -> Called:
    acks = [{"ids": [role][:stored]} for role in roles]
    return Called(step="write", op="remember", about=tuple(BY_ROLE[role].name for role in roles), answer=acks)


SOUND: Mapping[str, Called] = {
    "write A": wrote("near"),
    "write B": wrote("far", "edited", "dropped"),
    "write all": wrote("everywhere"),
    "search A": call("own", "recall", A, ("near",), "near", "everywhere"),
    "cross A": call("cross", "recall", A, ("far",), "near", "everywhere"),
    "list A": call("listed", "entries", A, ("near",), "near"),
    "get A": call("own", "get", A, ("near",), "near"),
    "cross get A": call("cross", "get", A, ("far",)),
    "search B": call("own", "recall", B, ("far",), "far", "edited", "dropped"),
    "cross B": call("cross", "recall", B, ("near",), "far"),
    "list B": call("listed", "entries", B, BEYOND, "far", "edited", "dropped"),
    "get B": call("own", "get", B, ("far",), "far"),
    "cross get B": call("cross", "get", B, ("near",)),
    "search all": call("own", "recall", NOWHERE, ("everywhere",), "everywhere"),
    "crowd": call("crowd", "recall", A, ("near",), "near"),
    "wider": call("wider", "recall", A, ("everywhere",), "everywhere"),
    "empty": call("empty", "recall", NOWHERE, ("far",), "everywhere"),
    "unwritten": call("unwritten", "recall", NEVER, ("far",), "everywhere"),
    "list all": call("empty", "entries", NOWHERE, ("everywhere",), "everywhere"),
    "list never": call("unwritten", "entries", NEVER, ()),
    "cross update": call("cross", "update", A, ("edited", "overwrite")),
    "cross forget": call("cross", "forget", A, ("dropped",)),
    "crossed": call("cross written", "entries", B, BEYOND, "far", "edited", "dropped"),
    "own update": call("own", "update", B, ("edited", "revision")),
    "own forget": call("own", "forget", B, ("dropped",)),
    "changed": call("own written", "entries", B, BEYOND, "far", "revision"),
    "before": call("before forget_scope", "entries", B, BEYOND, "far", "revision"),
    "forget_scope": call("across", "forget_scope", A, ("near",)),
    "after A": call("after forget_scope", "entries", A, ("near",)),
    "after B": call("after forget_scope", "entries", B, BEYOND, "far", "revision"),
}
LINES = {name: f"L{line}" for line, name in enumerate(SOUND, 2)}


def found(
    folder: Path, changes: Mapping[str, Called | None] | None = None, lacks: Mapping[str, str] | None = None
) -> dict[str, Measure]:
    """What the measures say of the sound transcript with some calls changed, or left out."""
    calls = {**SOUND, **(changes or {})}
    events = [event for event in calls.values() if event]
    return measured(METRICS, transcript(folder, PLAN, events, drill="isolation", lacks=lacks or {}))


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


def places(measure: Measure) -> list[Receipt]:
    return [place for place in map(read, measure.receipts) if place]


def lines(measure: Measure) -> list[str]:
    """Of its receipts the line alone."""
    return [f"L{place.line}" for place in places(measure)]


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


def asked_for(name: str, *shown: str) -> Called:
    return call("place", "recall", BY_ROLE[name].item.scope, (name,), name, *shown)


FULL, OPEN, OTHER, ALL = "lattice.org+user", "lattice.org", "lattice.org+user!user", "lattice."
PLACED = {name: asked_for(name) for name in (FULL, OPEN, OTHER, ALL)}


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
