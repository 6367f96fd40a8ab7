"""The judgement over planted faults: what has to move, what may, what must not; and the faults' own declarations."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from adapters.reference import ReferenceMemory
from harness.adapter import Item, Scope, Space
from harness.metrics.metric import cannot_tell
from harness.metrics.trust import BY_CHANCE
from harness.model.trial import Better, Definition, Measure, Measured, NotMeasured
from harness.play.writing import WAYS
from harness.selftest import allowed, faults, measures, measures_table
from harness.selftest.fault_player import EVERY, STORY
from harness.selftest.faults import FAULTS, FaultRow, Matrix, PlantedFault, find_move, judge, list_planted, renew
from harness.selftest.planted import alike, keeping
from harness.selftest.planted.base import REFERENCE, Planted
from harness.selftest.planted_ways import PlantedWay

FAMILIES = {"kept": "keeping", "leaks": "isolation", "speed": "keeping"}


def definition(name: str, better: Better = "higher", unit: str = "proportion") -> Definition:
    return Definition(name=name, better=better, unit=unit, version=1, formula="f", source="own")


DEFINITIONS = {
    "kept": definition("kept"), "leaks": definition("leaks", "lower"), "speed": definition("speed", "lower", "seconds"),
}  # fmt: skip


def number(value: float) -> Measure:
    return Measured(value=value)


def word(status: str) -> Measure:
    return NotMeasured.model_validate({"status": status, "reason": "so it is"})


SOUND: Mapping[str, Measure] = {"kept": number(1), "leaks": number(0), "speed": number(0.01)}


def lines(found: Mapping[str, Measure], must: tuple[str, ...] = ("kept",), may: tuple[str, ...] = ()) -> list[str]:
    row = judge(PlantedFault("Loses", "m:C", "Loses.", must, may), SOUND, {**SOUND, **found}, DEFINITIONS, FAMILIES)
    return [str(breach) for breach in row.breaches]


def test_a_fault_that_is_caught_and_moves_nothing_else_is_no_breach() -> None:
    assert lines({"kept": number(0.9)}) == []
    assert lines({"kept": word("failed")}) == []


def test_a_must_that_is_not_caught_is_a_breach() -> None:
    assert lines({}) == ["Loses: kept: must flag it, and is as with the reference"]
    assert lines({"kept": number(1.0)}, ("kept", "leaks")) == [
        "Loses: kept: must flag it, and is as with the reference",
        "Loses: leaks: must flag it, and is as with the reference",
    ]


@pytest.mark.parametrize("status", ["not-applicable", "unsupported", "not-run"])
def test_to_measure_nothing_any_more_flags_nothing(status: str) -> None:
    assert lines({"kept": word(status)}) == ["Loses: kept: must flag it, and measures nothing any more"]


def test_what_must_not_move_and_moves_is_a_breach() -> None:
    bad = {"kept": number(0.9), "leaks": number(0.1)}
    assert lines(bad) == ["Loses: leaks: must not move, and is worse than with the reference"]
    assert lines({**bad, "leaks": word("failed")}) == ["Loses: leaks: must not move, and failed"]
    assert lines({**bad, "leaks": word("not-applicable")}) == [
        "Loses: leaks: must not move, and measures nothing any more"
    ]
    for named in ("leaks", "isolation"):
        assert lines(bad, may=(named,)) == []
    assert lines(bad, ("kept", "leaks")) == []


def test_a_movement_that_is_not_in_the_golden_file_is_a_breach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = {**SOUND, "kept": number(0), "leaks": number(1)}

    def judge_planted() -> FaultRow:
        (fault,) = list_planted(["SoftDeletes"])
        return judge(replace(fault, must=("kept",)), SOUND, moved, DEFINITIONS, FAMILIES)

    monkeypatch.setattr(allowed, "FILE", tmp_path / "may.json")
    allowed.FILE.write_text(json.dumps({"SoftDeletes": [], "CutsTexts": ["speed"], "Gone": ["leaks"]}), "utf-8")
    row = judge_planted()
    assert [(each.key, each.reason) for each in row.breaches] == [
        ("leaks", "must not move, and is worse than with the reference")
    ]
    renewed = renew(row, {"keeping", "isolation"}, DEFINITIONS, FAMILIES)
    allowed.write({renewed.name: renewed.may}, {made.__name__ for made in FAULTS})
    assert allowed.read() == {"SoftDeletes": ["leaks"], "CutsTexts": ["speed"]}
    assert judge_planted().breaches == ()


@pytest.mark.parametrize(
    ("may", "played", "renewed"),
    [
        ((), {"keeping", "isolation"}, ("leaks",)),
        (("isolation",), {"keeping", "isolation"}, ("isolation",)),  # a whole drill stays one word
        (("keeping", "leaks"), {"keeping", "isolation"}, ("leaks",)),  # it did not move
        (("keeping", "leaks"), {"isolation"}, ("keeping", "leaks")),  # it was not played
        (("speed",), {"keeping", "isolation"}, ("leaks", "speed")),  # it moves in one play and not in the next
        (("renamed",), {"keeping", "isolation"}, ("leaks",)),
    ],
)
def test_what_did_not_move_is_struck_out_unless_the_play_cannot_say(
    may: tuple[str, ...], played: set[str], renewed: tuple[str, ...]
) -> None:
    found = {name: SOUND[name] for name in SOUND if FAMILIES[name] in played} | {"leaks": number(1)}
    varying = DEFINITIONS["speed"].model_copy(update={"varies": "the clock"})
    row = judge(PlantedFault("Loses", "m:C", "Loses.", ("kept",), may), SOUND, found, DEFINITIONS, FAMILIES)
    assert renew(row, played, {**DEFINITIONS, "speed": varying}, FAMILIES).may == renewed


def test_what_a_cheat_is_after_must_not_be_better() -> None:
    sound = {**SOUND, "kept": number(0.5), "leaks": number(0.5)}
    cheat = PlantedFault("Cheats", "m:C", "Cheats.", ("leaks",), (), ("kept",))

    def breaches(kept: Measure) -> list[str]:
        row = judge(cheat, sound, {**sound, "leaks": number(1), "kept": kept}, DEFINITIONS, FAMILIES)
        return [breach.key for breach in row.breaches]

    assert breaches(number(0.5)) == []
    assert breaches(number(0.6)) == ["kept"]
    assert breaches(word("not-run")) == ["kept", "kept"]  # cannot be compared, and moved


def test_a_declaration_that_names_no_measure_is_a_breach() -> None:
    assert lines({"kept": number(0)}, ("kept", "keptt")) == ["Loses: keptt: no such measure"]
    assert lines({"kept": number(0)}, may=("isolationn",)) == ["Loses: isolationn: no such measure"]
    assert lines({}, ()) == ["Loses: must: no measure has to flag it"]


@pytest.mark.parametrize(
    ("better", "sound", "found", "move"),
    [
        ("higher", number(0.5), number(0.4), "worse"),
        ("higher", number(0.5), number(0.6), None),
        ("higher", number(0.3), number(0.1 + 0.2), None),
        ("lower", number(0.5), number(0.6), "worse"),
        ("lower", number(0.5), number(0.4), None),
        ("neither", number(0.5), number(0.6), "other"),
        ("neither", number(0.5), number(0.5), None),
        ("higher", word("not-applicable"), number(0.9), "worse"),
        ("higher", word("not-applicable"), number(1), None),
        ("lower", word("not-applicable"), number(0), None),
        ("lower", word("not-applicable"), number(0.1), "worse"),
        ("neither", word("not-applicable"), number(0.1), "unmeasured"),
        ("higher", word("not-applicable"), word("not-applicable"), None),
        ("higher", word("not-applicable"), word("failed"), "failed"),
        ("higher", number(1), word("unsupported"), "unmeasured"),
        ("higher", number(1), cannot_tell("sealed"), "untold"),
    ],
)
def test_what_counts_as_moved(better: Better, sound: Measure, found: Measure, move: str | None) -> None:
    assert find_move(definition("any", better), sound, found) == move


@pytest.mark.parametrize(
    ("found", "said"),
    [(cannot_tell("sealed"), None), (number(1), "must say that it cannot be told"),
     (word("not-applicable"), "must say that it cannot be told")],
)  # fmt: skip
def test_what_hides_where_nobody_can_look_must_not_look_clean(found: Measure, said: str | None) -> None:
    fault = PlantedFault("Seals", "m:C", "Seals.", (), (), untold=("kept",))
    row = judge(fault, SOUND, {**SOUND, "kept": found}, DEFINITIONS, FAMILIES)
    assert [breach.reason for breach in row.breaches] == ([said] if said else [])


def test_a_time_moves_by_a_clear_ratio_and_difference_only() -> None:
    assert find_move(DEFINITIONS["speed"], number(0.01), number(0.05)) is None
    assert find_move(DEFINITIONS["speed"], number(0.05), number(0.12)) is None
    assert find_move(DEFINITIONS["speed"], number(0.01), number(0.07)) == "worse"
    assert find_move(DEFINITIONS["speed"], number(0.01), number(0.001)) is None


def test_what_a_kill_may_miss_moves_by_its_value_only() -> None:
    (name,) = BY_CHANCE
    assert find_move(definition(name, "lower"), number(0), word("not-applicable")) is None
    assert find_move(definition(name, "lower"), number(0), number(0.5)) == "worse"
    assert find_move(definition(name, "lower"), number(0), word("failed")) == "failed"


def test_every_planted_fault_says_what_is_wrong_and_which_measure_has_to_flag_it() -> None:
    planted = faults.list_planted()
    assert len(planted) == len({fault.name for fault in planted}) >= 300
    made_by_name = {made.__name__: made for made in FAULTS}
    for fault in planted:
        made = made_by_name[fault.name]
        assert fault.bug.endswith(".") and (fault.must or fault.untold) and not {*fault.must} & {*fault.may}
        if issubclass(made, PlantedWay):
            assert (fault.adapter, fault.way) == (REFERENCE, made.__name__)
            assert issubclass(made, WAYS[fault.write]) and made is not WAYS[fault.write]
        else:
            assert fault.adapter == f"{made.__module__}:{made.__name__}" and issubclass(made.Memory, ReferenceMemory)
        known = {*measures.FAMILIES, *measures.FAMILIES.values()}
        assert not {*fault.must, *fault.may} - known, fault.name


def test_each_way_of_writing_has_faults_of_its_own() -> None:
    """Who only adds does nothing that a store would not; the combination is made of two that have theirs."""
    planted = Counter(fault.write for fault in list_planted() if fault.way)
    assert planted.keys() == WAYS.keys() - {None, "append", "deprecate-on-commit"} and min(planted.values()) >= 3
    assert all(measures.choose_families(fault) == {STORY} for fault in list_planted() if fault.way)


def test_faults_are_chosen_by_name_and_a_name_that_is_none_hints_at_one() -> None:
    assert [fault.name for fault in faults.list_planted(["SoftDeletes", "CutsTexts", "SoftDeletes"])] == [
        "SoftDeletes",
        "CutsTexts",
    ]
    with pytest.raises(faults.FaultNameError, match="'SoftDelete' is not known; did you mean SoftDeletes"):
        faults.list_planted(["SoftDelete"])


def test_a_measure_that_only_failed_was_not_put_to_the_proof() -> None:
    fault = PlantedFault("Hangs", "m:C", "Hangs.", ("kept",), ())
    row = judge(fault, SOUND, {**SOUND, "kept": word("failed"), "leaks": number(1)}, DEFINITIONS, FAMILIES)
    assert row.caught == ["kept", "leaks"] and faults.list_proven([row]) == {"leaks"}


def test_the_table_names_what_is_missing_and_what_is_too_much_in_100_columns() -> None:
    fault = PlantedFault("[bold]Loses", "m:C", "Loses.", ("kept",), ("speed",))
    row = judge(fault, SOUND, {"kept": number(1), "leaks": number(1), "speed": number(9)}, DEFINITIONS, FAMILIES)
    good = judge(fault, SOUND, {**SOUND, "kept": number(0), "speed": number(9)}, DEFINITIONS, FAMILIES)
    out = io.StringIO()
    measures_table.show(Matrix(SOUND, (row, good)), Console(file=out, width=100, color_system=None))
    said = out.getvalue()
    assert all(len(line) <= 100 for line in said.splitlines())
    assert "[bold]Loses" in said and "1 of 2 faults are flagged by every measure that must flag them" in said
    assert "3 of 3 measures are changed by a fault; not put to the proof: none" in said


def test_no_two_planted_faults_share_a_name() -> None:
    """What is measured is told by name: the second of two would hide the first."""
    names = [made.__name__ for made in FAULTS]
    assert sorted(set(names)) == sorted(names)


def test_a_fault_plays_what_must_flag_it_and_some_drills_beside() -> None:
    drawn = {fault.name: measures.choose_families(fault) for fault in list_planted()}
    for fault in list_planted():
        assert {measures.FAMILIES[name] for name in fault.must} <= drawn[fault.name] <= EVERY | {"promises"}
    beside = Counter(family for families in drawn.values() for family in families)
    assert all(beside[family] >= 15 for family in EVERY), beside


@pytest.mark.parametrize(
    ("fault", "before"),
    [
        (keeping.ForgetsEveryTenth, 9),
        (keeping.StopsAtABlank, 0),
        (keeping._StoresTwoThousandAtOnce, 2000),
        (alike.StoresAPage, 100),
        (alike.LosesWhatStandsOnABorder, 256),
    ],
)
def test_a_fault_that_drops_memories_takes_a_blank_text(tmp_path: Path, fault: type[Planted], before: int) -> None:
    """Which is acknowledged without an id: an error would be another fault than the one that is planted."""
    memory = fault().open(Space(str(tmp_path), "", "", 0, 1))
    items = [Item(f"Rule {number}", Scope("shop"), "2026-01-01T09:00:00Z", "project") for number in range(before)]
    acks = memory.remember([*items, Item("\n", Scope("shop"), "2026-01-01T09:00:00Z", "project")])
    assert [len(ack.ids) for ack in acks] == [*([1] * before), 0]
    memory.close()
