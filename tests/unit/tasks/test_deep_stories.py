"""Stories with transcripts, as they are written: what they hold, and what is said of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from harness.model.scenario import Scenario
from tests.support.deep_house import HIDDEN, SESSIONS, STORY, DeepHouse
from tests.unit.conftest import Series


@pytest.fixture
def deep(tmp_path: Path, series: Series) -> DeepHouse:
    return DeepHouse(tmp_path, series)


def test_a_story_holds_its_transcripts_and_hidden_tests(deep: DeepHouse) -> None:
    assert deep.problems(STORY) == []
    scenario, _ = deep.load()
    assert [len(session.transcript) for session in scenario.sessions] == [4, 1, 1]
    assert scenario.jobs()[0][1].hidden == {"charge.py": HIDDEN}
    assert Scenario.model_validate_json(scenario.model_dump_json(by_alias=True)) == scenario


def test_messages_are_those_of_the_openai_sdk(deep: DeepHouse) -> None:
    scenario, _ = deep.load()
    sent = [message.as_openai({}) for session in scenario.sessions for message in session.transcript]
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(sent)
    assert not any({"tells", "retracts", "mentions"} & message.keys() for message in sent)


CUT = SESSIONS["monday"][SESSIONS["monday"].index('[[messages]]\nrole = "tool"') :]
BROKEN = {
    "no anchor": ("monday", 'mentions = ["fee-old"]', "", "messages.1: holds all forms of fact 'fee-old' and has no"),
    "not told": ("tuesday", 'tells = ["fee-new"]', 'mentions = ["fee-new"]', "no message tells fact 'fee-new'"),
    "told in other words": ("tuesday", "larkspur from", "the new one from", "tell fact 'fee-new' hold not all"),
    "unknown fact": ("monday", 'tells = ["fee-old"]', 'tells = ["fees"]', "messages.4: unknown fact 'fees'"),
    "cut": ("monday", CUT, "", "c1' has no answer"),
    "answer to nothing": ("monday", 'tool_call_id = "c1"', 'tool_call_id = "c2"', "answers no tool call that is open"),
    "no role": ("monday", 'role = "tool"', 'role = "robot"', "transcripts.monday.messages.3.role: "),
    "empty": ("friday", "go on", " ", "transcripts.friday.messages.1: content: says nothing"),
    "no TOML": ("friday", "[[messages]]", "[[messages", "transcripts.friday.file: is not TOML: "),
    "other keys": ("friday", "[[messages]]", "notes = 1\n[[messages]]", "transcripts.friday.notes: unknown key"),
    "cut arguments": ("monday", 'cat shop.py"}', "cat sh", "messages.2: the arguments of tool call 'c1' are not JSON"),
    "other arguments": ("monday", '{"command": "cat shop.py"}', '["ls"]', "call 'c1' are not JSON: no object"),
    "no arguments": ("monday", '{"command": "cat shop.py"}', "", "not JSON: Expecting value, character 1 of 0"),
    "too deep": ("monday", '{"command": "cat shop.py"}', "[" * 100_000, "messages.2: the arguments of tool call"),
    "both": ("tuesday", 'tells = ["fee-new"]', 'tells = ["fee-new", "fee-old"]',
             "transcripts.tuesday.messages.1: tells and retracts fact 'fee-old'; what holds after it is the one or"),
    "told too early": ("monday", 'tells = ["fee-old"]', 'tells = ["fee-old", "fee-new"]',
                       "transcripts.monday.messages.4: tells fact 'fee-new', which holds only since 2024-01-02 10:00"),
    "taken back too early": ("monday", 'mentions = ["fee-old"]', 'retracts = ["fee-old"]',
                             "transcripts.monday.messages.1: retracts fact 'fee-old', which is first told later"),
    "a strange canary": ("friday", "go on", "{canary:fee-old}", "no fact with a canary"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_with_a_transcript_is_said_in_one_line(deep: DeepHouse, name: str) -> None:
    session, old, new, reason = BROKEN[name]
    assert old in SESSIONS[session]
    (deep.beside / f"{session}.toml").write_text(SESSIONS[session].replace(old, new))
    found = deep.problems(STORY)
    assert len([line for line in found if reason in line]) == 1, found
    assert all("\n" not in line for line in found)


def test_what_somebody_mentioned_may_be_denied_before_it_is_told(deep: DeepHouse) -> None:
    denied = '[[messages]]\nrole = "user"\ncontent = "no, not dockleaf"\nretracts = ["fee-old"]\n'
    told = SESSIONS["monday"].rindex("[[messages]]")
    (deep.beside / "monday.toml").write_text(f"{SESSIONS['monday'][:told]}{denied}{SESSIONS['monday'][told:]}")
    assert deep.problems(STORY) == []


PROBE = '{do = "probe", id = "fee", ask = {plain = "How much is it?"}}'
LEARNT, GOLD = '{do = "learn", facts = ["fee-old"]}', PROBE.replace('"}}', '"}, gold = ["fee-old"]}')
NOBODY = "it has no source, but it is"
UNKNOWABLE = {
    "right": ('{do = "learn", facts = ["fee-new"]}', PROBE, {"larkspur": "the new one", '"fee-new"': ""},
              f"facts.fee-new: no message tells it and {NOBODY} behind the right option of charge.charge"),
    "mentioned": ('{do = "learn", facts = ["fee-new"]}', PROBE, {'tells = ["fee-new"]': 'mentions = ["fee-new"]'},
                  f"facts.fee-new: no message tells it and {NOBODY} behind the right option of charge.charge"),
    "stale": (LEARNT, PROBE, {"dockleaf": "the usual", '"fee-old"': ""},
              f"facts.fee-old: no message speaks of it and {NOBODY} behind option 'dockleaf' of charge.charge"),
    "gold": (LEARNT, GOLD, {'tells = ["fee-old"]': 'mentions = ["fee-old"]'},
             f"facts.fee-old: no message tells it and {NOBODY} gold of probe 'fee'"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWABLE)
def test_a_fact_that_nobody_learns_and_no_message_says_is_named_with_what_needs_it(deep: DeepHouse, name: str) -> None:
    learnt, instead, words, reason = UNKNOWABLE[name]
    for session, text in SESSIONS.items():
        for old, new in words.items():
            text = text.replace(old, new)
        (deep.beside / f"{session}.toml").write_text(text)
    assert learnt in STORY
    assert deep.problems(STORY.replace(learnt, instead)) == [reason]


def test_a_fact_of_a_chain_that_no_message_says_is_named(deep: DeepHouse) -> None:
    third = STORY[STORY.index('[[facts]]\nid = "fee-new"') : STORY.index("[[sessions]]")]
    for old, new in {"fee-new": "fee-next", "fee-old": "fee-new", "larkspur": "teasel", "01-02": "01-08"}.items():
        third = third.replace(old, new)
    [problem] = deep.problems(STORY.replace("[[sessions]]", f"{third}[[sessions]]", 1))
    assert problem.startswith("facts.fee-next: is never learnt")


def test_files_beside_a_story_that_are_missing_or_belong_to_nothing_are_named(deep: DeepHouse) -> None:
    (deep.beside / "hidden" / "charge.py").unlink()
    (deep.beside / "sunday.toml").write_text(SESSIONS["friday"])
    assert deep.problems(STORY) == [
        "transcripts.sunday: there is no session of this name",
        "jobs.charge.hidden: 'charge.py' cannot be read: No such file or directory",
    ]
    (deep.beside / "sunday.toml").unlink()
    (deep.beside / "friday.toml").unlink()
    (deep.beside / "hidden" / "charge.py").write_text(HIDDEN)
    assert deep.problems(STORY) == [
        "transcripts.friday: is missing or empty; each session of this story has one, or none has"
    ]


def test_an_edit_that_does_not_fit_is_named_with_its_option(deep: DeepHouse) -> None:
    head, naive, tail = STORY.partition("naive = {")
    text = head + naive + tail.replace("return cents", "return pence", 1)
    [problem] = deep.problems(text)
    assert problem.startswith("jobs.charge.charge.none.edits.0: `old` occurs 0 times in 'shop.py'")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "\nnaive = {",
            "\nedits = [{path = 'x', new = 'y'}]\nnaive = {",
            "edits: of the decision, or of each of its options",
        ),
        ('{value = "none"', '{value = "dockleaf"', "'dockleaf' is there twice"),
    ],
)
def test_a_decision_is_edited_in_one_way(deep: DeepHouse, old: str, new: str, reason: str) -> None:
    found = deep.problems(STORY.replace(old, new))
    assert any(reason in line for line in found), found
