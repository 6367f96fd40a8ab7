"""The one job of the tests' story, and what a log says of how a reader did it."""

from __future__ import annotations

from harness.log.calls import ModelCall
from harness.log.events import Worked
from harness.log.reader import Log
from harness.metrics.view import Record
from harness.model.scenario import Scenario
from harness.repo.checkout import Repo
from tasks import loader
from tests.unit.conftest import House

Story = tuple[Scenario, Repo]
CHECK = '["cat", "ops/new.txt"]'
QUIET = '["sh", "-c", "cat ops/new.txt 2>/dev/null || true"]'


def load(house: House, text: str) -> Story:
    ((scenario, repo),) = loader.load([house.write(text)], house.fixtures, house.cache)
    return scenario, repo


def worked(log: Log) -> Worked:
    (found,) = log.list_events(Worked)
    return found


def calls(log: Log) -> tuple[ModelCall, ...]:
    return log.calls(worked(log))


def verdict(log: Log) -> str:
    (taken,) = Record(log).find_decided(worked(log).read_policy).values()
    return taken.verdict
