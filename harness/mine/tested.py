"""Decisions that the repository's own tests judge: they pass with the newest value, and fail with each older one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.mine.stories import MinedStory
from harness.model.scenario import MINED, Scenario
from harness.repo.checkout import Repo
from harness.repo.checks import WorkTrees, repeat
from harness.selftest.job_checks import find_reason
from tasks import proofs, short

AGAIN = 3
"""How often tests are run once more with each value that they tell apart: one that fails now and then tells nothing."""


@dataclass
class TestJudge:
    """Tries a test command on decisions of mined stories.

    Attributes:
        command: As words; it runs without network in a work tree.
        judged, tried: Decisions that it judges, of those that were tried.
        unsteady: Decisions that it judged, and not again.
        failing: Commits at which it fails as they are, so that it judges nothing there -> what it says of that.
    """

    command: tuple[str, ...]
    judged: int = 0
    tried: int = 0
    unsteady: int = 0

    def __post_init__(self) -> None:
        self.failing, self._work_trees = dict[str, str](), WorkTrees()

    def judge(self, repo: Repo, story: MinedStory) -> MinedStory:
        """The story with `tests` in each decision that the command tells apart."""
        # copies down to the sessions, so that the story itself stays as it was
        data = {**story.data, "sessions": [dict(each) for each in story.data["sessions"]]}
        for session in data["sessions"]:
            session["steps"] = [
                {**step, "decisions": [*self._try_all(repo, data, session, step)]} if step["do"] == "job" else step
                for step in session["steps"]
            ]
        return replace(story, data=data)

    def _try_all(
        self, repo: Repo, data: Mapping[str, Any], session: Mapping[str, Any], job: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        for decision in job["decisions"]:
            tested = {**decision, "tests": [*self.command]}
            alone = {**session, "steps": [{**job, "decisions": [tested]}]}
            yield tested if self._tells_apart(repo, {**data, "sessions": [alone]}) else decision

    def _tells_apart(self, repo: Repo, data: Mapping[str, Any]) -> bool:
        """Whether the only decision of a story gets every option's own verdict by running the tests."""
        scenario = Scenario.model_validate({**short.expand(dict(data)), "id": f"{MINED}/tested"})
        resolved, wrong = proofs.add_hashes(scenario, repo)
        ((session, job),) = resolved.jobs()
        (decision,) = job.decisions
        if wrong or session.commit in self.failing:
            return False
        self.tried += 1
        for option in decision.options:  # the right one first
            done = self._work_trees.do(repo, session.commit, job, {decision.id: option.value})
            if decision.judge(done.checks[0].exit, done.checks[0].value) != option.verdict:
                if option.verdict == "right":
                    self.failing[session.commit] = find_reason(done.checks[0])
                return False
        for option in decision.options:
            for check in repeat(repo, session.commit, job, {decision.id: option.value}, AGAIN):
                if decision.judge(check.exit, check.value) != option.verdict:
                    self.unsteady += 1
                    return False
        self.judged += 1
        return True
