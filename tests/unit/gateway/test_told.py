"""How the stand-in answers Hindsight's and LangMem's extraction."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from harness.gateway.chat.normaliser import Normaliser
from harness.gateway.chat.standin import StandIn
from harness.gateway.chat.wire import ChatRequest, Refused

SESSION = "ab263fe8-2e26-4c18-ada1-013f49fac12e"


def chunk(text: str) -> dict[str, Any]:
    """As Hindsight 1.1.0 asks, its instructions apart."""
    head = "Extract facts from the following chunk.\n\nChunk: 1/1\nEvent Date: none\nContext: none"
    return {"model": "local", "messages": [{"role": "user", "content": f"{head}\n\nContent:\n{text}"}]}


def session(text: str, *known: str) -> dict[str, Any]:
    """As LangMem 0.0.30 asks, its instructions apart."""
    shown = "\n".join(
        f'<instance id=known-{at} schema_type="Memory">\n{ {"content": each} }\n</instance>'
        for at, each in enumerate(known)
    )
    told = f"<session_{SESSION}>\n{'=' * 32} Human Message {'=' * 33}\n\n{text}\n</session_{SESSION}>"
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("PatchDoc", "Memory")]
    messages = [
        {"role": "system", "content": f"<existing>\n{shown}\n</existing>\n"},
        {"role": "user", "content": f"Enrich, prune. \n\n{told}"},
    ]
    return {"model": "local", "messages": messages, "tools": tools, "tool_choice": "required"}


def answer(body: dict[str, Any]) -> dict[str, Any]:
    done = asyncio.run(StandIn().complete(ChatRequest(body)))
    assert done["model"] == "coldwarm-extractor-1" and done["usage"]["completion_tokens"] > 0
    message: dict[str, Any] = done["choices"][0]["message"]
    return message


def list_memories(body: dict[str, Any]) -> list[str]:
    calls = answer(body).get("tool_calls") or []
    assert {call["function"]["name"] for call in calls} <= {"Memory"}
    return [json.loads(call["function"]["arguments"])["content"] for call in calls]


def test_hindsight_gets_a_fact_for_each_sentence_with_every_field_that_it_needs() -> None:
    facts = json.loads(answer(chunk("The port is 80.\nContent:\nShip on Mondays. Thanks!"))["content"])["facts"]
    assert [fact["what"] for fact in facts] == ["The port is 80.", "Content: Ship on Mondays."]
    needed = {"what", "when", "where", "who", "why", "fact_type"}
    assert all(needed <= fact.keys() and fact["fact_type"] == "world" for fact in facts)


def test_langmem_gets_a_call_of_its_tool_for_each_memory_that_it_does_not_know() -> None:
    assert list_memories(session("The port is 80. Ship on Mondays.")) == ["The port is 80.", "Ship on Mondays."]
    assert list_memories(session("The port is 80. Ship on Mondays.", 'It\'s "so"', "the port is 80")) == [
        "Ship on Mondays."
    ]


def test_where_there_is_nothing_new_langmem_gets_words_and_no_call() -> None:
    message = answer(session("Thanks!"))
    assert message["content"] and not message.get("tool_calls")


def test_a_session_without_the_tool_is_somebody_elses() -> None:
    body = {key: value for key, value in session("The port is 80.").items() if key != "tools"}
    with pytest.raises(Refused, match="LangMem"):
        answer(body)


def test_a_recording_of_langmem_is_found_again_under_another_session() -> None:
    asked = session("The port is 80.")
    again = json.loads(json.dumps(asked).replace(SESSION, SESSION.replace("a", "b")))
    assert asked != again and len({Normaliser().request(ChatRequest(each)).digest for each in (asked, again)}) == 1
