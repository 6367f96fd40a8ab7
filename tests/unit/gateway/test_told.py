"""How the stand-in answers Hindsight's and LangMem's extraction, and as the model of a Letta agent."""

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


def agent(*dialogue: dict[str, Any], human: str = "", at: str = "2026-12-01 09:05:10 AM") -> dict[str, Any]:
    """As Letta 0.16.8 asks for an agent's next step, its instructions apart."""
    blocks = "\n\n".join(
        f"<{label}>\n<description>\nThe block.\n</description>\n<metadata>\n- chars_limit=100000\n</metadata>\n"
        f"<value>\n{held}\n</value>\n</{label}>"
        for label, held in (("persona", ""), ("human", human))
    )
    stated = f"<memory_metadata>\n- AGENT_ID: agent-{SESSION}\n- System prompt last recompiled: {at} UTC+0000\n"
    system = {"role": "system", "content": f"<memory_blocks>\n{blocks}\n\n</memory_blocks>\n\n{stated}"}
    tools = [{"type": "function", "function": {"name": name}} for name in ("conversation_search", "memory_insert")]
    return {"model": "local", "messages": [system, *dialogue], "tools": tools, "tool_choice": "auto"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


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


def test_an_agent_of_letta_writes_what_no_block_holds_into_one_of_them_and_then_ends_its_turn() -> None:
    asked = agent(user("assistant: Ship on Mondays.\nuser: The port is 80. It is new."), human="\nship on mondays")
    (call,) = answer(asked)["tool_calls"]
    assert call["function"]["name"] == "memory_insert"
    assert json.loads(call["function"]["arguments"]) == {"label": "human", "new_string": "The port is 80. It is new."}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "The port is 80. It is new."}
    ended = answer(agent(*asked["messages"][1:], {"role": "assistant", "content": None, "tool_calls": [call]}, result))
    assert ended["content"] and not ended.get("tool_calls")


def test_of_a_dialogue_with_an_agent_only_what_was_said_last_is_new() -> None:
    before = (user("The port is 80."), {"role": "assistant", "content": "Noted."})
    (call,) = answer(agent(*before, user("Ship on Mondays."), user("Ship by tag.")))["tool_calls"]
    assert json.loads(call["function"]["arguments"])["new_string"] == "Ship on Mondays.\nShip by tag."


@pytest.mark.parametrize(
    "asked",
    [
        "Your task is to create a detailed summary of the conversation so far, paying close attention to",
        "The following messages are being evicted from the BEGINNING of your context window. Write a detailed",
    ],
)
def test_an_agent_whose_dialogue_is_too_long_gets_a_summary(asked: str) -> None:
    messages = [{"role": "system", "content": asked}, user("The port is 80.")]
    assert "blocks" in answer({"model": "local", "messages": messages})["content"]


@pytest.mark.parametrize("lacking", ["tools", "blocks"])
def test_an_agent_without_the_tool_or_without_blocks_is_somebody_elses(lacking: str) -> None:
    asked = agent(user("The port is 80."))
    body = {**asked, "tools": []} if lacking == "tools" else {**asked, "messages": [user("x"), *asked["messages"][1:]]}
    with pytest.raises(Refused, match="Letta"):
        answer(body)


def test_a_recording_of_an_agent_is_found_again_in_the_afternoon_and_under_another_id() -> None:
    asked = agent(user("The port is 80."))
    later = agent(user("The port is 80."), at="2026-12-02 02:05:10 PM")
    again = json.loads(json.dumps(later).replace(SESSION, SESSION.replace("a", "b")))
    assert asked != again and len({Normaliser().request(ChatRequest(each)).digest for each in (asked, again)}) == 1
