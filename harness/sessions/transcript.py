"""From what was found of a session to its transcript, in the form that the stories of the suite `deep` have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.model.transcript import FunctionCall, Message, ToolCall
from harness.secrets.detector import Secrets
from harness.sessions.recorded import Part, ToolRequest, ToolResponse, Utterance
from tasks.transcripts import quote

SAID, TOOL = 20_000, 2_000
"""Characters that are kept of a text of the user's or the model's, and of what a tool was told or said."""
BESIDE = 5_000
"""Characters beside what is kept of a text that are searched for secrets: a private key begins before what is kept."""
SHORT = 200
"""Of the latter in a session that becomes too long."""
MOST = 900_000
"""Bytes of a transcript, but for its last message: a file of a story may have a million."""
_BESIDE_CALL, _BESIDE_TEXT = 250, 100
"""Bytes that stand beside the texts of a call, and beside any other text, at the most."""
_UNSEEN = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass
class Draft:
    """A session in the making: parts that hold no secret, and are bounded.

    What is said stays, so it may be `full`: then it is to be composed, and goes on empty.

    Attributes:
        size: Bytes of what is kept, as they are written.
        tools: Characters that are kept of what a tool was told or said, fewer in a long session. 0: it is left out.
    """

    parts: list[Part] = field(default_factory=list)
    size: int = 0
    tools: int = TOOL
    shortened: int = 0
    without: int = 0

    @property
    def full(self) -> bool:
        return self.size > MOST

    @property
    def speaks(self) -> bool:
        return any(isinstance(part, Utterance) for part in self.parts)

    def add(self, part: Part, secrets: Secrets, left_out: Counter[str]) -> None:
        if not isinstance(part, Utterance) and not self.tools:
            self.without += 1
            return
        cleaned = _clean(part, secrets, left_out)
        if isinstance(cleaned, Utterance) and not cleaned.text.strip():
            return
        self._append(cleaned)
        # at most twice: to SHORT, then to nothing
        while self.full and self.tools:
            self.give_way(SHORT if self.tools == TOOL else 0)

    def _append(self, part: Part) -> None:
        if not isinstance(part, Utterance) and self.tools < TOOL:
            if not self.tools:
                self.without += 1
                return
            short = _shorten(part, self.tools)
            self.shortened += short != part
            part = short
        self.size += _BESIDE_CALL if isinstance(part, ToolRequest) else _BESIDE_TEXT
        # as it will be written: quotes and backslashes take two bytes there
        self.size += sum(len(quote(text).encode()) for text in list_texts(part))
        self.parts.append(part)

    def give_way(self, tools: int) -> None:
        """What tools were told and said makes room for what is said."""
        self.tools = tools
        # `without` is not counted anew: what it counts is in no part any more
        parts, self.parts, self.size, self.shortened = self.parts, [], 0, 0
        for part in parts:
            self._append(part)

    def compose(self, left_out: Counter[str]) -> tuple[Message, ...]:
        """Takes what there is as messages in order: each call of a tool is followed by its answer, and what answers no
        call is left out."""
        messages = _compose(self.parts, left_out)
        for count, what in ((self.shortened, "most of"), (self.without, "all of")):
            if count:
                left_out[f"{what} what a tool was told or said, in a long session"] += count
        self.parts, self.size, self.tools, self.shortened, self.without = [], 0, TOOL, 0, 0
        return messages


def _compose(parts: Sequence[Part], left_out: Counter[str]) -> tuple[Message, ...]:
    answers, number = _pair(parts, left_out), 0
    messages = list[Message]()
    utterance, calls = Utterance("assistant", ""), list[tuple[ToolCall, str | None]]()

    def flush() -> None:
        nonlocal utterance, calls
        if utterance.text or calls:
            called = tuple(each for each, _ in calls)
            messages.append(Message(role=utterance.role, content=utterance.text, at=utterance.at, tool_calls=called))
        for call, answer in calls:
            if answer is None:
                left_out["the answer of a tool, which is not recorded"] += 1
            messages.append(Message(role="tool", content=answer or "", tool_call_id=call.id))
        utterance, calls = Utterance("assistant", ""), []

    # a response is no case of its own here: it stands behind its call, wherever it was recorded
    for at, part in enumerate(parts):
        if isinstance(part, ToolRequest):
            # calls get ids of their own: recorded ones may be missing, or come again
            number += 1
            function = FunctionCall(name=part.name or "tool", arguments=part.arguments)
            calls.append((ToolCall(id=f"c{number}", function=function), answers.get(at)))
        elif isinstance(part, Utterance):
            flush()
            if part.role == "assistant":
                utterance = part
            else:
                messages.append(Message(role="user", content=part.text, at=part.at))
    flush()
    return tuple(messages)


def _pair(parts: Sequence[Part], left_out: Counter[str]) -> dict[int, str]:
    """The place of each call -> what answers it. An id that comes again means the call before."""
    open_: dict[str, int] = {}
    answers: dict[int, str] = {}
    for at, part in enumerate(parts):
        if isinstance(part, ToolRequest):
            open_[part.id] = at
        elif isinstance(part, ToolResponse):
            if (call := open_.pop(part.id, None)) is None:
                left_out["an answer to no call"] += 1
            else:
                answers[call] = part.text
    return answers


def _cut(text: str, most: int, beside: int = 0, whole: int = 0) -> str:
    """The two ends of a long text, three quarters of it from the beginning; `whole`: how long it was before a cut."""
    head, tail = most * 3 // 4 + beside, most // 4 + beside
    if len(text) <= head + tail:
        return text
    return f"{text[:head]}\n[... of {max(whole, len(text)):,} characters ...]\n{text[-tail:]}"


def _shorten(part: Part, most: int) -> Part:
    """The beginning of what a tool was told or said."""

    def begin(text: str) -> str:
        return text if len(text) <= most else f"{text[:most]}\n[...]"

    if isinstance(part, ToolRequest):
        return replace(part, arguments=begin(part.arguments))
    return replace(part, text=begin(part.text))


def prepare(part: Part) -> Part:
    """A part as it is searched for secrets: bounded, and no character of it that cannot be written down."""
    if isinstance(part, Utterance):
        return replace(part, text=_bound(part.text, SAID))
    if isinstance(part, ToolResponse):
        return ToolResponse(part.id, _bound(part.text, TOOL))
    return ToolRequest(part.id, _bound(part.name, TOOL), _bound(part.arguments, TOOL))


def _bound(text: str, most: int) -> str:
    return clean(_cut(text, most, BESIDE))


def list_texts(part: Part) -> Iterator[str]:
    """What of a prepared part may hold a secret."""
    yield from (part.name, part.arguments) if isinstance(part, ToolRequest) else (part.text,)


def _clean(part: Part, secrets: Secrets, left_out: Counter[str]) -> Part:
    def redact_text(text: str, most: int) -> str:
        # cut after the search, which knows no half of a secret
        short = _cut(redacted := secrets.redact(_bound(text, most)), most, whole=len(text))
        if short != redacted:
            left_out["the middle of a long text" if most == SAID else "the middle of what a tool was told or said"] += 1
        return short

    if isinstance(part, Utterance):
        return replace(part, text=redact_text(part.text, SAID))
    if isinstance(part, ToolResponse):
        return ToolResponse(part.id, redact_text(part.text, TOOL))
    return ToolRequest(part.id, secrets.redact(_bound(part.name, TOOL))[:100], redact_text(part.arguments, TOOL))


def clean(text: str) -> str:
    """A text that can be written down: no control characters but tabs and line feeds, no half of a character."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
