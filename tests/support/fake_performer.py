"""Fake chat models that do whole jobs, behind a real HTTP server: one knows every answer, one takes the worst."""

from __future__ import annotations

from typing import Any, Literal

from harness.gateway.chat.standin_agent import FindJob, find_step
from harness.model.job import Decision
from tests.support.fake_upstream import FakeUpstream, Handler, completion


def know(wanted: Literal["right", "stale"]) -> Any:
    """Takes the option of that verdict, or another wrong one where no option has it, whatever the memory brought."""

    def decide(decision: Decision, brought: str) -> str:
        found = [option.value for option in decision.options if option.verdict == wanted]
        return (found or [option.value for option in decision.options if option.verdict != "right"])[0]

    return decide


class FakePerformer(FakeUpstream):
    """Does the jobs that it can look up, by a rule; says DONE to everything else."""

    find_job: FindJob
    decide: Any

    def heard(self, handler: Handler, body: dict[str, Any] | None) -> None:
        self.requests.append(body)
        message = find_step(body or {}, self.find_job, self.decide) or {"role": "assistant", "content": "DONE"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        handler.answer(200, completion("", "fake-performer-1", choices=[choice]))
