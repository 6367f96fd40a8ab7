"""How the stand-in does a job for a chat reader or an agent program: it asks the memory for each point, edits, looks
at what it did, and ends.

It is no model: what a value changes it looks up in the story, and which value that is it takes from what the memory
brought, by the rule by which it takes one of some options (`harness.gateway.chat.standin_reader`), or, where an option
is a change of its own, by the fact that leads to it. So it knows no gold, and acts on the first note that it meets.
Without a memory it knows nothing, and leaves all as it is.

Under the name of PUPIL it needs two corrections: it settles nothing by itself, all but the last of the points that a
first review names, and all of those that a second one does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from harness.gateway.chat import standin_reader, standin_shell
from harness.gateway.chat.wire import read_text
from harness.model.job import Decision, Job

Decide = Callable[[Decision, str], str | None]
"""A decision and what the memory brought for it -> the value to put in; None: the place is left as it is."""


class Known(NamedTuple):
    """A job that was looked up.

    Attributes:
        tell: The value whose fact a note asserts.
    """

    job: Job
    tell: Decide

    def believe(self, decision: Decision, brought: str) -> str | None:
        """The option that the first telling note names."""
        if decision.in_code:
            options = (self.tell(decision, note) for note in standin_reader.NOTE.findall(brought))
            return next(filter(None, options), None)
        value = standin_reader.decide_by(brought, [option.value for option in decision.options])
        return None if value == standin_reader.UNKNOWN else value


FindJob = Callable[[str, str, int | None], Known | None]
"""Day, goal and seed, where names are salted by it -> the job."""
_DAY, _GOAL = re.compile(r"^Today: (\S+)\. Place", re.MULTILINE), re.compile(r"^Task: (.*)$", re.MULTILINE)
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_DONE = "DONE"
PUPIL = "coldwarm-pupil-1"
_REVIEW = re.compile(r"^Review after round (\d+)", re.MULTILINE)
_NAMED = re.compile(r"^- Check (\S+) \(", re.MULTILINE)


def find_step(body: Mapping[str, Any], find_job: FindJob, decide: Decide | None = None) -> dict[str, Any] | None:
    """The next message of who does a job; None: the request is about no job that is known, or offers no tools.

    Args:
        decide: None: by what the memory brought.
    """
    tools, messages = list_tools(body), body.get("messages")
    if not isinstance(messages, list):
        return None
    tasks = [read_text(each) for each in messages if each.get("role") == "user"]
    found = next(((day, goal) for text in tasks if (day := _DAY.search(text)) and (goal := _GOAL.search(text))), None)
    seed = body.get("seed")
    known = find_job(found[0][1], found[1][1], seed) if found and isinstance(seed, int) else None
    if known is None:
        return None
    job, decide = known.job, decide or known.believe
    if body.get("model") == PUPIL:
        decide = _heed("\n".join(tasks), decide)
    if (form := standin_shell.find_form(body, messages)) is not None:
        results = standin_shell.list_results(messages, form)
        notes = None if form.recalls else standin_shell.find_notes(messages)
        if notes is not None:  # as if it had asked for each point already
            results = [notes] * len(job.decisions) + results
        step = _choose_tool(job, ["recall"] if form.recalls or notes is not None else [], results, decide)
        return standin_shell.write(step, form, len(results))
    if not tools:
        return None
    native = "tools" in body
    # without tool calls results are user messages, the first of which is the task
    results = [read_text(each) for each in messages if each.get("role") == ("tool" if native else "user")][not native :]
    return _write(_choose_tool(job, tools, results, decide), native=native, number=len(results))


def _heed(told: str, decide: Decide) -> Decide:
    """Decides the points alone that a review names and that the pupil heeds."""
    first, named = _REVIEW.findall(told) == ["1"], _NAMED.findall(told)
    heeded = named[:-1] if first else named
    return lambda decision, brought: decide(decision, brought) if decision.id in heeded else None


def find_choice(prompt: str, find_job: FindJob) -> str | None:
    """What the choice reader is answered where options are changes in code, which no note names: the option to whose
    fact the first telling note leads. None: the question is about no such decision that is known."""
    day, goal, questions = _DAY.search(prompt), _GOAL.search(prompt), _QUESTION.findall(prompt)[-1:]
    known = find_job(day[1], goal[1], None) if day and goal else None
    # `questions` holds the last question, or nothing
    decision = next((each for each in known.job.decisions if [each.question] == questions), None) if known else None
    if known is None or decision is None or not decision.in_code:
        return None
    return known.believe(decision, standin_reader.find_notes(prompt)) or standin_reader.UNKNOWN


def _choose_tool(
    job: Job, tools: Sequence[str], results: Sequence[str], decide: Decide
) -> tuple[str, dict[str, Any]] | None:
    """The tool to use after these results, and its arguments; None: all is done."""
    if "recall" not in tools:
        return None
    asked = len(job.decisions)
    if len(results) < asked:
        question = job.decisions[len(results)].question
        return "recall", {"point": len(results) + 1, "query": question}
    # not strict: behind the answers stand the results of edits and of the check
    taken = [(each, decide(each, brought)) for each, brought in zip(job.decisions, results, strict=False)]
    edits = [
        {"path": edit.path, "old": edit.old or "", "new": edit.new}
        for each, value in taken if value is not None for edit in each.list_edits(value)
    ]  # fmt: skip
    if len(results) < asked + len(edits):
        return "edit", edits[len(results) - asked]
    return ("run_check", {"number": 1}) if edits and len(results) == asked + len(edits) else None


def list_tools(body: Mapping[str, Any]) -> list[str]:
    """The names of the tools that a request offers, in either form; none, if it offers none."""
    try:
        if "tools" in body:
            return [str(each["function"]["name"]) for each in body["tools"]]
        return [*body["response_format"]["json_schema"]["schema"]["properties"]["tool"]["enum"]]
    except (KeyError, TypeError):
        return []


def _write(step: tuple[str, dict[str, Any]] | None, *, native: bool, number: int) -> dict[str, Any]:
    if native and step:
        function = {"name": step[0], "arguments": json.dumps(step[1], ensure_ascii=False)}
        call = {"id": f"call-{number}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    said = (
        _DONE
        if native
        else json.dumps(dict(zip(("tool", "arguments"), step or (_DONE, {}), strict=True)), ensure_ascii=False)
    )
    return {"role": "assistant", "content": said}
