"""The drill of keeping: what it writes, how it is played, and that the measures see a careless backend."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from datetime import datetime, time
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.log.transcript import Called, Handled, Looked, Transcript
from harness.metrics.trust import deprecating, fields, keeping, writes
from harness.metrics.trust import ending as of_ends
from harness.metrics.trust import repeating as repeated
from harness.metrics.trust import replacing as replaced
from harness.model.trial import Measured
from harness.play.drills import bulk, ending, repeating, replacing
from harness.play.drills.keeping import (
    BATCH,
    DRILL,
    EXACT,
    FAR,
    HOME,
    NARROWER,
    SIBLINGS,
    SMALLEST,
    STORED,
    TWINS,
    plan,
)
from harness.play.drills.stage import NOW
from harness.play.drills.texts import ALIKE, GUARDED, NOTES, ODD, REWRITTEN, TWICE, UNKNOWN
from tests.support.drill_player import drilled, measured
from tests.support.measures import number

REFERENCE = "adapters.reference:Reference"
ENDING = ("ending", "ending changed")
BY_MEANING = (
    "answer_among_look_alikes", "unknown_answered_with_silence", "numbers_as_told", "right_before_look_alike",
)  # fmt: skip
METRICS = (*writes.METRICS, *keeping.METRICS, *fields.METRICS, *replaced.METRICS, *of_ends.METRICS)
JUDGED = tuple(m for m in METRICS if m.definition.unit == "proportion" and m.definition.name not in BY_MEANING)
"""Without what differs between equal runs or with the size, and without what needs the real embedder."""


@pytest.mark.slow
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
    assert len(made.of("edit")) + 2 == len(made.of("successor")) >= 5


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
    crowd = bulk.CROWD if size >= bulk.FULL else 0
    assert (len(made.of("bulk")), len(made.of("crowd"))) == (bulk.SIZE, crowd)
    assert [piece.role for piece in made.pieces[-bulk.SIZE - crowd - 1 : -1]] == ["bulk"] * bulk.SIZE + [
        "crowd"
    ] * crowd
    assert {piece.role for piece in made.pieces} >= {
        "several",
        "joint",
        "ended",
        "lasting",
        "endless",
        "doomed",
        "heir",
    }


@pytest.mark.parametrize("size", [1, DRILL.size])
def test_a_blank_has_memories_on_both_sides_in_its_batch(size: int) -> None:
    told = [piece.role for piece in plan(size, 1).of("blank", *STORED)]
    assert told.count("blank") == 1 and 0 < told.index("blank") < BATCH - 1


@pytest.mark.parametrize("size", [1, DRILL.size])
def test_a_text_that_an_update_replaces_stands_in_another_repository_too(size: int) -> None:
    made = plan(size, 1)
    edited = {made.by_name[piece.twin or ""].item.text for piece in made.of("edit")}
    copies = [piece.item.scope for piece in made.of("alike") if piece.item.text in edited]
    assert copies and HOME not in copies


@pytest.mark.slow
def test_every_other_update_is_asked_for_by_a_user(sound: Transcript) -> None:
    users = [cast(dict[str, str], call.request["scope"]).get("user") for _, call in sound.calls("update", "revised")]
    assert users == [None, "ana", None]


def test_what_has_ended_is_nearer_to_a_question_and_as_many_as_it_asks_for() -> None:
    made = plan(SMALLEST, 1)
    over, (crowded,) = made.of("over"), [piece for piece in made.of("ending") if piece.query]
    assert len(over) == ending.ALL > len(made.of(*ENDING, "ending before"))
    assert all((piece.item.text[:-3], piece.item.expires) == (crowded.query, ending.OVER) for piece in over)
    assert crowded.query and crowded.query in crowded.item.text


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
    assert len({date.utcoffset() for date in dates}) >= 6, "a zone that is dropped is seen"
    assert any(s and s.path and len(s.path) > 48 for s in sources) and any(
        s and len(s.session or "") > 48 for s in sources
    )


@pytest.mark.parametrize("size", [1, 100])
def test_dates_lie_where_clocks_and_calendars_go_wrong(size: int) -> None:
    at = {datetime.fromisoformat(piece.item.at) for piece in plan(size, 1).of(*EXACT)}
    days = {(date.month, date.day) for date in at}
    assert {(2, 29), (3, 1), (12, 31), (1, 1)} <= days, "leap days, and ends of years"
    shown = [date.replace(tzinfo=None) for date in at]
    assert len(set(shown)) < len(shown) == len(at), "an hour that comes twice, and is told apart by its offset alone"
    assert any(date.time() == time() for date in at) and min(at).year < 1970


@pytest.mark.slow
def test_ends_are_asked_for_on_both_sides_in_another_zone(sound: Transcript) -> None:
    ends = {piece.name: datetime.fromisoformat(piece.item.expires or "") for piece in sound.plan.of(*ENDING)}
    asked = [call for _, call in sound.calls("recall") if call.about and call.about[0] in ends]
    away = {"long before": -1e9, "right before": -1200.0, "right after": 1200.0, "long after": 1e9}
    at_its_end = 0
    for call in asked:
        at, end = datetime.fromisoformat(str(call.request["at"])), ends[call.about[0]]
        far = (at - end).total_seconds()
        if call.step == "right after" and far == 0:
            at_its_end += 1
        else:
            assert far == away[call.step] if call.step.startswith("right") else far * away[call.step] > 1e15
    assert at_its_end == len(ends) // 2, "every other one"
    assert {call.about[0] for call in asked if call.step == "right after"} == ends.keys()
    near = [call for call in asked if call.step.startswith("right")]
    assert any(datetime.fromisoformat(str(c.request["at"])).utcoffset() != ends[c.about[0]].utcoffset() for c in near)


def test_odd_texts_are_odd_and_lawful() -> None:
    assert len(set(ODD)) == len(ODD) and max(map(len, ODD)) == 10_000
    texts = (*ODD, *NOTES, *GUARDED, *REWRITTEN)
    assert all(text.strip() and "\0" not in text and text.encode() for text in texts)
    assert len(set(texts)) == len(texts) and any(text.strip() != text for text in texts)
    assert any(text != " ".join(text.split()) for text in ODD)


@pytest.mark.parametrize("texts", [NOTES, REWRITTEN])
@pytest.mark.parametrize(
    "pattern",
    [
        r"\d\.\d0\b", r"\b0\d{2,}", r" --?[a-z]", r"\bnot\b", r"(?<!\S)[-+]\d", r"KiB", r"[.!?] [A-Z]", r"[.!]$",
        r"^\|.*\|$", r"^```", r"\([^)]+\)", r"\\[dw]", r"[^\x00-\x7f]", r"[“„«]", r"https://\S+\?\S+", r" /\w+/\w+",
    ],
)  # fmt: skip
def test_notes_hold_what_is_damaged_a_little(texts: Sequence[str], pattern: str) -> None:
    """Those that are written, and those that take another's place."""
    assert any(re.search(pattern, text, re.MULTILINE) for text in texts)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Transcript:
    return drilled(tmp_path_factory.mktemp("sound"), DRILL, REFERENCE, SMALLEST)


