"""A chat request and its answer as they stand on the wire, and what an upstream of the gateway has to offer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, Protocol

from harness.gateway import tokens

Completion = dict[str, Any]
"""A `chat.completion` object with exactly one choice."""
Chunk = dict[str, Any]
"""A `chat.completion.chunk` object."""

EMPTY = "empty_answer"
"""The code of a fault: the model answered, and said nothing."""
OF_REQUEST = (400, 413, 422)
"""By these a status an upstream refuses what it was asked, such as a prompt beyond its context."""
MOST = 10**9
"""Tokens of one call that are believed."""
ALIKE = 0.7
"""Encodings of two makers differ by less: what is told below this part of our own count was not all read."""
_PIECE = 64  # characters of an answer in one chunk, where a whole answer is streamed


class ChatError(Exception):
    """An upstream cannot be set up; one line that says why and what to do."""


class Refused(Exception):  # noqa: N818 - an answer to a client, not a fault of ours
    """A request that is answered with an error. `detail` never repeats what the request said."""

    def __init__(self, status_code: int, detail: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(detail)
        self.status_code = status_code
        self.detail = detail
        self.param = param
        self.code = code


class Spent(NamedTuple):
    """Tokens of one call.

    Attributes:
        counted: Here, with our own encoding, because the upstream did not say, or what nobody can have counted.
        cached: Of the prompt, what the upstream says it read from a cache.
        unread: Of the prompt, what the upstream does not count although it was sent: it was cut there, or miscounted.
    """

    prompt: int = 0
    completion: int = 0
    counted: bool = False
    cached: int = 0
    unread: int = 0


class UpstreamFault(Refused):
    """The upstream did not answer, or not soundly. `spent`: what the call cost nevertheless, as far as is known."""

    spent = Spent()

    @property
    def passing(self) -> bool:
        """Whether it says nothing of the request or of the model: the same call may be answered another time."""
        return self.code != EMPTY and self.status_code not in OF_REQUEST


@dataclass(frozen=True)
class ChatRequest:
    """A valid request. `body` is what the client sent, unknown fields included.

    Attributes:
        ours: A reader of ours asks, not a backend: the dates in it are of the story, and mean something.
    """

    body: Mapping[str, Any]
    ours: bool = False

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to end with a chunk that holds usage and no choice."""
        return bool((self.body.get("stream_options") or {}).get("include_usage"))

    @property
    def limit(self) -> int | None:
        """The most tokens that the answer may have."""
        # max_tokens is the older name
        given = self.body.get("max_completion_tokens") or self.body.get("max_tokens")
        return given if type(given) is int and given > 0 else None


class Upstream(Protocol):
    """Who answers chat calls. `name` is shown beside results; the methods raise Refused and nothing else.

    A stream is complete when its iterator ends; what ends too early raises.
    """

    @property
    def name(self) -> str: ...
    async def complete(self, request: ChatRequest) -> Completion: ...
    def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk, None]: ...
    async def models(self) -> list[str]: ...
    async def close(self) -> None: ...


def parse_document(body: bytes) -> dict[str, Any]:
    """The JSON object that `body` holds. Raises Refused."""
    try:
        found = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refused(400, "the body is not JSON") from None
    if not isinstance(found, dict):
        raise Refused(400, "the body must be a JSON object")
    return found


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError("NaN and Infinity are no JSON")


def parse(body: bytes, *, ours: bool = False) -> ChatRequest:
    """The request that `body` holds; only what every upstream must be able to rely on is checked. Raises Refused."""
    given = parse_document(body)
    if not isinstance(given.get("model"), str) or not given["model"]:
        raise Refused(400, "model must be a string that is not empty", "model")
    messages = given.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(400, "messages must be a list that is not empty", "messages")
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise Refused(400, f"messages[{at}] must be an object with a role", "messages")
        if not isinstance(message.get("content"), str | list | None):
            raise Refused(400, f"messages[{at}].content must be a string or a list of parts", "messages")
    if given.get("stream") not in (None, True, False):
        raise Refused(400, "stream must be true or false", "stream")
    if not isinstance(given.get("stream_options"), dict | None):
        raise Refused(400, "stream_options must be an object", "stream_options")
    if given.get("n") not in (None, 1):
        raise Refused(400, "n must be 1: one call is one answer here", "n")
    return ChatRequest(given, ours)


def read_text(message: Mapping[str, Any]) -> str:
    """The text of a message: its content or the text parts of it, and the arguments of its tool calls."""
    content = message.get("content")
    texts = [part.get("text") for part in _list_objects(content if isinstance(content, list) else [{"text": content}])]
    functions = _list_objects([call.get("function") for call in _list_objects(message.get("tool_calls"))])
    texts += [each.get(key) for each in functions for key in ("name", "arguments")]
    return "\n".join(text for text in (*texts, message.get("refusal")) if isinstance(text, str) and text)


def count_spent(request: ChatRequest, answer: Completion | None) -> Spent:
    """What a call cost: as the upstream says, and no less than its texts count here.

    Tools and schemas are counted as their JSON where the upstream says nothing; a provider writes them in its own way.
    """
    sent = sum(tokens.count(read_text(message)) for message in request.messages)
    answer_tokens = tokens.count(read_text(read_message(answer))) if answer else 0
    usage = (answer or {}).get("usage")
    if (reported := read_usage(usage)) is None:
        rest = (json.dumps(request.body[key]) for key in ("tools", "response_format") if request.body.get(key))
        return Spent(sent + sum(map(tokens.count, rest)), answer_tokens, counted=True)
    prompt, completion = reported
    unread = sent - prompt if prompt < sent * ALIKE else 0
    return Spent(max(prompt, sent), max(completion, answer_tokens), False, _count_cached(usage or {}, prompt), unread)


