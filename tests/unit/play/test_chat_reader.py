"""The chat reader: how it does a job, what it credits, and where it can play."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.log.events import Recalled, Wrote
from harness.machine import bubblewrap
from harness.metrics.view import Record
from harness.play import readers
from harness.play.readers import ReaderError, chat
from harness.play.readers.chat import ChatReader, JsonChatReader
from tests.support.chat_player import EDIT, RECALL, play
from tests.support.fake_model import FakeModel
from tests.support.worked_job import CHECK, QUIET, Story, calls, load, verdict, worked
from tests.unit.conftest import House

pytestmark = pytest.mark.skipif(not bubblewrap.is_available(), reason="bubblewrap is not here, or may not do its work")


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    return load(lasting, lasting.story.replace(CHECK, QUIET))


# --- how a job is done ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["native", "json"])
def test_it_asks_in_its_words_edits_and_is_judged_by_the_check(story: Story, tmp_path: Path, form: str) -> None:
    model = FakeModel(RECALL, ("edit", EDIT), ("run_check", {"number": 1}), form=form)
    log = play(story, tmp_path, model=model)
    assert [each.outcome for each in calls(log)] == ["acted", "acted", "acted", "finished"]
    assert verdict(log) == "right" and worked(log).read_policy == "model"
    (asked,) = (each for each in log.list_events(Recalled) if each.purpose == "decision")
    ((_, job),) = story[0].jobs()
    assert (asked.query, asked.ref) == ("where do we deploy to", f"{job.id}/{job.decisions[0].id}")
    (choice,) = worked(log).choices
    assert (choice.value, choice.origin) == ("kestrelway", "memory") and choice.entry is not None
    entry = Record(log).entries(log.events.index(asked) + 1, asked)[choice.entry]
    assert choice.fact in entry.reading.asserted
    task = model.heard[0]["messages"][1]["content"]
    assert job.goal in task and job.decisions[0].question in task
    assert "harborline" not in task, "no option is told"
    assert worked(log).prompt > 0 and worked(log).completion > 0


def test_an_entry_is_found_again_by_the_question_that_brought_it(story: Story, tmp_path: Path) -> None:
    told = ("deploy kestrelway", "approver lunch", "the day before yesterday")
    log = play(story, tmp_path, *(("recall", {"point": 1, "query": each}) for each in told), ("edit", EDIT))
    record = Record(log)
    (taken,) = record.find_decided("model").values()
    (choice,) = worked(log).choices
    assert taken.asked is not None and taken.entry is not None
    event = log.events[taken.asked - 1]
    assert isinstance(event, Recalled) and event.query == (choice.query or told[-1])
    assert choice.fact in record.entries(taken.asked, event)[taken.entry].reading.asserted


def test_the_cold_arm_has_no_memory_and_what_it_gets_right_without_a_source_is_a_guess(
    story: Story, tmp_path: Path
) -> None:
    model = FakeModel(("recall", RECALL[1]), ("edit", EDIT))
    log = play(story, tmp_path, model=model, cold=True)
    names = [each["function"]["name"] for each in model.heard[0]["tools"]]
    assert names == ["list", "read", "search", "edit", "run_check"]
    assert calls(log)[0].uses[0].refused and "no such tool" in calls(log)[0].uses[0].result
    (choice,) = worked(log).choices
    assert (verdict(log), choice.value, choice.origin) == ("right", "kestrelway", "nowhere")


def test_a_value_that_the_repository_says_is_from_there(lasting: House, tmp_path: Path) -> None:
    told = load(lasting, lasting.story.replace(CHECK, QUIET).replace('commit = "0003"', 'commit = "0002"'))
    log = play(told, tmp_path, ("read", {"path": "docs/deploy.md"}), ("edit", EDIT))
    (choice,) = worked(log).choices
    assert (choice.value, choice.origin, choice.path, choice.line) == ("kestrelway", "repo", "docs/deploy.md", 3)
    assert [each.path for each in worked(log).reads] == ["docs/deploy.md"]


def test_what_it_remembers_is_in_the_memory_and_in_the_log(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, ("remember", {"text": "The order of today was filled"}), RECALL)
    written = [each for event in log.list_events(Wrote) for each in log.items(event) if each.name.startswith("reader:")]
    assert [each.item.text for each in written] == ["The order of today was filled"]
    assert calls(log)[0].uses[0].result == "kept"


@pytest.mark.slow
def test_nobody_is_charged_twice_for_memory(story: Story, tmp_path: Path) -> None:
    log = play(story, tmp_path, RECALL)
    (use,) = calls(log)[0].uses
    plain = play(story, tmp_path / "plain", ("list", {"path": "ops"}))
    assert use.result != "(nothing)"
    assert worked(log).prompt < worked(plain).prompt + 400


# --- who can play -----------------------------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(bubblewrap, "is_available", lambda: False)
    monkeypatch.delenv(chat.UNCONTAINED, raising=False)
    yield


def test_where_commands_cannot_be_contained_it_does_not_play(bare: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ReaderError, match="bubblewrap is not here"):
        readers.find("chat@some-model")
    monkeypatch.setenv(chat.UNCONTAINED, "1")
    assert isinstance(readers.find("chat@some-model"), ChatReader)


def test_a_model_has_to_be_named() -> None:
    assert isinstance(readers.find("chat-json@some-model"), JsonChatReader)
    with pytest.raises(ReaderError, match="name it with --model"):
        readers.find("chat")
