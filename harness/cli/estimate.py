"""What a run will ask of a chat model, told before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from harness.agents import profile, selection
from harness.model.prices import Price
from harness.model.scenario import Scenario
from harness.model.trial import Trial, split_reader
from harness.play.readers import chat

CALL, ANSWER = 400, 10
"""Tokens of one call of the choice reader, as measured with k 5 (docs/readers.md); a whole file takes more."""
JOB, JOB_CALLS, JOB_ANSWER = 10_000, 8, 600
"""Tokens and calls of one job of a reader that works by tools, as measured with the stand-in; a model that looks around
takes more. The prompts of an agent program are those of its profile."""
WRITE, WRITE_ANSWER = 400, 130
"""Tokens of one call of the chat writer, as measured with the stand-in: one for each stretch of a session that tells
something."""


class Estimate(NamedTuple):
    """Attributes:
    most: Tokens that it cannot exceed; None: there is no such limit.
    """

    calls: int
    prompt: int
    completion: int
    most: int | None = None

    def money(self, price: Price) -> float:
        return price.cost(self.prompt, self.completion)

    def add(self, other: Estimate) -> Estimate:
        most = None if self.most is None or other.most is None else self.most + other.most
        return Estimate(self.calls + other.calls, self.prompt + other.prompt, self.completion + other.completion, most)

    def repeat(self, times: int) -> Estimate:
        most = None if self.most is None else self.most * times
        return Estimate(self.calls * times, self.prompt * times, self.completion * times, most)


NOTHING = Estimate(0, 0, 0, 0)
CHOICE, WRITING = Estimate(1, CALL, ANSWER), Estimate(1, WRITE, WRITE_ANSWER)


def estimate(trials: Iterable[Trial], scenarios: Iterable[Scenario]) -> Estimate:
    """The cost of reader and writer; models inside backends are asked as often as the backend
    likes, and are not in it. Raises ReaderError for a profile that cannot be read.
    """
    stories = {each.id: each for each in scenarios}
    count: Mapping[str, tuple[int, int]] = {
        name: (sum(len(job.decisions) for _, job in story.jobs()), len(story.jobs())) for name, story in stories.items()
    }
    total = NOTHING
    jobs_of = dict[str, Estimate]()
    for trial in trials:
        if split_reader(trial.writer)[1] and trial.scenario in stories:
            total = total.add(WRITING.repeat(len([*stories[trial.scenario].writes()])))
        reader, model = split_reader(trial.reader)
        decisions, jobs = count.get(trial.scenario, (0, 0))
        if not model:
            continue
        if reader != "choice":
            if reader not in jobs_of:
                jobs_of[reader] = estimate_job(reader)
            # As many rounds as there may be: a job that is right ends earlier.
            total = total.add(jobs_of[reader].repeat(jobs * trial.rounds))
        elif trial.backend:  # cold asks nobody
            total = total.add(CHOICE.repeat(decisions))
    return total


def estimate_job(reader: str) -> Estimate:
    """Of one job and round. A reader of somebody else's has no limit that is known."""
    name, _, word = reader.partition(":")
    if name == "agent":
        program = profile.read(selection.parse(word).profile)
        return Estimate(JOB_CALLS, program.prompt_tokens, JOB_ANSWER, program.tokens)
    return Estimate(JOB_CALLS, JOB, JOB_ANSWER, chat.TOKENS if name in ("chat", "chat-json") else None)
