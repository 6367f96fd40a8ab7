"""Forms of other tools in which data of ours are exported: messages of sessions, Croissant, OpenTelemetry.

Spans follow the memory conventions of GenAI, which are marked as development there: one line of OTLP JSON a trial. Logs
hold how long a call took and no clock: a span starts at the story time of its session, after the calls before it in
that session.
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
from harness.model.scenario import Scenario

# --- what was said in a suite's sessions, and which facts of the story each message tells -----------------------------

MESSAGE_COLUMNS = {
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


def list_messages(story: Scenario) -> Iterator[dict[str, Any]]:
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


# --- a data set as Croissant 1.0 says it (mlcommons.org/croissant), so that other tools load it -----------------------

TERMS = (
    "citeAs", "column", "conformsTo", "data", "dataType", "equivalentProperty", "examples", "extract", "field",
    "fileObject", "fileProperty", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5",
    "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator",
    "source", "subField", "transform",
)  # fmt: skip
"""Words of the vocabulary, each by its own name; the others are those of schema.org."""
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{term: f"cr:{term}" for term in TERMS},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
CROISSANT_TYPES = {
    "dtype: string": "sc:Text", "dtype: int32": "sc:Integer", "dtype: float64": "sc:Float", "dtype: bool": "sc:Boolean",
    "dtype: timestamp[us, tz=UTC]": "sc:DateTime",
}  # fmt: skip
"""Types of columns, as the head of a dataset card names them -> Croissant's; what is not here is a list of texts."""


def describe_croissant(
    head: Mapping[str, str], files: Mapping[str, str], tables: Mapping[str, Mapping[str, tuple[str, str]]]
) -> str:
    """The JSON-LD of tables that lie beside it, each as JSON Lines.

    Args:
        head: Name, description, licence and version.
        files: File name -> its text.
        tables: Table -> column -> its type and what it says; the table `facts` lies in `facts.jsonl`.
    """
    return (
        json.dumps(
            {
                "@context": CONTEXT,
                "@type": "sc:Dataset",
                "conformsTo": "http://mlcommons.org/croissant/1.0",
                **head,
                "distribution": [_describe_file(f"{name}.jsonl", files[f"{name}.jsonl"]) for name in tables],
                "recordSet": [_describe_table(name, columns) for name, columns in tables.items()],
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def _describe_file(name: str, text: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{len(text.encode())} B",
        "encodingFormat": "application/jsonlines",
        "sha256": sha256(text.encode()).hexdigest(),
    }


def _describe_table(name: str, columns: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "description": meaning,
            "dataType": CROISSANT_TYPES.get(kind, "sc:Text"),
            **({} if kind in CROISSANT_TYPES else {"repeated": True}),
            "source": {"fileObject": {"@id": f"{name}.jsonl"}, "extract": {"column": column}},
        }
        for column, (kind, meaning) in columns.items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


# --- calls of a run as spans of OpenTelemetry -------------------------------------------------------------------------

Span = dict[str, Any]
INTERNAL, CLIENT, FAILED = 1, 3, 2
"""Kinds of a span, and the code of a status, as numbers of the protocol."""
OPERATIONS = {"remember": "create_memory", "observe": "create_memory", "supersede": "update_memory"}


def write_spans(run: Folder, content: bool = False) -> Iterator[str]:
    """Lines of OTLP JSON, one a trial that asked a memory. Raises FolderError and BlobError.

    Args:
        content: Questions and texts of memories as well, which the conventions leave out unless somebody asks for them.
    """
    file = run.read()
    for logs in run.whole_stories():
        # By their names, so that equal logs give equal lines.
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
    # Hashes, not random ids: equal logs give equal lines.
    trace = sha256(f"{run} {log.trial.id}".encode()).hexdigest()[:32]
    # `write_spans` passes only logs that have a time, so there is one.
    begin = now = next(filter(None, map(_tell_time, log.events)))
    calls: list[Span] = []
    for event in log.events:
        now = max(now, _tell_time(event))
        if (attributes := _tell(event, log, content)) is not None:
            end = now + round((event.took or 0) * 1e9)
            calls.append(_span(trace, len(calls) + 1, now, end, attributes, getattr(event, "fault", None), CLIENT))
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
        texts = {"gen_ai.memory.query.text": event.query, "gen_ai.memory.records": [*map(_record, hits)]}
        return _describe_operation("search_memory", len(hits), (), texts if content else {})
    if isinstance(event, Forgot):
        return _describe_operation("delete_memory", len(event.ids), event.ids, {})
    return None


def _describe_operation(name: str, count: int, ids: Sequence[str], texts: Mapping[str, Any]) -> Mapping[str, Any]:
    # The attribute holds one id.
    one = {"gen_ai.memory.record.id": ids[0]} if len(ids) == 1 else {}
    return {"gen_ai.operation.name": name, "gen_ai.memory.record.count": count, **one, **texts}


def _record(hit: Hit) -> dict[str, Any]:
    return {"id": hit.memory_id, "content": hit.text, **({} if hit.score is None else {"score": hit.score})}


def _span(trace: str, number: int, start: int, end: int, attributes: Mapping[str, Any], fault: Any, kind: int) -> Span:
    failed = {"status": {"code": FAILED, "message": fault.message}} if fault else {}
    return {
        "traceId": trace,
        "spanId": sha256(f"{trace} {number}".encode()).hexdigest()[:16],
        "name": attributes.get("gen_ai.operation.name", "trial"),
        "kind": kind,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": _encode_attributes({**attributes, **({"error.type": fault.kind} if fault else {})}),
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
    # Rounded before it is multiplied, as a float has too few digits for nanoseconds.
    return round(at.timestamp()) * 10**9 if at else 0
