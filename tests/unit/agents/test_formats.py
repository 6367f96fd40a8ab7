"""Formats of agent programs: what is asked as chat completions, and what the program is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.agents.contents import Contents, StreamedContents
from harness.agents.formats import Format
from harness.agents.messages import Messages
from harness.agents.responses import Responses
from harness.gateway.chat import wire
from harness.gateway.chat.wire import Completion, Refused

USAGE = {
    "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": {"cached_tokens": 4},
}  # fmt: skip
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}}


def read(kind: type[Format], **body: Any) -> dict[str, Any]:
    return dict(kind(json.dumps({"model": "m", **body}).encode()).asked.body)


def answer(text: str | None, *calls: tuple[str, str], finish: str = "stop") -> Completion:
    """An answer of these words and calls of tools."""
    made = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
    return wire.make_completion("step-1", "theirs", message, "tool_calls" if made else finish, USAGE)


def parse_events(found: Format, said: Completion) -> list[dict[str, Any]]:
    """The events of a stream, each named by its type."""
    events = []
    for each in found.stream(said):
        name, data = each.removesuffix("\n\n").split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


def call(name: str, identity: str, arguments: str) -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_conversation_in_messages_is_one_in_chat_completions() -> None:
    picture = {"type": "base64", "media_type": "image/png", "data": "AA"}
    told = read(
        Messages,
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "source": picture}]},
            {"role": "system", "content": "In the middle."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "text", "text": "I ask."},
                    {"type": "tool_use", "id": "t1", "name": "recall", "input": {"query": "é"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "- known"}]},
                    {"type": "text", "text": "A reminder."},
                ],
            },
        ],
        tools=[
            {"name": "recall", "description": "Ask.", "input_schema": SCHEMA},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
        stop_sequences=["END"], max_tokens=100, stream=True, thinking={"type": "adaptive"}, metadata={"user_id": "u"},
    )  # fmt: skip
    picture_part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    assert told == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "look"}, picture_part]},
            {"role": "system", "content": "In the middle."},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "I ask."}],
                "tool_calls": [call("recall", "t1", '{"query": "\\u00e9"}')],
            },
            {"role": "tool", "tool_call_id": "t1", "content": "- known"},
            {"role": "user", "content": [{"type": "text", "text": "A reminder."}]},
        ],
        "tools": [{"type": "function", "function": {"name": "recall", "description": "Ask.", "parameters": SCHEMA}}],
        "tool_choice": "required", "parallel_tool_calls": False, "stop": ["END"], "max_tokens": 100, "stream": True,
    }  # fmt: skip


def test_an_answer_is_told_as_a_message_whole_and_in_events() -> None:
    found = Messages(b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}')
    said = answer("I ask.", ("recall", '{"query": "x"}'), ("odd", "[half"))
    message = found.write(said)
    assert message["content"] == [
        {"type": "text", "text": "I ask."},
        {"type": "tool_use", "id": "c0", "name": "recall", "input": {"query": "x"}},
        {"type": "tool_use", "id": "c1", "name": "odd", "input": {"arguments": "[half"}},
    ]
    assert message["stop_reason"] == "tool_use" and message["usage"] == {
        "input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 2,
    }  # fmt: skip
    start, *events, ended, stop = parse_events(found, said)
    assert start["message"]["content"] == [] and start["message"]["usage"]["input_tokens"] == 5
    assert [each["type"] for each in events] == [
        f"content_block_{each}" for _ in range(3) for each in ("start", "delta", "stop")
    ]
    assert [each["delta"].get("text", each["delta"].get("partial_json")) for each in events[1::3]] == [
        "I ask.", '{"query": "x"}', '{"arguments": "[half"}',
    ]  # fmt: skip
    assert ended["delta"]["stop_reason"] == "tool_use" and ended["usage"] == message["usage"]
    assert stop == {"type": "message_stop"}
    assert [found.write(answer("x", finish=each))["stop_reason"] for each in ("stop", "length", "content_filter")] == [
        "end_turn", "max_tokens", "refusal",
    ]  # fmt: skip


RECALL = {"type": "function", "name": "recall", "parameters": SCHEMA}
SPACE = {"type": "namespace", "name": "mcp__memory", "tools": [RECALL]}
FREE = {"type": "custom", "name": "apply_patch", "description": "Edit.", "format": {"type": "grammar"}}
"""A tool that takes free text."""
TOOLS = [SPACE, FREE, {"type": "function", "name": "shell", "strict": False}, {"type": "web_search"}]


def test_a_conversation_in_responses_is_one_in_chat_completions() -> None:
    told = read(
        Responses,
        instructions="Be brief.",
        input=[
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
            {"role": "user", "content": [{"type": "input_image", "image_url": "u"}]},
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I ask."}]},
            {"type": "function_call", "call_id": "a", "namespace": "mcp__memory", "name": "recall", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": "*** Begin"},
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "- known"}]},
            {"type": "custom_tool_call_output", "call_id": "b", "output": "done"},
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
        ],
        tools=TOOLS, tool_choice="auto", parallel_tool_calls=True, stream=True, store=False, max_output_tokens=100,
        reasoning={"summary": "auto"}, include=["reasoning.encrypted_content"],
    )  # fmt: skip
    assert told["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "rules"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "I ask."}],
            "tool_calls": [call("mcp__memory__recall", "a", "{}"), call("apply_patch", "b", '{"input": "*** Begin"}')],
        },
        {"role": "tool", "tool_call_id": "a", "content": "- known"},
        {"role": "tool", "tool_call_id": "b", "content": "done"},
        {"role": "assistant", "content": None, "tool_calls": [call("shell", "c", "{}")]},
    ]
    names = [each["function"]["name"] for each in told["tools"]]
    assert names == ["mcp__memory__recall", "apply_patch", "shell"]
    assert told["tools"][1]["function"]["parameters"]["required"] == ["input"]
    rest = {key: each for key, each in told.items() if key not in ("messages", "tools")}
    assert rest == {
        "model": "m", "tool_choice": "auto", "parallel_tool_calls": True, "max_completion_tokens": 100, "stream": True,
    }  # fmt: skip


def test_an_answer_is_told_as_a_response_whole_and_in_events() -> None:
    openai = pytest.importorskip("openai", reason="needs the extra chat")
    types, event_type = openai.types.responses, openai.types.responses.ResponseStreamEvent
    pydantic = pytest.importorskip("pydantic")
    found = Responses(json.dumps({"model": "m", "input": "x", "tools": TOOLS}).encode())
    said = answer(
        "I ask.", ("mcp__memory__recall", '{"query": "x"}'), ("apply_patch", '{"input": "*** Begin"}'), ("odd", "[half")
    )
    response = types.Response.model_validate(found.write(said))
    words, recall, patch, odd = response.output
    assert response.output_text == "I ask." and words.role == "assistant"
    assert (recall.namespace, recall.name, recall.arguments) == ("mcp__memory", "recall", '{"query": "x"}')
    assert (patch.type, patch.name, patch.input) == ("custom_tool_call", "apply_patch", "*** Begin")
    assert (odd.call_id, odd.arguments) == ("c2", "[half")
    assert (response.usage.input_tokens, response.usage.input_tokens_details.cached_tokens) == (9, 4)
    adapter = pydantic.TypeAdapter(event_type)
    events = [adapter.validate_python(each) for each in parse_events(found, said)]
    assert [each.sequence_number for each in events] == [*range(len(events))]
    assert events[0].type == "response.created" and events[0].response.output == []
    done = [each.item for each in events if each.type == "response.output_item.done"]
    assert done == response.output == events[-1].response.output and events[-1].type == "response.completed"
    cut = parse_events(found, answer("half a", finish="length"))[-1]
    assert (cut["type"], cut["response"]["status"]) == ("response.incomplete", "incomplete")
    assert cut["response"]["incomplete_details"] == {"reason": "max_output_tokens"}


def test_a_conversation_in_contents_is_one_in_chat_completions() -> None:
    told = read(
        StreamedContents,
        systemInstruction={"role": "user", "parts": [{"text": "Be brief."}]},
        contents=[
            {"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
            {
                "role": "model",
                "parts": [
                    {"thought": True, "text": "hm"}, {"text": "I ask."},
                    {"functionCall": {"id": "a", "name": "recall", "args": {"query": "x"}}},
                    {"functionCall": {"name": "shell", "args": {}}}, {"functionCall": {"name": "shell"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "a", "name": "recall", "response": {"output": "- known"}}},
                    {"functionResponse": {"name": "shell", "response": {"error": "no"}}},
                    {"functionResponse": {"name": "shell", "response": {"output": "b"}}},
                    {"text": "A reminder."},
                ],
            },
        ],
        tools=[
            {"functionDeclarations": [{"name": "recall", "description": "Ask.", "parametersJsonSchema": SCHEMA}]},
            {"functionDeclarations": [{"name": "shell", "parameters": SCHEMA}]}, {"googleSearch": {}},
        ],
        toolConfig={"functionCallingConfig": {"mode": "ANY"}},
        generationConfig={"temperature": 1, "topK": 64, "maxOutputTokens": 100, "thinkingConfig": {}},
    )  # fmt: skip
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    calls = [call("recall", "a", '{"query": "x"}'), call("shell", "shell-1", "{}"), call("shell", "shell-2", "{}")]
    assert told["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        {"role": "assistant", "content": [{"type": "text", "text": "I ask."}], "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "- known"},
        {"role": "tool", "tool_call_id": "shell-1", "content": '{"error": "no"}'},
        {"role": "tool", "tool_call_id": "shell-2", "content": "b"},
        {"role": "user", "content": [{"type": "text", "text": "A reminder."}]},
    ]
    assert [each["function"]["name"] for each in told["tools"]] == ["recall", "shell"]
    assert all(each["function"]["parameters"] == SCHEMA for each in told["tools"])
    rest = {key: each for key, each in told.items() if key not in ("model", "messages", "tools")}
    assert rest == {"tool_choice": "required", "max_tokens": 100, "temperature": 1, "stream": True}


def test_an_answer_is_told_as_contents_whole_and_in_one_event() -> None:
    body = b'{"contents": [{"role": "user", "parts": [{"text": "x"}]}]}'
    assert not Contents(body).asked.stream
    found, said = StreamedContents(body), answer("I ask.", ("recall", '{"query": "x"}'), ("odd", "[half"))
    whole = found.write(said)
    (candidate,) = whole["candidates"]
    assert candidate["content"]["parts"] == [
        {"text": "I ask."},
        {"functionCall": {"id": "c0", "name": "recall", "args": {"query": "x"}}},
        {"functionCall": {"id": "c1", "name": "odd", "args": {"arguments": "[half"}}},
    ]
    assert whole["usageMetadata"] == {
        "promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "totalTokenCount": 11,
    }  # fmt: skip
    assert [*found.stream(said)] == [f"data: {json.dumps(whole)}\n\n"]
    ends = [found.write(answer("x", finish=each))["candidates"][0]["finishReason"] for each in ("stop", "length")]
    assert (candidate["finishReason"], ends) == ("STOP", ["STOP", "MAX_TOKENS"])


@pytest.mark.parametrize("broken", [None, {"a": 1}, [1, {"id": None}, {"function": {"name": 2}}]])
@pytest.mark.parametrize("kind", [Messages, Responses, StreamedContents])
def test_calls_that_a_model_wrote_wrong_are_told_all_the_same(kind: type[Format], broken: Any) -> None:
    key = {Messages: "messages", Responses: "input", StreamedContents: "contents"}[kind]
    told = {"role": "user", "content": "x", "parts": [{"text": "x"}]}
    found = kind(json.dumps({"model": "m", key: [told]}).encode())
    said = wire.make_completion("1", "m", {"content": "yes", "tool_calls": broken}, "stop", None)
    assert "yes" in json.dumps(found.write(said)) and "yes" in "".join(found.stream(said))


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        (Messages, {"messages": []}, "messages must be a list that is not empty"),
        (Messages, {"messages": ["x"]}, "messages must be a list of objects"),
        (Messages, {"messages": [{"role": "user", "content": 3}]}, "content must be a list of objects"),
        (Messages, {"messages": [{"content": "x"}]}, r"messages\[0\] must be an object with a role"),
        (Messages, {"messages": [{"role": "user", "content": "x"}], "tools": 1}, "tools must be a list of objects"),
        (Messages, {"messages": [{"role": "user", "content": "x"}], "system": [1]}, "system must be a list of objects"),
        (Responses, {}, "messages must be a list that is not empty"),
        (Responses, {"input": [1]}, "input must be a list of objects"),
        (Responses, {"input": [{"content": "x"}]}, r"messages\[0\] must be an object with a role"),
        (Responses, {"input": "x", "tools": [{"type": "namespace", "tools": 3}]}, "tools must be a list of objects"),
        (Responses, {"input": "x", "stream": 3}, "stream must be true or false"),
        (Contents, {}, "messages must be a list that is not empty"),
        (Contents, {"contents": [{"parts": 3}]}, "parts must be a list of objects"),
        (Contents, {"contents": [{"parts": [{"functionCall": 3}]}]}, "functionCall must be an object"),
        (Contents, {"contents": [], "systemInstruction": 3}, "systemInstruction must be an object"),
        (Contents, {"contents": [], "tools": [{"functionDeclarations": 3}]}, "functionDeclarations must be a list"),
    ],
)
def test_what_is_no_request_is_refused(kind: type[Format], body: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused, match=f"^{why}"):
        read(kind, **body)