def read_usage(usage: Any) -> tuple[int, int] | None:
    """Prompt and completion, as an upstream counts them; None: it does not say, or what nobody can have counted."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    # not isinstance, by which True is an int
    if type(prompt) is not int or type(completion) is not int:
        return None
    return (prompt, completion) if 0 <= prompt <= MOST and 0 <= completion <= MOST else None


def _count_cached(usage: Mapping[str, Any], prompt: int) -> int:
    """Tokens that came from a cache, as OpenAI writes it; 0 where nothing, or nothing sound, is said."""
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return cached if type(cached) is int and 0 <= cached <= prompt else 0


def read_message(answer: Completion) -> dict[str, Any]:
    """The message of a completion; an empty one if it holds none."""
    try:
        message = answer["choices"][0]["message"]
    except (KeyError, IndexError, TypeError):
        return {}
    return message if isinstance(message, dict) else {}


def drop_unsound_usage(answer: dict[str, Any]) -> None:
    """No client should have to read what nobody can have counted."""
    if read_usage(answer.get("usage")) is None:
        answer.pop("usage", None)


def make_completion(name: str, model: str, message: Mapping[str, Any], finish: str, usage: Any) -> Completion:
    """A completion named `name`. It carries no clock: `created` is 0."""
    return {
        "id": name,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": dict(message), "logprobs": None, "finish_reason": finish}],
        "usage": usage,
    }


def split_completion(answer: Completion) -> Iterator[Chunk]:
    """A whole answer as a stream: the role, pieces of the text, tool calls, the end, and the usage."""
    head = {key: answer.get(key) for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> Chunk:
        return head | {"choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}]}

    message = read_message(answer)
    yield chunk({"role": "assistant", "content": ""})
    for key in ("content", "refusal"):
        text = message.get(key) or ""
        for at in range(0, len(text), _PIECE):
            yield chunk({key: text[at : at + _PIECE]})
    for index, call in enumerate(message.get("tool_calls") or ()):
        yield chunk({"tool_calls": [{"index": index, **call}]})
    yield chunk({}, answer["choices"][0].get("finish_reason") or "stop")
    if answer.get("usage"):
        yield head | {"choices": [], "usage": answer["usage"]}


@dataclass
class Assembly:
    """What a stream has said so far. Chunks of any shape may be added; what makes no sense adds nothing."""

    head: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    finish: str | None = None
    usage: Any = None

    def add(self, chunk: Chunk) -> None:
        for key in ("id", "model"):
            if isinstance(chunk.get(key), str):
                self.head.setdefault(key, chunk[key])
        # where usage is asked for, all chunks but the last carry null
        self.usage = chunk.get("usage") or self.usage
        for choice in _list_objects(chunk.get("choices")):
            if isinstance(choice.get("finish_reason"), str):
                self.finish = choice["finish_reason"]
            if isinstance(choice.get("delta"), dict):
                self._add(choice["delta"])

    def _add(self, delta: Mapping[str, Any]) -> None:
        for key in ("content", "refusal"):
            if isinstance(delta.get(key), str):
                self.texts.setdefault(key, []).append(delta[key])
        for part in _list_objects(delta.get("tool_calls")):
            index, name = part.get("index"), part.get("id")
            calls = self.calls.setdefault(index if isinstance(index, int) else 0, [])
            named = isinstance(name, str) and name != ""
            # some upstreams stream every call under one index, each with an id of its own
            if not calls or (named and calls[-1].get("id", name) != name):
                calls.append({"type": "function", "function": {}})
            call = calls[-1]
            if named:
                call["id"] = name
            for function in _list_objects([part.get("function")]):
                for key in ("name", "arguments"):
                    if isinstance(function.get(key), str):
                        call["function"][key] = call["function"].get(key, "") + function[key]

    @property
    def silent(self) -> bool:
        """Whether no choice was in it."""
        return self.finish is None and not self.texts and not self.calls

    def completion(self) -> Completion:
        said = {key: "".join(parts) for key, parts in self.texts.items()}
        message: dict[str, Any] = {"role": "assistant", "content": said.get("content") or None}
        if said.get("refusal"):
            message["refusal"] = said["refusal"]
        if self.calls:
            message["tool_calls"] = [call for index in sorted(self.calls) for call in self.calls[index]]
        name, model = self.head.get("id", ""), self.head.get("model", "")
        return make_completion(name, model, message, self.finish or "stop", self.usage)


def _list_objects(given: object) -> list[dict[str, Any]]:
    """The JSON objects in a list; none if it is no list."""
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


class Whole:
    """Streams what `complete` answers: for upstreams that know the whole answer at once."""

    async def complete(self, request: ChatRequest) -> Completion:
        raise NotImplementedError  # who derives from this answers

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Chunk, None]:
        for chunk in split_completion(await self.complete(request)):
            yield chunk

    async def close(self) -> None:
        """Holds nothing open."""
