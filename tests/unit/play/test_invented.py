"""What nobody stored is logged, and no reader is shown it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import metrics
from harness.adapter import Hit, Scope
from harness.log.events import Recalled
from harness.log.reader import Log
from harness.model.trial import Measured
from tests.support.fakes import FakeHost, FakeMemory
from tests.support.story_player import Stage


class FakeEcho(FakeMemory):
    """A fake that says the question first, under an id of its own."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [Hit(f"fresh-{len(query)}", query, 1.0), *super().recall(query, scope, k, at)][:k]


def shown(log: Log, event: Recalled) -> list[str]:
    found = log.find_answer(event)
    return [found.hits[span.hit].text for span in found.entries]


@pytest.mark.slow
def test_an_echo_is_kept_as_evidence_and_shown_to_nobody(small: Stage, tmp_path: Path) -> None:
    log = small.play(tmp_path, FakeHost(tmp_path / "store", memory=FakeEcho))
    questions = log.list_events(Recalled)
    assert questions and all(log.find_answer(event).hits[0].text == event.query for event in questions)
    assert all(event.query not in shown(log, event) and shown(log, event) for event in questions)
    measure = metrics.score([log])[0].measures["hits_invented"]
    assert isinstance(measure, Measured) and measure.hits == len(questions)


def test_who_declares_a_model_inside_may_word_what_it_brings(small: Stage, tmp_path: Path) -> None:
    log = small.play(tmp_path, FakeHost(tmp_path / "store", memory=FakeEcho, extracts=True))
    assert all(shown(log, event)[0] == event.query for event in log.list_events(Recalled))
    assert metrics.score([log])[0].measures["hits_invented"].status == "not-applicable"
