"""What was said in a session: messages as OpenAI's chat API has them, and which of them tell a fact of the story."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from harness.model.facts import CANARY, Slug
from harness.model.trial import Model

MARKED = re.compile(r"\{canary:([a-z0-9-]+)\}")
"""Stands in a message for the canary of the fact that it names."""


class FunctionCall(Model):
    name: str
    arguments: str

    def explain_broken(self) -> str | None:
        """Why its arguments are no object of JSON, as where they were cut. Sessions that were recorded may be so."""
        try:
            return None if isinstance(json.loads(self.arguments), dict) else "no object"
        except json.JSONDecodeError as error:
            return f"{error.msg}, character {error.pos + 1} of {len(self.arguments)}"
        except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python reads
            return str(error)


class ToolCall(Model):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class Message(Model):
    """One message, and what it says of the story's facts.

    Attributes:
        at: When it was recorded; a message of a story has its session's time.
        tells: After it, and after the others of its session that tell the same fact, a careful reader knows that the
            fact holds.
        retracts: It says that the fact does not hold, any more or ever.
        mentions: It speaks of the fact without saying either.
    """

    role: Literal["user", "assistant", "tool"]
    content: str = ""
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    at: AwareDatetime | None = Field(default=None, exclude=True)
    tells: tuple[Slug, ...] = ()
    retracts: tuple[Slug, ...] = ()
    mentions: tuple[Slug, ...] = ()

    @property
    def anchored(self) -> frozenset[str]:
        return frozenset((*self.tells, *self.retracts, *self.mentions))

    @property
    def text(self) -> str:
        """All that it says, the arguments of its tool calls included; a canary stands as in the texts of a fact."""
        return MARKED.sub(CANARY, self._said)

    @property
    def marked(self) -> frozenset[str]:
        """The facts whose canaries it holds."""
        return frozenset(MARKED.findall(self._said))

    @property
    def _said(self) -> str:
        return "\n".join([self.content, *(call.function.arguments for call in self.tool_calls)])

    def as_openai(self, canaries: Mapping[str, str]) -> dict[str, Any]:
        """Messages as the OpenAI SDK takes them, with the canaries of a trial."""
        sent = self.model_dump(exclude={"tells", "retracts", "mentions"}, exclude_none=True)
        if not self.tool_calls:
            # an empty tuple is not None, so `exclude_none` keeps it
            del sent["tool_calls"]
        filled: dict[str, Any] = _fill(sent, canaries)
        return filled

    @model_validator(mode="after")
    def _formed(self) -> Self:
        if (self.role == "tool") != (self.tool_call_id is not None):
            raise ValueError("tool_call_id: a message of a tool has one, and no other")
        if self.tool_calls and self.role != "assistant":
            raise ValueError("tool_calls: only the assistant calls tools")
        if not (self.content.strip() or self.tool_calls or self.role == "tool"):
            raise ValueError("content: says nothing")
        return self


def find_problems(messages: Sequence[Message]) -> Iterator[str]:
    """What is wrong with the order of a session's messages, each with the number of its message."""
    open_: dict[str, int] = {}
    for at, message in enumerate(messages, 1):
        if message.role == "tool":
            if open_.pop(str(message.tool_call_id), None) is None:
                yield f"messages.{at}: answers no tool call that is open ('{message.tool_call_id}')"
        elif open_:
            yield f"messages.{at}: comes before the answer to tool call '{next(iter(open_))}'"
            # told once: each later message would be found to come too early as well
            open_.clear()
        for call in message.tool_calls:
            open_[call.id] = at
    for call_id in open_:
        yield f"messages: tool call '{call_id}' has no answer; the transcript is cut"


def _fill(value: Any, canaries: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return MARKED.sub(lambda found: canaries.get(found[1], CANARY), value)
    if isinstance(value, dict):
        return {key: _fill(each, canaries) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_fill(each, canaries) for each in value]
    return value
