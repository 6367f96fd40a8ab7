"""The calls of a run as OpenTelemetry spans, in the memory conventions of GenAI, which are marked as development there.

One line of OTLP JSON for each trial. Logs hold how long a call took and no clock: a span starts at the story time of
its session, after the calls before it in that session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from harness.adapter import Hit
from harness.log.events import Event, Forgot, Recalled, Wrote
from harness.log.folder import Folder
from harness.log.reader import Log

Span = dict[str, Any]
INTERNAL, CLIENT, FAILED = 1, 3, 2
"""Kinds of a span, and the code of a status, as numbers of the protocol."""
OPERATIONS = {"remember": "create_memory", "observe": "create_memory", "supersede": "update_memory"}


def write(run: Folder, content: bool = False) -> Iterator[str]:
    """Lines of OTLP JSON, one a trial that asked a memory.

    Args:
        content: Questions and texts of memories as well, which the conventions leave out unless somebody asks for them.
    """
    file = run.read()
    for logs, _ in run.stories():
        for _, log in sorted(logs.items()):
            if log.trial.backend is not None and any(map(_tell_time, log.events)):
                resource = {"service.name": "coldwarm", "service.version": file.version, "coldwarm.run": file.id}
                scope = {"name": "coldwarm", "version": file.version}
                spans = _list_spans(log, file.id, content)
                own = [{"scope": scope, "spans": spans}]
                body = [{"resource": {"attributes": _encode_attributes(resource)}, "scopeSpans": own}]
                yield json.dumps({"resourceSpans": body}, ensure_ascii=False) + "\n"


def _list_spans(log: Log, run: str, content: bool) -> list[Span]:
    """The trial, and below it each call of the interface that the conventions have a name for."""
    trace = sha256(f"{run} {log.trial.id}".encode()).hexdigest()[:32]
    begin = now = next(filter(None, map(_tell_time, log.events)))
    calls: list[Span] = []
    for event in log.events:
        now = max(now, _tell_time(event))
        if (said := _tell(event, log, content)) is not None:
            end = now + round((event.took or 0) * 1e9)
            calls.append(_span(trace, len(calls) + 1, now, end, said, getattr(event, "fault", None), CLIENT))
            now = end
    names = {
        "coldwarm.trial": log.trial.id,
        "coldwarm.scenario": log.trial.scenario,
        "coldwarm.backend": log.trial.backend,
    }
    whole = _span(trace, 0, begin, now, names, None, INTERNAL)
    store = {"gen_ai.memory.store.id": log.trial.id}
    for call in calls:
        call["parentSpanId"] = whole["spanId"]
        call["attributes"] += _encode_attributes(store)
    return [whole, *calls]


def _tell(event: Event, log: Log, content: bool) -> Mapping[str, Any] | None:
    """The attributes of a call, None for what is no call that the conventions know."""
    if isinstance(event, Wrote):
        items = log.items(event)
        count = len(event.replaces) if event.op == "supersede" else len(items)
        records = [{"content": written.item.text} for written in items]
        return _describe_operation(
            OPERATIONS[event.op], count, event.replaces, {"gen_ai.memory.records": records} if content else {}
        )
    if isinstance(event, Recalled):
        hits = log.find_answer(event).hits
        told = {"gen_ai.memory.query.text": event.query, "gen_ai.memory.records": [*map(_record, hits)]}
        return _describe_operation("search_memory", len(hits), (), told if content else {})
    if isinstance(event, Forgot):
        return _describe_operation("delete_memory", len(event.ids), event.ids, {})
    return None


def _describe_operation(name: str, count: int, ids: Sequence[str], told: Mapping[str, Any]) -> Mapping[str, Any]:
    one = {"gen_ai.memory.record.id": ids[0]} if len(ids) == 1 else {}
    return {"gen_ai.operation.name": name, "gen_ai.memory.record.count": count, **one, **told}


def _record(hit: Hit) -> dict[str, Any]:
    return {"id": hit.memory_id, "content": hit.text, **({} if hit.score is None else {"score": hit.score})}


def _span(trace: str, number: int, start: int, end: int, said: Mapping[str, Any], fault: Any, kind: int) -> Span:
    failed = {"status": {"code": FAILED, "message": fault.message}} if fault else {}
    return {
        "traceId": trace,
        "spanId": sha256(f"{trace} {number}".encode()).hexdigest()[:16],
        "name": said.get("gen_ai.operation.name", "trial"),
        "kind": kind,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": _encode_attributes({**said, **({"error.type": fault.kind} if fault else {})}),
        **failed,
    }


def _encode_attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    """Numbers of 64 bits are texts in the JSON of the protocol; records may be, and are, JSON in a text."""
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"stringValue": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}


def _tell_time(event: Event) -> int:
    """Story time in nanoseconds, 0 for an event without one."""
    at = getattr(event, "at", None)
    return round(at.timestamp()) * 10**9 if at else 0
