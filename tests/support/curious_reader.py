"""Readers for tests, named as in `--reader tests.support.curious_reader:Curious`: they ask in their words, or break."""

from __future__ import annotations

from collections.abc import Sequence

from harness.log.parts import Choice
from harness.model.job import Decision, Job
from harness.model.trial import ReadPolicy
from harness.play.readers import AskMemory, Context, Outcome
from harness.play.readers.job_commands import match_option


class Curious:
    """Asks for the goal of the job, twice, then the question itself, and takes the first word that decides."""

    policies: Sequence[ReadPolicy] = ("trusting",)

    def work(self, job: Job, context: Context, ask: AskMemory) -> Outcome:
        outcome = Outcome()
        for decision in job.decisions:
            asked = (job.goal, job.goal, decision.question)
            outcome.choices.append(self._decided(context, decision, asked, ask))
            outcome.prompt += sum(map(context.count, asked))
        return outcome

    def _decided(self, context: Context, decision: Decision, asked: Sequence[str], ask: AskMemory) -> Choice:
        found = {query: ask(query, decision) for query in asked}
        for entry in found[decision.question]:
            option = match_option(context, decision, entry.text)
            if option is not None and context.policy is not None:
                return Choice(
                    decision=decision.id, value=option.value, origin="memory", fact=option.fact, entry=entry.position,
                    memory_id=entry.hit.memory_id,
                )  # fmt: skip
        return Choice(decision=decision.id, value=None, origin="nowhere")


class Stubborn(Curious):
    """Takes every error for no answer, also that of a store that is gone."""

    def _decided(self, context: Context, decision: Decision, asked: Sequence[str], ask: AskMemory) -> Choice:
        try:
            return super()._decided(context, decision, asked, ask)
        except Exception:
            return Choice(decision=decision.id, value=None, origin="nowhere")


class Breaking(Curious):
    def work(self, job: Job, context: Context, ask: AskMemory) -> Outcome:
        raise RuntimeError("this reader breaks")


class Silent(Curious):
    def work(self, job: Job, context: Context, ask: AskMemory) -> Outcome:
        return None  # type: ignore[return-value]


class Idle:
    """Is no reader."""
