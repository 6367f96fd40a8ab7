"""Measures of what takes another's place, on transcripts made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Item, Scope, to_wire
from harness.log.events import Event
from harness.log.transcript import Called, Op
from harness.metrics.trust.replacing import METRICS
from harness.model.backend import Fault
from harness.model.drill import Piece, Plan
from harness.model.trial import Measure
from tests.support.drill_player import measured
from tests.support.measures import counts, unanswered
from tests.support.transcripts import transcript

SCOPE = Scope("tidewater")
FAULT = Fault(kind="crashed", op="recall", message="gone")
ROLES = {
    "joint": ("joint", None),
    "ay": ("several", "joint"),
    "bee": ("several", "joint"),
    "sea": ("several", "joint"),
    "endless": ("endless", None),
    "lasting-1": ("lasting", None),
    "lasting-2": ("lasting", None),
    "ended-1": ("ended", None),
    "ended-2": ("ended", None),
    "shortened": ("shortened", None),
    "shorter": ("shorter", "shortened"),
    "exchanged": ("exchanged", None),
    "exchange": ("exchange", "exchanged"),
    "turned": ("turned", None),
    "turn": ("turn", "turned"),
    "doomed": ("doomed", None),
    "heir": ("heir", "doomed"),
    "other doomed": ("doomed", None),
    "other heir": ("heir", "other doomed"),
}
PLAN = Plan(
    pieces=tuple(
        Piece(
            name=name,
            role=role,
            item=Item(f"The ferry desk of {name} moved", SCOPE, "2026-02-02T09:00:00+00:00", "project"),
            canary=f"cw{name}",
            twin=twin,
        )
        for name, (role, twin) in ROLES.items()
    )
)


def hit(name: str, superseded: bool = False) -> object:
    return to_wire(Hit(f"id-{name}", PLAN.by_name[name].item.text, scope=SCOPE, superseded=superseded))


class Tape:
    """Writes down a drill; the first event is line 2."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def _call(self, step: str, op: Op, about: Sequence[str], answer: Any, fault: Fault | None = None) -> Tape:
        asked = {"scope": to_wire(SCOPE)}
        self.events.append(
            Called(step=step, op=op, about=tuple(about), request=asked, answer=None if fault else answer, fault=fault)
        )
        return self

    def write(self, step: str, *names: str, **ids: str) -> Tape:
        return self._call(step, "remember", names, [{"ids": _ids(name, ids)} for name in names])

    def change(self, step: str, op: Op, name: str, **ids: str) -> Tape:
        return self._call(step, op, [name], {"ids": _ids(name, ids)})

    def forget(self, name: str, said: bool = True) -> Tape:
        return self._call("doomed", "forget", [name], [said])

    def listed(self, step: str, *names: str, superseded: str = "", fault: Fault | None = None) -> Tape:
        return self._call(step, "entries", (), [hit(name, name == superseded) for name in names], fault)

    def asked(
        self, step: str, came: Sequence[str] = (), hidden: Sequence[str] = (), failed: Sequence[str] = ()
    ) -> Tape:
        """Each is asked for by its own text."""
        for name in (*came, *hidden, *failed):
            found = [hit(name)] if name in came else [hit("joint")]
            self._call(step, "recall", [name], found, FAULT if name in failed else None)
        return self

    def measure(self, name: str, folder: Path, lacks: Sequence[str] = ()) -> Measure:
        folder.mkdir(exist_ok=True)
        found = transcript(folder, PLAN, self.events, drill="keeping", lacks={word: f"no {word}" for word in lacks})
        return measured(METRICS, found)[name]


def _ids(name: str, ids: dict[str, str]) -> list[str]:
    """Its own, another, or none (empty)."""
    return [each for each in [ids.get(name, f"id-{name}")] if each]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("several_superseded", "supersede"),
        ("expiry_by_wall_clock", "expiry"),
        ("expiry_lost", "expiry"),
        ("ids_reissued", "forget"),
    ],
)
def test_what_is_not_offered_is_unsupported(tmp_path: Path, name: str, word: str) -> None:
    measure = Tape().write("several", "ay").measure(name, tmp_path, [word])
    assert measure.status == "unsupported" and f"no {word}" in measure.reason


# --- one for several --------------------------------------------------------------------------------------------------


def joined(said: str = "id-joint", before: Sequence[str] = ("ay", "bee", "sea")) -> Tape:
    tape = Tape().write("several", "ay", "bee", "sea").listed("several", *before)
    return tape.change("joined", "supersede", "joint", joint=said)


def test_of_several_that_were_superseded_together_none_may_be_shown_as_current(tmp_path: Path) -> None:
    measure = joined().listed("joined", "joint", "sea").measure("several_superseded", tmp_path)
    assert counts(measure) == (2, 3)
    assert measure.receipts == ("L5 sea stored at L2",), "the listing that shows it"


