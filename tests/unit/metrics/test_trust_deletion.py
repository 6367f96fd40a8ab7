"""Deletion, from transcripts made by hand: what each route still brings, and what was said and not done."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.events import Event
from harness.log.transcript import Called, Ended
from harness.metrics import trust
from harness.model.trial import Measure, Measured, NotMeasured
from tests.support.deletion_drill import BYSTANDERS, EVERYTHING, FAULT, KEY, PLAN, Play, ready, reason, sound
from tests.support.measures import counts, value
from tests.support.transcripts import transcript


def test_a_sound_store_is_clean_everywhere(tmp_path: Path) -> None:
    found = sound().measures(tmp_path)
    assert "a history" in reason(found.pop("replaced_text_gone_after_closing"), "not-applicable")
    assert "two texts" in reason(found.pop("history_tells_earlier_text"), "not-applicable")
    for name in ("seen_in_undeclared_places", "memories_printed"):
        assert "only declared" in reason(found.pop(name), "not-applicable")
    assert "words of its own" in reason(found.pop("retold_after_deletion"), "not-applicable")
    of = {
        "expired_not_recalled": 1, "replaced_gone_after_update": 1, "replaced_gone_after_supersede": 1,
        "scope_forgotten_from_search": 1, "text_gone_after_kill": 1, "scope_forgotten_from_listing": 2,
        "large_scope_listed": 2,
        **{f"text_gone_after_{name}": 3 for name in ("closing", "churn", "compaction")},
    }  # fmt: skip
    for name, measure in found.items():
        if name.startswith("vector"):
            assert reason(measure, "not-applicable") == "db: no vector of a target was seen in it before"
        elif name.endswith("over_deletion") or name.startswith(("unknown", "queries")):
            assert counts(measure)[0] == 0
        else:
            assert counts(measure) == (of.get(name, 2),) * 2, name


@pytest.mark.parametrize("route", ["search", "forbidden search", "paraphrase", "listing", "get", "history"])
def test_what_one_route_still_brings_is_not_gone(tmp_path: Path, route: str) -> None:
    play = ready().sought("after", *BYSTANDERS, f"{route}:key").sought("reopened", f"{route}:pin")
    found = play.measures(tmp_path)
    own = f"forgotten_from_{route.replace(' ', '_')}"
    assert {name for name, each in found.items() if name.startswith("forgotten_from") and value(each) < 1} == {own}
    assert counts(found[own]) == counts(found["forgotten_by_every_route"]) == (1, 2)
    live = (2, 2) if route == "history" else (1, 2)
    assert counts(found["forgotten_after_reopening"]) == counts(found["forgetting_said_and_done"]) == live
    if route == "history":
        assert found[own].receipts == (f"{play.line_of('after', 'history', 'key')} key stored at L2",)


def test_only_what_was_seen_counts(tmp_path: Path) -> None:
    found = Play().stored().sought("before", "get:pin").deleted().sought("after").measures(tmp_path)
    assert counts(found["forgotten_from_get"]) == (1, 1)
    assert counts(found["forgotten_by_every_route"]) == (1, 1)
    assert reason(found["forgotten_from_search"], "not-applicable")
    assert reason(found["scope_forgotten_from_listing"], "not-applicable")
    assert reason(found["same_scope_over_deletion"], "not-applicable")


def test_what_comes_back_after_the_deletion_only_is_not_gone(tmp_path: Path) -> None:
    """A listing that stops at a page shows the next one when the first is deleted."""
    play = Play().stored().sought("before", "listing:plan").deleted().sought("after", "listing:map", "search:pin")
    found = play.measures(tmp_path)
    assert counts(found["scope_forgotten_from_listing"]) == (1, 2)
    assert counts(found["large_scope_listed"]) == (1, 2) and len(found["large_scope_listed"].receipts) == 1
    assert counts(found["forgotten_from_search"]) == (0, 1)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([KEY, f"{KEY}, again"], (1, 1)),
        ([f"{KEY}, again"], (0, 1)),  # the text as it is now is no history
        ([], (0, 1)),
        (None, None),
    ],
)
def test_a_history_that_tells_nothing_of_an_earlier_text_is_found(
    tmp_path: Path, told: list[str] | None, expected: tuple[int, int] | None
) -> None:
    play = Play().stored().call("before", "update", ["key", "new-key"], {"ids": ["id-key"]})
    play.call("before", "history", ["key"], told, fault=FAULT if told is None else None)
    found = play.measures(tmp_path)["history_tells_earlier_text"]
    assert found.status == "failed" if expected is None else counts(found) == expected


def test_a_look_that_failed_or_is_missing_shows_no_absence(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS, faults=["search:pin"], skip=["search:key"])
    found = play.measures(tmp_path)
    asked = next(at for at, event in enumerate(play.events, 2) if isinstance(event, Called) and event.step == "deleted")
    nobody = found["forgotten_from_search"]
    assert nobody.status == "failed" and nobody.receipts == (
        f"{play.line_of('after', 'recall', 'pin')} pin stored at L2", f"L{asked} key stored at L2",
    )  # fmt: skip
    assert counts(found["forgotten_from_get"]) == (2, 2)


def test_of_several_looks_one_that_failed_counts_as_the_worst_and_says_so(tmp_path: Path) -> None:
    found = ready().sought("after", *BYSTANDERS, faults=["search:pin"]).measures(tmp_path)
    one = found["forgotten_from_search"]
    assert counts(one) == (1, 2) and isinstance(one, Measured) and one.unanswered == 1


def test_an_id_that_raises_when_it_is_gone_is_told_apart_from_one_that_is_still_there(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS, faults=["get:pin", "get:key"])
    (cell,) = trust.score([transcript(tmp_path, PLAN, play.events, drill="deletion")])
    found = cell.measures
    raised = found["forgotten_from_get"]
    assert isinstance(raised, NotMeasured) and raised.status == "failed" and "get crashed: " in raised.reason
    assert "an id that is not there is to be answered with nothing" in raised.reason
    assert found["forgotten_by_every_route"].status == "failed" and counts(found["forgotten_from_search"]) == (2, 2)


@pytest.mark.parametrize(
    ("lack", "names"),
    [
        ("forget", ["forgotten_from_search", "forgetting_said_and_done", "unknown_id_called_deleted"]),
        ("get", ["forgotten_from_get"]),
        ("history", ["forgotten_from_history"]),
        ("entries", ["forgotten_from_listing", "scope_forgotten_from_listing", "same_scope_over_deletion"]),
        ("scope_user", ["wider_scope_over_deletion"]),
        ("scope_branch", ["narrower_scope_over_deletion"]),
        ("forget_scope", ["scope_forgotten_from_listing", "scope_forgotten_from_search"]),
        ("update", ["replaced_gone_after_update", "replaced_text_gone_after_closing"]),
        ("supersede", ["replaced_gone_after_supersede"]),
        ("expiry", ["expired_not_recalled"]),
        ("persistent", ["forgotten_after_reopening", "text_gone_after_closing", "vector_gone_after_churn"]),
        ("compact", ["forgotten_after_compaction", "text_gone_after_compaction", "vector_gone_after_compaction"]),
    ],
)
def test_what_is_not_offered_is_unsupported(tmp_path: Path, lack: str, names: list[str]) -> None:
    found = sound().measures(tmp_path, lacks=[lack])
    assert [reason(found[name], "unsupported") for name in names] == [f"{lack}: why"] * len(names)
    assert counts(found["forgotten_from_search" if lack != "forget" else "scope_forgotten_from_search"])


def test_receipts_stand_in_the_order_of_the_routes(tmp_path: Path) -> None:
    """Equal logs give equal results, so nothing may depend on how a process hashes the names of routes."""
    play = ready().sought("after", "pin", *BYSTANDERS)
    found = play.measures(tmp_path)["forgotten_by_every_route"]
    asked = [f"L{at}" for at, event in enumerate(play.events, 2) if _is_about(event, "after", "pin")]
    listing = next(
        f"L{at}"
        for at, event in enumerate(play.events, 2)
        if getattr(event, "op", "") == "entries" and getattr(event, "step", "") == "after"
    )
    assert [receipt.split(" ")[0] for receipt in found.receipts] == [*asked[:3], listing, *asked[3:]]


def _is_about(event: Event, step: str, name: str) -> bool:
    return isinstance(event, Called) and (event.step, event.about) == (step, (name,))


def test_a_drill_that_ended_early_says_nothing_of_what_it_did_not_reach(tmp_path: Path) -> None:
    play = ready().sought("after", *BYSTANDERS).handled("closed", "closed").looked("closed")
    found = play.handled("reopened", "opened", FAULT).measures(tmp_path, ended=Ended(status="failed", fault=FAULT))
    assert counts(found["forgotten_by_every_route"]) == (2, 2)
    assert counts(found["text_gone_after_closing"]) == (3, 3)
    for name in ("forgotten_after_reopening", "text_gone_after_churn", "text_gone_after_compaction"):
        assert reason(found[name], "failed").endswith("recall: no more")


def test_a_compaction_that_failed_is_no_compaction(tmp_path: Path) -> None:
    play = ready().sought("after").looked("churned").handled("compacted", "compacted", FAULT)
    line = play.line
    found = play.looked("compacted").sought("compacted").measures(tmp_path)
    assert reason(found["text_gone_after_compaction"], "failed") == "compact: no more"
    assert found["forgotten_after_compaction"].receipts == (line,)
    assert counts(found["text_gone_after_churn"]) == (3, 3)


def test_a_superseded_memory_may_come_back_if_it_is_marked(tmp_path: Path) -> None:
    marked = ready().sought("after").listed("after", "host", superseded=["host"]).measures(tmp_path / "marked")
    plain = ready().sought("after").listed("after", "host").measures(tmp_path / "plain")
    assert counts(marked["replaced_gone_after_supersede"]) == (1, 1)
    assert counts(plain["replaced_gone_after_supersede"]) == (0, 1)
    updated = ready().sought("after").listed("after", "port", superseded=["port"]).measures(tmp_path / "updated")
    assert counts(updated["replaced_gone_after_update"]) == (0, 1)


def test_what_expires_needs_a_twin_that_does_not(tmp_path: Path) -> None:
    def measure(*seen: str) -> Measure:
        return Play().stored().expiring(*seen).measures(tmp_path / "".join(seen))["expired_not_recalled"]

    assert counts(measure("law")) == (1, 1)
    assert counts(measure("law", "ban")) == (0, 1)
    assert reason(measure("ban"), "not-applicable")


def test_said_and_done(tmp_path: Path) -> None:
    before = Play().stored().sought("before", *EVERYTHING)
    before.deleted(said=False, unknown=True)
    silent = before.sought("after", "pin").measures(tmp_path / "silent")
    assert reason(silent["forgetting_said_and_done"], "not-applicable")
    assert counts(silent["unknown_id_called_deleted"]) == (1, 1)
    lied = ready().sought("after", "search:pin").measures(tmp_path / "lied")
    assert counts(lied["forgetting_said_and_done"]) == (1, 2)
    angry = Play().stored().deleted(unknown_fault=FAULT).measures(tmp_path / "angry")
    assert reason(angry["unknown_id_called_deleted"], "failed").endswith("no more")


@pytest.mark.parametrize(
    ("name", "lost"),
    [("same_scope", "dog"), ("sibling_scope", "cow"), ("other_user", "fox"), ("wider_scope", "elk"),
     ("narrower_scope", "ant")],
)  # fmt: skip
def test_bystanders_of_each_kind_are_counted_apart(tmp_path: Path, name: str, lost: str) -> None:
    play = ready().sought("after", *(each for each in BYSTANDERS if each != lost))
    found = {key: each for key, each in play.measures(tmp_path).items() if key.endswith("over_deletion")}
    assert {key for key, each in found.items() if value(each)} == {f"{name}_over_deletion"}
    measure = found[f"{name}_over_deletion"]
    assert counts(measure)[0] == 1 and len(measure.receipts) == 1
