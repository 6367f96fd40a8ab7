"""What a backend says of its own hits: which of them it should warn of, and whom it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adapter import Hit, Item, Source, Verdict, VerdictKind
from harness.log.events import Resolved, Wrote
from harness.log.parts import Checked, Written
from harness.model.trial import Measure
from tests.support.logs import BOTH, HOME, LURE, NEW, NOISE, OLD, PIN, PORT, Tape, hit
from tests.support.measures import counts, measures

NAMES = ("stale_warned", "current_warned", "moved_warned", "verdicts_naming_nothing")
CITED = Source("c1", "ship.toml", 3)


def saying(text: str, kind: VerdictKind, by: str | None = None, source: Source | None = None) -> Hit:
    return hit(text, verdict=Verdict(kind, by), source=source)


def known(folder: Path, **more: object) -> Tape:
    tape = Tape(folder, **more)  # type: ignore[arg-type]  # passes on what Tape takes
    return tape.learn("first", "old", "port", "pin").learn("second", "new")


def ask(tape: Tape, *hits: Hit | str) -> dict[str, Measure]:
    return dict(measures(tape.probe("tool-after", *hits)))


@pytest.mark.parametrize("kind", ["stale", "superseded", "expired", "contradicted"])
def test_a_warning_of_what_was_replaced_is_right(tmp_path: Path, kind: VerdictKind) -> None:
    found = ask(known(tmp_path), NEW, saying(OLD, kind), PORT)
    assert [counts(found[name]) for name in NAMES[:2]] == [(1, 1), (0, 2)]
    assert found["stale_warned"].receipts == found["current_warned"].receipts == ()


def test_unverified_claims_nothing(tmp_path: Path) -> None:
    tape = known(tmp_path)
    found = ask(tape, saying(NEW, "unverified"), saying(OLD, "unverified"))
    assert [counts(found[name]) for name in NAMES[:2]] == [(0, 1), (0, 1)]
    assert found["stale_warned"].receipts == (f"L{tape.line}:e1",)


def test_the_mark_of_before_is_a_warning_too(tmp_path: Path) -> None:
    assert counts(ask(known(tmp_path), hit(OLD, superseded=True))["stale_warned"]) == (1, 1)


def test_a_warning_of_what_holds_is_wrong(tmp_path: Path) -> None:
    tape = known(tmp_path)
    found = ask(tape, saying(NEW, "stale"), OLD)
    assert [counts(found[name]) for name in NAMES[:2]] == [(0, 1), (1, 1)]
    assert found["current_warned"].receipts == (f"L{tape.line}:e0",)


def test_of_a_line_that_moved_it_is_counted_apart(tmp_path: Path) -> None:
    tape = known(tmp_path).probe("tool-after", saying(PORT, "stale", source=CITED), saying(NEW, "stale"))
    moved = Checked(source=CITED, says=PORT, state="moved", path="ship.toml", line=4)
    found = measures(tape.add(Resolved(head="c2", sources=(moved,))))
    assert [counts(found[name]) for name in NAMES[1:3]] == [(2, 2), (1, 1)]
    same = known(tmp_path).probe("tool-after", saying(PORT, "stale", source=CITED))
    same.add(Resolved(head="c2", sources=(moved.model_copy(update={"state": "same"}),)))
    assert measures(same)["moved_warned"].status == "not-applicable"


def test_what_is_neither_counts_for_nothing(tmp_path: Path) -> None:
    """What a neighbour does, noise, and what cannot be told."""
    found = ask(known(tmp_path), *(saying(text, "stale") for text in (LURE, NOISE, BOTH)))
    assert {found[name].status for name in NAMES} == {"not-applicable"}


def test_what_was_false_when_it_was_written_has_not_gone_stale(tmp_path: Path) -> None:
    tape = known(tmp_path)
    late = Item(OLD, HOME, tape.at("second").isoformat(), "project")
    tape.add(Wrote(op="remember", purpose="remark", session="second", items=(Written("remark", late),), ids=(("m9",),)))
    assert ask(tape, hit(OLD, "m9"))["stale_warned"].status == "not-applicable"
    assert counts(ask(tape, hit(OLD, "m9"), OLD)["stale_warned"]) == (0, 1)


def test_a_question_about_before_wants_the_old_one(tmp_path: Path) -> None:
    found = measures(known(tmp_path).probe("tool-past", OLD))
    assert found["stale_warned"].status == "not-applicable"


def test_decisions_are_read_too(tmp_path: Path) -> None:
    tape = known(tmp_path).recall("decision", "order/tool", [saying(OLD, "stale"), NEW], "second")
    assert [counts(measures(tape)[name]) for name in NAMES[:2]] == [(1, 1), (0, 1)]


def test_a_verdict_names_a_memory_that_is_there(tmp_path: Path) -> None:
    tape = known(tmp_path)
    there = saying(OLD, "superseded", by=NEW), saying(PORT, "contradicted", by="m7"), hit(NOISE, "m7")
    found = ask(tape, *there, saying("Lunch is late", "stale"))
    assert counts(found["verdicts_naming_nothing"]) == (0, 2)
    tape = known(tmp_path)
    found = ask(tape, saying(OLD, "superseded", by="m404"), saying(PORT, "stale", by=""))
    assert counts(found["verdicts_naming_nothing"]) == (2, 2)
    assert found["verdicts_naming_nothing"].receipts == (f"L{tape.line}",) * 2


def test_what_was_deleted_is_not_there(tmp_path: Path) -> None:
    for said, missing in ((True, 1), (False, 0)):
        tape = known(tmp_path).learn("second", "key", ids=[("key",)]).forget("key", said=said)
        assert counts(ask(tape, saying(PIN, "stale", by="key"))["verdicts_naming_nothing"]) == (missing, 1)


def test_who_gives_no_verdicts_is_not_measured(tmp_path: Path) -> None:
    found = ask(known(tmp_path, unsupported=["verdict"]), saying(NEW, "stale"), OLD)
    assert {found[name].status for name in NAMES} == {"unsupported"}
