"""Google's format, `generateContent`. Thoughts, and tools that the vendor's servers run, are left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from harness.agents.formats import list_calls, list_objects, parse, read_object, write_call, write_tool
from harness.gateway.chat import wire
from harness.gateway.chat.wire import Completion, Refused

_MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none"}
_ENDS = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}
_MODEL = "of-the-path"
"""The model stands in the path, and is that of the trial whatever it says."""


class Contents:
    """A request for `:generateContent`."""

    streamed = False

    def __init__(self, body: bytes) -> None:
        given = wire.parse_document(body)
        system = _read_texts(_require_object(given, "systemInstruction"))
        settings = _require_object(given, "generationConfig")
        mode = _require_object(_require_object(given, "toolConfig"), "functionCallingConfig").get("mode")
        tools = [
            write_tool(
                each.get("name"), each, "parametersJsonSchema" if "parametersJsonSchema" in each else "parameters"
            )
            for tool in list_objects(given.get("tools"), "tools")
            for each in list_objects(tool.get("functionDeclarations"), "functionDeclarations")
        ]
        self.asked = parse(
            {
                "model": _MODEL,
                "messages": [
                    *([{"role": "system", "content": system}] if system else []),
                    *_read_contents(list_objects(given.get("contents"), "contents")),
                ],
                "tools": tools or None,
                "tool_choice": _MODES.get(str(mode)) if tools else None,
                "stop": settings.get("stopSequences") or None,
                "max_tokens": settings.get("maxOutputTokens"),
                "temperature": settings.get("temperature"),
                "top_p": settings.get("topP"),
                "stream": self.streamed,
            }
        )

    def write(self, answer: Completion) -> dict[str, Any]:
        # without the calls, whose arguments read_text() takes for text
        text = wire.read_text({**wire.read_message(answer), "tool_calls": None})
        parts: list[dict[str, Any]] = [{"text": text}] if text else []
        parts += [
            {"functionCall": {"id": identity, "name": name, "args": read_object(arguments)}}
            for identity, name, arguments in list_calls(answer)
        ]
        usage = answer.get("usage") or {}
        end = _ENDS.get(answer["choices"][0]["finish_reason"], "STOP")
        return {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": end}],
            "usageMetadata": {
                "promptTokenCount": usage.get("prompt_tokens", 0),
                "cachedContentTokenCount": (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
                "candidatesTokenCount": usage.get("completion_tokens", 0),
                "totalTokenCount": usage.get("total_tokens", 0),
            },
            "modelVersion": answer["model"], "responseId": answer["id"],
        }  # fmt: skip

    def stream(self, answer: Completion) -> Iterator[str]:
        yield f"data: {json.dumps(self.write(answer))}\n\n"


class StreamedContents(Contents):
    """A request for `:streamGenerateContent`."""

    streamed = True


def _require_object(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Raises Refused."""
    found = given.get(name)
    if not isinstance(found, dict | None):
        raise Refused(400, f"{name} must be an object", name)
    return found or {}


def _read_texts(content: Mapping[str, Any]) -> str:
    return "\n".join(str(each["text"]) for each in list_objects(content.get("parts"), "parts") if "text" in each)


def _read_contents(contents: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages. Calls and results without an id belong together in the order of their tool."""
    called, answered = Counter[str](), Counter[str]()

    def name(part: Mapping[str, Any], seen: Counter[str]) -> str:
        tool = str(part.get("name"))
        seen[tool] += 1
        return str(part.get("id") or f"{tool}-{seen[tool]}")

    for content in contents:
        parts = list_objects(content.get("parts"), "parts")
        # results come first: in chat completions they follow right behind their calls
        for each in (_require_object(part, "functionResponse") for part in parts if "functionResponse" in part):
            result = _require_object(each, "response")
            text = result["output"] if isinstance(result.get("output"), str) else json.dumps(result)
            yield {"role": "tool", "tool_call_id": name(each, answered), "content": text}
        said = [found for part in parts if (found := _read_part(part))]
        calls = [
            write_call(each.get("name"), name(each, called), json.dumps(each.get("args") or {}))
            for each in (_require_object(part, "functionCall") for part in parts if "functionCall" in part)
        ]
        role = {"model": "assistant"}.get(str(content.get("role")), "user")
        if said or calls:
            yield {"role": role, "content": said or None, **({"tool_calls": calls} if calls else {})}


def _read_part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    if "text" in part and not part.get("thought"):
        return {"type": "text", "text": str(part["text"])}
    if "inlineData" in part:
        data = _require_object(part, "inlineData")
        url = f"data:{data.get('mimeType')};base64,{data.get('data')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return None
