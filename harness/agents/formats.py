"""The formats in which agent programs talk to their model. What a program asks is put as chat completions, by which
alone models are asked here, and the answer is told as the program wants it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from harness.gateway.chat import wire
from harness.gateway.chat.wire import ChatRequest, Completion, Refused


class Format(Protocol):
    """A request in the format of a program, and how its answer is told there.

    Attributes:
        asked: The request as chat completions.
    """

    asked: ChatRequest

    def __init__(self, body: bytes) -> None:
        """Raises Refused."""

    def write(self, answer: Completion) -> dict[str, Any]:
        """The whole answer."""

    def stream(self, answer: Completion) -> Iterator[str]:
        """The answer as server-sent events."""


class Chat:
    """Chat completions as they are."""

    def __init__(self, body: bytes) -> None:
        self.asked = wire.parse(body)

    def write(self, answer: Completion) -> dict[str, Any]:
        return answer

    def stream(self, answer: Completion) -> Iterator[str]:
        yield from (f"data: {json.dumps(each)}\n\n" for each in wire.split_completion(answer))
        yield "data: [DONE]\n\n"


def parse(request: Mapping[str, Any]) -> ChatRequest:
    """A translated request, which is checked as those that need no translation. Raises Refused."""
    return wire.parse(json.dumps({key: each for key, each in request.items() if each is not None}).encode())


def list_objects(found: object, name: str) -> list[dict[str, Any]]:
    """The objects of a list that may be missing. Raises Refused."""
    found = [] if found is None else found
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Refused(400, f"{name} must be a list of objects", name)
    return found


def join_texts(content: object, name: str) -> str:
    """The text of a content: a string, or parts of which each without a text is named by its type. Raises Refused."""
    if isinstance(content, str):
        return content
    return "\n".join(str(each.get("text", f"[{each.get('type')}]")) for each in list_objects(content, name))


def write_call(name: object, identity: object, arguments: str) -> dict[str, Any]:
    return {"id": str(identity), "type": "function", "function": {"name": str(name), "arguments": arguments}}


def write_tool(name: object, tool: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """A tool of chat completions. `schema` is the key of its parameters in the program's format."""
    described = {"name": str(name), "description": tool.get("description"), "parameters": tool.get(schema)}
    return {"type": "function", "function": {key: each for key, each in described.items() if each is not None}}


def write_event(event: Mapping[str, Any]) -> str:
    """A server-sent event that is named by its type."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def list_calls(answer: Completion) -> list[tuple[str, str, str]]:
    """Id, name and arguments of the tool calls in an answer; what a model wrote is not trusted to be whole."""
    calls = wire.read_message(answer).get("tool_calls")
    found = [each for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []
    functions = (each["function"] if isinstance(each.get("function"), dict) else {} for each in found)
    return [
        (str(each.get("id")), str(function.get("name")), str(function.get("arguments") or ""))
        for each, function in zip(found, functions, strict=True)
    ]


def read_object(arguments: str) -> dict[str, Any]:
    """What is no JSON object is handed on whole, so that the program refuses it by its own words."""
    try:
        found = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"arguments": arguments}
