"""How the stand-in does a job for a chat reader or an agent program: it asks the memory for each point, edits, looks
at what it did, and ends.

It is no model: where a value goes it looks up in the story, and which value that is it takes from what the memory
brought, by the rule by which it takes one of some options (`harness.gateway.chat.choose`). So it knows no gold, and
acts on the first note that it meets. Without a memory it knows nothing, and leaves all as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.gateway.chat import choose, perform_shell
from harness.gateway.chat.wire import text_of
from harness.model.scenario import Decision, Job

FindJob = Callable[[str, str, int], Job | None]
"""Day, goal and seed -> the job."""
Decide = Callable[[Decision, str], str | None]
"""A decision and what the memory brought for it -> the value to put in; None: the place is left as it is."""
_DAY, _GOAL = re.compile(r"^Today: (\S+)\. Place", re.MULTILINE), re.compile(r"^Task: (.*)$", re.MULTILINE)
_DONE = "DONE"


def believe(decision: Decision, brought: str) -> str | None:
    """The option that the first telling note names."""
    value = choose.decide_by(brought, [option.value for option in decision.options])
    return None if value == choose.UNKNOWN else value


def find_step(body: Mapping[str, Any], find_job: FindJob, decide: Decide) -> dict[str, Any] | None:
    """The next message of who does a job; None: the request is about no job that is known, or offers no tools."""
    tools, messages = _list_tools(body), body.get("messages")
    if not isinstance(messages, list):
        return None
    tasks = (text_of(each) for each in messages if each.get("role") == "user")
    found = next(((day, goal) for text in tasks if (day := _DAY.search(text)) and (goal := _GOAL.search(text))), None)
    seed = body.get("seed")
    job = find_job(found[0][1], found[1][1], seed) if found and isinstance(seed, int) else None
    if job is None:
        return None
    if (form := perform_shell.find_form(body, messages)) is not None:
        results = perform_shell.list_results(messages, form)
        step = _next(job, ["recall"] if form.recalls else [], results, decide)
        return perform_shell.write(step, form, len(results))
    if not tools:
        return None
    native = "tools" in body
    results = [text_of(each) for each in messages if each.get("role") == ("tool" if native else "user")][not native :]
    return _write(_next(job, tools, results, decide), native=native, number=len(results))


def _next(job: Job, tools: Sequence[str], results: Sequence[str], decide: Decide) -> tuple[str, dict[str, Any]] | None:
    """The tool to use after these results, and its arguments; None: all is done."""
    if "recall" not in tools:
        return None
    asked = len(job.decisions)
    if len(results) < asked:
        question = job.decisions[len(results)].question
        return "recall", {"point": len(results) + 1, "query": question}
    taken = [(each, decide(each, brought)) for each, brought in zip(job.decisions, results, strict=False)]
    edits = [
        {"path": edit.path.replace("{value}", value), "old": (edit.old or "").replace("{value}", value),
         "new": edit.new.replace("{value}", value)}
        for each, value in taken if value is not None for edit in each.edits
    ]  # fmt: skip
    if len(results) < asked + len(edits):
        return "edit", edits[len(results) - asked]
    return ("run_check", {"number": 1}) if edits and len(results) == asked + len(edits) else None


def _list_tools(body: Mapping[str, Any]) -> list[str]:
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
