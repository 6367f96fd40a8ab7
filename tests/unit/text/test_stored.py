"""Whether what comes back was stored: by its id and its words."""

from __future__ import annotations

import pytest

from harness.text.classify import cut
from harness.text.stored_texts import StoredTexts

PORT = "The gateway listens on port 8123, and never on 8080"
TOKEN = "Ask Bartek for the token of the staging cluster before a release"


def holds(memory_id: str, text: str) -> bool:
    stored = StoredTexts()
    stored.add([PORT, TOKEN, "a.b@c.example"], [["port"], ["token", "token-2"], ["mail"]])
    stored.add(["Nobody knows whether this was stored at all"])
    return stored.holds(memory_id, text, cut(text, stored.known))


@pytest.mark.parametrize(
    ("memory_id", "text"),
    [
        ("port", PORT),
        ("port", f"  {PORT}\n"),
        ("port", f"2026-01-02 (ada): {PORT}. Tags: gateway, port"),
        ("port", "The gateway listens on port 8123"),
        ("port", PORT.upper()),
        ("port", PORT.replace("8123", "####")),
        ("mail", "b@c"),
        ("token-2", "for the token of the staging cluster"),
        ("a part of it", "for the token of the staging cluster"),
        ("a whole file", f"# Memories\n\n- {TOKEN}\n- {PORT}\n"),
        ("after an error", "Nobody knows whether this was stored at all"),
    ],
)
def test_what_was_stored_is_known_whole_cut_wrapped_and_altered_a_little(memory_id: str, text: str) -> None:
    assert holds(memory_id, text)


@pytest.mark.parametrize(
    ("memory_id", "text"),
    [
        ("port", TOKEN),
        ("token", PORT),
        ("fresh", "On which port does the gateway listen?"),
        ("port", "On which port does the gateway listen?"),
        ("fresh", "It is known: gateway, port, 8123, listens"),
        ("fresh", "8124"),
        ("fresh", "The platform is kestrelway since the second of May"),
    ],
)
def test_a_question_a_guess_and_what_stands_under_another_id_are_not(memory_id: str, text: str) -> None:
    assert not holds(memory_id, text)


def test_what_is_told_later_is_not_stored_before() -> None:
    stored = StoredTexts()
    stored.add([PORT], [["port"]])
    assert not stored.holds("fresh", TOKEN, cut(TOKEN, stored.known))
    stored.add([TOKEN], [["token"]])
    assert stored.holds("fresh", TOKEN, cut(TOKEN, stored.known))
    stored.add([TOKEN], [["port"]])
    assert stored.holds("port", TOKEN, cut(TOKEN, stored.known)), "an update under the old id"
