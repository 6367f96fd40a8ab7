"""A story as the chat reader plays it in tests, with a fake model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.log.reader import Log
from harness.play.readers.chat import ChatReader, JsonChatReader
from tests.support.fake_model import FakeModel, Step
from tests.support.fakes import FakeHost
from tests.support.story_player import Stage
from tests.support.worked_job import Story

EDIT = {"path": "ops/new.txt", "old": "", "new": "kestrelway"}
RECALL = ("recall", {"point": 1, "query": "where do we deploy to"})


def play(
    story: Story,
    tmp_path: Path,
    *steps: Step,
    model: FakeModel | None = None,
    cold: bool = False,
    store: FakeHost | None = None,
) -> Log:
    answer = model or FakeModel(*steps)
    reader = JsonChatReader("fake") if answer.form == "json" else ChatReader("fake")
    stage = replace(Stage.of(*story), reader=reader, ask_model=answer)
    return (
        stage.cold(tmp_path, reader="chat@fake")
        if cold
        else stage.play(tmp_path, store or FakeHost(tmp_path / "store"), reader="chat@fake")
    )
