"""The choice reader: what it asks, how it reads the answer, and what becomes of a call that came to nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Hit, Scope
from harness.gateway.chat.client import Reply
from harness.gateway.chat.standin_reader import UNKNOWN, list_options
from harness.log.events import Worked
from harness.metrics import faults
from harness.model.job import Job
from harness.model.scenario import Scenario
from harness.play import readers
from harness.play.readers import Context, Outcome, ReadEntry, ReaderError
from harness.play.readers.choice import ChoiceReader, draw_order, read_answer
from harness.play.readers.explore import Explorer
from harness.repo.checkout import Repo
from harness.text.classify import Classifier
from tasks import loader
from tests.support.fakes import FakeHost
from tests.support.story_player import Stage
from tests.unit.conftest import House

OLD, NEW = "We deploy to harborline.", "We deploy to kestrelway instead of harborline."
Story = tuple[Scenario, Repo]
Answer = Callable[[Mapping[str, Any]], Reply]


@pytest.fixture(scope="module")
def story(lasting: House) -> Story:
    ((scenario, repo),) = loader.load([lasting.write(lasting.story)], lasting.fixtures, lasting.cache)
    return scenario, repo


def job(story: Story) -> Job:
    ((_, found),) = story[0].jobs()
    return found


def say(text: str) -> Answer:
    return lambda _: Reply("answered", text, model="fake", prompt=9, completion=2)


def work(story: Story, *hits: str | Hit, answer: Answer | None = None, seed: int = 1, number: str = "0003") -> Outcome:
    scenario, repo = story
    context = Context(
        repo, Explorer(repo), Classifier(scenario), lambda text: len(text.split()), repo.resolve(number),
        Scope(repo="shop"), datetime(2024, 1, 5, tzinfo=UTC), "model", seed, answer,
    )  # fmt: skip
    made = [hit if isinstance(hit, Hit) else Hit(f"m{i}", hit) for i, hit in enumerate(hits)]
    entries = [ReadEntry(i, hit.text, hit) for i, hit in enumerate(made)]
    return ChoiceReader("fake").work(job(story), context, lambda *_: entries)


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_one_call_shows_entries_question_and_options_and_is_held_to_them(story: Story) -> None:
    heard: list[Mapping[str, Any]] = []

    def answer(body: Mapping[str, Any]) -> Reply:
        heard.append(body)
        return Reply("answered", '{"choice": "kestrelway"}', model="fake-1", prompt=9, completion=2)

    outcome = work(story, Hit("m0", NEW, created="2024-01-02T01:00:00+02:00"), OLD, answer=answer)
    (body,) = heard
    prompt = body["messages"][-1]["content"]
    assert f"- {NEW} (2024-01-02)\n- {OLD}\n" in prompt and job(story).decisions[0].question in prompt
    assert sorted(list_options(body) or []) == sorted(each.value for each in job(story).decisions[0].options)
    assert (body["model"], body["temperature"]) == ("fake", 0)
    (choice,), (call,) = outcome.choices, outcome.calls
    assert (choice.value, choice.origin, choice.entry, choice.memory_id) == ("kestrelway", "memory", 0, "m0")
    assert (call.outcome, call.model, call.prompt_tokens, call.completion_tokens) == ("chose", "fake-1", 9, 2)
    assert prompt in call.prompt and call.answer == '{"choice": "kestrelway"}'


def test_the_order_of_options_hangs_on_the_seed_alone(story: Story) -> None:
    decision = job(story).decisions[0]
    orders = {tuple(draw_order(decision, f"{seed}")) for seed in range(40)}
    assert len(orders) > 1 and all(sorted(each) == sorted(o.value for o in decision.options) for each in orders)
    backwards = decision.model_copy(update={"options": decision.options[::-1]})
    assert draw_order(decision, "7") == draw_order(backwards, "7"), "the file must not tell which one is right"


def test_what_the_backend_itself_calls_superseded_or_another_places_is_not_shown(story: Story) -> None:
    asked: list[str] = []

    def answer(body: Mapping[str, Any]) -> Reply:
        asked.append(body["messages"][-1]["content"])
        return Reply("answered", UNKNOWN)

    work(story, Hit("m0", OLD, superseded=True), Hit("m1", OLD, scope=Scope(repo="other")), NEW, answer=answer)
    assert len(asked) == 1 and OLD not in asked[0] and NEW in asked[0]


def test_where_nothing_came_back_no_call_is_made_and_the_repository_is_explored(story: Story) -> None:
    outcome = work(story, number="0001")
    assert not outcome.calls and outcome.choices[0].origin == "repo"


# --- what is answered -------------------------------------------------------------------------------------------------

OPTIONS = ["90/min", "60/min", "600/min", "schema 2"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"choice": "600/min"}', "600/min"),
        ('```json\n{"choice": "60/min"}\n```', "60/min"),
        ('Sure! {"choice": "Schema 2"} fits best.', "schema 2"),
        ('{"why": "60/min is old", "choice": "90/min"}', "90/min"),
        ('{"choice": "60/min"} no, rather {"choice": "90/min"}', "90/min"),
        ("<think>60/min or 90/min?</think> 90/min", "90/min"),
        ("The limit is 600/min.", "600/min"),
        ('"60/min"', "60/min"),
        ('{"choice": "unknown"}', UNKNOWN),
        ("Unknown.", UNKNOWN),
        ("60/min or 90/min", None),
        ('{"choice": "7/min"}', None),
        ('{"choice": ["60/min"]}', "60/min"),
        ("", None),
        ("I cannot say", None),
        ("{" * 3000, None),
    ],
)
def test_an_answer_is_read_as_far_as_it_is_plain(text: str, value: str | None) -> None:
    assert read_answer(text, OPTIONS) == value


@pytest.mark.parametrize("said", ["{}", '{{"choice": "{}"}}'])
@pytest.mark.parametrize("options", [["Prod", "prod"], [".env", "env"]])
def test_an_option_that_is_answered_exactly_is_no_other_that_is_nearly_so(options: list[str], said: str) -> None:
    assert [read_answer(said.format(option), options) for option in options] == options


def test_unknown_explores_the_repository(story: Story) -> None:
    outcome = work(story, OLD, answer=say('{"choice": "unknown"}'), number="0001")
    assert outcome.calls[0].outcome == "unknown"
    assert outcome.choices[0].origin == "repo" and outcome.reads


def test_what_no_entry_names_is_a_guess_and_not_from_memory(story: Story) -> None:
    (choice,) = work(story, "Lunch is at noon", answer=say('{"choice": "kestrelway"}')).choices
    assert (choice.value, choice.origin, choice.entry) == ("kestrelway", "nowhere", None)


def test_a_value_that_an_entry_calls_over_was_taken_from_it(story: Story) -> None:
    (choice,) = work(story, "Lunch", NEW, answer=say('{"choice": "harborline"}')).choices
    assert (choice.value, choice.origin, choice.entry) == ("harborline", "memory", 1)


@pytest.mark.parametrize(
    ("reply", "outcome", "why"),
    [
        (Reply("answered", "let me think about it"), "unreadable", "names none of the options"),
        (Reply("refused", "I would rather not", "the model refused"), "refused", "the model refused"),
        (Reply("empty", why="502: answered nothing"), "empty", "answered nothing"),
        (Reply("failed", why="429: slow down"), "failed", "slow down"),
        (Reply("timed-out", why="504: late"), "timed-out", "late"),
    ],
)
def test_a_call_that_came_to_nothing_leaves_the_decision_open_with_its_receipt(
    story: Story, tmp_path: Path, reply: Reply, outcome: str, why: str
) -> None:
    stage = replace(Stage.of(*story), reader=ChoiceReader("fake"), ask_model=lambda _: reply)
    log = stage.play(tmp_path, FakeHost(tmp_path / "store"), reader="choice@fake")
    (worked,) = log.list_events(Worked)
    (call,) = log.calls(worked)
    assert (call.outcome, worked.read_policy) == (outcome, "model") and why in call.why
    assert (worked.choices[0].value, worked.choices[0].origin) == (None, "nowhere")
    assert not worked.reads, "what failed is not made up for"
    found = [(each.backend, each.op, each.count) for each in faults.of_trial(log) if each.op == "chat"]
    assert found == ([("choice@fake", "chat", 1)] if outcome in ("failed", "timed-out") else [])


def test_the_cold_arm_asks_no_model(story: Story, tmp_path: Path) -> None:
    stage = replace(Stage.of(*story), reader=ChoiceReader("fake"), ask_model=None)
    (worked,) = stage.cold(tmp_path).list_events(Worked)
    assert worked.calls is None and worked.read_policy is None


def test_long_calls_are_a_blob(story: Story, tmp_path: Path) -> None:
    stage = replace(Stage.of(*story), reader=ChoiceReader("fake"), ask_model=say(json.dumps({"choice": "x" * 9000})))
    log = stage.play(tmp_path, FakeHost(tmp_path / "store"), reader="choice@fake")
    (worked,) = log.list_events(Worked)
    assert not isinstance(worked.calls, tuple) and log.calls(worked)[0].outcome == "unreadable"


def test_a_model_has_to_be_named() -> None:
    assert isinstance(readers.find("choice@some-model"), ChoiceReader)
    with pytest.raises(ReaderError, match="name it with --model"):
        readers.find("choice")
