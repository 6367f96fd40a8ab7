"""What a backend says of its own hits: which of them it should warn of, and whom it names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.adapter import Filter, Hit, Item, Source, Verdict, VerdictKind
from harness.log.events import Opened, Resolved, Retired, Retirement, Wrote
from harness.log.parts import Checked, Written
from harness.metrics import score
from harness.model.backend import Fault
from harness.model.trial import SCRIPTED_READS, Measure, ReadPolicy
from tests.support.logs import BOTH, HOME, LURE, NEW, NOISE, OLD, PIN, PORT, Tape, hit
from tests.support.measures import counts, measures, unanswered

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


@pytest.mark.parametrize(("op", "missing"), [("forget", 1), ("deprecate", 0)])
def test_nor_is_what_the_agent_deleted_by_a_rule_of_its_own(tmp_path: Path, op: Retirement, missing: int) -> None:
    tape = known(tmp_path).learn("second", "key", ids=[("key",)])
    tape.add(Retired(session="second", rule="expired", op=op, names=("key",), ids=("key",), said=(True,)))
    assert counts(ask(tape, saying(PIN, "stale", by="key"))["verdicts_naming_nothing"]) == (missing, 1)


def test_who_gives_no_verdicts_is_not_measured(tmp_path: Path) -> None:
    found = ask(known(tmp_path, unsupported=["verdict"]), saying(NEW, "stale"), OLD)
    assert {found[name].status for name in NAMES} == {"unsupported"}


# --- what is withheld from a reader -----------------------------------------------------------------------------------

WITHHELD = ("stale_withheld", "current_withheld")
SURE = Filter(confidence=0.5)


def read_in_every_way(tape: Tape) -> dict[ReadPolicy | None, dict[str, Measure]]:
    opened, *rest = tape.events
    assert isinstance(opened, Opened)
    tape.events = [opened.model_copy(update={"policies": SCRIPTED_READS}), *rest]
    return {cell.read_policy: dict(cell.measures) for cell in score([tape.log()])}


def decide(tape: Tape, plain: Sequence[Hit | str], filtered: Sequence[Hit | str] = (), **more: object) -> Tape:
    """A question for a decision, and the same with a filter."""
    tape.recall("decision", "order/tool", plain, "second")
    return tape.recall("filtered", "order/tool", filtered, "second", where=SURE, **more)


def test_a_filter_withholds_what_the_same_question_brings_without_it(tmp_path: Path) -> None:
    tape = decide(known(tmp_path), [OLD, NEW, PORT, NOISE], [NEW, NOISE])
    found = read_in_every_way(tape)
    assert [counts(found["filtered"][name]) for name in WITHHELD] == [(1, 1), (1, 2)]
    assert found["filtered"]["stale_withheld"].receipts == ()
    assert found["filtered"]["current_withheld"].receipts == (f"L{tape.line - 1}:e2",)
    assert [counts(found["trusting"][name]) for name in WITHHELD] == [(0, 1), (0, 2)]
    assert found["trusting"]["stale_withheld"].receipts == (f"L{tape.line - 1}:e0",)


def test_a_filter_that_lets_the_stale_past_withholds_nothing(tmp_path: Path) -> None:
    found = read_in_every_way(decide(known(tmp_path), [OLD, NEW], [NEW, OLD, PORT]))["filtered"]
    assert [counts(found[name]) for name in WITHHELD] == [(0, 1), (0, 1)]


def test_a_careful_reader_heeds_every_warning_and_the_others_the_mark_alone(tmp_path: Path) -> None:
    plain = [saying(OLD, "stale"), saying(NEW, "superseded"), saying(PORT, "unverified")]
    found = read_in_every_way(decide(known(tmp_path), plain, plain))
    told = {read: [counts(each[name]) for name in WITHHELD] for read, each in found.items()}
    assert told.pop("careful") == [(1, 1), (1, 2)]
    assert set(told) == {"trusting", "newest", "verifying", "filtered"}
    assert all(each == [(0, 1), (1, 2)] for each in told.values())


def test_a_filtered_question_that_failed_counts_as_the_worst(tmp_path: Path) -> None:
    fault = Fault(kind="raised", op="recall", message="no such field")
    tape = decide(known(tmp_path), [OLD, NEW], fault=fault)
    assert {read_in_every_way(tape)["filtered"][name].status for name in WITHHELD} == {"failed"}
    tape.recall("decision", "order/port", [OLD, PORT], "second")
    tape.recall("filtered", "order/port", [PORT], "second", where=SURE)
    found = read_in_every_way(tape)["filtered"]
    assert [unanswered(found[name]) for name in WITHHELD] == [(1, 2, 1), (1, 2, 1)]


def test_a_question_that_was_not_asked_with_a_filter_is_no_case_of_it(tmp_path: Path) -> None:
    tape = known(tmp_path).recall("decision", "order/tool", [OLD, NEW], "second")
    found = read_in_every_way(tape)
    assert {found["filtered"][name].status for name in WITHHELD} == {"not-applicable"}
    assert counts(found["careful"]["stale_withheld"]) == (0, 1)


def test_without_verdicts_only_a_filter_withholds(tmp_path: Path) -> None:
    found = read_in_every_way(decide(known(tmp_path, unsupported=["verdict"]), [OLD, NEW], [NEW]))
    for name in WITHHELD:
        assert {found[read][name].status for read in ("trusting", "newest", "verifying", "careful")} == {"unsupported"}
    assert [counts(found["filtered"][name]) for name in WITHHELD] == [(1, 1), (0, 1)]


def test_what_a_model_heeds_is_not_known(tmp_path: Path) -> None:
    found = measures(known(tmp_path, reader="chat/m").recall("decision", "order/tool", [OLD], "second"))
    assert {found[name].status for name in WITHHELD} == {"not-applicable"}
