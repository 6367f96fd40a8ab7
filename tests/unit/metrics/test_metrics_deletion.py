"""Deleted, by route, by layer, and after reopening; each with the look before that makes it count."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.log.events import Forgot
from harness.metrics import DEFINITIONS
from harness.metrics.deletion import LIVE, layers
from harness.model.trial import Measure, Measured
from tests.support.logs import KEY, NEW, NOISE, OLD, PEACE, PIN, PORT, STORY, Tape, story
from tests.support.measures import counts, measures

Seen = dict[tuple[str, str], bool | None]
EVERYWHERE: Seen = {(route, name): True for route in (*LIVE, "history") for name in ("pin", "key")}
NOWHERE: Seen = dict.fromkeys(EVERYWHERE, False)
DELETION = [name for name in DEFINITIONS if name.startswith(("deleted_", "deletion_", "over_"))]


def played(folder: Path, **more: object) -> Tape:
    return Tape(folder, **more).played().jobs("betadeploy")  # type: ignore[arg-type]  # as Tape


def test_gone_everywhere(tmp_path: Path) -> None:
    tape = played(tmp_path).look("before", EVERYWHERE).listed("before", OLD, PIN, KEY, PORT)
    tape.scanned("before", "db", "pin", "key").forget("pin", "key").look("after", NOWHERE).listed("after", PORT, OLD)
    found = measures(tape.scanned("after", "db").look("reopened", NOWHERE))
    for route in (*LIVE, "history"):
        assert counts(found[f"deleted_from_{route}"]) == (2, 2)
    for name in ("deleted_after_reopening", "deleted_from_bytes", "deletion_acknowledged"):
        assert counts(found[name]) == (2, 2)
    assert counts(found["over_deletion"]) == (0, 2)


def test_what_still_comes_back_has_a_receipt(tmp_path: Path) -> None:
    tape = played(tmp_path).look("before", EVERYWHERE).forget("pin", "key").look("after", NOWHERE)
    line = tape.look("after", {("forbidden", "key"): True}).line
    tape.look("reopened", {**NOWHERE, ("history", "key"): True, ("get", "pin"): True})
    found = measures(tape)  # a history is counted apart
    assert counts(found["deleted_from_search"]) == (2, 2)
    assert counts(found["deleted_from_forbidden"]) == (1, 2)
    assert found["deleted_from_forbidden"].receipts == (f"L{line} key stored at L2",)
    assert counts(found["deleted_after_reopening"]) == (1, 2)


def test_only_what_was_found_before_counts(tmp_path: Path) -> None:
    tape = played(tmp_path).look("before", {**NOWHERE, ("search", "pin"): True}).forget("pin", "key")
    found = measures(tape.look("after", NOWHERE).look("reopened", NOWHERE))
    assert counts(found["deleted_from_search"]) == (1, 1)
    assert found["deleted_from_get"].status == "not-applicable"
    assert counts(found["deleted_after_reopening"]) == (1, 1)


@pytest.mark.parametrize("look", [{("search", "pin"): None}, {}])
def test_a_look_that_failed_or_is_missing_shows_no_absence(tmp_path: Path, look: Seen) -> None:
    tape = played(tmp_path).look("before", {("search", "pin"): True}).forget("pin", "key")
    found = measures(tape.look("after", {("get", "pin"): False, **look}))
    assert found["deleted_from_search"].status == "failed" and len(found["deleted_from_search"].receipts) == 1


def test_one_route_that_failed_leaves_a_target_untold(tmp_path: Path) -> None:
    before: Seen = {("search", "pin"): True, ("search", "key"): True}
    tape = played(tmp_path).look("before", before).forget("pin", "key")
    tape.look("after", {("search", "pin"): False, ("search", "key"): False})
    found = measures(tape.look("reopened", {("search", "pin"): False, ("get", "pin"): None, ("search", "key"): False}))
    measure = found["deleted_after_reopening"]
    assert counts(measure) == (1, 2) and isinstance(measure, Measured) and measure.unanswered == 1


def test_a_deletion_that_failed_has_spared_nobody(tmp_path: Path) -> None:
    tape = played(tmp_path).look("before", EVERYWHERE).listed("before", PIN, NOISE)
    tape.add(Forgot(session="third", fact="pin", ids=("pin",), fault=PEACE)).look("after", EVERYWHERE)
    assert measures(tape.listed("after", PIN, NOISE))["over_deletion"].status == "failed"


def test_one_deletion_or_listing_that_failed_does_not_hide_the_others(tmp_path: Path) -> None:
    tape = played(tmp_path).look("before", EVERYWHERE).listed("before", PIN, NOISE, PORT)
    tape.add(Forgot(session="third", fact="pin", ids=("pin",), fault=PEACE)).forget("key").look("after", EVERYWHERE)
    assert counts(measures(tape.listed("after", PIN, NOISE))["over_deletion"]) == (1, 2)


def test_a_deletion_that_was_said_and_not_done(tmp_path: Path) -> None:
    before: Seen = {("search", "pin"): True, ("search", "key"): True, ("entries", "key"): True}
    tape = played(tmp_path).look("before", before).forget("pin").forget("key", said=False)
    after: Seen = {("search", "pin"): True, ("search", "key"): False, ("entries", "key"): False}
    assert counts(measures(tape.look("after", after))["deletion_acknowledged"]) == (0, 1)
    silent = played(tmp_path).look("before", before).forget("pin", "key", said=False).look("after", after)
    assert measures(silent)["deletion_acknowledged"].status == "not-applicable"


def test_bystanders_are_counted_one_by_one(tmp_path: Path) -> None:
    tape = played(tmp_path).look("before", EVERYWHERE).listed("before", OLD, PIN, NEW, NEW, PORT)
    line = tape.line
    found = measures(tape.forget("pin", "key").look("after", NOWHERE).listed("after", NEW, PORT))
    assert counts(found["over_deletion"]) == (2, 4)
    assert found["over_deletion"].receipts == (f"L{line}:e0", f"L{line}:e3")


def test_no_listing_no_verdict_on_bystanders(tmp_path: Path) -> None:
    tape = played(tmp_path).look("before", EVERYWHERE).listed("before", OLD, PIN).forget("pin").look("after", NOWHERE)
    assert measures(tape)["over_deletion"].status == "failed"
    alone = played(tmp_path).look("before", EVERYWHERE).listed("before", PIN).forget("pin").look("after", NOWHERE)
    assert measures(alone.listed("after"))["over_deletion"].status == "not-applicable"


# --- bytes ------------------------------------------------------------------------------------------------------------


def scanned(folder: Path) -> Tape:
    return played(folder).look("before", EVERYWHERE)


def test_layers_are_judged_one_by_one(tmp_path: Path) -> None:
    tape = scanned(tmp_path).scanned("before", "db", "pin", "key").scanned("before", "index", "old")
    tape.scanned("before", "log", "key").scanned("before", "remote", problem="cannot be read").forget("pin", "key")
    tape.scanned("after", "db", "pin").scanned("after", "index").scanned("after", "log").scanned(
        "after", "remote", problem="cannot be read"
    )
    line = tape.line - 3
    db, index, log, remote = layers(tape.log())
    assert (db.before, db.after, db.of, db.problem, db.line) == (("pin", "key"), ("pin",), 2, None, line)
    assert index.problem == "no target was seen in it before the deletion"
    assert (log.before, log.after, log.problem) == (("key",), (), None)
    assert remote.problem == "cannot be read"
    found = measures(tape.look("reopened", NOWHERE))
    assert counts(found["deleted_from_bytes"]) == (1, 2)
    assert found["deleted_from_bytes"].receipts == (f"L{line} pin stored at L2",)


def test_bytes_that_moved_to_another_layer_are_not_gone(tmp_path: Path) -> None:
    tape = scanned(tmp_path).scanned("before", "wal", "pin").scanned("before", "db").forget("pin", "key")
    tape.scanned("after", "wal").scanned("after", "db", "pin")
    assert [layer.moved for layer in layers(tape.log())] == [(), ("pin",)]
    assert counts(measures(tape)["deleted_from_bytes"]) == (0, 1)
    late = scanned(tmp_path).scanned("before", "db").forget("pin", "key").scanned("after", "db", "key")
    assert counts(measures(late)["deleted_from_bytes"]) == (0, 1)


def reason(tape: Tape) -> str:
    found = measures(tape)["deleted_from_bytes"]
    assert found.status == "not-applicable", found
    return found.reason


def test_what_is_gone_where_it_could_be_looked_may_be_left_elsewhere(tmp_path: Path) -> None:
    tape = scanned(tmp_path).scanned("before", "db", "pin").scanned("before", "remote").forget("pin")
    tape.scanned("after", "db").scanned("after", "remote", problem="cannot be read")
    assert reason(tape) == ("cannot be told: no target is left where it could be looked, but remote: cannot be read")


@pytest.mark.parametrize(
    ("declared", "before", "after", "problem", "shown"),
    [
        (True, [], [], None, True),
        (False, [], [], None, False),
        (False, ["pin"], [], None, True),
        (False, [], ["pin"], None, True),
        (False, [], [], "too large", True),
    ],
)
def test_an_undeclared_place_is_shown_if_it_held_a_target_or_could_not_be_looked_at(
    tmp_path: Path, declared: bool, before: list[str], after: list[str], problem: str | None, shown: bool
) -> None:
    tape = scanned(tmp_path).scanned("before", "db", "pin").scanned("before", "beside", *before, declared=declared)
    tape.forget("pin").scanned("after", "db").scanned("after", "beside", *after, declared=declared, problem=problem)
    assert [each.layer for each in layers(tape.log())] == ["db", "beside"][: 1 + shown]


def test_layers_that_show_nothing_prove_nothing(tmp_path: Path) -> None:
    tape = scanned(tmp_path).scanned("before", "db").forget("pin", "key").scanned("after", "db")
    found = measures(tape)["deleted_from_bytes"]
    assert found.status == "not-applicable"
    assert "db: no target was seen in it before" in found.reason
    half = scanned(tmp_path).scanned("before", "db").scanned("before", "remote", problem="cannot be read").forget("pin")
    assert reason(half.scanned("after", "db")) == (
        "no layer can be computed (db: no target was seen in it before the deletion, remote: cannot be read)"
    )
    encoded = scanned(tmp_path).scanned("before", "db", "pin").forget("pin").scanned("after", "db", problem="odd file")
    assert measures(encoded)["deleted_from_bytes"].status == "not-applicable"


# --- not measured -----------------------------------------------------------------------------------------------------


def deletion(found: dict[str, Measure]) -> set[str]:
    return {found[name].status for name in DELETION}


def test_a_trial_that_asked_for_no_deletion_says_so_and_why(tmp_path: Path) -> None:
    assert len(DELETION) == 9
    whole = measures(played(tmp_path).look("after", NOWHERE))
    lost = measures(played(tmp_path).log("failed", PEACE))
    for found, why in ((whole, ""), (lost, "; recall: the child ended with signal 9")):
        assert {getattr(found[name], "reason", None) for name in DELETION} == {f"nothing was deleted{why}"}
        assert deletion(found) == {"failed"}


def test_a_backend_that_cannot_delete(tmp_path: Path) -> None:
    tape = played(tmp_path, unsupported=["forget"]).look("before", NOWHERE).scanned("before", "db")
    assert deletion(measures(tape)) == {"unsupported"}
    assert layers(tape.log()) == []


def test_operations_that_are_not_there(tmp_path: Path) -> None:
    tape = played(tmp_path, unsupported=["history", "persistent"]).look("before", EVERYWHERE)
    found = measures(tape.forget("pin", "key").look("after", NOWHERE))
    for name in ("deleted_from_history", "deleted_after_reopening", "deleted_from_bytes"):
        assert found[name].status == "unsupported", name
    assert counts(found["deleted_from_search"]) == (2, 2)


def test_a_story_without_deletion(tmp_path: Path) -> None:
    sessions = STORY.model_dump(mode="json", by_alias=True)["sessions"]
    sessions[-1]["steps"] = sessions[-1]["steps"][:1]
    tape = Tape(tmp_path, scenario=story(sessions=sessions)).played().jobs("betadeploy")
    assert deletion(measures(tape)) == {"not-applicable"}


def test_a_trial_that_failed_on_the_way(tmp_path: Path) -> None:
    assert deletion(measures(played(tmp_path).log("failed", PEACE))) == {"failed"}
    tape = played(tmp_path).look("before", EVERYWHERE).forget("pin")
    assert deletion(measures(tape.log("failed", PEACE))) == {"failed"}
    tape.look("after", {("search", "pin"): False})
    found = measures(tape.log("failed", PEACE))
    assert counts(found["deleted_from_search"]) == (1, 1)
    assert found["deleted_from_get"].status == "failed"
    assert found["deleted_after_reopening"].status == "failed"
    assert found["deleted_from_bytes"].status == "failed"
