"""A story that is played in a moment."""

from __future__ import annotations

import pytest

from tasks import loader
from tests.support.story_player import Stage
from tests.unit.conftest import House


@pytest.fixture(scope="module")
def small(lasting: House) -> Stage:
    ((scenario, repo),) = loader.load([lasting.write(lasting.story)], lasting.fixtures, lasting.cache)
    return Stage.of(scenario, repo)
