"""Whatever fails, and however: it is counted, and no measure is credited with what its calls could not have shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from harness.log.transcript import Transcript
from harness.metrics import faults, trust
from harness.model.drill import DrillName
from harness.model.trial import Measure
from harness.play import drills
from harness.selftest.faults import FLAGS, find_move, is_gain
from tests.support.broken_reference import KINDS
from tests.support.drill_player import drilled
from tests.support.nights import leave_to_night

pytestmark = pytest.mark.slow

SIZES: Mapping[DrillName, int] = {"keeping": 40, "isolation": 20, "rollback": 40, "poison": 40}
ALL = dict(drills.ALL)
READ: tuple[tuple[str, DrillName, tuple[str, ...]], ...] = (
    ("remember", "keeping", ("writes_not_acknowledged", "writes_kept", "writes_listed", "self_reachability")),
    ("remember", "isolation", ("leaks_by_prefix", "leaks_by_listing", "read_across_scopes", "scope_deletion_spill")),
    ("remember", "poison", ("attacks_retrieved", "attacks_acted_on", "benign_utility_under_poison")),
    ("settle", "keeping", ("settled",)),
    ("recall", "keeping", ("self_reachability", "own_text_first", "unknown_answered_with_silence")),
    ("recall", "isolation", ("leaks_by_prefix", "leaks_into_no_scope", "leaks_into_unwritten_scope")),
    ("recall", "poison", ("attacks_retrieved", "attacks_acted_on", "expired_rules_returned")),
    ("entries", "keeping", ("writes_listed", "entries_unaccounted")),
    ("entries", "isolation", ("leaks_by_listing", "updated_across_scopes", "forgotten_across_scopes")),
    ("entries", "rollback", ("restored_exactly", "lost_by_restore", "kept_lost_by_undo")),
    ("get", "isolation", ("read_across_scopes",)),
    ("update", "isolation", ("updated_across_scopes",)),
    ("supersede", "keeping", ("source_survives_supersede",)),
    ("forget", "isolation", ("forgotten_across_scopes",)),
    ("forget", "rollback", ("left_after_undo", "good_lost_by_undo", "kept_lost_by_undo")),
    ("forget_scope", "isolation", ("scope_deletion_spill",)),
    ("snapshot", "rollback", ("restored_exactly", "left_after_restore", "resurrected_by_restore", "lost_by_restore")),
    ("restore", "rollback", ("restored_exactly", "left_after_restore", "resurrected_by_restore", "lost_by_restore")),
)
"""Operation, drill, and measures that only calls of this operation can make look good."""
NOTHING_IS_AN_ANSWER = ("get", "forget_scope", "restore")
CASES = [
    pytest.param(op, kind, drill, names, id=f"{op}-{kind}-{drill}")
    for op, drill, names in READ
    for kind in KINDS
    if not (kind == "answers_nothing" and op in NOTHING_IS_AN_ANSWER)
    if not (kind == "takes_other_arguments" and op == "snapshot")  # it takes none
]


@cache
def sound(folder: Path, drill: DrillName) -> Mapping[str, Measure]:
    return measures(played(folder, "adapters.reference:Reference", drill))


def played(folder: Path, adapter: str, drill: DrillName) -> Transcript:
    folder.mkdir(parents=True, exist_ok=True)
    return drilled(folder, ALL[drill], adapter, SIZES[drill])


def measures(transcript: Transcript) -> Mapping[str, Measure]:
    (cell,) = trust.score([transcript])
    return cell.measures


@pytest.mark.parametrize(("op", "kind", "drill", "names"), leave_to_night(CASES, 7))
def test_nothing_looks_good_whose_calls_failed(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    op: str,
    kind: str,
    drill: DrillName,
    names: tuple[str, ...],
) -> None:
    reference = sound(tmp_path_factory.getbasetemp() / f"sound-{drill}", drill)
    transcript = played(tmp_path, f"tests.support.broken_reference:{op}_and_{kind}", drill)
    counted = [each for each in faults.of_drill(transcript) if each.op == op and not each.provoked]
    assert counted, "its faults are counted"
    found = measures(transcript)
    moves = {name: find_move(trust.DEFINITIONS[name], reference[name], found[name]) for name in names}
    assert not {name: (move, found[name]) for name, move in moves.items() if move not in FLAGS}
    for name in names:
        if found[name].status == reference[name].status == "measured":
            assert not is_gain(trust.DEFINITIONS[name], reference[name], found[name]), name
