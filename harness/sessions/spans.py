"""OpenTelemetry spans of calls to a model, as OTLP JSON: an export a line, or one document.

The conventions leave messages out unless somebody asks for them (`gen_ai.input.messages`, `gen_ai.output.messages`).
Where they are, each call repeats all that was said before: only what is new is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.machine import documents
from harness.machine.documents import DocumentError
from harness.model.trial import digest
from harness.sessions.recorded import (
    INSTRUCTIONS,
    MEDIA,
    NO_MESSAGE,
    OTHER_FORM,
    THINKING,
    Found,
    ToolRequest,
    ToolResponse,
    Utterance,
    as_dict,
    as_list,
    as_text,
    read_time,
)

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_DEEPEST = 50


class Spans:
    name = "spans"

    def claims(self, value: Any) -> bool:
        return isinstance(as_dict(value).get("resourceSpans"), list)

    def open(self, file: Path) -> SpansReader:
        return SpansReader(self.name)


class SpansReader:
    def __init__(self, program: str) -> None:
        self.found = Found(program)
        self._known: dict[str, list[str]] = {}

    def read(self, value: Any) -> None:
        for group in map(as_dict, as_list(as_dict(value).get("resourceSpans"))):
            resource = _read_attributes(as_dict(group.get("resource")).get("attributes"))
            spans = [
                as_dict(span)
                for scope in as_list(group.get("scopeSpans"))
                for span in as_list(as_dict(scope).get("spans"))
            ]
            # a span is exported when it ends, so one that began earlier may come later
            for span in sorted(spans, key=_tell_start):
                self._read_span(span, resource)

    def _read_span(self, span: dict[str, Any], resource: dict[str, Any]) -> None:
        attributes = _read_attributes(span.get("attributes"))
        for event in as_list(span.get("events")):
            # messages may stand in an event; what the span says itself counts before it
            attributes = _read_attributes(as_dict(event).get("attributes")) | attributes
        inputs, outputs = (_parse_messages(attributes.get(key)) for key in (INPUT, OUTPUT))
        session = as_text(attributes.get("gen_ai.conversation.id")) or as_text(span.get("traceId"))
        if not session or not (inputs or outputs):
            self.found.skip("a span without messages" if session else NO_MESSAGE)
            return
        self.found.at = at = read_time(span.get("startTimeUnixNano"))
        for message in self._list_new(session, inputs, outputs):
            self._read_message(session, as_dict(message))
        if session in self.found.headings:
            names = {
                "branch": "vcs.ref.head.name",
                "commit": "vcs.ref.head.revision",
                "remote": "vcs.repository.url.full",
            }
            about = {key: attributes.get(name) or resource.get(name) for key, name in names.items()}
            self.found.heading(session).fill(at=at, cwd=resource.get("process.working_directory"), **about)

    def _list_new(self, session: str, inputs: list[Any], outputs: list[Any]) -> Iterator[Any]:
        """What was not said in this session before. A history that was made shorter begins otherwise: of it, what is
        known from before is left out message by message.
        """
        known = self._known.setdefault(session, [])
        # by role and parts alone: an answer has a `finish_reason`, which its repetition in the next call lacks
        names = [digest([as_dict(each).get("role"), as_dict(each).get("parts")]) for each in inputs]
        before = frozenset() if names[: len(known)] == known else frozenset(known)
        start = 0 if before else len(known)
        unread = [(name, each) for name, each in zip(names, inputs, strict=True)][start:]
        new = [(name, each) for name, each in unread if name not in before]
        new += [(digest([as_dict(each).get("role"), as_dict(each).get("parts")]), each) for each in outputs]
        # answers as well, since the next call repeats them among its inputs
        known += [name for name, _ in new]
        return (each for _, each in new)

    def _read_message(self, session: str, message: dict[str, Any]) -> None:
        role, found = message.get("role"), self.found
        if role not in ("user", "assistant", "tool"):
            found.skip(INSTRUCTIONS if role in ("system", "developer") else OTHER_FORM)
            return
        for part in map(as_dict, as_list(message.get("parts"))):
            kind = part.get("type")
            if kind == "text" and role != "tool":
                found.add(session, Utterance("user" if role == "user" else "assistant", as_text(part.get("content"))))
            elif kind == "tool_call":
                value = part.get("arguments")
                arguments = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                found.add(session, ToolRequest(as_text(part.get("id")), as_text(part.get("name")), arguments))
            elif kind == "tool_call_response":
                value = part.get("response", part.get("result"))
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                found.add(session, ToolResponse(as_text(part.get("id")), text))
            else:
                reasons = {"reasoning": THINKING, "blob": MEDIA, "file": MEDIA, "uri": MEDIA}
                found.skip(reasons.get(as_text(kind), OTHER_FORM))


def _tell_start(span: dict[str, Any]) -> int:
    start = span.get("startTimeUnixNano")
    # the protocol writes a text of digits, and has a number read as well
    text = str(start) if isinstance(start, int) else as_text(start)
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _read_attributes(listed: Any) -> dict[str, Any]:
    return {as_text(as_dict(each).get("key")): _read_value(as_dict(each).get("value")) for each in as_list(listed)}


def _read_value(value: Any, depth: int = 0) -> Any:
    """What an AnyValue of the protocol holds."""
    holder = as_dict(value)
    if depth > _DEEPEST:
        return None
    if "arrayValue" in holder:
        return [_read_value(each, depth + 1) for each in as_list(as_dict(holder["arrayValue"]).get("values"))]
    if "kvlistValue" in holder:
        pairs = map(as_dict, as_list(as_dict(holder["kvlistValue"]).get("values")))
        return {as_text(each.get("key")): _read_value(each.get("value"), depth + 1) for each in pairs}
    # whatever its type is called, it is the only key
    return next(iter(holder.values()), None)


def _parse_messages(value: Any) -> list[Any]:
    """Messages as they are, or as JSON in a text."""
    if isinstance(value, str):
        try:
            value = documents.parse_json(value)
        except DocumentError:
            return []
    return as_list(value)
