"""Stories on which the engine is tried, one small and some real, and the host that writes down every call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness import paths
from tasks import loader
from tests.support.fakes import FakeHost
from tests.support.story_player import Stage
from tests.unit.conftest import House

PIN = """
[[facts]]
id = "pin"
type = "project"
since = 2024-01-01T10:00:00Z
forms = [["{canary}"]]
identifier = "PIN = {canary}"
plain = "The door pin is {canary}"
paraphrase = "Get in with {canary}"
rewrites = ["pin: {canary}", "the pin is {canary}", "door pin {canary}"]

[[sessions]]
"""
FORGET = """
[[sessions]]
id = "saturday"
at = 2024-01-06T12:00:00Z
by = "ada"
commit = "0003"

[[sessions.steps]]
do = "remember"
texts = ["Lunch was late"]

[[sessions.steps]]
do = "forget"
facts = ["pin"]

[[sessions.steps]]
do = "probe"
id = "after-the-forget"
ask = {plain = "Which door pin is there?"}
"""


def load_small(lasting: House) -> Stage:
    """The story of `story.toml` with a secret that is told on Monday and forgotten on Saturday."""
    text = lasting.story.replace("\n[[sessions]]\n", PIN, 1)
    text = text.replace('facts = ["old-platform"]', 'facts = ["old-platform", "pin"]')
    ((scenario, repo),) = loader.load([lasting.write(text + FORGET)], lasting.fixtures, lasting.cache)
    return Stage.of(scenario, repo)


REAL = ("stale-deploy-rule", "secret-erasure/partner-ticket", "branch-scope/two-trains", "preference/kiri-sails-away")


def load_real(cache: Path) -> list[Stage]:
    """Some real stories: an old rule in a forgotten page, one that was only told, secrets that must go, branches."""
    loaded = loader.load(loader.find(paths.TASKS, REAL), paths.FIXTURES, cache)
    return [Stage.of(scenario, repo) for scenario, repo in loaded]


def host(tmp_path: Path, **more: Any) -> FakeHost:
    return FakeHost(tmp_path / "store", **more)
