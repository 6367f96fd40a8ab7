"""The model of one job, as an agent program sees it: at a socket of its own, in its format, logged step by step."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harness.agents.contents import Contents, StreamedContents
from harness.agents.formats import Chat, Format
from harness.agents.messages import Messages
from harness.agents.profile import Profile
from harness.agents.responses import Responses
from harness.gateway.chat import wire
from harness.gateway.chat.client import Reply
from harness.gateway.chat.normaliser import map_strings
from harness.gateway.chat.route import write_usage
from harness.gateway.chat.wire import ChatRequest, Refused, Spent, read_text
from harness.gateway.endpoint import REFUSALS, read_body
from harness.gateway.server import serve as start
from harness.log.calls import ModelCall, ToolUse
from harness.model.dates import list_todays, replace_today
from harness.play.readers import AskModel
from harness.play.readers.tools import WRITTEN, cut

PASSED = (
    "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "temperature", "top_p", "stop",
    "max_tokens", "max_completion_tokens", "frequency_penalty", "presence_penalty", "reasoning_effort",
)  # fmt: skip
"""Fields of a request that reach the model. Model and seed are those of the trial."""
FORMATS: Mapping[str, type[Format]] = {
    "/chat/completions": Chat, "/messages": Messages, "/responses": Responses,
    ":generateContent": Contents, ":streamGenerateContent": StreamedContents,
}  # fmt: skip
"""By how a path ends, as programs differ in what they set before it."""
SPEAKS = ("system", "developer", "user")
NAME = 60
"""Characters of a model's name that are told."""
_IN_PATH = re.compile(r"/models/([^/]+):\w+$")


@dataclass
class Conversation:
    """All that the program asked its model in one job.

    Attributes:
        day: Of the story: it stands in the place of today's, where the profile says how the program tells it.
        wanted: A text that has to reach the model; empty: none. `met`: it did.
        ended: Set once a budget is used up; `why` says which.
        others: Names of other models that calls asked for -> how many; this one answered them as well.
        shown: What its tools answered, in order.
        prompt, completion: Tokens by our own count.
    """

    profile: Profile
    model: str
    seed: int
    day: date
    ask_model: AskModel
    count: Callable[[str], int]
    wanted: str = ""
    met: bool = False
    calls: list[ModelCall] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)
    prompt: int = 0
    completion: int = 0
    ended: threading.Event = field(default_factory=threading.Event)
    why: str = ""
    _seen: Counter[str] = field(default_factory=Counter)
    _open: dict[str, tuple[int, int]] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _began: set[date] = field(default_factory=list_todays)

    def answer(self, asked: ChatRequest, named: str = "") -> wire.Completion:
        """One call at a time. `named`: the model, where the request does not name it. Raises Refused."""
        with self._lock:
            if self.ended.is_set():
                # 400 is a status after which programs do not try again
                raise Refused(400, self.why, code="budget")
            request = self._write_request(asked.body)
            if (name := named or asked.model) != self.model:
                self.others[cut(name, NAME)] += 1
            self.met = self.met or any(self.wanted in read_text(each) for each in request["messages"])
            new = self._note_messages(request["messages"])
            size = sum(map(self._size, map(read_text, request["messages"]))) + self._size(
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
        return wire.make_completion(
            f"step-{len(self.calls)}",
            reply.model,
            {"role": "assistant", "content": None, **reply.message},
            finish,
            usage,
        )

    def _write_request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: body[key] for key in PASSED if body.get(key) is not None}
        kept["messages"] = [self._settle(each) for each in kept["messages"]]
        return {"model": self.model, "seed": self.seed, **kept}

    def _settle(self, message: Mapping[str, Any]) -> Any:
        """A message without what differs from run to run; what the model said stays as it is."""
        if message["role"] in SPEAKS:
            message = map_strings(message, lambda text: replace_today(text, self.day, self._began, self.profile.dates))
        return message if message["role"] == "assistant" else map_strings(message, self._hide)

    def _hide(self, text: str) -> str:
        for pattern in self.profile.varies:
            text = re.sub(pattern, "…", text)
        return text

    def _note_messages(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """What is new to the model, but for the answers of tools, which belong to the step that used them."""
        new, met = [], Counter[str]()
        for message in messages:
            text = read_text(message)
            # JSON may hold half of a character, which UTF-8 has not
            name = hashlib.sha256(
                f"{message['role']} {message.get('tool_call_id')} {text}".encode("utf-8", "replace")
            ).hexdigest()
            met[name] += 1
            # by number: a program sends all of the talk again, and may say the same twice
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
            # popped, as a program may give all of its calls one id
            step, at = self._open.pop(name)
            uses = list(self.calls[step].uses)
            uses[at] = uses[at].model_copy(update={"result": cut(text, WRITTEN)})
            self.calls[step] = self.calls[step].model_copy(update={"uses": tuple(uses)})

    def _log(self, new: str, reply: Reply) -> None:
        tool_calls = reply.message.get("tool_calls")
        uses = []
        for at, each in enumerate(tool_calls if isinstance(tool_calls, list) else ()):
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
                # the step that is being logged: a later request brings the answer to the call
                self._open[str(each.get("id"))] = (len(self.calls), at)
        self.completion += self.count(read_text(reply.message))
        outcome = "acted" if reply.ending == "answered" else reply.ending
        self.calls.append(
            ModelCall(
                decision="", prompt=new, answer=cut(reply.text, WRITTEN), outcome=outcome, why=reply.why,
                model=reply.model, prompt_tokens=reply.prompt, completion_tokens=reply.completion,
                cached_tokens=reply.cached, unread_tokens=reply.unread, passing=reply.passing,
                uses=tuple(uses),
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
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        server = start(build_application(conversation), listener, "model of a job")
        try:
            yield
        finally:
            server.stop()
            server.join()


def build_application(talk: Conversation) -> Starlette:
    """Each of the formats, and the one model."""

    async def answer(request: Request) -> Response:
        path = request.url.path
        spoken = next((each for end, each in FORMATS.items() if path.endswith(end)), None)
        if spoken is None:
            raise Refused(404, f"there are {', '.join(FORMATS)} here, and no {path[:100]}")
        told = spoken(await read_body(request))
        # Left to itself where the program is ended meanwhile: nobody waits for a model's last answer.
        named = _IN_PATH.search(path)
        said = await to_thread.run_sync(talk.answer, told.asked, named[1] if named else "", abandon_on_cancel=True)
        if not told.asked.stream:
            return JSONResponse(told.write(said))
        # a stream in form only, as the answer is whole by then
        return Response("".join(told.stream(said)), media_type="text/event-stream")

    async def models(_: Request) -> Response:
        rows = [{"id": talk.model, "object": "model", "created": 0, "owned_by": "coldwarm"}]
        return JSONResponse({"object": "list", "data": rows})

    return Starlette(
        routes=[
            Route("/{path:path}", answer, methods=["POST"]),
            Route("/{path:path}", models, methods=["GET"]),
        ],
        exception_handlers=REFUSALS,
    )
