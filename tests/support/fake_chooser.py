"""Fake chat models for the choice reader, behind a real HTTP server: one knows every answer, one takes the worst."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from harness.gateway.chat.choose import UNKNOWN, list_options
from harness.model.scenario import Decision, Scenario
from tests.support.fake_upstream import FakeUpstream, Handler, completion


def choose_by(wanted: Literal["right", "stale"], scenario: Scenario) -> Callable[[Mapping[str, Any]], str]:
    """Takes the option of that verdict, or of another wrong one where no option has it, whatever the notes say."""
    decisions = {decision.question: decision for _, job in scenario.jobs() for decision in job.decisions}

    def pick(decision: Decision) -> str:
        found = [option.value for option in decision.options if option.verdict == wanted]
        return (found or [option.value for option in decision.options if option.verdict != "right"])[0]

    def answer(body: Mapping[str, Any]) -> str:
        options, prompt = list_options(body) or [], body["messages"][-1]["content"]
        question = prompt.partition("\nQuestion: ")[2].partition("\n")[0]
        value = pick(decisions[question])
        return f'{{"choice": "{value if value in options else UNKNOWN}"}}'

    return answer


class FakeChooser(FakeUpstream):
    """Answers each request by a rule."""

    rule: Callable[[Mapping[str, Any]], str]

    def heard(self, handler: Handler, body: dict[str, Any] | None) -> None:
        self.requests.append(body)
        handler.answer(200, completion(self.rule(body or {}), "fake-chooser-1"))
