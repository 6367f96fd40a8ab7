"""Measures of sharing, on transcripts made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Item, Scope
from harness.log.events import Event
from harness.log.transcript import Called, Ended, Handled
from harness.metrics.trust.sharing import METRICS
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure, NotMeasured
from tests.support.drill_player import measured
from tests.support.measures import counts, unanswered
from tests.support.transcripts import transcript

ROLES = {
    "one": "shared", "two": "dropped", "mine": "own", "ay": "a", "axe": "a-dropped", "bee": "b", "end": "ended",
    "old": "edited", "new": "edit",
}  # fmt: skip


def text(name: str) -> str:
    return f"The yard map was redrawn for {name} cw{name}"


PLAN = Plan(
    pieces=tuple(
        Piece(
            name=name,
            role=role,
            item=Item(text(name), Scope("tidewater"), "2026-02-02T09:00:00+00:00", "project"),
            canary=f"cw{name}",
            twin="old" if role == "edit" else None,
        )
        for name, role in ROLES.items()
    )
)
GONE = Ended(status="failed", fault=Fault(kind="crashed", op="recall", message="gone"))


class Tape:
    """Writes down a drill, step by step; the first event is line 2."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.now = ""

    def at(self, step: str) -> Tape:
        self.now = step
        return self

    def _call(self, op: Any, about: Sequence[str], answer: Any, who: str) -> Tape:
        self.events.append(Called(step=self.now, who=who, op=op, about=tuple(about), answer=answer))
        return self

    def write(self, *names: str, who: str = "a", ids: int = 1) -> Tape:
        return self._call("remember", names, [{"ids": [f"{name}{at}" for at in range(ids)]} for name in names], who)

    def forget(self, name: str, who: str = "a", said: bool = True) -> Tape:
        return self._call("forget", [name], [said], who)

    def update(self, name: str, who: str = "a") -> Tape:
        return self._call("update", [name], {"ids": ["old0"]}, who)

    def end(self, name: str, who: str = "a", said: bool = True) -> Tape:
        return self._call("deprecate", [name], [said], who)

    def tells(self, *names: str, about: Sequence[str], who: str = "a") -> Tape:
        return self._call("history", about, [text(name) for name in names], who)

    def marks(self, name: str, who: str = "a") -> Tape:
        """It comes as one that does not hold any more."""
        return self._call("recall", [name], [{"memory_id": name, "text": text(name), "superseded": True}], who)

    def finds(self, *names: str, who: str = "a") -> Tape:
        """Each is asked for by its own text, and comes."""
        for name in names:
            self._call("recall", [name], [{"memory_id": name, "text": text(name)}], who)
        return self

    def misses(self, *names: str, who: str = "a") -> Tape:
        for name in names:
            self._call("recall", [name], [{"memory_id": "x", "text": "something else"}], who)
        return self

    def reads(self, name: str, there: bool) -> Tape:
        return self._call("get", [name], {"memory_id": name, "text": text(name)} if there else None, "a")

    def fails(self, *names: str, who: str = "a") -> Tape:
        fault = Fault(kind="crashed", op="recall", message="Error finding id")
        self.events += [Called(step=self.now, who=who, op="recall", about=(name,), fault=fault) for name in names]
        return self

    def listed(self, *names: str) -> Tape:
        rows = [{"memory_id": f"m{at}", "text": text(name)} for at, name in enumerate(names)]
        return self._call("entries", (), rows, "a")

    def closed(self) -> Tape:
        self.events.append(Handled(step=self.now, what="closed"))
        return self

    def measures(self, folder: Path, lacks: Sequence[str] = (), ended: Ended | None = None) -> dict[str, Measure]:
        folder.mkdir(exist_ok=True)
        reasons = {word: f"no {word}" for word in lacks}
        end = ended or Ended(status="complete")
        return measured(METRICS, transcript(folder, PLAN, self.events, drill="sharing", lacks=reasons, ended=end))


# --- in turn ----------------------------------------------------------------------------------------------------------


