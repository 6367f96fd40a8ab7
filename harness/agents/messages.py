"""Anthropic's Messages format. What only that vendor's models know (thinking, cache marks, tools that its servers run)
is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.agents.formats import (
    join_texts,
    list_calls,
    list_objects,
    parse,
    read_object,
    write_call,
    write_event,
    write_tool,
)
from harness.gateway.chat import wire
from harness.gateway.chat.wire import Completion

_ENDS = {"length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


class Messages:
    """A request for `/v1/messages`."""

    def __init__(self, body: bytes) -> None:
        given = wire.parse_document(body)
        told = given.get("system")
        system = [{"role": "system", "content": join_texts(told, "system")}] if told else []
        messages = list_objects(given.get("messages"), "messages")
        choice = given.get("tool_choice")
        choice = choice if isinstance(choice, dict) else {}
        kind = choice.get("type")
        self.asked = parse(
            {
                "model": given.get("model"),
                "messages": [*system, *(part for each in messages for part in _read_message(each))],
                "tools": [
                    write_tool(each.get("name"), each, "input_schema")
                    for each in list_objects(given.get("tools"), "tools")
                    if "input_schema" in each
                ]
                or None,
                "tool_choice": {"type": "function", "function": {"name": choice.get("name")}}
                if kind == "tool"
                else _CHOICES.get(str(kind)),
                "parallel_tool_calls": False if choice.get("disable_parallel_tool_use") else None,
                "stop": given.get("stop_sequences") or None,
                **{key: given.get(key) for key in ("max_tokens", "temperature", "top_p", "stream")},
            }
        )

    def write(self, answer: Completion) -> dict[str, Any]:
        # without the calls, whose arguments read_text() takes for text
        text = wire.read_text({**wire.read_message(answer), "tool_calls": None})
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        content += [
            {"type": "tool_use", "id": identity, "name": name, "input": read_object(arguments)}
            for identity, name, arguments in list_calls(answer)
        ]
        usage = answer.get("usage") or {}
        # Anthropic counts cached tokens beside those of the input, chat completions among them
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        return {
            "id": answer["id"], "type": "message", "role": "assistant", "model": answer["model"], "content": content,
            "stop_reason": _ENDS.get(answer["choices"][0]["finish_reason"], "end_turn"), "stop_sequence": None,
            "usage": {
                "input_tokens": usage.get("prompt_tokens", 0) - cached, "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": cached, "output_tokens": usage.get("completion_tokens", 0),
            },
        }  # fmt: skip

    def stream(self, answer: Completion) -> Iterator[str]:
        return map(write_event, _list_events(self.write(answer)))


def _read_message(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What one message says, each result of a tool as a message of its own."""
    role, content = message.get("role"), message.get("content")
    if isinstance(content, str):
        yield {"role": role, "content": content}
        return
    # results come first: in chat completions they follow right behind their calls
    parts = list_objects(content, "content")
    for each in parts:
        if each.get("type") == "tool_result":
            text = join_texts(each.get("content"), "content")
            yield {"role": "tool", "tool_call_id": each.get("tool_use_id"), "content": text}
    said = [part for each in parts if (part := _read_part(each))]
    calls = [
        write_call(each.get("name"), each.get("id"), json.dumps(each.get("input")))
        for each in parts
        if each.get("type") == "tool_use"
    ]
    if calls:
        yield {"role": role, "content": said or None, "tool_calls": calls}
    elif said:
        yield {"role": role, "content": said}


def _read_part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    if part.get("type") == "text":
        return {"type": "text", "text": part.get("text")}
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict):
        address = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
        return {"type": "image_url", "image_url": {"url": address}}
    return None


def _list_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 0}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            whole = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": whole}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {key: message[key] for key in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
    yield {"type": "message_stop"}