@pytest.mark.slow
def test_the_sound_backend_keeps_all(sound: Transcript) -> None:
    assert sound.ended is not None and sound.ended.status == "complete"
    better = {metric.definition.name: metric.definition.better for metric in JUDGED}
    for name, measure in measured(JUDGED, sound).items():
        assert isinstance(measure, Measured) and measure.of, name
        assert measure.value == (1.0 if better[name] == "higher" else 0.0), name
    size = measured(METRICS, sound)["bytes_per_memory"]
    assert isinstance(size, Measured) and size.value > 100 and size.of == SMALLEST + len(plan(SMALLEST, 1).of("alike"))


@pytest.mark.slow
def test_what_is_asked_and_in_which_order(sound: Transcript) -> None:
    calls = [event for event in sound.events if isinstance(event, Called)]
    assert list(dict.fromkeys(call.step for call in calls)) == [
        "written", "own", "asked", "unknown", "narrow", "wide", "syntax", "revised", "reopened", "ends", "chained",
        "between", "stored", "stored since", "stored anew", "stored anew since", "stored to stay", "version",
        "several", "joined", "turned", "ending", "now", "earlier", "later", "changed", "doomed", "inherited",
        "reopened later", "long before", "long after", "right before", "right after", "chained later",
        "stored anew later", "chained gone", "told apart", "not yet", "late", "once",
        "once more", "told", "history before", "retold", "rated", "history", "short", "many", "history reopened",
            "at length",
            "at once",
        "found at once", "beside", "forgotten",
        "day 0", "passing", "day 1", "passed", *(f"day {day}" for day in (*repeating.AFTER[2:], *repeating.AT_LAST)),
        "former", "former until", "marked", "marked since", "marked until", "marked standing",
        "reopened since", "reopened until", "reopened standing", "unmarked",
        "marked again", "marked again since", "marked again until", "unmarked again", "marked later",
        "marked later since", "marked sooner", "marked sooner until", "spare standing", "spare marked", "gone",
        "restored", "restored since", "restored until", "restored standing", "outdated", "outdated standing",
        "outdated marked", "said again", "said again standing", "said again marked", "killed since",
        "emptied", "emptied until",
        "kinds", "other kinds", "kinds back", "kinds again", "kinds then", "kinds restored",
        "subjects", "asked first", "asked little", "asked often",
    ]  # fmt: skip
    assert {call.request["k"] for call in calls if call.op == "recall"} == {1, 5, 20, 100}
    unknown = [call for call in calls if call.step == "unknown"]
    assert [call.request["query"] for call in unknown] == [*UNKNOWN, *UNKNOWN[:3]]
    assert len({str(call.request["scope"]) for call in unknown}) == len({call.request["at"] for call in unknown}) == 2
    kept_to = [cast("dict[str, object]", call.request["where"]) for call in unknown[len(UNKNOWN) :]]
    assert [[name for name, told in where.items() if told] for where in kept_to] == [
        ["kinds"],
        ["path"],
        ["confidence"],
    ]
    assert {call.about for call in unknown} <= {call.about for call in calls if call.step == "asked"}
    assert {call.about[0] for call in calls if call.step == "own"} >= {piece.name for piece in sound.plan.of(*EXACT)}
    assert len([call for call in calls if call.op == "entries" and call.step == "written"]) == 5 + len(SIBLINGS)
    happened = [event.what if isinstance(event, Handled) else "looked"
                for event in sound.events if isinstance(event, Handled | Looked)]  # fmt: skip
    again = ["closed", "opened"]
    store = ["opened", "closed", "looked", "looked", "opened", *again, "closed", "compacted", "opened", "closed"]
    days, filters = ["opened", *again, *again, "closed"], ["opened", "closed", "compacted", "opened", "closed"]
    marks = [*filters[:-1], "killed", "opened", "closed"]
    asked = ["opened", "closed", *(["opened", "closed", "looked", "looked"] * 3)]
    assert happened == [*store, *days, *marks, *filters, *asked], (
        "days, marks, filters and asking have their own stores"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_the_work_of_a_processor_is_told_of_each_opening_and_closing(sound: Transcript) -> None:
    told = [(event.what, event.worked) for _, event in sound.of(Handled) if event.what != "compacted"]
    assert all(worked is not None for what, worked in told if what != "killed")
    lived = [(before, after) for (_, before), (what, after) in pairwise(told) if what == "closed"]
    assert lived and all(after >= before for before, after in lived)  # type: ignore[operator]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "flagged"),
    [
        (
            "ForgetsEveryTenth",
            {
                "writes_kept",
                "writes_listed",
                "odd_texts_exact",
                "many_found_at_once",
                "self_reachability",
                "own_text_first",
                "batch_kept",
                "found_after_a_miss",
                "short_questions_answered",
                # What is replaced or updated later is among them, and cannot be.
                "calls_failed",
                "writes_not_acknowledged",
                "last_text_served",
                *(f"{field}_survives_supersede" for field in fields.FIELDS),
            },
        ),
        (
            "WritesTwice",
            {
                "entries_unaccounted",
                "several_superseded",
                "deprecated_recalled",
                "changed_after_a_hit",
                "last_text_served",
            },
        ),
        (
            "DropsMetadataOnUpdate",
            {
                "source_survives_update",
                "confidence_survives_update",
                "same_text_updated",
                "filtered_missed",
                "filtered_wrong",
            },
        ),
    ],
)
def test_a_fault_moves_its_own_measures_only(tmp_path: Path, sound: Transcript, fault: str, flagged: set[str]) -> None:
    played = drilled(tmp_path, DRILL, f"harness.selftest.planted.keeping:{fault}", SMALLEST)
    good, found = measured(JUDGED, sound), measured(JUDGED, played)
    assert {name for name in found if number(found[name]) != number(good[name])} == flagged
    assert all(found[name].receipts for name in flagged if isinstance(found[name], Measured))


