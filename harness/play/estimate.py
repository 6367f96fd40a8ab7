"""What a run will ask of a chat model, told before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from harness.model.prices import Price
from harness.model.scenario import Scenario
from harness.model.trial import Trial, split_reader

CALL, ANSWER = 400, 10
"""Tokens of one call of the choice reader, as measured with k 5 (docs/readers.md); a whole file takes more."""
JOB, JOB_CALLS, JOB_ANSWER = 10_000, 8, 600
"""Tokens and calls of one job of a reader that works by tools, as measured with the stand-in; a model that looks around
takes more."""
WRITE, WRITE_ANSWER = 400, 130
"""Tokens of one call of the chat writer, as measured with the stand-in: one for each stretch of a session that tells
something."""
MOST = 150_000
"""Tokens after which such a reader ends its job."""


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


def estimate(trials: Iterable[Trial], scenarios: Iterable[Scenario]) -> Estimate:
    """The cost of reader and writer; models inside backends are asked as often as the backend
    likes, and are not in it.
    """
    stories = {each.id: each for each in scenarios}
    count: Mapping[str, tuple[int, int]] = {
        name: (sum(len(job.decisions) for _, job in story.jobs()), len(story.jobs())) for name, story in stories.items()
    }
    calls = prompt = completion = 0
    most: int | None = None
    for trial in trials:
        if split_reader(trial.writer)[1]:
            writes = len([*stories[trial.scenario].writes()]) if trial.scenario in stories else 0
            calls, prompt, completion = calls + writes, prompt + writes * WRITE, completion + writes * WRITE_ANSWER
        reader, model = split_reader(trial.reader)
        decisions, jobs = count.get(trial.scenario, (0, 0))
        if not model:
            continue
        if reader == "choice":
            asked = decisions if trial.backend else 0  # cold asks nobody
            calls, prompt, completion = calls + asked, prompt + asked * CALL, completion + asked * ANSWER
        else:
            jobs *= trial.rounds
            calls, prompt, completion = calls + jobs * JOB_CALLS, prompt + jobs * JOB, completion + jobs * JOB_ANSWER
            most = (most or 0) + jobs * MOST
    return Estimate(calls, prompt, completion, most)