def test_what_is_shown_as_superseded_is_not_current(tmp_path: Path) -> None:
    after = joined().listed("joined", "joint", "sea", superseded="sea")
    assert counts(after.measure("several_superseded", tmp_path / "after")) == (3, 3)
    before = Tape().write("several", "ay", "bee", "sea").listed("several", "ay", "bee", superseded="ay")
    before.change("joined", "supersede", "joint").listed("joined", "joint", "bee")
    assert counts(before.measure("several_superseded", tmp_path / "before")) == (0, 1), "only what was current counts"


def test_where_the_look_fails_or_is_missing_nobody_knows_what_was_superseded(tmp_path: Path) -> None:
    failed = joined().listed("joined", fault=FAULT).measure("several_superseded", tmp_path / "failed")
    assert failed.status == "failed"
    assert failed.receipts == tuple(f"L5 {name} stored at L2" for name in ("ay", "bee", "sea"))
    assert joined().measure("several_superseded", tmp_path / "missing").status == "failed"


def test_only_what_was_there_and_was_superseded_by_acknowledgement_counts(tmp_path: Path) -> None:
    unseen = joined(before=["ay"]).listed("joined", "joint", "ay", "bee")
    assert counts(unseen.measure("several_superseded", tmp_path / "unseen")) == (0, 1)
    refused = joined(said="").listed("joined", "joint")
    assert refused.measure("several_superseded", tmp_path / "refused").status == "not-applicable"


def test_a_text_under_the_id_of_another_write_is_not_the_superseded_one(tmp_path: Path) -> None:
    tape = joined()
    twisted = to_wire(Hit("id-joint", PLAN.by_name["sea"].item.text, scope=SCOPE))
    tape.events.append(Called(step="joined", op="entries", request={"scope": to_wire(SCOPE)}, answer=[twisted]))
    assert counts(tape.measure("several_superseded", tmp_path)) == (3, 3)


# --- ends -------------------------------------------------------------------------------------------------------------

LASTING, ENDED = ("lasting-1", "lasting-2"), ("ended-1", "ended-2")


def ending(came: Sequence[str] = ("endless", *LASTING), hidden: Sequence[str] = ENDED) -> Tape:
    """What is asked for today."""
    return Tape().write("ending", "endless", *LASTING, *ENDED).asked("now", came, hidden)


def test_ends_go_by_the_story_time(tmp_path: Path) -> None:
    tape = ending().asked("earlier", ["endless", *ENDED]).asked("later", ["endless"], LASTING)
    assert counts(tape.measure("expiry_by_wall_clock", tmp_path / "sound")) == (0, 4)
    tape = ending().asked("earlier", ["endless", "ended-1"], ["ended-2"]).asked("later", ["endless", "lasting-1"])
    measure = tape.asked("later", failed=["lasting-2"]).measure("expiry_by_wall_clock", tmp_path / "wrong")
    assert unanswered(measure) == (3, 4, 1), "hidden before its end; brought behind it; not answered"
    assert measure.receipts == ("L10 ended-2 stored at L2", "L12 lasting-1 stored at L2", "L13 lasting-2 stored at L2")


def test_the_last_of_several_equal_questions_tells(tmp_path: Path) -> None:
    tape = ending().asked("later", ["endless", "lasting-1"]).asked("later", (), LASTING)
    assert counts(tape.measure("expiry_by_wall_clock", tmp_path)) == (0, 2)


def test_a_story_time_counts_if_one_without_an_end_comes_then(tmp_path: Path) -> None:
    tape = ending().asked("earlier", ["endless"], ENDED).asked("later", LASTING, ["endless"])
    assert counts(tape.measure("expiry_by_wall_clock", tmp_path / "earlier")) == (2, 2)
    tape = ending().asked("earlier", (), ["endless", *ENDED]).asked("later", ["endless", *LASTING])
    assert counts(tape.measure("expiry_by_wall_clock", tmp_path / "later")) == (2, 2)
    tape = ending().asked("earlier", (), ENDED).asked("later", LASTING)
    assert tape.measure("expiry_by_wall_clock", tmp_path / "neither").status == "not-applicable"


def test_what_lasts_counts_later_if_all_of_it_comes_today(tmp_path: Path) -> None:
    tape = ending(["endless", "lasting-1"], [*ENDED, "lasting-2"])
    tape.asked("earlier", ["endless", *ENDED]).asked("later", ["endless", *LASTING])
    assert counts(tape.measure("expiry_by_wall_clock", tmp_path)) == (0, 2)


@pytest.mark.parametrize(
    ("came", "hidden"),
    [
        (("endless", *LASTING, *ENDED), ()),
        (("endless", *LASTING, "ended-1"), ("ended-2",)),
        (LASTING, ("endless", *ENDED)),
        (("endless", *LASTING), ()),
    ],
)
def test_where_ends_hide_nothing_or_all_today_nothing_tells_the_clock(
    tmp_path: Path, came: Sequence[str], hidden: Sequence[str]
) -> None:
    tape = ending(came, hidden).asked("earlier", ["endless"], ENDED).asked("later", ["endless", *LASTING])
    tape.asked("changed", ["endless"]).asked("reopened later", ["endless", *ENDED])
    for name in ("expiry_by_wall_clock", "expiry_lost"):
        measure = tape.measure(name, tmp_path / name)
        assert measure.status == "not-applicable" and "nothing tells by which clock" in measure.reason


