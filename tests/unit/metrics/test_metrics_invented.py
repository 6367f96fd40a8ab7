"""Answers that nobody stored."""

from __future__ import annotations

from pathlib import Path

from harness.metrics import score
from harness.model.trial import Measure
from tests.support.logs import NEW, NOISE, OLD, Tape, hit
from tests.support.measures import counts


def invented(tape: Tape) -> Measure:
    return score([tape.log()])[0].measures["hits_invented"]


def test_a_hit_counts_as_invented_until_its_text_was_written(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old").probe("tool-before", OLD, NEW)
    early = tape.line
    tape.learn("second", "new").probe("tool-after", NEW, OLD, hit(OLD, "fresh"), NOISE)
    measure = invented(tape)
    assert counts(measure) == (2, 6)
    assert measure.receipts == (f"L{early}", f"L{tape.line}")


def test_a_known_text_under_the_id_of_another_is_invented(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old").learn("second", "new")
    assert counts(invented(tape.probe("tool-after", hit(OLD, NEW), hit(NEW, NEW)))) == (1, 2)


def test_what_a_failed_write_may_have_stored_is_not(tmp_path: Path) -> None:
    tape = Tape(tmp_path).learn("first", "old", ids=[]).probe("tool-before", OLD)
    assert counts(invented(tape)) == (0, 1)


def test_a_backend_with_a_model_inside_words_its_memories_itself(tmp_path: Path) -> None:
    tape = Tape(tmp_path, extracts=True).learn("first", "old").probe("tool-before", NOISE)
    assert invented(tape).status == "not-applicable"
    assert invented(Tape(tmp_path).learn("first", "old")).status == "not-applicable"


def test_a_control_may_bring_texts_of_its_own(tmp_path: Path) -> None:
    tape = Tape(tmp_path, "placebo", control=True).learn("first", "old").probe("tool-before", NOISE)
    assert invented(tape).status == "not-applicable"
