"""A story of the unit tests, broken in one respect, and what its proof finds."""

from __future__ import annotations

from harness.selftest.proof import ScenarioProof
from tasks import loader
from tests.unit.conftest import House


def told(house: House, old: str = "", new: str = "") -> ScenarioProof:
    """The story with one text in place of another, loaded."""
    file = house.write(house.changed(old, new) if old else house.story)
    ((scenario, repo),) = loader.load([file], house.fixtures, house.cache)
    return ScenarioProof(file, scenario, repo)


def said(story: ScenarioProof) -> str:
    """What was found to be wrong, without the file."""
    return "\n".join(str(breach).removeprefix(f"{story.file}: ") for breach in story.breaches)
