"""How the stand-in does a job, and when it keeps out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from harness.gateway.chat.standin import PERFORMER, StandIn
from harness.gateway.chat.standin_agent import Known, find_choice, find_step
from harness.gateway.chat.wire import ChatRequest, Refused
from harness.model.job import Decision, Job

JOB = Job.model_validate(
    {
        "do": "job", "id": "ship", "goal": "Ship it", "relevant": ["a"],
        "decisions": [
            {
                "id": "target", "question": "Which target?", "check": ["true"],
                "edits": [{"path": "{value}.txt", "old": "x", "new": "y {value}"}, {"path": "new", "new": "{value}"}],
                "options": [
                    {"value": "kestrelway", "verdict": "right", "fact": "new"},
                    {"value": "harborline", "verdict": "stale", "fact": "old"},
                ],
            }
        ],
    }
)  # fmt: skip
NATIVE = {"tools": [{"function": {"name": name}} for name in ("edit", "run_check", "recall")]}
JSON = {"response_format": {"json_schema": {"schema": {"properties": {"tool": {"enum": ["edit", "recall", "DONE"]}}}}}}
COLD = {"tools": [{"function": {"name": "edit"}}]}


def ask(form: dict[str, Any], *results: str, goal: str = "Ship it", seed: Any = 1) -> dict[str, Any]:
    task = f"Today: 2024-01-05. Place: repository shop.\nTask: {goal}\n\nPoints:"
    role = "tool" if "tools" in form else "user"
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": task}]
    return {"messages": [*messages, *({"role": role, "content": each} for each in results)], "seed": seed, **form}


def find(day: str, goal: str, seed: int | None) -> Known | None:
    return Known(JOB, lambda *_: None) if (day, goal, seed) == ("2024-01-05", "Ship it", 1) else None


def step(*given: Any, **more: Any) -> tuple[str, Any] | str | None:
    said = find_step(ask(*given, **more), find)
    if said is None:
        return None
    if said.get("tool_calls"):
        function = said["tool_calls"][0]["function"]
        return function["name"], json.loads(function["arguments"])
    return str(said["content"])


NOTES = "- We deploy to kestrelway instead of harborline."


def test_it_asks_edits_runs_and_ends() -> None:
    assert step(NATIVE) == ("recall", {"point": 1, "query": "Which target?"})
    assert step(NATIVE, NOTES) == ("edit", {"path": "kestrelway.txt", "old": "x", "new": "y kestrelway"})
    assert step(NATIVE, NOTES, "edited") == ("edit", {"path": "new", "old": "", "new": "kestrelway"})
    assert step(NATIVE, NOTES, "edited", "edited") == ("run_check", {"number": 1})
    assert step(NATIVE, NOTES, "edited", "edited", "exit 0") == "DONE"


def know_change() -> Known:
    """A job whose options are changes of their own; a note tells the fact of one of them."""
    (decision,) = JOB.decisions
    said = decision.model_dump(mode="json", exclude_none=True) | {"edits": []}
    said["options"] = [
        {**option, "edits": [{"path": "new", "new": name}]} for option, name in zip(said["options"], "ab", strict=True)
    ]
    job = JOB.model_copy(update={"decisions": (Decision.model_validate(said),)})
    return Known(job, lambda _, note: "harborline" if "old" in note else None)


def test_where_an_option_is_a_change_of_its_own_the_fact_decides_that_a_note_asserts() -> None:
    known = know_change()
    found = find_step(ask(NATIVE, "- it is new\n- it is old"), lambda *_: known)
    assert found is not None
    assert json.loads(found["tool_calls"][0]["function"]["arguments"]) == {"path": "new", "old": "", "new": "b"}


@pytest.mark.parametrize(
    ("notes", "question", "goal", "takes"),
    [
        ("- it is new\n- it is old", "Which target?", "Ship it", "harborline"),
        ("- Question: it is what?\n- it is old", "Which target?", "Ship it", "harborline"),
        ("- it is kestrelway", "Which target?", "Ship it", "unknown"),
        ("- it is old", "Which other?", "Ship it", None),
        ("- it is old", "Which target?", "Sail it", None),
    ],
)
def test_a_choice_of_changes_is_taken_by_the_fact(notes: str, question: str, goal: str, takes: str | None) -> None:
    known = know_change()
    said = f"Today: 2024-01-05. Place: repository shop.\nTask: {goal}\n\nNotes:\n{notes}\n\nQuestion: {question}\n"
    assert find_choice(said, lambda *asked: known if asked == ("2024-01-05", "Ship it", None) else None) == takes
    valued = Known(JOB, lambda *_: "harborline")
    assert find_choice(said, lambda *_: valued) is None, "a value is named by the note itself"


def test_it_leaves_what_it_does_not_know() -> None:
    assert step(NATIVE, "(nothing)") == "DONE" and step(COLD) == "DONE"


def test_it_answers_in_the_form_that_it_is_asked_for() -> None:
    assert json.loads(str(step(JSON)))["tool"] == "recall"
    assert json.loads(str(step(JSON, "(nothing)"))) == {"tool": "DONE", "arguments": {}}


@pytest.mark.parametrize(
    "body",
    [
        ask(NATIVE, goal="Something else"), ask(NATIVE, seed=2), ask(NATIVE, seed=None), ask({}), {},
        {"tools": None, "messages": []}, {"tools": [1], "messages": []}, {**NATIVE, "messages": [{"role": "user"}]},
    ],
)  # fmt: skip
def test_what_is_no_job_that_it_knows_is_none_of_its(body: dict[str, Any]) -> None:
    assert find_step(body, find) is None


def test_the_stand_in_says_who_it_is_and_refuses_jobs_that_nobody_told_it() -> None:
    answer = asyncio.run(StandIn(find).complete(ChatRequest({"model": "any", **ask(NATIVE)})))
    assert (answer["model"], answer["choices"][0]["finish_reason"]) == (PERFORMER, "tool_calls")
    assert answer["usage"]["completion_tokens"] > 0
    with pytest.raises(Refused, match="is a stand-in"):
        asyncio.run(StandIn().complete(ChatRequest({"model": "any", **ask(NATIVE)})))