@pytest.mark.nightly
@pytest.mark.slow
def test_who_says_that_he_masks_is_told_nothing_to_mask(tmp_path: Path) -> None:
    """Who does not say so has altered a text."""
    said = drilled(tmp_path / "said", DRILL, "tests.support.other_references:Masking", SMALLEST)
    silent = drilled(tmp_path / "silent", DRILL, "harness.selftest.planted.damage:MasksAddresses", SMALLEST)
    guarded = {piece.name for piece in said.plan.of("guarded")}
    told = {name for _, call in said.calls("remember") for name in call.about}
    assert len(guarded) == len(GUARDED) and not guarded & told
    for name in ("odd_texts_exact", "texts_whole", "writes_kept", "writes_listed"):
        assert number(measured(METRICS, said)[name]) == 1.0, name
        wrong = measured(METRICS, silent)[name]
        assert number(wrong) != 1.0 and any("guarded" in receipt for receipt in wrong.receipts), name


@pytest.mark.slow
def test_of_a_memory_that_was_taken_apart_every_part_ends(tmp_path: Path) -> None:
    played = drilled(tmp_path, DRILL, "tests.support.other_references:TakesApart", SMALLEST)
    stored = {
        name: ids
        for _, call in played.calls("remember")
        for name, ids in zip(call.about, played.ids(call), strict=True)
    }
    [(_, marking)] = played.calls("deprecate", "marked")
    ended = [piece.name for piece in played.plan.of("marked")]
    assert marking.request["memory_ids"] == [each for name in ended for each in stored[name]]
    assert number(measured(deprecating.METRICS, played)["deprecated_recalled"]) == 0.0