def test_what_a_writer_found_is_handed_over_if_the_next_agent_finds_it(tmp_path: Path) -> None:
    tape = Tape().at("first writes").write("one", "two", "mine", "ay").finds("one", "two", "mine").misses("ay")
    tape.at("second reads").finds("one").misses("two", "ay").at("first reads again").closed()
    measure = tape.measures(tmp_path)["handed_over"]
    assert counts(measure) == (1, 2), "her own are for her alone; what she did not find herself shows nothing"
    assert measure.receipts == ("L8 two stored at L2",), "the look of the second agent, and the write"


def test_a_look_of_the_second_agent_that_is_missing_hands_nothing_over(tmp_path: Path) -> None:
    tape = Tape().at("first writes").write("one").finds("one").at("first reads again").closed()
    assert counts(tape.measures(tmp_path)["handed_over"]) == (0, 1)


def test_what_a_third_deleted_is_gone_for_its_writer(tmp_path: Path) -> None:
    tape = Tape().at("first writes").write("one", "two", "mine", "ay").finds("one", "two", "mine").misses("ay")
    tape.at("third deletes").forget("one").forget("two").forget("mine", said=False).forget("ay")
    tape.at("first reads again").misses("one", "ay").finds("two", "mine").closed()
    measures = tape.measures(tmp_path)
    assert counts(measures["deleted_for_writer"]) == (1, 2)
    assert measures["deleted_for_writer"].receipts == ("L8", "L13 two stored at L2")
    assert measures["kept_for_writer"].status == "not-applicable", "a deletion was asked of each that was found"


def test_a_deletion_that_nobody_looked_for_again_is_not_done(tmp_path: Path) -> None:
    tape = Tape().at("first writes").write("two").finds("two").at("third deletes").forget("two")
    assert counts(tape.at("first reads again").closed().measures(tmp_path)["deleted_for_writer"]) == (0, 1)


@pytest.mark.parametrize("said", [None, [], [True, False], [False, False]])
def test_a_deletion_that_failed_or_spared_an_id_is_not_acknowledged(tmp_path: Path, said: list[bool] | None) -> None:
    tape = Tape().at("first writes").write("two", ids=2).finds("two").at("third deletes")
    fault = Fault(kind="crashed", op="forget", message="no more") if said is None else None
    tape.events.append(Called(step="third deletes", op="forget", about=("two",), answer=said, fault=fault))
    found = tape.at("first reads again").misses("two").closed().measures(tmp_path)
    assert found["deleted_for_writer"].status == "not-applicable"


def test_what_nobody_deleted_is_kept_for_its_writer(tmp_path: Path) -> None:
    tape = Tape().at("first writes").write("one", "two", "mine").finds("one", "two", "mine")
    tape.at("third deletes").forget("two").at("first reads again").finds("one").misses("two", "mine").closed()
    assert counts(tape.measures(tmp_path)["kept_for_writer"]) == (1, 2)


def test_without_an_end_in_turn_nothing_is_said_and_a_later_failure_takes_nothing_back(tmp_path: Path) -> None:
    tape = Tape().at("first writes").write("one").finds("one")
    early = tape.closed().measures(tmp_path / "early", ended=GONE)["handed_over"]
    assert early.status == "failed" and early.reason == "recall: gone"
    tape.at("second reads").finds("one").at("first reads again").finds("one").closed()
    assert counts(tape.measures(tmp_path / "late", ended=GONE)["handed_over"]) == (1, 1)


def test_without_deletion_it_is_unsupported(tmp_path: Path) -> None:
    measure = Tape().measures(tmp_path, lacks=["forget"])["deleted_for_writer"]
    assert measure.status == "unsupported" and "no forget" in measure.reason


def test_of_agents_in_turn_looks_that_fail_are_counted_with_what_they_leave_open(tmp_path: Path) -> None:
    tape = Tape().at("first writes").write(*(names := ("one", "two", "ay", "axe"))).finds(*names)
    tape.at("second reads").fails("one").misses("two").finds("ay", "axe")
    tape.at("third deletes").forget("one").forget("two")
    measures = (
        tape.at("first reads again").fails("one").finds("two").fails("ay").misses("axe").closed().measures(tmp_path)
    )
    assert unanswered(measures["handed_over"]) == (2, 4, 1)
    assert unanswered(measures["deleted_for_writer"]) == (0, 2, 1)
    assert unanswered(measures["kept_for_writer"]) == (0, 2, 1)


