"""The golden drills load and score as when they were played, for ever."""

from __future__ import annotations

import pytest

from harness.log.events import SCHEMA
from harness.log.transcript import Broke, Called, Handled, Looked, Transcript, Tried
from harness.metrics import trust
from harness.metrics.trust.promises import find_promise
from tests.support import golden_drills


@pytest.fixture(scope="module")
def transcripts() -> list[Transcript]:
    return [transcript for file in golden_drills.packed() for transcript in golden_drills.transcripts(file)]


@pytest.mark.slow
def test_a_golden_drill_keeps_its_values() -> None:
    """If this fails, mend the code, or raise the measure's version; never play the golden drills anew."""
    old, new = golden_drills.known(), golden_drills.table()
    assert golden_drills.moved(old, new) == []
    assert old == new, "a version was raised, or a measure added: make golden"


def test_golden_drills_show_what_a_transcript_can_hold(transcripts: list[Transcript]) -> None:
    """Every drill and every kind of event, a backend that passes, one that keeps what was deleted, one that crashes."""
    assert {transcript.trial.drill for transcript in transcripts} == set(trust.DRILLS)
    assert max(transcript.drilled.log_schema for transcript in transcripts) == SCHEMA, "tests/golden/README.md"
    assert all(any(each.of(kind) for each in transcripts) for kind in (Called, Handled, Looked, Tried, Broke))
    entries = {entry.split()[1] for drill in golden_drills.known().values() for entry in drill.values()}
    assert entries >= {"0", "1", "failed", "not-applicable", "unsupported"}


@pytest.mark.slow
def test_a_golden_broken_promise_is_judged_again_from_its_answers(transcripts: list[Transcript]) -> None:
    (found,) = filter(None, map(find_promise, transcripts))
    assert found.steps == ("remember a memory (m1) in repo=api", 'list repo=api user=""')
    assert (found.short, found.shrunk, found.random) == ("remember \u2192 entries", True, "")
    assert found.says == 'm1 of repo=api is listed in repo=api user=""'


def test_a_value_that_moved_under_its_version_is_named_and_a_raised_version_is_not() -> None:
    old = {"log": {"kept": "v1 1 of 5", "lost": "v1 0", "gone": "v1 0"}}
    assert golden_drills.moved(old, {"log": {"kept": "v1 0.8 of 5", "lost": "v2 1", "added": "v1 1"}}) == [
        "log: kept: v1 1 of 5, now v1 0.8 of 5",
        "log: gone: v1 0, now gone",
    ]
    assert golden_drills.moved(old, {}) and not golden_drills.moved(old, old)
