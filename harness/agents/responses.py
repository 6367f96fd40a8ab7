"""OpenAI's Responses format. Nothing is kept between two requests; reasoning, and tools that a vendor's servers run,
are left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harness.agents.formats import join_texts, list_calls, list_objects, parse, write_call, write_event, write_tool
from harness.gateway.chat import wire
from harness.gateway.chat.wire import Completion

_BETWEEN = "__"
"""Between the name of a space of tools and that of a tool in it."""
_FREE = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
"""What stands for the arguments of a tool that takes free text."""


class Responses:
    """A request for `/v1/responses`."""

    def __init__(self, body: bytes) -> None:
        given = wire.parse_document(body)
        self._spaces: dict[str, tuple[str, str]] = {}
        self._free: set[str] = set()
        said = given.get("input")
        items = [{"role": "user", "content": said}] if isinstance(said, str) else list_objects(said, "input")
        told = given.get("instructions")
        system = [{"role": "system", "content": told}] if told else []
        tools = [part for each in list_objects(given.get("tools"), "tools") for part in self._read_tool(each)]
        # without tools, chat completions refuse a choice of them
        choice = given.get("tool_choice")
        self.asked = parse(
            {
                "model": given.get("model"),
                "messages": [*system, *_read_items(items)],
                "tools": tools or None,
                "tool_choice": choice if tools and choice in ("auto", "none", "required") else None,
                "parallel_tool_calls": given.get("parallel_tool_calls") if tools else None,
                "max_completion_tokens": given.get("max_output_tokens"),
                **{key: given.get(key) for key in ("temperature", "top_p", "stream")},
            }
        )

    def _read_tool(self, tool: Mapping[str, Any], space: str = "") -> Iterator[dict[str, Any]]:
        kind, own = tool.get("type"), str(tool.get("name"))
        name = f"{space}{_BETWEEN}{own}" if space else own
        if kind == "namespace":
            for each in list_objects(tool.get("tools"), "tools"):
                yield from self._read_tool(each, own)
        elif kind in ("function", "custom"):
            if space:
                self._spaces[name] = space, own
            if kind == "custom":
                self._free.add(name)
            yield write_tool(name, {**tool, "parameters": _FREE} if kind == "custom" else tool, "parameters")

    def write(self, answer: Completion) -> dict[str, Any]:
        name, cut = answer["id"], answer["choices"][0]["finish_reason"] == "length"
        # without the calls, whose arguments read_text() takes for text
        text = wire.read_text({**wire.read_message(answer), "tool_calls": None})
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        said = {"type": "message", "id": f"{name}-m", "role": "assistant", "status": "completed", "content": [part]}
        calls = [self._write_call(f"{name}-{at}", *each) for at, each in enumerate(list_calls(answer))]
        usage = answer.get("usage") or {}
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        return {
            "id": name, "object": "response", "created_at": 0, "model": answer["model"], "error": None,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": None, "metadata": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "output": [*([said] if text else []), *calls],
            "usage": {
                "input_tokens": usage.get("prompt_tokens", 0),
                "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
                "output_tokens": usage.get("completion_tokens", 0), "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.get("total_tokens", 0),
            },
        }  # fmt: skip

    def _write_call(self, item: str, identity: str, name: str, arguments: str) -> dict[str, Any]:
        space, own = self._spaces.get(name, ("", name))
        head = {"id": item, "call_id": identity, "name": own, "status": "completed"}
        head |= {"namespace": space} if space else {}
        if name in self._free:
            return {"type": "custom_tool_call", **head, "input": _read_free(arguments)}
        return {"type": "function_call", **head, "arguments": arguments}

    def stream(self, answer: Completion) -> Iterator[str]:
        for number, event in enumerate(_list_events(self.write(answer))):
            yield write_event({**event, "sequence_number": number})


def _read_items(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages. Calls that follow one another, or words, are one message, as a model said them at once."""
    messages: list[dict[str, Any]] = []
    for each in items:
        kind, identity = each.get("type", "message"), each.get("call_id")
        if kind == "message":
            messages.append({"role": each.get("role"), "content": _read_content(each.get("content"))})
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text = join_texts(each.get("output"), "output")
            messages.append({"role": "tool", "tool_call_id": identity, "content": text})
        elif kind in ("function_call", "custom_tool_call"):
            space = each.get("namespace")
            name = f"{space}{_BETWEEN}{each.get('name')}" if space else each.get("name")
            free = kind == "custom_tool_call"
            arguments = json.dumps({"input": each.get("input")}) if free else str(each.get("arguments"))
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(write_call(name, identity, arguments))
    return messages


def _read_content(content: object) -> object:
    if isinstance(content, str):
        return content
    return [
        {"type": "image_url", "image_url": {"url": each.get("image_url")}}
        if each.get("type") == "input_image"
        else {"type": "text", "text": str(each.get("text", each.get("refusal", "")))}
        for each in list_objects(content, "content")
    ]


def _read_free(arguments: str) -> str:
    """Free text out of its arguments; what does not hold it is handed on whole."""
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    text = found.get("input") if isinstance(found, dict) else None
    return text if isinstance(text, str) else arguments


def _list_events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"item_id": item["id"], "output_index": index}
        key = {"message": "content", "function_call": "arguments", "custom_tool_call": "input"}[item["type"]]
        empty = {**item, key: [] if key == "content" else "", "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": empty}
        if key == "content":
            (part,) = item["content"]
            place |= {"content_index": 0}
            yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
            yield {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []}
            yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **place, "part": part}
        else:
            event = f"response.{item['type']}_{key}"
            named = {"name": item["name"]} if key == "arguments" else {}
            yield {"type": f"{event}.delta", **place, "delta": item[key]}
            yield {"type": f"{event}.done", **place, **named, key: item[key]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}
