"""A story as the agent reader plays it in tests, with a fake agent program and a fake model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.agents.reader import AgentReader
from harness.log.reader import Log
from tests.support import fake_agent
from tests.support.fake_model import FakeModel, Step
from tests.support.fakes import FakeHost
from tests.support.story_player import Stage
from tests.support.worked_job import Story

EDIT = ("bash", {"command": "printf kestrelway > ops/new.txt"})
RECALL = ("memory_recall", {"query": "where do we deploy to"})
LABEL = "agent:opencode@fake"
"""A profile that is there: only its text is read by that name, as these readers are made by the tests."""
PROFILE = """
about = "A fake agent program"
command = ["python3", "${home}/fake.py", "WHAT", "${url}", "${goal}"]
FIRST
[files]
"fake.py" = '''
SOURCE'''
[memory]
form = "FORM"
words = "There is a memory."
"""


def make(folder: Path, what: str = "work", form: str = "command", first: str = "", way: str = "") -> AgentReader:
    """A reader by a profile of this fake."""
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(fake_agent.__file__).read_text("utf-8")
    text = PROFILE.replace("WHAT", what).replace("FIRST", first).replace("FORM", form)
    if form == "mcp":
        text += 'command = ["${memory}"]\n'
    (folder / "fake.toml").write_text(text.replace("SOURCE", source))
    return AgentReader(f"{folder / 'fake.toml'}{way}", "fake")


def play(
    story: Story,
    tmp_path: Path,
    *steps: Step,
    cold: bool = False,
    model: Any = None,
    store: Any = None,
    rounds: int = 1,
    **made: str,
) -> Log:
    stage = replace(Stage.of(*story), reader=make(tmp_path, **made), ask_model=model or FakeModel(*steps))
    if cold:
        return stage.cold(tmp_path, reader=LABEL)
    return stage.play(tmp_path, store or FakeHost(tmp_path / "store"), reader=LABEL, rounds=rounds)