@pytest.mark.slow
def test_what_a_backend_lacks_is_not_called(tmp_path: Path) -> None:
    played = drilled(tmp_path, DRILL, "adapters.notes:Notes", SMALLEST)
    assert played.ended is not None and played.ended.status == "complete"
    ops = {event.op for event in played.events if isinstance(event, Called)}
    assert ops == {"remember", "settle", "recall", "entries", "supersede", "deprecate", "forget"}
    found = measured(METRICS, played)
    assert number(found["calls_failed"]) == 0.0 and number(found["kept_after_reopening"]) == 1.0
    assert found["own_text_first"].status == found["source_survives_update"].status == "unsupported"


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["_StoresTwoThousandAtOnce", "_Stores2048AtOnce"])
def test_what_is_lost_of_two_thousand_memories_at_once_is_seen_in_the_full_size(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "FULL", SMALLEST)
    told = drilled(tmp_path, DRILL, f"harness.selftest.planted.keeping:{fault}", SMALLEST + 1)
    found = measured(METRICS, told) | measured(repeated.METRICS, told)
    kept = found["kept_beside_a_batch"]
    assert isinstance(kept, Measured) and 0.3 < kept.value < 1
    assert number(found["batch_kept"]) == 1, "of the smaller batch, nothing is lost"
