"""What was said in a session, found in a text however a backend has cut and wrapped it."""

from __future__ import annotations

from typing import Any

import pytest

from adapters._capture import by_piece
from harness import paths
from harness.text.chunks import Chunk, Heard, list_said
from harness.text.classify import Classifier
from tasks import loader
from tests.unit.text.test_chunks import FACTS, session

LONG = "and then we talked about the weather of the week, which was fine"
TOLD = {"content": f"it is dockleaf, {LONG}", "tells": ["old"]}
ENDED = {
    "content": f"not any more\n{LONG} for those who were there, and for all of the others\nok",
    "retracts": ["old"],
}
CALLED = {
    "role": "assistant", "content": "", "mentions": ["old"],
    "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": '{"for": "dockleaf"}'}}],
}  # fmt: skip
ANSWERED = {"role": "tool", "tool_call_id": "1", "content": "nothing"}
TALK: tuple[dict[str, Any], ...] = (TOLD, ENDED, CALLED, ANSWERED)


def hear(text: str, *talk: dict[str, Any]) -> Chunk | None:
    return Heard([session(*(talk or TALK))], FACTS, {}).read(text)


@pytest.mark.parametrize(
    ("text", "asserted", "denied"),
    [
        (f"user: it is dockleaf, {LONG}", {"old"}, set()),
        (f"It is   dockleaf, {LONG}", {"old"}, set()),
        (f"- 2026-02-03 [shop] user: it is dockleaf, {LONG} (monday#1)", {"old"}, set()),
        (f"user: it is dockleaf, {LONG}\nuser: {ENDED['content']}", set(), {"old"}),
        (f"user: it is dockleaf, {LONG}\nuser: not any more", {"old"}, set()),
    ],
    ids=["as it was said", "without who said it", "in a note", "taken back", "cut before it is taken back"],
)
def test_messages_are_read_by_their_anchors(text: str, asserted: set[str], denied: set[str]) -> None:
    heard = hear(text)
    assert heard is not None and (set(heard.asserted), set(heard.denied)) == (asserted, denied)


@pytest.mark.parametrize(
    "text", ["", "ok", "The rule is dockleaf.", f"it is dockleaf, {LONG[:40]}"], ids=["", "short", "other", "cut"]
)
def test_what_stands_in_no_line_of_a_session_is_not_heard(text: str) -> None:
    assert hear(text) is None


def test_the_arguments_of_a_call_are_said_too() -> None:
    assert list_said(session(*TALK), {})[2].content == 'calls look: {"for": "dockleaf"}'
    heard = hear('assistant: calls look: {"for": "dockleaf"}')
    assert heard is not None and heard.mentioned == {"old"}


def test_a_line_with_which_a_piece_ends_is_heard_as_far_as_it_goes() -> None:
    heard = hear(
        f"user: {LONG}, all of it, and sorrel\nit is dockleaf, {LONG[:30]}",
        {"content": LONG + ", all of it, and sorrel"},
        TOLD,
    )
    assert heard is not None and heard.asserted == {"old"}


@pytest.mark.slow
def test_pieces_of_the_suite_tell_each_fact_that_a_session_tells() -> None:
    for file in loader.find(paths.DEEP):
        scenario = loader.read(file)
        classifier = Classifier(scenario)
        pieces = [each.text for own in scenario.sessions for each in by_piece(list_said(own, {}))]
        readings = [classifier.hear(text) for text in pieces]
        told = {name for own in scenario.sessions for message in own.transcript for name in message.tells}
        assert told <= {name for reading in readings for name in reading.asserted}, scenario.id
        assert sum(not reading.exact for reading in readings) <= 1, "a stretch of one line alone is read by the rules"
