"""Fake chat models for the choice reader, behind a real HTTP server: one knows every answer, one takes the worst."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from harness.gateway.chat.standin_reader import UNKNOWN, list_options
from harness.model.job import Decision
from harness.model.scenario import Scenario
from tests.support.fake_upstream import FakeUpstream, Handler, completion

ASKED = (r"^Today: (\S+)\. Place", r"^Task: (.*)$", r"^Question: (.*)$")
"""Where the prompt of a decision says when, for what and what is asked."""


def choose_by(wanted: Literal["right", "stale"], *scenarios: Scenario) -> Callable[[Mapping[str, Any]], str]:
    """Takes the option of that verdict, or of another wrong one where no option has it, whatever the notes say."""
    decisions = {
        (f"{session.at:%Y-%m-%d}", job.goal, decision.question): decision
        for scenario in scenarios
        for session, job in scenario.jobs()
        for decision in job.decisions
    }

    def pick(decision: Decision) -> str:
        found = [option.value for option in decision.options if option.verdict == wanted]
        return (found or [option.value for option in decision.options if option.verdict != "right"])[0]

    def answer(body: Mapping[str, Any]) -> str:
        options, prompt = list_options(body) or [], body["messages"][-1]["content"]
        found = (re.search(pattern, prompt, re.MULTILINE) for pattern in ASKED)
        day, goal, question = (each[1] if each else "" for each in found)
        value = pick(decisions[day, goal, question])
        return f'{{"choice": "{value if value in options else UNKNOWN}"}}'

    return answer


class FakeChooser(FakeUpstream):
    """Answers each request by a rule."""

    rule: Callable[[Mapping[str, Any]], str]

    def heard(self, handler: Handler, body: dict[str, Any] | None) -> None:
        self.requests.append(body)
        handler.answer(200, completion(self.rule(body or {}), "fake-chooser-1"))