def test_nothing_is_kept_for_a_writer_that_did_not_read_again(tmp_path: Path) -> None:
    tape = Tape().at("first writes").write("one").finds("one").at("first reads again").misses("one")
    measures = tape.measures(tmp_path / "open", ended=GONE)
    assert {measures[name].status for name in ("handed_over", "deleted_for_writer", "kept_for_writer")} == {"failed"}
    silent = tape.measures(tmp_path / "silent")["kept_for_writer"]
    assert isinstance(silent, NotMeasured) and silent.reason == "the first agent did not read again"


# --- at once ----------------------------------------------------------------------------------------------------------


def both() -> Tape:
    """a writes two, b writes one; each finds its own."""
    tape = Tape().at("both write").write("ay", "axe").write("bee", who="b")
    return tape.finds("ay", "axe").finds("bee", who="b")


def test_what_is_listed_by_nobody_at_the_end_is_lost(tmp_path: Path) -> None:
    tape = both().at("both delete").forget("axe", who="b").at("reopened").listed("ay").finds("ay").misses("bee")
    measure = tape.measures(tmp_path)["lost_between_handles"]
    assert counts(measure) == (1, 2), "what was to be deleted is not lost"
    assert measure.receipts == ("L8 bee stored at L3", "L10 bee stored at L3"), "the listing and the look"


def test_without_a_listing_the_own_text_says_what_is_lost(tmp_path: Path) -> None:
    measures = both().at("reopened").finds("ay", "axe").misses("bee").measures(tmp_path, lacks=["entries"])
    assert counts(measures["lost_between_handles"]) == (1, 3)
    assert measures["doubled_between_handles"].status == measures["unfindable_between_handles"].status == "unsupported"


def test_what_nobody_looked_for_at_the_end_is_lost(tmp_path: Path) -> None:
    assert counts(both().measures(tmp_path)["lost_between_handles"]) == (3, 3)


def test_what_one_of_several_listings_shows_is_not_lost(tmp_path: Path) -> None:
    """Each scope has one of its own."""
    tape = both().at("reopened").listed("ay", "axe", "axe").listed("bee")
    measures = tape.measures(tmp_path)
    assert counts(measures["lost_between_handles"]) == (0, 3)
    assert counts(measures["doubled_between_handles"]) == (1, 3)
    assert counts(measures["unfindable_between_handles"]) == (3, 3)


def test_what_is_listed_twice_is_doubled_unless_it_was_split(tmp_path: Path) -> None:
    tape = Tape().at("both write").write("ay").write("axe", ids=2).write("bee", who="b")
    tape.finds("ay", "axe").finds("bee", who="b").at("reopened").listed("ay", "ay", "axe", "axe", "bee")
    assert counts(tape.measures(tmp_path)["doubled_between_handles"]) == (1, 2)


def test_a_write_that_its_own_process_does_not_find_counts_as_any_other(tmp_path: Path) -> None:
    tape = Tape().at("both write").write("ay", "axe").finds("ay").misses("axe")
    measures = tape.at("reopened").listed("ay").finds("ay").measures(tmp_path)
    assert counts(measures["own_writes_unseen"]) == (1, 2)
    assert measures["own_writes_unseen"].receipts == ("L4 axe stored at L2",)
    assert counts(measures["lost_between_handles"]) == (1, 2)
    assert counts(measures["seen_late"]) == (1, 2)


def test_calls_that_fail_are_counted_and_stand_in_the_receipts_of_what_they_do_not_show(tmp_path: Path) -> None:
    tape = both().fails("bee").at("settled").fails("bee").at("reopened").listed("ay").fails("bee")
    measures = tape.measures(tmp_path)
    assert counts(measures["failing_between_handles"]) == (2, 7), "after reopening there is one process"
    assert measures["failing_between_handles"].receipts == ("L7", "L8")
    assert "L8 bee stored at L3" in measures["unseen_while_open"].receipts


