"""Chat calls to a model behind an OpenAI-compatible URL, with the user's own key."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.gateway.chat.normaliser import Normaliser
from harness.gateway.chat.wire import (
    EMPTY,
    Assembly,
    ChatError,
    ChatRequest,
    Chunk,
    Completion,
    UpstreamFault,
    count_spent,
    drop_unsound_usage,
    read_message,
    read_text,
)
from harness.log.redaction import Redactor

if TYPE_CHECKING:
    import httpx

SECONDS = 300.0
"""What a call may take from first to last, unless somebody allows more."""
TRIES = 3
"""Attempts at a call that the upstream has certainly not worked on: it answered 429, or nobody took the connection."""

_OPENAI = "https://api.openai.com/v1"
NO_REASON = "it gave no reason"
_CONNECT = 10.0  # seconds
_LONGEST = 60.0  # seconds: a Retry-After beyond them is for the user to wait
_MOST = 32 * 2**20  # bytes of an answer


class Forwarder:
    """Sends each call on as it came, with the user's key in place of the trial's. Raises ChatError.

    Attributes:
        timeout: Seconds of a call from first to last, waits included.
        pause: Seconds before the second attempt, doubled for the third, where the upstream names none.
    """

    def __init__(self, base_url: str, key: str, *, timeout: float = SECONDS, pause: float = 0.5) -> None:
        import httpx  # here, as it takes 0.1 s that no command line without a chat model should wait for

        try:
            where = urlsplit(base_url)
            sound = where.scheme in ("http", "https") and where.hostname and "@" not in where.netloc
            sound = sound and where.port != 0  # to ask for a port that is none raises
        except ValueError:
            sound = False
        if not sound:
            raise ChatError("OPENAI_BASE_URL must look like https://host/v1, without user and password")
        if not key.strip():
            raise ChatError("OPENAI_API_KEY is not set: export the key of the chat model (any word, if it needs none)")
        if not key.strip().isascii() or not key.strip().isprintable():
            raise ChatError("OPENAI_API_KEY holds characters that no key has: copy it again")
        self._host = where.netloc
        self._timeout = timeout
        self._pause = pause
        self._normaliser, self._redactor = Normaliser([key.strip()]), Redactor([key.strip()])
        # The deadline of a call is kept here, over all of its parts; httpx knows of single reads only.
        self._client = httpx.AsyncClient(
            base_url=base_url.rstrip("/") + "/",
            headers={
                "authorization": f"Bearer {key.strip()}",
                "content-type": "application/json",
                # the only one that is unpacked within bounds
                "accept-encoding": "gzip",
            },
            timeout=httpx.Timeout(None, connect=_CONNECT),
            # by itself httpx makes calls beyond 100 wait for another to end
            limits=httpx.Limits(max_connections=None),
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], seconds: float = SECONDS) -> Forwarder:
        """A forwarder as OPENAI_BASE_URL (default: OpenAI itself) and OPENAI_API_KEY say. Raises ChatError."""
        return cls(environ.get("OPENAI_BASE_URL") or _OPENAI, environ.get("OPENAI_API_KEY", ""), timeout=seconds)

    @property
    def name(self) -> str:
        return f"model at {self._host}"

    async def complete(self, request: ChatRequest) -> Completion:
        deadline = _now() + self._timeout
        # OpenAI refuses stream_options where nothing is streamed
        body = {key: value for key, value in request.body.items() if key not in ("stream", "stream_options")}
        response = await self._send("POST", "chat/completions", body, deadline)
        try:
            answer = self._document(await self._read(response, deadline))
        except UpstreamFault as fault:
            fault.spent = count_spent(request, None)  # it was accepted
            raise
        self._check(answer, request)
        return answer

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk, None]:
        deadline = _now() + self._timeout
        # always asked for, as the call is counted; who did not ask is not shown it
        body = {**request.body, "stream_options": {**(request.body.get("stream_options") or {}), "include_usage": True}}
        response = await self._send("POST", "chat/completions", body, deadline)
        assembly, done = Assembly(), False
        try:
            async for line in self._lines(response, deadline):
                name, _, data = line.partition(b":")
                if name != b"data" or done:
                    continue
                if data.strip() == b"[DONE]":
                    done = True
                    continue
                chunk = self._document(data)
                if chunk.get("error"):
                    raise self._fault(502, f"broke off: {self._describe(chunk)}", "upstream_error")
                drop_unsound_usage(chunk)
                assembly.add(chunk)
                yield chunk
            if done and assembly.silent:
                raise self._fault(502, "answered without a choice", "no_choice")
            # some servers send no [DONE]: a reason to stop is an end, too
            if not done and assembly.finish is None:
                raise self._fault(502, "ended its stream before the answer was complete", "half_a_stream")
        except UpstreamFault as fault:
            fault.spent = count_spent(request, assembly.completion())
            raise
        finally:
            await response.aclose()
        self._check(assembly.completion(), request)

    async def models(self) -> list[str]:
        """What the upstream lists. Raises UpstreamFault."""
        deadline = _now() + min(self._timeout, 30.0)
        found = self._json(await self._read(await self._send("GET", "models", None, deadline), deadline))
        rows = found.get("data") if isinstance(found, dict) else None
        rows = rows if isinstance(rows, list) else []
        return [row["id"] for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None, deadline: float) -> httpx.Response:
        """The open response of a call that was accepted. Tries again only what cannot have been worked on."""
        import httpx

        content = None if body is None else json.dumps(body)  # with escapes, so that a lone surrogate passes too
        attempt = 1
        while True:
            request = self._client.build_request(method, path, content=content)
            try:
                async with asyncio.timeout_at(deadline):
                    response = await self._client.send(request, stream=True)
                    if response.is_success:
                        return response
                    fault, wait = await self._refusal(response, attempt, deadline), _wait(response.headers)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                why = explain_unreached(error)
                complaint = f"cannot be reached ({attempt} attempts): {why}; check OPENAI_BASE_URL"
                fault, wait = self._fault(502, complaint, "upstream_unreachable"), None
            except TimeoutError:
                raise self._late() from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                complaint = f"broke off before it answered ({type(error).__name__})"
                raise self._fault(502, complaint, "upstream_error") from None
            wait = self._pause * 2 ** (attempt - 1) if wait is None else wait
            again = fault.code in ("upstream_unreachable", "rate_limited")
            if not again or attempt == TRIES or wait > min(_LONGEST, deadline - _now()):
                raise fault
            await asyncio.sleep(wait)
            attempt += 1

    async def _refusal(self, response: httpx.Response, attempt: int, deadline: float) -> UpstreamFault:
        """The fault that a status other than 2xx means."""
        complaint = self._describe(self._json(await self._read(response, deadline)))
        status = response.status_code
        if status in (401, 403):
            return self._fault(status, f"refuses OPENAI_API_KEY ({status}): {complaint}", "upstream_key_refused")
        if status == 429:
            after = response.headers.get("retry-after")
            rest = f", retry after {self._line(after)}" if after else ""
            return self._fault(429, f"allows no more calls ({attempt} attempts{rest}): {complaint}", "rate_limited")
        if 300 <= status < 400:
            where = self._line(response.headers.get("location", "nowhere"))
            return self._fault(502, f"sends elsewhere ({status}), to {where}: name that in OPENAI_BASE_URL", "redirect")
        if status in (404, 405):
            complaint = f"has nothing there ({status}): {complaint}; check OPENAI_BASE_URL and the name of the model"
            return self._fault(status, complaint, "upstream_refused")
        if 400 <= status < 500:
            return self._fault(status, f"refuses the request ({status}): {complaint}", "upstream_refused")
        return self._fault(502, f"failed ({status}): {complaint}", "upstream_error")

    async def _read(self, response: httpx.Response, deadline: float) -> bytes:
        try:
            unpacker = self._open_encoding(response)
            found = b"".join([part async for part in self._parts(response, unpacker, deadline)])
        finally:
            await response.aclose()
        if unpacker and unpacker.inside:
            raise self._fault(502, "ended its answer early: the compressed data breaks off", "half_an_answer")
        return found

    async def _lines(self, response: httpx.Response, deadline: float) -> AsyncIterator[bytes]:
        """Lines of an answer, split by line feed alone: what else Unicode takes for the end of a line may stand within
        an answer. Whether a stream is complete its lines say: not every server ends its compression.
        """
        rest = b""
        async for part in self._parts(response, self._open_encoding(response), deadline):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line.rstrip(b"\r")
        yield rest

    async def _parts(self, response: httpx.Response, unpacker: _Gunzip | None, deadline: float) -> AsyncIterator[bytes]:
        import httpx

        parts, size = response.aiter_raw(), 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    part = await anext(parts, None)
            except TimeoutError:
                raise self._late() from None
            except httpx.HTTPError as error:
                complaint = f"broke off within its answer ({type(error).__name__})"
                raise self._fault(502, complaint, "half_an_answer") from None
            if part is None:
                return
            try:
                # one byte more than is allowed shows that there is more
                part = unpacker.decompress(part, _MOST - size + 1) if unpacker else part
            except zlib.error:
                raise self._fault(502, "answered what is not compressed as it says", "upstream_error") from None
            size += len(part)
            if size > _MOST:
                raise self._fault(502, f"answered more than {_MOST} bytes", "upstream_error")
            yield part

    def _open_encoding(self, response: httpx.Response) -> _Gunzip | None:
        """Decodes as far as wanted: a library would decode all of a part, and what is encoded twice, twice."""
        name = response.headers.get("content-encoding", "").strip().lower()
        if name in ("", "identity"):
            return None
        if name in ("gzip", "x-gzip"):
            return _Gunzip()
        raise self._fault(
            502, f"answered in the encoding '{self._line(name)}', which was not asked for", "upstream_error"
        )

    def _document(self, data: bytes) -> dict[str, Any]:
        found = self._json(self._redactor.data(data))  # some endpoint echoes the key
        if not isinstance(found, dict):
            begin = self._line(data[:200].decode("utf-8", "replace"))[:40]
            said = f"answered what is not a JSON object but '{begin}'; check OPENAI_BASE_URL"
            raise self._fault(502, said, "invalid_json")
        return found

    def _check(self, answer: Completion, request: ChatRequest) -> None:
        """Refuses what is no answer of the model, whatever its status says, and one without a word, which a backend
        would take for nothing to remember."""
        drop_unsound_usage(answer)
        message = read_message(answer)
        if not isinstance(answer.get("model"), str):
            answer["model"] = ""
        if answer.get("error"):
            fault = self._fault(502, f"failed (200): {self._describe(answer)}", "upstream_error")
        elif not message:
            fault = self._fault(502, "answered without a choice", "no_choice")
        elif read_text(message).strip():
            return
        else:
            fault = self._fault(502, "answered nothing", EMPTY)
        fault.spent = count_spent(request, answer)
        raise fault

    def _late(self) -> UpstreamFault:
        return self._fault(504, f"did not answer within {self._timeout:g} s", "upstream_timeout")

    def _fault(self, status: int, complaint: str, code: str) -> UpstreamFault:
        return UpstreamFault(status, f"the chat model at {self._host} {complaint}", code=code)

    def _json(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return None

    def _describe(self, answer: Any, depth: int = 1) -> str:
        """The upstream's own words on an error, in OpenAI's form or in that of other servers."""
        for name in ("error", "message", "detail", "msg"):
            found = answer.get(name) if isinstance(answer, dict) else None
            if isinstance(found, str) and found.strip():
                return self._line(found)
            # FastAPI sends its complaints as a list
            first = found[0] if isinstance(found, list) and found else found
            if depth and isinstance(first, dict) and (told := self._describe(first, depth - 1)) != NO_REASON:
                return told
        return NO_REASON

    def _line(self, text: str) -> str:
        return self._normaliser.redact(" ".join(text.split()))[:200]


class _Gunzip:
    """Unpacks gzip, whose data may be several members, one behind the other.

    Attributes:
        inside: A member has begun and not ended.
    """

    def __init__(self) -> None:
        self.inside = False
        self._member = _open_member()

    def decompress(self, data: bytes, most: int) -> bytes:
        """At most so many bytes, which are one or more. Raises zlib.error."""
        found = b""
        # 0 would be no limit to zlib
        while data and len(found) < most:
            found += self._member.decompress(data, most - len(found))
            self.inside = not self._member.eof
            if self.inside:
                break
            # members may be padded with zeros
            data, self._member = self._member.unused_data.lstrip(b"\0"), _open_member()
        return found


def _open_member() -> zlib._Decompress:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


def explain_unreached(error: BaseException | None) -> str:
    """Why no connection came about, in the words of whoever can mend it."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({error.verify_message}): name its authority in SSL_CERT_FILE"
        if isinstance(error, ssl.SSLError):
            return f"it does not speak TLS as it should ({error.reason}): is it http?"
        if isinstance(error, socket.gaierror):
            return "no host has this name"
        if isinstance(error, ConnectionRefusedError):
            return "nobody listens there"
        last, error = error, error.__cause__ or error.__context__
    return " ".join(str(last).split())[:100] or f"no connection within {_CONNECT:g} s"


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that Retry-After asks for, as a number or as a date; None if it asks for none that can be read."""
    given = headers.get("retry-after", "").strip()
    try:
        # float() would take "inf" and "nan", too
        seconds = float(given) if given[:1].isdigit() else parsedate_to_datetime(given).timestamp() - time.time()
        return max(seconds, 0.0)
    except (ValueError, OverflowError):
        return None


def _now() -> float:
    return asyncio.get_running_loop().time()
