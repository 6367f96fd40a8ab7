"""A fake chat model for the chat reader, in this process: it takes the steps that a test writes down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.gateway.chat.client import Reply
from harness.play.readers.chat import NUDGE

Step = tuple[str, Any] | str | Reply
"""A tool and its arguments, words, or a whole reply."""


class FakeModel:
    """Takes these steps in each job, and says DONE after them; remembers what it was asked."""

    def __init__(self, *steps: Step, form: str = "native") -> None:
        self.steps, self.form = steps, form
        self.heard: list[Mapping[str, Any]] = []

    def __call__(self, body: Mapping[str, Any]) -> Reply:
        self.heard.append(json.loads(json.dumps(body)))
        done = sum(each["role"] == "assistant" for each in body["messages"])
        nudged = sum(each.get("content") == NUDGE for each in body["messages"])
        return self._say(self.steps[done + nudged] if done + nudged < len(self.steps) else "DONE")

    def _say(self, step: Step) -> Reply:
        if isinstance(step, Reply):
            return step
        if isinstance(step, str):
            why = "" if step else "the model answered nothing"
            return Reply("answered" if step else "empty", step, why, "fake", message={"content": step})
        name, arguments = step
        if self.form == "json":
            return Reply("answered", json.dumps({"tool": name, "arguments": arguments}), model="fake")
        given = arguments if isinstance(arguments, str) else json.dumps(arguments)
        calls = [{"id": "a", "type": "function", "function": {"name": name, "arguments": given}}]
        return Reply("answered", model="fake", prompt=9, completion=2, message={"tool_calls": calls})
