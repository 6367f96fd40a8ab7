"""The transcripts of a suite's sessions as a table: what was said, and which facts of the story each message tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.model.scenario import Scenario

COLUMNS = {
    "session": ("dtype: string", "the session in which it was said"),
    "number": ("dtype: int32", "of the message in its session, from 1"),
    "role": ("dtype: string", "user, assistant or tool"),
    "content": ("dtype: string", "what was said; `{canary:FACT}` stands for the random string of a fact"),
    "tool_calls": (
        "dtype: string",
        "the assistant's calls of tools, as JSON of OpenAI's chat API; none: it calls none",
    ),
    "tool_call_id": ("dtype: string", "the call that a message of a tool answers"),
    "tells": ("list: string", "facts that hold, as a careful reader knows after it"),
    "retracts": ("list: string", "facts of which it says that they do not hold, any more or ever"),
    "mentions": ("list: string", "facts of which it speaks without saying either"),
}
"""Beside those of every table: column -> its type and what it says."""


def list_rows(story: Scenario) -> Iterator[dict[str, Any]]:
    for session in story.sessions:
        for number, message in enumerate(session.transcript, 1):
            calls = [call.model_dump() for call in message.tool_calls]
            yield {
                "session": session.id,
                "number": number,
                "role": message.role,
                "content": message.content,
                "tool_calls": json.dumps(calls, ensure_ascii=False) if calls else None,
                "tool_call_id": message.tool_call_id,
                "tells": message.tells,
                "retracts": message.retracts,
                "mentions": message.mentions,
            }
