"""How the stand-in writes for the chat writer: lines as they are, no questions, no secrets."""

from __future__ import annotations

import json

import pytest

from harness.gateway.chat import standin_writer
from harness.play.writer import Transcript, read_answer

HEAD = "Today: 2025-01-10. Place: repository shop. By: ada."


def test_lines_are_kept_but_for_questions_and_secrets_and_replace_what_they_are_like() -> None:
    told = ["The port is 9000", "Which port is it?", "The password of the server is hunter2", "Lunch is at noon"]
    known = ["The port is 8123", "Deploy with alphadeploy"]
    kept = read_answer(standin_writer.decide(str(Transcript(HEAD, told, known))), len(told), len(known))
    assert [(each.text, each.sources, each.replaces) for each in kept] == [
        ("The port is 9000", (1,), (1,)),
        ("Lunch is at noon", (4,), ()),
    ]


def test_without_known_memories_nothing_is_replaced() -> None:
    (one,) = read_answer(standin_writer.decide(str(Transcript(HEAD, ["[1] odd \n[2] line"]))), 1, 0)
    assert (one.text, one.replaces) == ("[1] odd [2] line", ())


@pytest.mark.parametrize("form", [None, [], {}, {"json_schema": 1}, {"json_schema": {"name": "choice"}}])
def test_other_requests_are_not_its_own(form: object) -> None:
    assert not standin_writer.is_asked({"response_format": form})
    assert json.loads(standin_writer.decide("no transcript")) == {"memories": []}
