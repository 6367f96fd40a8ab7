"""What is kept: writes, ranks, odd texts and fields, each with the answer that makes it fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapter import Hit, Source, to_wire
from harness.log.transcript import Called
from harness.metrics.trust import fields
from harness.model.backend import Fault
from harness.model.drill import Plan
from harness.model.trial import Measured
from tests.support import keeping_drill
from tests.support.keeping_drill import GOOD, HOME, PLAN, SIBLING, Change, Play, changed, lost, piece, under, whole
from tests.support.measures import counts


def test_a_sound_backend_keeps_all(tmp_path: Path) -> None:
    found = Play().measures(tmp_path)
    assert {name: counts(found[name]) for name in GOOD} == GOOD
    unplayed = {"batch_kept", "several_superseded", "expiry_by_wall_clock", "expiry_lost", "ids_reissued"}
    unplayed |= {"wordless_text_found", "ended_late", "ended_early", "numbers_as_told", "updated_found"}
    unplayed |= {"short_questions_answered", "many_found_at_once", "forgotten_at_once", "lost_by_forgetting_at_once"}
    unplayed |= {"same_text_updated", "kept_beside_a_batch", "changed_after_a_hit", "found_after_a_miss"}
    unplayed |= {"history_tells_all_versions", "history_of_equal_text", "right_before_look_alike", "last_text_served"}
    unplayed |= {"deprecated_recalled", "deprecated_lost", "deprecated_altered", "deprecated_undeleted"}
    unplayed |= {"recall_seconds_p95", "recall_seconds_p99", "write_seconds_p95", "delete_seconds"}
    unplayed |= {"first_answer_seconds", "source_survives_deletion", "filtered_missed", "filtered_wrong"}
    unplayed |= {"processor_seconds", "bytes_per_question", "kept_through_days"}
    aside = {"recall_seconds", "write_seconds", "bytes_per_memory", "undeclared_bytes", "first_date_after_update"}
    aside |= {"update_seconds", "list_seconds"}
    assert set(found) - set(GOOD) == {*aside, *unplayed}
    assert {found[name].status for name in unplayed} == {"not-applicable"}, "an older transcript lacks these steps"
    seconds, size = found["recall_seconds"], found["bytes_per_memory"]
    assert isinstance(seconds, Measured) and (seconds.value, seconds.of) == (0.25, 8)
    assert isinstance(size, Measured) and (size.value, size.of, size.known) == (100, 6, "exact")


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        (changed("entries", "right", lost, "written"),
         {"writes_listed": (5, 6), "entries_unaccounted": (0, 5), "settled_too_early": (1, 6)}),
        (changed("entries", "right", lost), {"writes_listed": (5, 6), "entries_unaccounted": (0, 5),
         "kept_after_reopening": (4, 4), "texts_whole": (12, 12)}
         | {f"{field}_survives_reopening": (3, 3) for field in ("source", "confidence")}
         | {f"{field}_survives_reopening": (4, 4) for field in ("date", "scope")}),
        (changed("recall", "bare", lost),
         {"self_reachability": (5, 6), "own_text_first": (5, 6), "recalls_malformed": (0, 6), "texts_whole": (12, 12)}),
        (changed("recall", "odd", under(memory_id="id-right"), "asked"),
         {"recalls_malformed": (1, 7), "texts_whole": (12, 13), "answers_invented": (1, 2)}),
        (changed("recall", "odd", under(text="two"), "own"),
         {"texts_whole": (12, 13), "self_reachability": (6, 6)}),
        (changed("recall", "odd", under(score=0.95), "asked"), {"scores_out_of_order": (1, 1)}),
        (changed("entries", "odd", under(text="two lines of \x1b[31mred"), "written"), {"odd_texts_exact": (0, 1)}),
        (changed("recall", "odd", under(text="two lines of \x1b[31mred"), "own"), {"odd_texts_exact": (0, 1)}),
        (changed("recall", "right", under(source=None), "own"), {"source_survives_writing": (4, 5)}),
        (changed("entries", "bare", under(source=Source(path="README.md")), "written"),
         {"source_survives_writing": (5, 6)}),
        (changed("entries", "like", under(created="2026-01-04T09:00:00Z")), {"date_survives_writing": (5, 6)}),
        (lambda _step, _op, name, hit: replace(hit, created=None) if name == "like" else hit,
         {"date_survives_writing": (5, 6)}),
        (changed("entries", "like", under(confidence=1.0)), {"confidence_survives_writing": (4, 5)}),
        (changed("entries", "bare", under(confidence=1.0)), {"confidence_survives_writing": (5, 6)}),
        (changed("entries", "like", under(scope=HOME)), {"scope_survives_writing": (5, 6)}),
        (changed("entries", "new", under(source=whole("old").source), "revised"),
         {"source_survives_update": (0, 1), "source_survives_reopening": (3, 3)}),
        (changed("entries", "new", under(text="The port is 1"), "revised", "reopened"),
         {f"{field}_survives_update": (0, 1) for field in fields.FIELDS}
         | {"source_survives_reopening": (3, 3), "date_survives_reopening": (4, 4)}),
        (changed("entries", "next", under(source=None), "revised"),
         {"source_survives_supersede": (0, 1), "source_survives_reopening": (3, 3)}),
        (changed("entries", "right", lost, "reopened"),
         {"kept_after_reopening": (4, 5)}
         | {f"{field}_survives_reopening": (3, 4) for field in ("source", "confidence")}
         | {f"{field}_survives_reopening": (4, 5) for field in ("date", "scope")}),
        (changed("entries", "right", under(source=Source("c")), "reopened"), {"source_survives_reopening": (3, 4)}),
    ],
)  # fmt: skip
def test_each_loss_moves_its_measure(tmp_path: Path, change: Change, moved: Mapping[str, tuple[int, int]]) -> None:
    found = Play(change).measures(tmp_path)
    assert {name: counts(found[name]) for name in GOOD} == {**GOOD, **moved}
    assert all(found[name].receipts for name, (hits, of) in moved.items() if 0 < hits < of)


@pytest.mark.parametrize(
    ("created", "kept", "first"),
    [
        (PLAN.by_name["new"].item.at, (1, 1), (0, 1)),
        (PLAN.by_name["old"].item.at, (1, 1), (1, 1)),
        ("2031-01-01T00:00:00Z", (0, 1), (0, 1)),
        (None, (0, 1), (0, 1)),
    ],
)
def test_an_updated_memory_may_say_when_it_was_first_made(
    tmp_path: Path, created: str | None, kept: tuple[int, int], first: tuple[int, int]
) -> None:
    found = Play(changed("entries", "new", under(created=created), "revised")).measures(tmp_path)
    assert counts(found["date_survives_update"]) == kept and counts(found["first_date_after_update"]) == first
    assert bool(found["date_survives_update"].receipts) == (kept == (0, 1))


def test_a_text_without_a_word_is_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [piece("odd", "odd", "?! ... ---") if each.name == "odd" else each for each in PLAN.pieces]
    monkeypatch.setattr(keeping_drill, "PLAN", Plan(pieces=tuple(texts)))
    found = Play(changed("recall", "odd", lost, "own")).measures(tmp_path)
    assert counts(found["wordless_text_found"]) == (0, 1)
    assert counts(found["self_reachability"]) == counts(found["own_text_first"]) == (5, 5)


def test_receipts_name_the_call_that_shows_it(tmp_path: Path) -> None:
    play = Play(changed("recall", "odd", lost, "own"))
    found = play.measures(tmp_path)
    assert found["self_reachability"].receipts == (f"{play.line('own', 'recall', 2)} odd stored at L2",)
    play = Play(changed("entries", "next", under(source=None), "revised"))
    found = play.measures(tmp_path / "other")
    stored = play.line("revised", "supersede")
    expected = f"{play.line('revised', 'entries')} next stored at {stored}"
    assert found["source_survives_supersede"].receipts == (expected,)


def test_a_second_copy_is_unaccounted_and_stands_for_no_other(tmp_path: Path) -> None:
    play = Play()
    twice = replace(whole("old"), memory_id="unheard", source=None, created=None, confidence=None, scope=SIBLING)
    play.call("written", "entries", [], [to_wire(whole("old")), to_wire(twice)], scope=to_wire(HOME))
    found = play.measures(tmp_path)
    assert counts(found["entries_unaccounted"]) == (1, 7)
    for name in ("source_survives_writing", "date_survives_writing", "scope_survives_writing"):
        assert counts(found[name]) == GOOD[name]


def test_a_write_without_an_id_is_not_acknowledged_and_not_lost(tmp_path: Path) -> None:
    found = Play(unacknowledged="old").measures(tmp_path)
    assert counts(found["writes_not_acknowledged"]) == (1, 6)
    assert counts(found["writes_kept"]) == (5, 5)


def test_what_no_look_brings_is_lost(tmp_path: Path) -> None:
    found = Play(lambda step, op, name, hit: None if name == "past" else hit).measures(tmp_path)
    assert counts(found["writes_kept"]) == counts(found["writes_listed"]) == (5, 6)


def test_a_wait_that_ends_too_early_is_shown_by_what_comes_later(tmp_path: Path) -> None:
    play = Play(changed("recall", "bare", lost, "own"))
    play.recall("again", "bare", ["bare"])
    found = play.measures(tmp_path)
    assert counts(found["settled_too_early"]) == (1, 6) and counts(found["settled"]) == (1, 1)
    assert found["settled_too_early"].receipts == (play.line("again", "recall"),)


def test_a_wait_that_says_that_it_was_too_short_promises_nothing(tmp_path: Path) -> None:
    play = Play(changed("recall", "bare", lost, "own"))
    at = next(at for at, event in enumerate(play.events) if isinstance(event, Called) and event.op == "settle")
    play.events[at] = play.events[at].model_copy(update={"answer": False})
    found = play.measures(tmp_path)
    assert found["settled_too_early"].status == "not-applicable" and counts(found["settled"]) == (0, 1)


def test_a_breach_is_a_malformed_recall(tmp_path: Path) -> None:
    play = Play()
    breach = Fault(kind="breach", op="recall", message="returned 6 hits for k = 5")
    play.events.append(Called(step="wide", op="recall", about=("right",), request={"k": 5}, fault=breach))
    assert counts(play.measures(tmp_path)["recalls_malformed"]) == (1, 8)


def test_a_whole_file_is_found_by_its_text(tmp_path: Path) -> None:
    """Under another id, and with more around it."""
    found = Play(lambda step, op, name, hit: Hit("NOTES.md", f"- 2026 {hit.text} (docs)")).measures(tmp_path)
    assert counts(found["self_reachability"]) == (6, 6)
    assert counts(found["odd_texts_exact"]) == (1, 1)
    assert counts(found["kept_after_reopening"]) == (5, 5)
    assert counts(found["writes_kept"]) == (0, 6)
    assert found["confidence_survives_writing"].status == "not-applicable"