def test_what_was_not_acknowledged_has_no_end_to_keep(tmp_path: Path) -> None:
    tape = Tape().write("ending", "endless", *LASTING, *ENDED, **{"ended-2": "", "lasting-1": ""})
    tape.asked("now", ["endless", *LASTING], ENDED).asked("earlier", ["endless"], ENDED)
    tape.asked("later", ["endless", *LASTING])
    assert counts(tape.measure("expiry_by_wall_clock", tmp_path)) == (2, 2)


def changed() -> Tape:
    tape = ending().write("ending", "shortened", "exchanged")
    return tape.change("changed", "update", "shorter").change("changed", "supersede", "exchange")


def test_what_is_behind_its_end_stays_hidden_by_a_change_and_a_reopening(tmp_path: Path) -> None:
    back = ("shorter", "exchange", *ENDED)
    sound = changed().asked("changed", ["endless"], back[:2]).asked("reopened later", ["endless"], back)
    assert counts(sound.measure("expiry_lost", tmp_path / "sound")) == (0, 6)
    tape = changed().asked("changed", ["endless", "exchange"], ["shorter"])
    tape.asked("reopened later", ["endless", "shorter", "ended-1"], ["exchange"]).asked(
        "reopened later", failed=["ended-2"]
    )
    measure = tape.measure("expiry_lost", tmp_path / "wrong")
    assert unanswered(measure) == (4, 6, 1)
    assert measure.receipts == (
        "L12 exchange stored at L10",
        "L15 shorter stored at L9",
        "L16 ended-1 stored at L2",
        "L18 ended-2 stored at L2",
    )


def test_where_every_question_fails_nobody_knows_what_ended(tmp_path: Path) -> None:
    clock = ending().asked("earlier", ["endless"], failed=ENDED).asked("later", ["endless"], failed=LASTING)
    assert clock.measure("expiry_by_wall_clock", tmp_path / "clock").status == "failed"
    ends = changed().asked("changed", ["endless"], failed=["shorter", "exchange"])
    assert ends.measure("expiry_lost", tmp_path / "ends").status == "failed"


def test_a_step_counts_if_one_without_an_end_comes_in_it(tmp_path: Path) -> None:
    tape = changed().asked("changed", ["shorter", "exchange"], ["endless"])
    tape.asked("reopened later", ["endless", *ENDED], ["shorter", "exchange"])
    assert counts(tape.measure("expiry_lost", tmp_path / "reopened")) == (2, 4)
    tape = changed().asked("changed", ["shorter", "endless"], ["exchange"]).asked("reopened later", ENDED, ["endless"])
    assert counts(tape.measure("expiry_lost", tmp_path / "changed")) == (1, 2)
    tape = changed().asked("changed", ["shorter"], ["endless"]).asked("reopened later", ENDED, ["endless"])
    assert tape.measure("expiry_lost", tmp_path / "neither").status == "not-applicable"


# --- ids --------------------------------------------------------------------------------------------------------------


def test_an_id_of_a_deleted_memory_is_not_given_to_the_next(tmp_path: Path) -> None:
    def inherited(folder: str, **ids: str) -> Measure:
        tape = Tape().write("doomed", "doomed").forget("doomed").write("inherited", "heir")
        tape.write("doomed", "other doomed").forget("other doomed").write("inherited", "other heir", **ids)
        return tape.measure("ids_reissued", tmp_path / folder)

    assert counts(inherited("fresh")) == (0, 2)
    measure = inherited("reissued", **{"other heir": "id-doomed"})
    assert counts(measure) == (1, 2), "whichever of the deleted had it"
    assert measure.receipts == ("L7 other heir stored at L7",)


def test_an_heir_counts_if_the_deletion_before_it_and_its_write_were_acknowledged(tmp_path: Path) -> None:
    tape = Tape().write("doomed", "doomed").forget("doomed", said=False).write("inherited", "heir", heir="id-doomed")
    assert tape.measure("ids_reissued", tmp_path / "kept").status == "not-applicable"
    tape = Tape().write("doomed", "doomed").forget("doomed").write("inherited", "heir", heir="")
    assert tape.measure("ids_reissued", tmp_path / "refused").status == "not-applicable"
    tape = Tape().write("doomed", "doomed", doomed="").forget("doomed").write("inherited", "heir")
    assert tape.measure("ids_reissued", tmp_path / "unnamed").status == "not-applicable"


def test_an_update_to_another_matter_has_to_be_found_by_its_new_text(tmp_path: Path) -> None:
    def measure(name: str, **asked: Sequence[str]) -> Measure:
        tape = Tape().write("turned", "turned").change("turned", "update", "turn").asked("turned", **asked)
        return tape.measure("updated_found", tmp_path / name)

    assert counts(measure("found", came=["turn"])) == (1, 1)
    assert counts(measure("hidden", hidden=["turn"])) == (0, 1)
    assert measure("failed", failed=["turn"]).status == "failed"
    unchanged = Tape().write("turned", "turned").measure("updated_found", tmp_path / "unchanged")
    assert unchanged.status == "not-applicable"
