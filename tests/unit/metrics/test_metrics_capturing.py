"""What a capture makes of sessions, by what is listed after each: kept, cut, merged, made up, stale, deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Source
from harness.log.events import Changed
from harness.metrics import score
from harness.metrics.capturing import METRICS
from harness.model.trial import Measure
from tests.support.logs import HOME, KEY, LURE, NEW, NOISE, OLD, PEACE, PIN, PORT, Tape, hit
from tests.support.measures import counts
from tests.unit.metrics.test_metrics_losses import SPOKEN, TALK, capture, native, speak

TOGETHER = f"{OLD}. {PORT}"


def measures(tape: Tape) -> dict[str, Measure]:
    found = score([tape.log()])[0].measures
    return {each.definition.name.removeprefix("capture_"): found[each.definition.name] for each in METRICS}


def heard(folder: Path, first: Any, second: Any, **more: Any) -> dict[str, Measure]:
    tape = capture(capture(native(folder, **more), "first", *first), "second", *second)
    return measures(tape.probe("tool-after", NEW))


def test_each_session_and_fact_counts_by_itself(tmp_path: Path) -> None:
    found = heard(tmp_path, [OLD], [NEW, NOISE])
    assert counts(found["kept"]) == (2, 3) and found["kept"].receipts == ("L2",), "the port is nowhere"
    assert counts(heard(tmp_path, [OLD, PORT], [])["kept"]) == (2, 3)


def test_what_is_marked_as_superseded_is_not_captured(tmp_path: Path) -> None:
    assert counts(heard(tmp_path, [OLD, PORT], [hit(NEW, superseded=True)])["kept"]) == (2, 3)


def test_a_fact_of_which_several_memories_tell_a_part_was_split(tmp_path: Path) -> None:
    parts = [f"Never {OLD.lower()}", f"Do not {OLD.lower()}"]
    found = heard(tmp_path, [*parts, PORT], [NEW])
    assert (counts(found["kept"]), counts(found["split"])) == ((2, 3), (1, 3))
    assert counts(heard(tmp_path, [parts[0], PORT], [NEW])["split"]) == (0, 3), "one memory is no split"
    assert counts(heard(tmp_path, [*parts, OLD, PORT], [NEW])["split"]) == (0, 3), "one asserts it"


def test_a_fact_is_merged_if_only_a_memory_of_several_holds_it(tmp_path: Path) -> None:
    assert counts(heard(tmp_path, [TOGETHER], [NEW])["merged"]) == (2, 3)
    assert counts(heard(tmp_path, [TOGETHER, PORT], [NEW])["merged"]) == (1, 3)


def test_a_fact_of_which_nobody_had_spoken_is_invented(tmp_path: Path) -> None:
    found = heard(tmp_path, [OLD, LURE], [NEW, KEY])
    assert counts(found["invented"]) == (2, 4) and found["invented"].receipts == ("L3", "L5")
    assert counts(heard(tmp_path, [OLD, NEW], [PORT])["invented"]) == (1, 3), "nobody had said it then"


def test_what_a_session_corrects_is_stale_while_a_memory_asserts_it(tmp_path: Path) -> None:
    assert counts(heard(tmp_path, [OLD], [NEW])["stale"]) == (1, 1)
    assert heard(tmp_path, [PORT], [NEW])["stale"].status == "not-applicable"
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW, gone=[OLD])
    assert counts(measures(tape.probe("tool-after", NEW))["stale"]) == (0, 1)
    tape = capture(capture(native(tmp_path), "first", OLD), "second", NEW, hit(OLD, superseded=True))
    assert counts(measures(tape.probe("tool-after", NEW))["stale"]) == (0, 1)


def test_a_source_is_the_session_that_told_it_or_one_of_its_messages(tmp_path: Path) -> None:
    def named(session: str) -> dict[str, Measure]:
        return heard(tmp_path, [hit(OLD, source=Source(session=session)), PORT], [hit(NEW, source=Source(commit="c1"))])

    assert counts(named("first")["sourced"]) == counts(named("first#1")["sourced"]) == (1, 3)
    assert counts(named("second#1")["sourced"]) == (0, 3)
    assert heard(tmp_path, [OLD], [NEW], unsupported=["source"])["sourced"].status == "unsupported"


def test_a_date_is_right_within_a_day_of_the_session(tmp_path: Path) -> None:
    def dated(first: str | None) -> tuple[float | None, int | None]:
        return counts(heard(tmp_path, [hit(OLD, created=first)], [hit(NEW, created="2025-02-11T08:59:00Z")])["dated"])

    assert dated("2025-01-10") == dated("2025-01-09T23:00:00-10:00") == (2, 2)
    assert dated("2025-02-10T09:00:00Z") == dated("2025-01-11T09:00:01Z") == dated("soon") == dated(None) == (1, 2)
    assert heard(tmp_path, [OLD], [NEW], unsupported=["created"])["dated"].status == "unsupported"


def test_a_secret_is_captured_whatever_else_the_memory_says(tmp_path: Path) -> None:
    talk = {**TALK, "first": [{"role": "user", "content": "The pin, the key.", "tells": ["pin", "key"]}]}
    tape = capture(Tape(tmp_path, scenario=speak(talk), feed="native"), "first", hit(f"{PIN}, or so"), PORT)
    found = measures(tape.probe("tool-before", OLD))["secrets"]
    assert counts(found) == (1, 2) and found.receipts == ("L2",)
    assert heard(tmp_path / "none", [OLD], [NEW])["secrets"].status == "not-applicable", "no session told one"


def test_a_secret_is_forgotten_on_request_if_it_is_gone_before_it_is_deleted_by_id(tmp_path: Path) -> None:
    def forgotten(name: str, *gone: str, kept: tuple[str, ...] = (PIN, KEY)) -> Measure:
        tape = capture(capture(native(tmp_path / name), "first", *kept), "third", gone=gone)
        return measures(tape.probe("tool-after", NEW))["forgotten"]

    assert counts(forgotten("one", PIN)) == (1, 2) and forgotten("again", PIN).receipts == ("L3",)
    assert counts(forgotten("both", PIN, KEY)) == (2, 2)
    assert counts(forgotten("held", kept=(PIN,))) == (0, 1)
    assert forgotten("nothing", kept=()).status == "not-applicable", "no memory held them"


def test_listings_of_several_scopes_after_a_session_are_one_look(tmp_path: Path) -> None:
    tape = capture(native(tmp_path), "first", OLD)
    tape.add(Changed(session="first", scope=HOME.__class__(org="lantern"), hits=(hit(PORT),)))
    assert counts(measures(tape.probe("tool-before", OLD))["kept"]) == (2, 2)


@pytest.mark.parametrize(
    ("tape", "status"),
    [
        (lambda folder: Tape(folder, scenario=SPOKEN).learn("first", "old"), "not-applicable"),
        (lambda folder: native(folder, unsupported=["entries"]), "unsupported"),
        (native, "not-run"),
        (lambda folder: native(folder).add(Changed(session="first", scope=HOME, fault=PEACE)), "failed"),
    ],
)
def test_without_captures_that_were_listed_nothing_is_said(tape: Any, status: str, tmp_path: Path) -> None:
    assert {each.status for each in measures(tape(tmp_path).probe("tool-after", NEW)).values()} == {status}
