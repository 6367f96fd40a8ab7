"""Transcripts in pieces: nothing is lost, no piece is too long, and each says what its messages say in the end."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.facts import Fact
from harness.model.scenario import Session
from harness.model.transcript import Message
from harness.text.chunks import LONGEST, Chunk, cut_transcript

AT = datetime(2025, 3, 4, tzinfo=UTC)


def fact(name: str, *forms: str) -> Fact:
    text = " ".join(forms)
    return Fact.model_validate(
        {
            "id": name, "type": "project", "since": AT, "forms": [[form] for form in forms], "identifier": text,
            "plain": text, "paraphrase": text, "rewrites": [text] * 3,
        }
    )  # fmt: skip


FACTS = (fact("old", "dockleaf"), fact("new", "larkspur"), fact("pair", "sorrel", "teasel"))


def session(*messages: dict[str, Any]) -> Session:
    said = [Message.model_validate({"role": "user", **each}) for each in messages]
    probe = {"do": "probe", "id": "p", "ask": {"plain": "what?"}}
    return Session.model_validate(
        {"id": "monday", "at": AT, "by": "ada", "commit": "0001", "steps": [probe], "transcript": said}
    )


def read(*messages: dict[str, Any]) -> Chunk:
    (chunk,) = cut_transcript(session(*messages), FACTS, {})
    return chunk


TOLD = {"content": "it is dockleaf", "tells": ["old"]}


@pytest.mark.parametrize(
    ("messages", "asserted", "denied", "mentioned"),
    [
        ([TOLD], {"old"}, set(), set()),
        ([TOLD, {"content": "not any more, larkspur", "retracts": ["old"], "tells": ["new"]}], {"new"}, {"old"}, set()),
        ([{"content": "not dockleaf", "retracts": ["old"]}, TOLD], {"old"}, set(), set()),
        ([TOLD, {"content": "dockleaf?", "mentions": ["old"]}], {"old"}, set(), set()),
        ([{"content": "dockleaf?", "mentions": ["old"]}], set(), set(), {"old"}),
        ([{"content": "sorrel", "tells": ["pair"]}], set(), set(), {"pair"}),
        ([{"content": "sorrel", "tells": ["pair"]}, {"content": "teasel", "tells": ["pair"]}], {"pair"}, set(), set()),
    ],
    ids=["told", "corrected", "told again", "asked after", "asked", "half of it", "by two messages"],
)
def test_a_piece_says_what_its_messages_say_in_the_end(
    messages: list[dict[str, Any]], asserted: set[str], denied: set[str], mentioned: set[str]
) -> None:
    found = read(*messages)
    assert [set(each) for each in (found.asserted, found.denied, found.mentioned)] == [asserted, denied, mentioned]


WORDS = st.text("ab cd\n.", min_size=1, max_size=2600).filter(str.strip)


@pytest.mark.slow
@given(st.lists(WORDS, min_size=1, max_size=12))
def test_no_line_is_lost_and_no_piece_is_too_long(said: list[str]) -> None:
    found = cut_transcript(session(*({"content": text} for text in said)), FACTS, {})
    assert all(0 < len(chunk.text) <= LONGEST for chunk in found)
    whole = re.sub(r"\s", "", "".join(chunk.text for chunk in found))
    assert all(re.sub(r"\s", "", line[: LONGEST // 2]) in whole for text in said for line in text.strip().splitlines())
    assert [chunk.first for chunk in found] == sorted(chunk.first for chunk in found)


def test_a_piece_begins_with_the_last_message_of_the_one_before() -> None:
    found = cut_transcript(session(*({"content": f"{at} " + "x" * 300} for at in range(6))), FACTS, {})
    assert [chunk.first for chunk in found] == [1, 3, 5]
    assert [chunk.text.count("user:") for chunk in found] == [3, 3, 2]


def test_calls_of_tools_are_written_with_their_arguments() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    found = read(
        {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "shop.py"}
    )
    assert found.text == 'assistant calls bash: {"command": "ls"}\ntool: shop.py'


def test_a_canary_stands_where_its_fact_is_named() -> None:
    secret = fact("secret", "{canary}")
    ((chunk),) = cut_transcript(
        session({"content": "take {canary:secret}", "tells": ["secret"]}), [secret], {"secret": "x7"}
    )
    assert chunk.text == "user: take x7" and chunk.asserted == {"secret"}
