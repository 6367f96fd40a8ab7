"""`POST /v1/chat/completions`: asks the upstream, counts what it costs, and streams if that is wanted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from starlette.responses import Response, StreamingResponse

from harness.gateway.chat import wire
from harness.gateway.chat.wire import Assembly, ChatRequest, Chunk, Completion, Refused, Spent, Upstream, UpstreamFault
from harness.gateway.meter import READING, ChatCount, ChatFault, Ledger, Meter
from harness.model.dates import replace_today

GIVEN_UP = "given_up"
MOST_SILENT = 3
"""Calls in a row without an answer, of whichever trial, after which the trial of the last one asks no more."""


class ChatRoute:
    """The chat half of a gateway: one upstream and the ledger of the run."""

    def __init__(self, upstream: Upstream, ledger: Ledger) -> None:
        self.upstream = upstream
        self.silent = 0
        self.ledger = ledger

    async def answer(self, body: bytes, meter: Meter, phase: str) -> Response:
        """Raises Refused. A fault that comes when a stream has begun ends it with an event that holds the error."""
        if meter.day is not None:
            # what is no UTF-8 passes through unchanged, and is refused as any other body
            text = replace_today(body.decode("utf-8", "surrogateescape"), meter.day, meter.began)
            body = text.encode("utf-8", "surrogateescape")
        call = _ChatCall(wire.parse(body, ours=phase == READING), meter, self, phase)
        try:
            if limit := self.ledger.used_up:
                raise Refused(429, f"the budget of the run, {limit}, is used up", code="budget")
            if meter.given_up:
                raise UpstreamFault(503, meter.given_up, code=GIVEN_UP)
            with meter.asking():
                if not call.asked.stream:
                    answer = await self.upstream.complete(call.asked)
                    call.done(answer)
                    return Response(json.dumps(answer), media_type="application/json")
                chunks = self.upstream.stream(call.asked)
                # before the response begins: a refusal can still have its own status
                first = await anext(chunks)
        except Refused as error:
            call.fail(error)
            raise
        except asyncio.CancelledError:
            call.fail(Refused(503, "the gateway was left before the model answered"))
            raise
        return StreamingResponse(_events(call, first, chunks), media_type="text/event-stream")


class _ChatCall:
    """One call on its way into the books: exactly one of its endings is reached."""

    def __init__(self, request: ChatRequest, meter: Meter, route: ChatRoute, phase: str) -> None:
        self.asked = request
        self._meter = meter
        self._route = route
        self._phase = phase

    def done(self, answer: Completion) -> None:
        self._route.silent = 0
        self._book(wire.count_spent(self.asked, answer), answer["model"])

    def fail(self, error: Refused) -> None:
        cost = error.spent if isinstance(error, UpstreamFault) else Spent()
        if isinstance(error, UpstreamFault) and error.passing:
            self._meter.note_outage(error.detail)
            self._give_up(error)
        self._book(cost, "", ChatFault(self._phase, error.status_code, error.detail))

    def _give_up(self, error: UpstreamFault) -> None:
        """A trial whose calls get no answer would wait for each of them, and is played again anyway."""
        # a call that was not made says nothing of the endpoint
        self._route.silent += error.code != GIVEN_UP
        if self._route.silent >= MOST_SILENT and not self._meter.given_up:
            self._meter.given_up = f"{error.detail}; {self._route.silent} calls in a row got no answer"

    def abandon(self, answer: Completion) -> None:
        """The client went away within the stream."""
        fault = ChatFault(self._phase, 499, "the client left before the answer was complete")
        self._book(wire.count_spent(self.asked, answer), answer["model"], fault)

    def _book(self, cost: Spent, model: str, fault: ChatFault | None = None) -> None:
        count = ChatCount(1, cost.prompt, cost.completion, int(cost.counted), int(fault is not None), cost.cached)
        count = replace(count, short=int(cost.unread > 0))
        self._route.ledger.add(cost.prompt, cost.completion, self.asked.model, model)
        self._meter.add_chat(self._phase, count, model, fault)


async def _events(call: _ChatCall, first: Chunk, chunks: AsyncGenerator[Chunk, None]) -> AsyncGenerator[bytes, None]:
    """The stream as server-sent events. It is in the books before its last event is sent."""
    assembly, booked = Assembly(), False
    try:
        async with aclosing(chunks):
            chunk: Chunk | None = first
            while chunk is not None:
                assembly.add(chunk)
                # usage is asked of every upstream, and shown to who wants it
                if chunk.get("choices") or call.asked.wants_usage:
                    yield _encode_event(chunk)
                chunk = await anext(chunks, None)
        call.done(assembly.completion())
        booked = True
        yield b"data: [DONE]\n\n"
    except Refused as error:
        call.fail(error)
        booked = True
        yield _encode_event(describe_error(error))
    finally:
        if not booked:
            call.abandon(assembly.completion())


def describe_error(error: Refused) -> dict[str, object]:
    """The error in OpenAI's form."""
    kinds = {401: "authentication_error", 403: "authentication_error", 429: "rate_limit_error"}
    kind = kinds.get(error.status_code, "invalid_request_error" if error.status_code < 500 else "server_error")
    document: dict[str, object] = {
        "error": {"message": error.detail, "type": kind, "param": error.param, "code": error.code}
    }
    if not isinstance(error, UpstreamFault):
        return document
    return {**document, "usage": write_usage(error.spent), "passing": error.passing}


def write_usage(spent: Spent) -> dict[str, Any]:
    """The usage of a call in OpenAI's form."""
    usage: dict[str, Any] = {"prompt_tokens": spent.prompt, "completion_tokens": spent.completion}
    usage["total_tokens"] = spent.prompt + spent.completion
    return {**usage, "prompt_tokens_details": {"cached_tokens": spent.cached}} if spent.cached else usage


def _encode_event(value: object) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
