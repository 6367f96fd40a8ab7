"""The drill of keeping: what it writes, how it is played, and that the measures see a careless backend."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.log.transcript import Called, Handled, Looked, Transcript
from harness.metrics.trust import fields, keeping, writes
from harness.metrics.trust import replacing as replaced
from harness.model.trial import Measured
from harness.play.drills import bulk, replacing
from harness.play.drills.keeping import DRILL, FAR, HOME, NARROWER, SIBLINGS, SMALLEST, STORED, TWINS, plan
from harness.play.drills.stage import NOW
from harness.play.drills.texts import ALIKE, ODD, TWICE, UNKNOWN
from tests.support.drill_player import drilled, measured

REFERENCE = "adapters.reference:Reference"
BY_MEANING = ("answer_among_look_alikes", "unknown_answered_with_silence")
METRICS = (*writes.METRICS, *keeping.METRICS, *fields.METRICS, *replaced.METRICS)
JUDGED = tuple(m for m in METRICS if m.definition.unit == "proportion" and m.definition.name not in BY_MEANING)
"""Without what differs between equal runs or with the size, and without what needs the real embedder."""


@settings(max_examples=25)
@given(st.integers(1, 400), st.integers(0, 5))
def test_a_plan_is_the_same_again_and_has_its_size(size: int, seed: int) -> None:
    made = plan(size, seed)
    assert made == plan(size, seed)
    stored = made.of(*STORED)
    assert len(stored) - len(made.of("alike")) == max(size, SMALLEST)
    assert len(made.by_name) == len(made.pieces)
    home = [piece.item.text for piece in made.pieces if piece.item.scope == HOME]
    assert len(set(home)) == len(home), "a copy in the asked scope would be as right as the original"
    assert len(home) - len(made.of("edit", "successor")) >= 25, "a rank means something from 5 k on"
    assert len(made.of("edit")) == len(made.of("successor")) >= 3


def test_each_answer_is_outnumbered_by_look_alikes_elsewhere() -> None:
    made = plan(DRILL.size, 1)
    for answer in made.of("answer"):
        crowd = {piece.item.scope for piece in made.of("look-alike") if piece.twin == answer.name}
        assert crowd == set(SIBLINGS) and HOME not in crowd
        assert answer.query and answer.query not in answer.item.text
    copies = [p for p in made.of("look-alike") if p.twin and made.by_name[p.twin].item.text == p.item.text]
    assert copies and {piece.item.scope for piece in copies} <= set(SIBLINGS)


@pytest.mark.parametrize("size", [1, 60, DRILL.size])
def test_what_tells_stores_apart_is_written_first_at_every_size(size: int) -> None:
    made = plan(size, 1)
    first = [piece.item for piece in made.pieces[: len(ALIKE)]]
    assert [item.text for item in first] == list(ALIKE) and {item.scope for item in first} == {TWINS}
    ends = {first[at].text.removesuffix("ring Ada"): first[at + 1].text for at in (0, 2, 4)}
    assert [len(shared) for shared in ends] == [40, 80, 200] and all(map(str.startswith, ends.values(), ends))
    twice = [piece.item for piece in made.of("alike") if piece.item.text == TWICE]
    assert len({(item.source, item.at) for item in twice}) == len(twice) == 3 + len(NARROWER)
    assert len(made.of("bulk")) == bulk.SIZE and {piece.role for piece in made.pieces[-bulk.SIZE :]} == {"bulk"}
    assert {piece.role for piece in made.pieces} >= {
        "several",
        "joint",
        "ended",
        "lasting",
        "endless",
        "doomed",
        "heir",
    }


def test_ends_lie_on_both_sides_of_every_day_on_which_this_is_played() -> None:
    ends = [datetime.fromisoformat(end) for end in replacing.ENDS.values() if end]
    asked = [datetime.fromisoformat(at) for at in replacing.TIMES.values()]
    assert min(asked) < min(ends) < datetime.fromisoformat(NOW) < max(ends) < max(asked)
    assert (min(ends).year, max(ends).year) == (2000, 2999)


def test_fields_are_of_all_kinds_and_dates_of_no_order() -> None:
    stored = plan(DRILL.size, 1).of(*STORED)
    sources = [piece.item.source for piece in stored if piece.role != "bare"]
    assert {(bool(s and s.commit and s.path and s.line), bool(s and s.session)) for s in sources} == {
        (True, True), (True, False), (False, True),
    }  # fmt: skip
    bare = [piece.item for piece in stored if piece.role == "bare"]
    assert bare and all(item.source is None and item.confidence is None for item in bare)
    assert {piece.item.expires for piece in stored} == {FAR, None}
    dates = [datetime.fromisoformat(piece.item.at) for piece in stored]
    assert dates != sorted(dates) and max(dates) < datetime.fromisoformat(NOW)


def test_odd_texts_are_odd_and_lawful() -> None:
    assert len(set(ODD)) == len(ODD) and max(map(len, ODD)) == 10_000
    assert all(text.strip() and "\0" not in text and text.encode() for text in ODD)
    assert any(text != " ".join(text.split()) for text in ODD)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, REFERENCE, SMALLEST)


def test_the_sound_backend_keeps_all(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete"
    better = {metric.definition.name: metric.definition.better for metric in JUDGED}
    for name, measure in measured(JUDGED, sound).items():
        assert isinstance(measure, Measured) and measure.of, name
        assert measure.value == (1.0 if better[name] == "higher" else 0.0), name
    size = measured(METRICS, sound)["bytes_per_memory"]
    assert isinstance(size, Measured) and size.value > 100 and size.of == SMALLEST + len(plan(SMALLEST, 1).of("alike"))


def test_what_is_asked_and_in_which_order(sound: Transcript) -> None:
    calls = [event for event in sound.events if isinstance(event, Called)]
    assert list(dict.fromkeys(call.step for call in calls)) == [
        "written", "own", "asked", "unknown", "narrow", "wide", "revised", "reopened", "several", "joined", "ending",
        "now", "earlier", "later", "changed", "doomed", "inherited", "reopened later", "at once",
    ]  # fmt: skip
    assert {call.request["k"] for call in calls if call.op == "recall"} == {1, 5, 20}
    unknown = [call for call in calls if call.step == "unknown"]
    assert [call.request["query"] for call in unknown] == list(UNKNOWN)
    assert {call.about for call in unknown} <= {call.about for call in calls if call.step == "asked"}
    assert {call.about[0] for call in calls if call.step == "own"} >= {piece.name for piece in sound.plan.of("odd")}
    assert len([call for call in calls if call.op == "entries" and call.step == "written"]) == 5 + len(SIBLINGS)
    happened = [event.what if isinstance(event, Handled) else "looked"
                for event in sound.events if isinstance(event, Handled | Looked)]  # fmt: skip
    assert happened == ["opened", "closed", "looked", "looked", "opened", "closed", "opened", "closed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "flagged"),
    [
        (
            "ForgetsEveryTenth",
            {"writes_kept", "writes_listed", "odd_texts_exact", "self_reachability", "own_text_first", "batch_kept"},
        ),
        ("WritesTwice", {"entries_unaccounted", "several_superseded"}),
        ("DropsMetadataOnUpdate", {"source_survives_update", "confidence_survives_update"}),
    ],
)
def test_a_fault_moves_its_own_measures_only(tmp_path: Path, sound: Transcript, fault: str, flagged: set[str]) -> None:
    played = drilled(tmp_path, DRILL, f"harness.selftest.planted.keeping:{fault}", SMALLEST)
    good, found = measured(JUDGED, sound), measured(JUDGED, played)
    assert {name for name in found if _value(found[name]) != _value(good[name])} == flagged
    assert all(found[name].receipts for name in flagged)


def _value(measure: object) -> float | None:
    return measure.value if isinstance(measure, Measured) else None


def test_what_a_backend_lacks_is_not_called(tmp_path: Path) -> None:
    played = drilled(tmp_path, DRILL, "adapters.notes:Notes", SMALLEST)
    assert played.ended is not None and played.ended.status == "complete"
    ops = {event.op for event in played.events if isinstance(event, Called)}
    assert ops == {"remember", "settle", "recall", "entries", "supersede", "forget"}
    found = measured(METRICS, played)
    assert _value(found["calls_failed"]) == 0.0 and _value(found["kept_after_reopening"]) == 1.0
    assert found["own_text_first"].status == found["source_survives_update"].status == "unsupported"
