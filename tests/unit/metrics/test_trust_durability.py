"""Measures of what a kill leaves, on transcripts made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Item, Scope, Source, to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Ended, Handled
from harness.metrics.trust.durability import METRICS
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure
from tests.support.drill_player import measured
from tests.support.measures import counts, unanswered
from tests.support.transcripts import transcript

TWINS = {"new": "old", "turn": "two"}
SOURCES = {name: Source(path=f"{name}.md") for name in ("one", "two", "new", "turn")}
GONE = Fault(kind="crashed", op="recall", message="gone")
CRASH = Fault(kind="crashed", op="open", message="database disk image is malformed")


def text(name: str) -> str:
    return f"The tide table import was fixed for {name} cw{name}"


PLAN = Plan(
    pieces=tuple(
        Piece(
            name=name,
            role="kept",
            item=Item(text(name), Scope("tidewater"), "2026-02-02T09:00:00+00:00", "project", SOURCES.get(name)),
            canary=f"cw{name}",
            twin=TWINS.get(name),
        )
        for name in ("one", "two", "three", "old", "new", "air", "airy", "turn")
    )
)


class Tape:
    """Writes down a drill; the first event is line 2."""

    def __init__(self) -> None:
        self.events: list[Event] = [Handled(step="s", what="opened")]

    def add(self, event: Event) -> Tape:
        self.events.append(event)
        return self

    def _call(self, op: Any, about: Sequence[str], answer: Any, fault: Fault | None = None) -> Tape:
        return self.add(Called(step="s", op=op, about=tuple(about), answer=answer, fault=fault))

    def write(self, *names: str, acknowledged: bool = True) -> Tape:
        return self._call("remember", names, [{"ids": [f"m-{name}"] if acknowledged else []} for name in names])

    def update(self, new: str) -> Tape:
        return self._call("update", [new], {"ids": ["m"]})

    def forget(self, name: str, said: bool = True) -> Tape:
        return self._call("forget", [name], [said])

    def listed(self, *names: str, also: Sequence[str] = ()) -> Tape:
        texts = [*map(text, names), *also]
        return self._call("entries", (), [{"memory_id": f"m{at}", "text": each} for at, each in enumerate(texts)])

    def cited(self, **sources: str) -> Tape:
        """A listing with these sources."""
        hits = [
            {"memory_id": name, "text": text(name), **({"source": to_wire(Source(path=path))} if path else {})}
            for name, path in sources.items()
        ]
        return self._call("entries", (), hits)

    def asked(self, name: str, *found: str) -> Tape:
        return self._call("recall", [name], [{"memory_id": f"m-{each}", "text": text(each)} for each in found])

    def killed(self, *air: str, opened: bool = True) -> Tape:
        """And opened again, or not."""
        self.add(Handled(step="s", what="killed", about=air))
        return self.add(Handled(step="s", what="opened", fault=None if opened else CRASH))

    def measures(self, folder: Path, lacks: Sequence[str] = (), ended: Ended | None = None) -> dict[str, Measure]:
        folder.mkdir(exist_ok=True)
        reasons = {word: f"no {word}" for word in lacks}
        end = ended or Ended(status="complete")
        return measured(METRICS, transcript(folder, PLAN, self.events, drill="durability", lacks=reasons, ended=end))


# --- acknowledged writes ----------------------------------------------------------------------------------------------


def test_a_write_is_lost_if_the_last_look_behind_the_last_kill_does_not_show_it(tmp_path: Path) -> None:
    tape = Tape().write("one", "two").listed("one", "two").killed().listed("one").write("three")
    tape.listed("one", "three").killed().listed("one", "three")
    measure = tape.measures(tmp_path)["lost_by_kill"]
    assert counts(measure) == (1, 3)
    assert measure.receipts == ("L12 two stored at L3",), "the listing without it, and the acknowledged write"


def test_a_write_that_a_kill_came_right_behind_counts_where_looks_see_others(tmp_path: Path) -> None:
    blind = Tape().write("one").killed().listed()
    assert blind.measures(tmp_path / "blind")["lost_by_kill"].status == "not-applicable"
    seeing = Tape().write("one").listed("one").write("two").killed().listed("one")
    assert counts(seeing.measures(tmp_path / "seeing")["lost_by_kill"]) == (1, 2)


def test_what_was_never_readable_or_never_acknowledged_or_in_the_air_is_not_lost(tmp_path: Path) -> None:
    tape = Tape().write("one").write("two").write("three", acknowledged=False).listed("one")
    assert counts(tape.killed("air").listed("one").measures(tmp_path)["lost_by_kill"]) == (0, 1)


def test_a_store_that_stays_shut_has_lost_everything(tmp_path: Path) -> None:
    tape = Tape().write("one", "two").listed("one", "two").killed(opened=False)
    measures = tape.add(Handled(step="again", what="opened", fault=CRASH)).measures(tmp_path)
    assert counts(measures["lost_by_kill"]) == (2, 2)
    assert counts(measures["usable_after_kill"]) == (0, 1)
    assert measures["unfindable_after_kill"].status == "failed"


def test_a_listing_that_fails_behind_the_kill_shows_nothing(tmp_path: Path) -> None:
    tape = Tape().write("one").listed("one").killed()
    tape.add(Called(step="s", op="entries", fault=Fault(kind="crashed", op="entries", message="broken")))
    assert tape.measures(tmp_path)["lost_by_kill"].status == "failed"


def test_a_listing_that_leaves_out_what_its_own_text_brings_has_not_lost_it(tmp_path: Path) -> None:
    tape = Tape().write("one", "two").listed("one", "two").killed().listed("two").asked("one", "one")
    assert counts(tape.measures(tmp_path)["lost_by_kill"]) == (0, 2)


def test_what_was_to_be_forgotten_or_updated_is_not_lost(tmp_path: Path) -> None:
    tape = Tape().write("one", "two", "old").listed("one", "two", "old").forget("two", said=False).update("new")
    assert counts(tape.killed().listed("one").measures(tmp_path)["lost_by_kill"]) == (0, 1)


def test_where_nothing_can_be_listed_the_own_text_says_what_is_there(tmp_path: Path) -> None:
    tape = Tape().write("one", "two").asked("one", "one").asked("two", "one", "two").killed()
    measures = tape.asked("one", "one").asked("two", "one").measures(tmp_path, lacks=["entries"])
    assert counts(measures["lost_by_kill"]) == (1, 2)
    assert measures["torn_by_kill"].status == measures["unfindable_after_kill"].status == "unsupported"


def test_nothing_written_is_nothing_kept(tmp_path: Path) -> None:
    measures = Tape().listed().killed().listed().measures(tmp_path)
    assert measures.pop("usable_after_kill").status == "measured"
    assert {each.status for each in measures.values()} == {"not-applicable"}


def test_only_what_a_kill_came_behind_counts(tmp_path: Path) -> None:
    tape = Tape().write("one").listed("one").killed().listed("one").write("two").listed("one", "two")
    assert counts(tape.measures(tmp_path)["lost_by_kill"]) == (0, 1)


def test_every_look_before_the_kill_has_to_show_a_write_that_counts(tmp_path: Path) -> None:
    """A store that shows a memory now and then would lose it by any kill."""
    tape = Tape().write("one", "two").listed("one", "two").listed("one").killed().listed("one")
    assert counts(tape.measures(tmp_path / "one of two")["lost_by_kill"]) == (0, 1)
    flickering = Tape().write("one").listed("one").listed().write("two").killed().listed()
    assert flickering.measures(tmp_path / "none of one")["lost_by_kill"].status == "not-applicable"


def test_looks_behind_the_kill_that_fail_are_counted_with_those_that_they_leave_open(tmp_path: Path) -> None:
    """A failed question of another memory, or one before the kill, leaves nothing open."""

    def ends(folder: str, tape: Tape, *failed: str) -> Measure:
        for name in failed:
            tape.add(Called(step="s", op="recall", about=(name,), fault=GONE))
        return tape.measures(tmp_path / folder, lacks=["entries"])["lost_by_kill"]

    def begun() -> Tape:
        tape = Tape().write("one", "two").asked("one", "one").asked("two", "two")
        return tape.add(Called(step="s", op="recall", about=("two",), fault=GONE)).killed()

    assert unanswered(ends("both", begun().asked("one", "one"), "two")) == (1, 2, 1)
    assert unanswered(ends("before", begun().asked("one", "one"))) == (1, 2, None)
    assert unanswered(ends("another", begun(), "one")) == (2, 2, 1)
    assert ends("all", begun(), "one", "two").status == "failed"


def test_a_source_is_lost_if_the_last_look_shows_its_memory_without_it(tmp_path: Path) -> None:
    """What is gone altogether is counted as lost; what had no source is not asked."""
    tape = Tape().write("one", "two", "three").cited(one="one.md", two="two.md", three="").killed()
    lost = tape.cited(one="", three="").measures(tmp_path / "lost")["sources_lost_by_kill"]
    assert counts(lost) == (1, 1) and lost.receipts == ("L7 one stored at L3",)
    kept = tape.cited(one="one.md", two="one.md").measures(tmp_path / "other")["sources_lost_by_kill"]
    assert counts(kept) == (1, 2), "that of another is none"
    before = Tape().write("one").cited(one="").killed().cited(one="")
    assert before.measures(tmp_path / "before")["sources_lost_by_kill"].status == "not-applicable"


# --- the store itself -------------------------------------------------------------------------------------------------


def test_a_store_is_usable_if_it_opens_at_the_first_try_and_takes_a_write(tmp_path: Path) -> None:
    tape = Tape().write("one").killed().write("two").killed(opened=False)
    tape.add(Handled(step="again", what="opened")).write("three").killed().write("old", acknowledged=False)
    measure = tape.killed().measures(tmp_path)["usable_after_kill"]
    assert counts(measure) == (1, 4)
    assert measure.receipts == ("L8", "L13", "L15"), "the fault, the write that was not taken, the last opening"


def test_a_store_is_not_usable_if_part_of_the_first_write_is_not_taken_or_it_is_not_opened(tmp_path: Path) -> None:
    tape = Tape().write("one").listed("one").killed().write("old").killed()
    tape.add(Called(step="s", op="remember", about=("two", "three"), answer=[{"ids": ["m-two"]}, {"ids": []}]))
    tape.add(Handled(step="s", what="killed"))
    measure = tape.measures(tmp_path)["usable_after_kill"]
    assert counts(measure) == (1, 3)
    assert measure.receipts == ("L10", "L11"), "the write of which half was taken, and the kill without an opening"


def test_without_a_kill_nothing_is_said(tmp_path: Path) -> None:
    ended = Ended(status="failed", fault=Fault(kind="crashed", op="remember", message="gone"))
    measure = Tape().measures(tmp_path, ended=ended)["usable_after_kill"]
    assert measure.status == "failed" and measure.reason == "remember: gone"


# --- writes in flight ------------------------------------------------------------------------------------------------


def test_half_a_text_or_a_text_twice_behind_a_kill_is_torn(tmp_path: Path) -> None:
    tape = Tape().write("one").listed("one").killed("air", "airy")
    tape.listed("one", "air", also=[text("airy")[:-6]]).killed("three").listed("one", "air", also=[text("airy")[:-6]])
    tape.killed("three").listed("one", "air", "three", "three", also=[text("airy")[:-6]]).killed("two")
    measure = tape.listed("one", "two", "air", "three", "three", also=[text("airy")[:-6]]).measures(tmp_path)
    assert counts(measure["torn_by_kill"]) == (2, 3), "of the second, nothing came back; the fourth came back whole"
    assert measure["torn_by_kill"].receipts == ("L5", "L7", "L11", "L13")


def test_writes_in_the_air_that_do_not_come_back_say_nothing(tmp_path: Path) -> None:
    tape = Tape().write("one").listed("one").killed("air").listed("one")
    assert tape.measures(tmp_path)["torn_by_kill"].status == "not-applicable"


def test_kills_with_nothing_in_flight_are_passed_over(tmp_path: Path) -> None:
    tape = Tape().write("one").listed("one").killed().listed("one").killed("air").listed("one", "air")
    assert counts(tape.measures(tmp_path)["torn_by_kill"]) == (0, 1)


def test_the_first_listing_that_shows_anything_has_to_be_clean_and_before_the_first_kill(tmp_path: Path) -> None:
    clean = Tape().listed().write("one").listed("one").killed("air").listed("one", "air")
    assert counts(clean.measures(tmp_path / "clean")["torn_by_kill"]) == (0, 1)
    odd = Tape().listed().write("one").listed(also=["half a text"]).killed("air").listed("one", "air")
    assert odd.measures(tmp_path / "odd")["torn_by_kill"].status == "not-applicable"
    late = Tape().write("one").killed("air").listed("one").killed("air").listed("one", "air")
    assert late.measures(tmp_path / "late")["torn_by_kill"].status == "not-applicable"


@pytest.mark.parametrize(
    ("left", "torn"),
    [
        ({"two": "two.md"}, None),
        ({"turn": "turn.md"}, (0, 1)),
        ({}, (1, 1)),
        ({"two": "two.md", "turn": "turn.md"}, (1, 1)),
        ({"turn": ""}, (1, 1)),
        ({"turn": "two.md"}, (1, 1)),
        ({"two": "turn.md"}, (1, 1)),
    ],
)
def test_an_update_in_flight_leaves_one_whole_memory(
    tmp_path: Path, left: dict[str, str], torn: tuple[int, int] | None
) -> None:
    tape = Tape().write("two").cited(two="two.md").update("new").cited(two="two.md", new="new.md")
    tape = tape.killed("turn").cited(new="new.md", **left)
    found = tape.measures(tmp_path / "found")
    if torn is None:
        assert found["torn_by_kill"].status == "not-applicable"
    else:
        assert counts(found["torn_by_kill"]) == torn
    assert found["lost_by_kill"].status == "not-applicable", "what was being updated is not lost"


def test_a_store_whose_updates_never_carry_a_source_tears_none(tmp_path: Path) -> None:
    tape = Tape().write("two").cited(two="two.md").update("new").cited(two="two.md", new="")
    measures = tape.killed("turn").cited(new="", turn="two.md").measures(tmp_path)
    assert counts(measures["torn_by_kill"]) == (0, 1)
    assert measures["sources_lost_by_kill"].status == "not-applicable"


def test_the_source_of_an_update_is_lost_by_a_kill(tmp_path: Path) -> None:
    tape = Tape().write("old").listed("old").update("new").cited(new="new.md").killed().cited(new="")
    assert counts(tape.measures(tmp_path)["sources_lost_by_kill"]) == (1, 1)


def test_a_missing_listing_behind_a_kill_counts_as_torn(tmp_path: Path) -> None:
    tape = Tape().write("one").listed("one").killed("air", opened=False)
    assert counts(tape.measures(tmp_path)["torn_by_kill"]) == (1, 1)


def test_a_backend_that_keeps_other_texts_cannot_be_judged_by_them(tmp_path: Path) -> None:
    tape = Tape().write("one").listed(also=["the tide table import was fixed"]).killed("air")
    measure = tape.listed(also=["the tide table import was fixed", "air"]).measures(tmp_path)["torn_by_kill"]
    assert measure.status == "not-applicable"


# --- forgets and updates ----------------------------------------------------------------------------------------------


def test_a_forget_is_undone_if_any_look_behind_a_kill_brings_it(tmp_path: Path) -> None:
    tape = Tape().write("one", "two", "three").listed("one", "two", "three").forget("one").listed("two", "three")
    tape.forget("two").killed().listed("three").asked("two", "three").killed().listed("three").asked("three", "two")
    measure = tape.measures(tmp_path)["forget_undone_by_kill"]
    assert counts(measure) == (1, 2)
    assert measure.receipts == ("L7", "L15 two stored at L3")


def test_a_forget_counts_if_it_was_acknowledged_of_something_seen_and_took_effect(tmp_path: Path) -> None:
    tape = Tape().write("one", "two", "three", "old").listed("one", "two", "three")
    tape.forget("one", said=False).forget("two").forget("three").forget("old").listed("two")
    measures = tape.killed().listed("one", "two", "old").measures(tmp_path)
    assert counts(measures["forget_undone_by_kill"]) == (0, 1), "refused; without effect; counts; never seen"


def test_a_forget_counts_if_any_look_showed_its_memory(tmp_path: Path) -> None:
    tape = Tape().listed().write("one").listed("one").forget("one").listed().killed().listed("one")
    assert counts(tape.measures(tmp_path)["forget_undone_by_kill"]) == (1, 1)


def test_forgets_and_updates_whose_looks_fail_are_counted_as_open_and_those_that_are_seen_back_are_not(
    tmp_path: Path,
) -> None:
    tape = Tape().write("one", "two", "old").listed("one", "two", "old").forget("one").forget("two").update("new")
    tape.listed("new").killed().listed("one", "old").asked("two")
    measures = tape.add(Called(step="s", op="entries", fault=GONE)).measures(tmp_path)
    assert unanswered(measures["forget_undone_by_kill"]) == (2, 2, 1), "one came back, and of the other a look failed"
    assert unanswered(measures["update_undone_by_kill"]) == (1, 1, None), "the last listing that was answered tells"


def test_forgets_that_were_looked_at_no_more_are_undone(tmp_path: Path) -> None:
    tape = Tape().write("one").listed("one").forget("one").listed().killed(opened=False)
    assert counts(tape.measures(tmp_path)["forget_undone_by_kill"]) == (1, 1)


def test_an_update_is_undone_if_the_new_text_is_gone_or_the_old_is_back(tmp_path: Path) -> None:
    for name, left, undone in (
        ("kept", ["new"], 0),
        ("gone", [], 1),
        ("back", ["old"], 1),
        ("both", ["old", "new"], 1),
    ):
        tape = Tape().write("old").listed("old").update("new").listed("new").killed().listed(*left)
        assert counts(tape.measures(tmp_path / name)["update_undone_by_kill"]) == (undone, 1), name


def test_an_update_without_effect_is_no_matter_of_kills(tmp_path: Path) -> None:
    tape = Tape().write("old").listed("old").update("new").listed("old").killed().listed("old")
    assert tape.measures(tmp_path)["update_undone_by_kill"].status == "not-applicable"


def test_without_the_operation_nothing_is_undone(tmp_path: Path) -> None:
    measures = Tape().write("one").killed().listed("one").measures(tmp_path, lacks=["forget", "update"])
    assert measures["forget_undone_by_kill"].status == measures["update_undone_by_kill"].status == "unsupported"
    assert "no forget" in measures["forget_undone_by_kill"].reason


# --- the index --------------------------------------------------------------------------------------------------------


def test_a_survivor_is_unfindable_if_its_own_text_does_not_bring_it(tmp_path: Path) -> None:
    tape = Tape().write("one", "two", "three").asked("one", "one").asked("two", "two").asked("three", "one")
    tape.killed().listed("one", "two", "three").asked("one", "one").asked("two", "one").asked("three", "one")
    measure = tape.measures(tmp_path)["unfindable_after_kill"]
    assert counts(measure) == (1, 2), "the third was not found before the kill either"
    assert measure.receipts == ("L11 two stored at L3",)


def test_a_survivor_that_nobody_asked_for_is_unfindable_and_one_that_is_not_listed_is_none(tmp_path: Path) -> None:
    tape = Tape().write("one", "two").asked("one", "one").asked("two", "two").killed().listed("one")
    assert counts(tape.measures(tmp_path)["unfindable_after_kill"]) == (1, 1)
