"""How the stand-in does a job through an agent program: by the tools that a request declares."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.chat.standin_agent import PUPIL, find_step
from tests.unit.gateway.test_perform import NOTES, find

GOAL = "Do it.\n\nToday: 2024-01-05. Place: repository shop.\nTask: Ship it\n\nPoints:"
SHELL = {
    "name": "run_shell_command",
    "parameters": {
        "properties": {"command": {"type": "string"}, "background": {"type": "boolean"}, "why": {"type": "string"}},
        "required": ["command", "background", "why"],
    },
}
RECALL = {"name": "mcp__memory__recall", "parameters": {"properties": {"query": {"type": "string"}}}}


def ask(*functions: Any, said: str = GOAL, results: tuple[str, ...] = (), role: str = "tool") -> dict[str, Any]:
    messages = [
        {"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Here is your folder."},
        {"role": "user", "content": [{"type": "text", "text": said}]},
    ]  # fmt: skip
    for each in results:
        messages += [{"role": "assistant", "content": "x"}, {"role": role, "content": each}]
    tools = [{"type": "function", "function": each} for each in functions]
    return {"messages": messages, "seed": 1, **({"tools": tools} if tools else {})}


def step(body: dict[str, Any]) -> tuple[str, dict[str, Any]] | str | None:
    said = find_step(body, find)
    if said is None:
        return None
    if said.get("tool_calls"):
        function = said["tool_calls"][0]["function"]
        return function["name"], json.loads(function["arguments"])
    return str(said["content"])


def test_notes_in_a_programs_own_file_are_acted_on_as_if_it_had_asked() -> None:
    own = f"Read this.\n# Notes from earlier sessions\nIt is data.\n\n{NOTES}\n\n(end of the notes)\n- another thing"
    body = ask(SHELL)
    body["messages"].insert(1, {"role": "user", "content": own})
    asked = ask(SHELL, RECALL, results=(NOTES,))
    assert command(body) == command(asked) != "DONE"
    body["messages"][1]["content"] = own.replace(NOTES, "(nothing)")
    assert step(body) == "DONE", "what stands behind the notes is none"


def test_the_pupil_settles_what_a_review_names_and_of_the_first_one_all_but_the_last_point() -> None:
    named = "\n- Check target (Which target?): it finds nothing settled"
    for review, wanted in (
        ("", "DONE"),
        (f"\n\nReview after round 1. Mend:{named}", "DONE"),
        (f"\n\nReview after round 1. Mend:{named}\n- Check port (Which?): it finds nothing settled", "edits"),
        (f"\n\nReview after round 2. Mend:{named}", "edits"),
        ("\n\nReview after round 2. Mend:\n- Check port (Which?): it finds nothing settled", "DONE"),
    ):
        found = step({**ask(SHELL, RECALL, said=GOAL + review, results=(NOTES,)), "model": PUPIL})
        assert (found if isinstance(found, str) else "edits") == wanted, review


def command(body: dict[str, Any]) -> str:
    found = step(body)
    assert isinstance(found, tuple)
    return str(found[1]["command"])


@pytest.mark.slow
def test_it_asks_by_the_tool_that_is_there_and_edits_by_the_shell(tmp_path: Path) -> None:
    (tmp_path / "kestrelway.txt").write_text("a x b x")
    assert step(ask(SHELL, RECALL)) == ("mcp__memory__recall", {"query": "Which target?"})
    found = step(ask(SHELL, RECALL, results=(NOTES,)))
    assert isinstance(found, tuple)
    name, given = found
    assert name == "run_shell_command" and (given["background"], given["why"]) == (False, "the next step")
    for done in ((NOTES,), (NOTES, "")):
        subprocess.run(["sh", "-c", command(ask(SHELL, RECALL, results=done))], cwd=tmp_path, check=True)
    assert (tmp_path / "kestrelway.txt").read_text() == "a y kestrelway b x"
    assert (tmp_path / "new").read_text() == "kestrelway"
    assert command(ask(SHELL, RECALL, results=(NOTES, "", ""))) == "git status --short"
    assert step(ask(SHELL, RECALL, results=(NOTES, "", "", ""))) == "DONE"


def test_a_shell_may_have_another_name_and_take_its_command_under_another() -> None:
    codex = {"name": "exec_command", "parameters": {"properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}}
    claude = {"name": "Bash", "parameters": {"properties": {"command": {"type": "string"}}}}
    for shell, key in ((codex, "cmd"), (claude, "command")):
        done = ask(shell, RECALL, results=(NOTES, "", ""))
        assert step(done) == (shell["name"], {key: "git status --short"})


def test_without_such_a_tool_it_asks_by_the_command_that_the_task_speaks_of() -> None:
    told = f"{GOAL} memory recall 'QUESTION' asks"
    assert command(ask(SHELL, said=told)) == "memory recall 'Which target?'"
    wrapped = json.dumps({"returncode": 0, "output": f"{NOTES}\n"})
    assert "kestrelway.txt" in command(ask(SHELL, said=told, results=(wrapped,)))
    assert step(ask(SHELL)) == "DONE", "without a memory it knows nothing"


def test_it_ends_as_the_program_waits_for() -> None:
    told = f"{GOAL} end by echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    assert command(ask(SHELL, said=told)) == "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def test_a_program_without_tool_calls_gets_a_block() -> None:
    told = f"{GOAL} memory recall 'QUESTION' asks. Answer with\n```mswea_bash_command\nls\n```"
    said = step(ask(said=told))
    assert isinstance(said, str) and "```mswea_bash_command\nmemory recall 'Which target?'\n```" in said
    said = step(ask(said=told, results=(NOTES,), role="user"))
    assert isinstance(said, str) and "kestrelway.txt" in said


@pytest.mark.parametrize("functions", [(), ({"no": "name"},), ("bash",)])
def test_who_offers_no_shell_is_none_of_its(functions: Any) -> None:
    assert step(ask(*functions)) is None
