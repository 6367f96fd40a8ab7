"""The model of one job, as an agent program sees it: chat completions at a socket of its own, logged step by step."""

from __future__ import annotations

import hashlib
import json
import socket
import socketserver
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from harness.agents.profile import Profile
from harness.gateway.chat import wire
from harness.gateway.chat.client import Reply
from harness.gateway.chat.normal import map_strings
from harness.gateway.chat.route import problem, write_usage
from harness.gateway.chat.wire import Refused, Spent, text_of
from harness.log.calls import ModelCall, ToolUse
from harness.play.readers import AskModel
from harness.play.readers.tools import WRITTEN, cut

PASSED = (
    "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p", "stop",
    "max_tokens", "max_completion_tokens", "frequency_penalty", "presence_penalty", "reasoning_effort",
)  # fmt: skip
"""Fields of a request that reach the model. Model and seed are those of the trial."""
MAX_BYTES = 32 * 2**20
LINGERS = 1.0
"""Seconds without a byte after which a refused request is no longer read."""
SPEAKS = ("system", "developer", "user")


@dataclass
class Conversation:
    """All that the program asked its model in one job.

    Attributes:
        day: Of the story: it stands in the place of today's, where the profile says how the program tells it.
        ended: Set once a budget is used up; `why` says which.
        shown: What its tools answered, in order.
        prompt, completion: Tokens by our own count.
    """

    profile: Profile
    model: str
    seed: int
    day: date
    ask_model: AskModel
    count: Callable[[str], int]
    calls: list[ModelCall] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    prompt: int = 0
    completion: int = 0
    ended: threading.Event = field(default_factory=threading.Event)
    why: str = ""
    _seen: Counter[str] = field(default_factory=Counter)
    _open: dict[str, tuple[int, int]] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _today: date = field(default_factory=lambda: datetime.now(UTC).date())

    def answer(self, body: bytes) -> wire.Completion:
        """One call at a time. Raises Refused."""
        asked = wire.parse(body)
        with self._lock:
            if self.ended.is_set():
                raise Refused(400, self.why, code="budget")
            request = self._write_request(asked.body)
            new = self._note_messages(request["messages"])
            size = sum(map(self._size, map(text_of, request["messages"]))) + self._size(
                json.dumps(asked.body.get("tools"))
            )
            self.prompt += size
            reply = self.ask_model(request)
            self._log(new, reply)
            self._look_for_end()
        if reply.ending in ("failed", "timed-out"):  # the gateway tried again what may be tried again
            raise Refused(400, reply.why)
        usage = write_usage(Spent(reply.prompt, reply.completion, cached=reply.cached))
        finish = reply.finish or ("tool_calls" if reply.message.get("tool_calls") else "stop")
        return wire.completion(
            f"step-{len(self.calls)}",
            reply.model,
            {"role": "assistant", "content": None, **reply.message},
            finish,
            usage,
        )

    def _write_request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: body[key] for key in PASSED if body.get(key) is not None}
        kept["messages"] = [
            map_strings(each, self._change_day) if each["role"] in SPEAKS else each for each in kept["messages"]
        ]
        return {"model": self.model, "seed": self.seed, **kept}

    def _change_day(self, text: str) -> str:
        for form in self.profile.dates:
            for day in (self._today, datetime.now(UTC).date()):  # it may be past midnight
                text = text.replace(day.strftime(form), self.day.strftime(form))
        return text

    def _note_messages(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """What is new to the model, but for the answers of tools, which belong to the step that used them."""
        new, met = [], Counter[str]()
        for message in messages:
            text = text_of(message)
            name = hashlib.sha256(
                f"{message['role']} {message.get('tool_call_id')} {text}".encode("utf-8", "replace")
            ).hexdigest()
            met[name] += 1
            if self._seen[name] >= met[name]:
                continue
            self._seen[name] = met[name]
            if message["role"] == "tool":
                self._note_result(str(message.get("tool_call_id")), text)
            elif message["role"] in SPEAKS:
                new.append(text)
                self.shown += [text] if self.calls else []  # programs without tool calls show what a command printed
        return cut("\n\n".join(new), WRITTEN)

    def _note_result(self, name: str, text: str) -> None:
        self.shown.append(text)
        if name in self._open:
            step, at = self._open.pop(name)
            uses = list(self.calls[step].uses)
            uses[at] = uses[at].model_copy(update={"result": cut(text, WRITTEN)})
            self.calls[step] = self.calls[step].model_copy(update={"uses": tuple(uses)})

    def _log(self, new: str, reply: Reply) -> None:
        said = reply.message.get("tool_calls")
        uses = []
        for at, each in enumerate(said if isinstance(said, list) else ()):
            function = each.get("function") if isinstance(each, dict) else None
            function = function if isinstance(function, dict) else {}
            uses.append(
                ToolUse(
                    tool=cut(str(function.get("name") or ""), 100),
                    arguments=cut(str(function.get("arguments") or ""), WRITTEN),
                    result="",
                )
            )
            if isinstance(each, dict):
                self._open[str(each.get("id"))] = (len(self.calls), at)
        self.completion += self.count(text_of(reply.message))
        outcome = "acted" if reply.ending == "answered" else reply.ending
        self.calls.append(
            ModelCall(
                decision="", prompt=new, answer=cut(reply.text, WRITTEN), outcome=outcome, why=reply.why,
                model=reply.model, prompt_tokens=reply.prompt, completion_tokens=reply.completion,
                cached_tokens=reply.cached, unread_tokens=reply.unread, uses=tuple(uses),
            )
        )  # fmt: skip

    def _look_for_end(self) -> None:
        if len(self.calls) >= self.profile.steps:
            self.end(f"ended: {self.profile.steps} steps are used up")
        elif self.prompt + self.completion > self.profile.tokens:
            self.end(f"ended: {self.profile.tokens:,} tokens are used up")

    def end(self, why: str) -> None:
        """Nothing more is answered, and the program is ended; the first reason stands."""
        self.why = self.why or why
        self.ended.set()

    def _size(self, text: str) -> int:
        """Each call pays for all that was said before, so texts are met again and again."""
        if text not in self._sizes:
            self._sizes[text] = self.count(text)
        return self._sizes[text]


@contextmanager
def serve(conversation: Conversation, path: Path) -> Iterator[None]:
    """Answers at a socket, in threads."""

    class Handler(_Handler):
        talk = conversation

    with _Server(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The program left in the middle of an answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    talk: Conversation

    def do_GET(self) -> None:
        rows = [{"id": self.talk.model, "object": "model", "created": 0, "owned_by": "coldwarm"}]
        self._send(200, {"object": "list", "data": rows})

    def do_POST(self) -> None:
        try:
            body = self._read()
            if not self.path.partition("?")[0].endswith("/chat/completions"):
                raise Refused(404, f"there are chat completions here, and no {self.path[:100]}")
            answer = self.talk.answer(body)
        except Refused as error:
            self._send(error.status_code, problem(error))
            if self.close_connection:
                self._let_them_finish()
            return
        if not wire.parse(body).stream:
            self._send(200, answer)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for chunk in wire.chunks(answer):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _read(self) -> bytes:
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > MAX_BYTES:
            self.close_connection = True
            raise Refused(413, f"the request needs a content-length of at most {MAX_BYTES} bytes")
        return self.rfile.read(int(length))

    def _let_them_finish(self) -> None:
        """A socket that is closed before all is read takes the answer along, or breaks their sending."""
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(LINGERS)
            for _ in range(MAX_BYTES // 65_536):
                if not self.connection.recv(65_536):
                    return

    def _send(self, status: int, answer: object) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("x-should-retry", "false")
        self.end_headers()
        with suppress(BrokenPipeError):
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing on our standard error."""

    def address_string(self) -> str:
        return "the agent program"
