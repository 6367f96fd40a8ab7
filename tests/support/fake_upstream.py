"""A fake chat model on loopback, a real HTTP server that plays one written deed a request; and what Mem0 would ask."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import urlsplit

from harness.gateway.gateway import Gateway

KEY = "sk-fake-0123456789abcdefghij"
SAID = '{"memory": []}'
TRIAL = "trial-key-1"
ASKED = {"model": "fake-chat", "messages": [{"role": "user", "content": "hello there"}]}


def completion(text: str | None = SAID, model: str = "fake-chat-1", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
        "usage": usage,
    } | more


def pieces(*texts: str, model: str = "fake-chat-1", usage: bool = True, end: bool = True) -> list[dict[str, Any]]:
    """The chunks of a stream that says `texts`; without `end` it breaks off."""
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": model}
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": text}, None) for text in texts] + ([({}, "stop")] if end else [])
    rows = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": why}]} for delta, why in deltas]
    last = {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}}
    return rows + ([{**head, **last}] if usage and end else [])


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write, so that no answer waits for a delayed ack

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.upstream.heard(self, body)

    def do_GET(self) -> None:
        self.server.upstream.heard(self, None)

    def answer(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def stream(self, *events: Any, done: bool = True) -> None:
        self.begin()
        for event in events:
            self.say(event)
        if done:
            self.say(b"[DONE]")

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True

    def say(self, event: Any) -> None:
        data = event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()
        self.wfile.write(b"data: " + data + b"\n\n")
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    upstream: FakeUpstream

    def handle_error(self, *_: object) -> None:
        """Clients may leave; what a deed asserts shows in what the client gets."""


Deed = Callable[[Handler], None]
F = TypeVar("F", bound="FakeUpstream")


class FakeUpstream:
    """`deeds` are done one a request; when they are used up, a sound answer is given. `requests`: the bodies heard."""

    def __init__(self) -> None:
        self.deeds: list[Deed] = []
        self.requests: list[dict[str, Any] | None] = []
        self.keys: list[str | None] = []
        self.headers: list[dict[str, str]] = []
        self.over = threading.Event()
        """For deeds that wait: set at the end."""
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.upstream = self
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def forget(self) -> None:
        """As new, but for its address."""
        self.deeds, self.requests, self.keys, self.headers = [], [], [], []
        self.over.set()  # whoever still waits goes on
        self.over = threading.Event()

    def heard(self, handler: Handler, body: dict[str, Any] | None) -> None:
        self.requests.append(body)
        self.keys.append(handler.headers["authorization"])
        self.headers.append(dict(handler.headers))
        if self.deeds:
            self.deeds.pop(0)(handler)
        elif body is None:
            handler.answer(200, {"object": "list", "data": [{"id": "fake-chat-1"}, {"id": "fake-chat-2"}]})
        elif body.get("stream"):
            handler.stream(*pieces(*SAID))
        else:
            handler.answer(200, completion())


def wait_for_the_end(handler: Handler) -> None:
    """A deed: no answer while the fake runs."""
    handler.server.upstream.over.wait(300)


@contextmanager
def fake_upstream() -> Iterator[FakeUpstream]:
    with served(FakeUpstream()) as fake:
        yield fake


@contextmanager
def served(fake: F) -> Iterator[F]:
    """Answers until it is left."""
    thread = threading.Thread(target=fake._server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.over.set()
        fake._server.shutdown()
        fake._server.server_close()
        thread.join()


SYSTEM = {"role": "system", "content": "# ROLE\n\nYou are a Memory Extractor."}


def prompt(said: str, existing: Sequence[str] = (), recent: Sequence[str] = (), day: str = "2026-10-14") -> str:
    """What Mem0 2.2.1 sends with `infer=True`, section by section."""
    known = json.dumps([{"id": str(at), "text": text} for at, text in enumerate(existing)], ensure_ascii=False)
    sections = [
        "## Summary\n",
        "## Last k Messages\nuser: an older message\n",
        f"## Recently Extracted Memories\n{json.dumps(list(recent))}",
        f"## Existing Memories\n{known}",
        f"## New Messages\n{said}",
        f"## Observation Date\n{day}",
        f"## Current Date\n{day}",
        "# Output:",
    ]
    return "\n\n".join(sections)


def ask(gateway: Gateway, body: Any, path: str = "/v1/chat/completions") -> tuple[int, Any]:
    """Status and answer; of a stream, the list of its events."""
    where = urlsplit(gateway.url)
    with closing(http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)) as link:
        method = "GET" if body is None else "POST"
        sent = None if body is None else json.dumps(body)
        link.request(method, path, sent, {"authorization": f"Bearer {TRIAL}", "x-trial-secret": "mine"})
        answer = link.getresponse()
        text = answer.read().decode()
    if "event-stream" in (answer.headers["content-type"] or ""):
        events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        return answer.status, [event if event == "[DONE]" else json.loads(event) for event in events]
    if answer.status != 200:
        assert answer.headers["x-should-retry"] == "false"
    return answer.status, json.loads(text)
