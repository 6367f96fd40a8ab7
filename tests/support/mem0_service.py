"""The documented routes of Mem0's hosted service, on loopback or as a transport, with deeds to be played before."""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

import httpx

from adapters.mem0_platform import KEY, Mem0Platform
from harness.adapter import Space

PLATFORM_KEY = "m0-fake-0123456789"
Answer = tuple[int, Any, Mapping[str, str]]


@dataclass
class Service:
    """deeds: (method, path) -> answers that come before the real one, "lost": done, but its answer does not arrive.
    waits: how often an event is still pending when it is asked for; None: extraction never ends.
    """

    deeds: dict[tuple[str, str], list[Answer | str]] = field(default_factory=dict)
    waits: int | None = 0
    heard: list[tuple[str, str]] = field(default_factory=list)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    past: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    events: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, method: str, url: str, key: str, body: bytes) -> Answer:
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.heard.append((method, parts.path))
        waiting = self.deeds.get((method, parts.path))
        deed = waiting.pop(0) if waiting else None
        if deed is not None and not isinstance(deed, str):
            return deed
        if key != f"Token {PLATFORM_KEY}":
            return 401, {"detail": "Invalid API key."}, {}
        done = self._route(method, parts.path, query, json.loads(body) if body else {})
        return (500, {"error": "the answer was lost"}, {}) if deed == "lost" else (*done, {})

    def _route(self, method: str, path: str, query: Mapping[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        if (method, path) == ("GET", "/v1/ping/"):
            return 200, {"status": "ok", "org_id": "org", "project_id": "project", "user_email": "dana@example.com"}
        if (method, path) == ("POST", "/v3/memories/add/"):
            return self._add(body)
        if (method, path) == ("POST", "/v3/memories/search/"):
            asked = set(re.findall(r"\w+", body["query"].lower()))
            scored = [(len(asked & set(re.findall(r"\w+", row["memory"].lower()))), row) for row in self._in(body)]
            best = sorted(scored, key=lambda each: -each[0])[: body["top_k"]]
            return 200, {"results": [{**row, "score": n / (n + 1)} for n, row in best if n]}
        if (method, path) == ("POST", "/v3/memories/"):
            rows, page, size = self._in(body), int(query["page"]), int(query["page_size"])
            more = f"https://api.mem0.ai{path}?page={page + 1}" if page * size < len(rows) else None
            return 200, {
                "count": len(rows),
                "next": more,
                "previous": None,
                "results": rows[(page - 1) * size :][:size],
            }
        if (method, path) == ("DELETE", "/v1/memories/"):
            for name in [name for name, row in self.rows.items() if row["user_id"] == query["user_id"]]:
                self._change(name, None)
            return 200, {"message": "Delete in progress.", "event_id": self._event([])}
        if found := re.fullmatch(r"/v1/event/([^/]+)/", path):
            return self._told(found[1])
        found = re.fullmatch(r"/v1/memories/([^/]+)/(history/)?", path)
        assert found is not None, path
        return self._one(method, unquote(found[1]), bool(found[2]), body)

    def _one(self, method: str, name: str, history: bool, body: dict[str, Any]) -> tuple[int, Any]:
        if not re.fullmatch(r"[0-9a-f-]{36}", name):
            return 400, {"error": "memory_id should be a valid UUID"}
        if history:
            return 200, self.past.get(name, [])
        if name not in self.rows:
            return 404, {"error": "Memory not found!"}
        if method == "GET":
            return 200, self.rows[name]
        if method == "DELETE":
            self._change(name, None)
            return 200, {"message": "Memory deleted successfully!"}
        self._change(name, body["text"])
        self.rows[name] |= {"metadata": body["metadata"], "expiration_date": body["expiration_date"]}
        return 200, self.rows[name]

    def _add(self, body: dict[str, Any]) -> tuple[int, Any]:
        text = body["messages"][0]["content"]
        texts = [text] if body["infer"] is False else [each.strip() + "." for each in text.split(".") if each.strip()]
        made = []
        for each in texts:
            name = str(uuid.uuid4())
            made.append({"id": name, "data": {"memory": each}, "event": "ADD"})
            self.rows[name] = {
                "id": name,
                "memory": each,
                "user_id": body["user_id"],
                "metadata": body["metadata"],
                "expiration_date": body.get("expiration_date"),
                "created_at": datetime.fromtimestamp(body["timestamp"], UTC).isoformat(),
            }
            self.past[name] = [{"old_memory": None, "new_memory": each, "input": body["messages"]}]
        if body["infer"] is False:
            return 200, {"message": "ok", "status": "SUCCEEDED", "event_id": str(uuid.uuid4()), "results": made}
        return 200, {"status": "PENDING", "event_id": self._event(made)}

    def _event(self, results: list[dict[str, Any]]) -> str:
        name = str(uuid.uuid4())
        self.events[name] = {"status": "SUCCEEDED", "results": results, "waits": self.waits}
        return name

    def _told(self, name: str) -> tuple[int, Any]:
        event = self.events[name]
        if event["waits"] != 0:
            event["waits"] = event["waits"] and event["waits"] - 1
            return 200, {"status": "RUNNING", "results": []}
        return 200, event

    def _change(self, name: str, text: str | None) -> None:
        self.past[name].append({"old_memory": self.rows[name]["memory"], "new_memory": text, "input": []})
        if text is None:
            del self.rows[name]
        else:
            self.rows[name]["memory"] = text

    def _in(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        users, today = {each["user_id"] for each in body["filters"]["OR"]}, datetime.now(UTC).date()
        rows = [row for row in self.rows.values() if row["user_id"] in users]
        return [
            row for row in rows if not row["expiration_date"] or date.fromisoformat(row["expiration_date"]) >= today
        ]

    # --- how it is reached ---

    def transport(self) -> httpx.MockTransport:
        def handle(request: httpx.Request) -> httpx.Response:
            status, body, headers = self.answer(
                request.method, str(request.url), request.headers["authorization"], request.read()
            )
            return httpx.Response(status, json=body, headers=headers)

        return httpx.MockTransport(handle)

    @contextmanager
    def served(self) -> Iterator[str]:
        """The same at an address on loopback."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def _any(handler) -> None:  # noqa: N805  the service is `self`
                body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
                status, said, headers = self.answer(
                    handler.command, handler.path, handler.headers["authorization"], body
                )
                data = json.dumps(said).encode()
                handler.send_response(status)
                for name, value in {**headers, "content-type": "application/json", "content-length": len(data)}.items():
                    handler.send_header(name, str(value))
                handler.end_headers()
                handler.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815  the names that http.server calls

            def log_message(handler, *_: object) -> None:  # noqa: N805
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class Loopback(Mem0Platform):
    """The adapter as it is, but for where the service is."""

    settings: ClassVar[Sequence[str]] = ("infer", "host")

    def connect(self, space: Space) -> Any:
        from mem0 import MemoryClient

        return MemoryClient(api_key=space.settings[KEY], host=space.settings["host"])
