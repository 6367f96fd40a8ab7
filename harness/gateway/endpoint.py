"""The gateway's routes: embeddings, chat completions and models under `/v1`, with errors in OpenAI's form."""

from __future__ import annotations

import base64
import json
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from harness.gateway.alternate_embedders import SwitchedEmbedder
from harness.gateway.cache import EmbeddingCache
from harness.gateway.chat.route import ChatRoute, describe_error
from harness.gateway.chat.wire import Refused, parse_document
from harness.gateway.embedder import EmbedderError
from harness.gateway.meter import Meter, PhaseCount

EMBEDDINGS = "/v1/embeddings"
MAX_INPUTS = 2048
MAX_BYTES = 32 * 2**20
_LATE = 1.0  # seconds: who left before was not tired of waiting for us
_QUICK = 32  # so many known texts are answered at once; more, or unknown ones, would hold up other requests


class Wanted(NamedTuple):
    """A valid embeddings request."""

    texts: list[str]
    base64: bool


def build_application(cache: EmbeddingCache, meters: Mapping[str, Meter], chat: ChatRoute | None = None) -> ASGIApp:
    """The ASGI application. `meters` (key -> meter) is read at every request, so that keys may come and go."""

    def meter_of(request: Request) -> Meter:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        meter = meters.get(key.strip()) if scheme.lower() == "bearer" else None
        if meter is None:
            raise Refused(401, "unknown key: send the key of the space as a bearer token")
        return meter

    async def embeddings(request: Request) -> Response:
        meter = meter_of(request)
        # before anything is awaited: a call counts where it arrived
        phase = meter.phase
        switched = meter.switched
        wanted = parse(await read_body(request), switched.dims if switched else cache.embedder.dims)
        if len(wanted.texts) <= _QUICK and cache.knows(wanted.texts):
            count, body = _embed(cache, wanted, switched)
        else:
            with meter.answering():
                count, body = await _embed_in_thread(request, cache, wanted, switched)
        meter.add(phase, count)
        return _answer(200, body)

    async def completions(request: Request) -> Response:
        meter = meter_of(request)
        # before anything is awaited: a call counts where it arrived
        phase = meter.phase
        if chat is None:
            raise Refused(404, "this run has no chat model", code="no_chat_model")
        return await chat.answer(await read_body(request), meter, phase)

    async def models(request: Request) -> Response:
        meter_of(request)
        names = [cache.embedder.name, *(await chat.upstream.models() if chat else [])]
        rows = [{"id": name, "object": "model", "created": 0, "owned_by": "coldwarm"} for name in names]
        return _answer(200, json.dumps({"object": "list", "data": rows}))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        # in the server's own loop, to which its connections belong
        if chat is not None:
            await chat.upstream.close()

    others = Starlette(
        routes=[
            Route(EMBEDDINGS, embeddings, methods=["POST"]),
            Route("/v1/chat/completions", completions, methods=["POST"]),
            Route("/v1/models", models, methods=["GET"]),
        ],
        exception_handlers=REFUSALS,
        lifespan=lifespan,
    )

    return _route_first(EMBEDDINGS, embeddings, others)


def _route_first(path: str, endpoint: Callable[[Request], Awaitable[Response]], others: ASGIApp) -> ASGIApp:
    """Most requests are for one endpoint: they need none of the layers around a route."""

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        if (scope["type"], scope.get("method"), scope.get("path")) != ("http", "POST", path):
            await others(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            answer = await endpoint(request)
        except (Refused, ClientDisconnect) as error:
            answer = await _refuse(request, error)
        await answer(scope, receive, send)

    return served


def parse(body: bytes, dims: int) -> Wanted:
    """The request that `body` holds. Raises Refused."""
    request = parse_document(body)
    if not isinstance(request.get("model", ""), str):
        raise Refused(400, "model must be a string", "model")
    if request.get("encoding_format") not in (None, "float", "base64"):
        raise Refused(400, "encoding_format must be float or base64", "encoding_format")
    # without an embedder dims is 0, and the call is refused for want of one
    if dims and request.get("dimensions") not in (None, dims):
        raise Refused(400, f"dimensions must be {dims}, the width of the one model here", "dimensions")
    return Wanted(_read_texts(request.get("input")), request.get("encoding_format") == "base64")


def _read_texts(given: object) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refused(400, "input must be a string or a list of strings (token arrays are not supported)", "input")
    if not texts:
        raise Refused(400, "input must not be an empty list", "input")
    if len(texts) > MAX_INPUTS:
        raise Refused(400, f"input has {len(texts)} texts, at most {MAX_INPUTS} are allowed", "input")
    if "" in texts:
        raise Refused(400, f"input must not hold an empty string (text {texts.index('')} is one)", "input")
    return texts


async def read_body(request: Request) -> bytes:
    """The whole body. What is too long is refused before it is kept; the server reads the rest of it away."""
    announced = int(request.headers.get("content-length", "0"))  # the server has checked that it is a number
    body = bytearray()
    if announced <= MAX_BYTES:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BYTES:
                break
    if max(announced, len(body)) > MAX_BYTES:
        raise Refused(413, f"the body is longer than {MAX_BYTES} bytes")
    return bytes(body)


def _embed(cache: EmbeddingCache, wanted: Wanted, switched: SwitchedEmbedder | None = None) -> tuple[PhaseCount, str]:
    """What the request costs, and its answer. Known texts count as much as new ones."""
    try:
        rows = cache.get(wanted.texts)
    except EmbedderError as error:
        cache.refused = error
        raise Refused(500, str(error)) from None
    except Exception as error:  # whatever a model runtime raises; its words could quote the text, its name cannot
        raise Refused(500, f"the embedder failed ({type(error).__name__})") from None
    count = PhaseCount(
        calls=1,
        texts=len(rows),
        tokens=sum(row.tokens for row in rows),
        cut_texts=sum(row.cut > 0 for row in rows),
        cut_tokens=sum(row.cut for row in rows),
    )
    vectors = (switched.turn(row.vector) if switched else row.vector for row in rows)
    data = [
        {"object": "embedding", "index": index, "embedding": _encode(vector, wanted.base64)}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": count.tokens, "total_tokens": count.tokens}
    return count, json.dumps({"object": "list", "data": data, "model": cache.embedder.name, "usage": usage})


async def _embed_in_thread(
    request: Request, cache: EmbeddingCache, wanted: Wanted, switched: SwitchedEmbedder | None
) -> tuple[PhaseCount, str]:
    """Runs `_embed` in a thread, while other requests are answered. Raises ClientDisconnect if nobody waited for it any
    more.
    """
    began = time.monotonic()
    found = await run_in_threadpool(_embed, cache, wanted, switched)
    if time.monotonic() - began > _LATE and await request.is_disconnected():
        raise ClientDisconnect
    return found


def _encode(vector: bytes, as_base64: bool) -> str | list[float]:
    return base64.b64encode(vector).decode() if as_base64 else array("f", vector).tolist()


def _answer(status: int, body: str, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


async def _refuse(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):  # no such route or method
        error = Refused(error.status_code, error.detail)
    elif not isinstance(error, Refused):
        error = Refused(400, "the connection closed before the body was complete")
    # What may be tried again was tried again here; an SDK that did so too could pay twice for one answer.
    return _answer(error.status_code, json.dumps(describe_error(error)), {"x-should-retry": "false"})


REFUSALS: Mapping[Any, Any] = dict.fromkeys((Refused, HTTPException, ClientDisconnect), _refuse)
"""Errors that an application answers in OpenAI's form."""