def test_of_two_at_once_looks_that_fail_are_counted_with_what_they_leave_open(tmp_path: Path) -> None:
    """Of each pair, one look fails and one does not show it."""
    tape = Tape().at("both write").write("one", "two", "ay", "axe").finds("one", "two").fails("ay").misses("axe")
    tape.fails("one", who="b").misses("two", "ay", "axe", who="b")
    tape.at("settled").fails("one", who="b").misses("two", "ay", "axe", who="b")
    tape.at("reopened").listed("two", "one").fails("one", "ay").misses("two", "axe")
    measures = tape.measures(tmp_path / "looks")
    assert unanswered(measures["own_writes_unseen"]) == (2, 4, 1)
    assert unanswered(measures["seen_late"]) == (2, 4, 2), "one was not answered there, one not here"
    assert unanswered(measures["unseen_while_open"]) == (4, 4, 1)
    assert unanswered(measures["lost_between_handles"]) == (2, 4, 1)
    assert unanswered(measures["unfindable_between_handles"]) == (2, 2, 1)


def test_stale_hits_of_looks_that_fail_are_counted_as_open(tmp_path: Path) -> None:
    tape = both().at("to be deleted").finds("ay", "axe").at("both delete").forget("ay", who="b").forget("axe", who="b")
    measures = tape.misses("ay", "axe", who="b").fails("ay").finds("axe").measures(tmp_path)
    assert unanswered(measures["stale_after_other_deletes"]) == (2, 2, 1)


def test_where_own_texts_bring_nothing_ever_there_is_no_control(tmp_path: Path) -> None:
    tape = Tape().at("both write").write("ay", "axe").misses("ay", "axe").at("reopened").listed("ay")
    measures = tape.measures(tmp_path / "none")
    names = {
        "own_writes_unseen",
        "lost_between_handles",
        "seen_late",
        "unseen_while_open",
        "unfindable_between_handles",
    }
    assert {measures[name].status for name in names} == {"not-applicable"}
    first = Tape().at("first writes").write("one").finds("one")
    first.events += tape.events
    assert counts(first.measures(tmp_path / "first")["own_writes_unseen"]) == (2, 2), "the control of the first agent"


def test_late_and_unseen_writes(tmp_path: Path) -> None:
    tape = both().finds("ay", who="b").misses("axe", who="b").misses("bee")
    tape.at("settled").finds("axe", who="b").misses("bee").at("reopened").listed("ay", "axe", "bee").finds("bee")
    measures = tape.measures(tmp_path)
    assert counts(measures["seen_late"]) == (2, 3), "one after settling, one after reopening"
    assert counts(measures["unseen_while_open"]) == (1, 3)


def test_a_write_that_is_never_seen_is_not_late(tmp_path: Path) -> None:
    tape = both().misses("ay", "axe", who="b").misses("bee").at("settled").misses("ay", "axe", who="b").misses("bee")
    measures = tape.at("reopened").listed("ay").finds("ay").measures(tmp_path)
    assert counts(measures["seen_late"]) == (1, 3)
    assert counts(measures["unseen_while_open"]) == (3, 3)


def test_stale_hits_behind_a_deletion_by_the_other(tmp_path: Path) -> None:
    tape = both().at("to be deleted").finds("ay", "axe").finds("bee", who="b")
    tape.at("both delete").forget("ay", who="b").misses("ay", who="b").finds("ay")
    tape.forget("axe", who="b").misses("axe", who="b").misses("axe").forget("bee").misses("bee").finds("bee", who="b")
    measures = tape.at("deleted").misses("ay", "axe").finds("bee", who="b").measures(tmp_path)
    assert counts(measures["stale_after_other_deletes"]) == (2, 3)
    assert counts(measures["stale_after_settling"]) == (1, 3)


def test_what_the_other_reads_by_id_behind_a_deletion_is_stale(tmp_path: Path) -> None:
    tape = both().at("to be deleted").finds("ay", "axe").at("both delete")
    tape.forget("ay", who="b").misses("ay", who="b").misses("ay").reads("ay", there=True)
    tape.forget("axe", who="b").misses("axe", who="b").misses("axe").reads("axe", there=False)
    assert counts(tape.measures(tmp_path)["stale_after_other_deletes"]) == (1, 2)


def test_a_look_for_the_deleted_that_is_missing_is_stale(tmp_path: Path) -> None:
    tape = both().at("to be deleted").finds("ay").at("both delete").forget("ay", who="b").misses("ay", who="b")
    assert counts(tape.measures(tmp_path)["stale_after_settling"]) == (1, 1)


def test_a_deletion_counts_if_the_other_had_it_and_the_deleter_lost_it(tmp_path: Path) -> None:
    tape = both().at("to be deleted").finds("ay").misses("axe").finds("bee", who="b")
    tape.at("both delete").forget("ay", who="b").finds("ay", who="b").finds("ay")
    tape.forget("axe", who="b").misses("axe", who="b").finds("axe").forget("bee", said=False).misses("bee")
    assert tape.measures(tmp_path)["stale_after_other_deletes"].status == "not-applicable"


def test_what_is_listed_and_not_found_is_unfindable(tmp_path: Path) -> None:
    tape = both().at("reopened").listed("ay", "axe").finds("ay").misses("axe", "bee")
    assert counts(tape.measures(tmp_path)["unfindable_between_handles"]) == (1, 2)


@pytest.mark.parametrize("name", [each.definition.name for each in METRICS if each.whole])
def test_for_one_process_only_nothing_is_said_of_two(tmp_path: Path, name: str) -> None:
    measure = both().measures(tmp_path, lacks=["multi_process"])[name]
    assert measure.status == "unsupported" and "no multi_process" in measure.reason


# --- corrections ------------------------------------------------------------------------------------------------------


def correct(tape: Tape) -> Tape:
    """`a` has both and asks for them; `b` updates the one, and marks the other as ended."""
    tape.at("to be corrected").write("old", "end").finds("old", "end")
    return tape.at("corrected").update("new", "b").misses("old", who="b").end("end", "b").misses("end", who="b")


def test_who_finds_the_old_text_after_settling_has_not_seen_the_change(tmp_path: Path) -> None:
    measure = correct(Tape()).finds("old").marks("end").measures(tmp_path)["stale_after_other_changes"]
    assert counts(measure) == (1, 2), "what comes with the mark of its end is seen to have ended"
    assert measure.receipts == ("L5", "L9 old stored at L2", "L6 old stored at L2"), "the update, and the looks of both"


def test_a_change_that_whoever_made_it_does_not_see_is_none(tmp_path: Path) -> None:
    tape = Tape().at("to be corrected").write("old").finds("old").at("corrected").update("new", "b")
    measure = tape.finds("old", who="b").finds("old").measures(tmp_path)["stale_after_other_changes"]
    assert isinstance(measure, NotMeasured) and measure.reason.startswith("no change took effect")


def test_a_look_that_failed_shows_no_change(tmp_path: Path) -> None:
    measure = correct(Tape()).fails("old").misses("end").measures(tmp_path)["stale_after_other_changes"]
    assert unanswered(measure) == (1, 2, 1)


@pytest.mark.parametrize("lacks", [["multi_process"], ["update", "deprecate"]])
def test_without_a_second_process_or_a_change_there_is_nothing_to_see(tmp_path: Path, lacks: list[str]) -> None:
    measure = correct(Tape()).finds("old").measures(tmp_path, lacks)["stale_after_other_changes"]
    assert measure.status == "unsupported"


def test_a_store_without_ends_is_asked_for_updates_alone(tmp_path: Path) -> None:
    tape = Tape().at("to be corrected").write("old").finds("old").at("corrected").update("new", "b")
    tape.misses("old", who="b").misses("old")
    assert counts(tape.measures(tmp_path, ["deprecate"])["stale_after_other_changes"]) == (0, 1)


def test_each_text_of_both_has_to_stand_in_the_history_that_either_is_told(tmp_path: Path) -> None:
    tape = Tape().at("to be corrected").write("old").at("corrected").update("new", "b").at("versions")
    tape.tells("old", "new", about=["old", "new"]).tells("old", about=["old", "new"], who="b")
    measure = tape.measures(tmp_path)["versions_of_two_told"]
    assert counts(measure) == (3, 4) and measure.receipts == ("L5 new stored at L3",)


def test_a_drill_of_before_says_that_it_did_not_ask(tmp_path: Path) -> None:
    old = Plan(pieces=tuple(piece for piece in PLAN.pieces if piece.role == "shared"))
    found = measured(METRICS, transcript(tmp_path, old, [], drill="sharing"))
    for name in ("stale_after_other_changes", "versions_of_two_told"):
        measure = found[name]
        assert isinstance(measure, NotMeasured) and measure.reason == "played before the drill asked for it"
