"""How the stand-in does a job through an agent program: by the tools that the program's request declares.

It asks the memory by a tool whose name ends in `recall`, or, where there is none and the task speaks of it, by the
command `memory recall`; it edits by the program's shell, looks at the tree once, and ends as the program wants it to.
Programs without tool calls are answered with a block of shell.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from harness.gateway.chat.wire import read_text

SHELLS = ("bash", "Bash", "shell", "run_shell_command", "exec_command", "execute_bash", "terminal")
"""Names of tools that run a command."""
BLOCK = re.compile(r"```([\w-]*bash[\w-]*)\n")
END = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent waits for."""
_NOTES = re.compile(r"^# Notes from earlier sessions$(.*?)^\(end of the notes\)$", re.MULTILINE | re.DOTALL)
"""What a program reads out of its own memory file."""
_EDIT = (
    "import sys,pathlib;f,o,n=sys.argv[1:];p=pathlib.Path(f);p.parent.mkdir(parents=True,exist_ok=True);"
    "p.write_bytes(p.read_bytes().replace(o.encode(),n.encode(),1) if o else n.encode())"
)
Step = tuple[str, dict[str, Any]]


class Form(NamedTuple):
    """What a program offers.

    Attributes:
        shell: The tool that runs a command; None: a block of shell is read out of the answer.
        block: How such a block is marked.
        recall: The tool that asks the memory; None: the command does, or there is none.
        recalls: There is a memory.
    """

    shell: Mapping[str, Any] | None
    block: str
    recall: Mapping[str, Any] | None
    recalls: bool
    ends: str


def find_form(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> Form | None:
    """None: the request is of no agent program that could do a job."""
    offered = body.get("tools")
    functions = [each["function"] for each in offered if _is_function(each)] if isinstance(offered, list) else []
    prompt = "\n".join(read_text(each) for each in messages if each.get("role") in ("system", "user"))
    shell = next((each for each in functions if each["name"] in SHELLS), None)
    block = BLOCK.search(prompt) if not functions else None
    if shell is None and block is None:
        return None
    recall = next((each for each in functions if each["name"].endswith("recall")), None)
    told = "memory recall '" in prompt
    return Form(shell, block[1] if block else "", recall, recall is not None or told, END if END in prompt else "")


def find_notes(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """What stands in the program's own memory file; None: it has none."""
    told = (read_text(each) for each in messages if each.get("role") in ("system", "developer", "user"))
    return next((found[1] for text in told if (found := _NOTES.search(text))), None)


def list_results(messages: Sequence[Mapping[str, Any]], form: Form) -> list[str]:
    """What its steps so far brought, in order."""
    if form.shell is not None:
        return [_open(read_text(each)) for each in messages if each.get("role") == "tool"]
    # the task is a message of the user, too: results stand behind the first step
    first = next((at for at, each in enumerate(messages) if each.get("role") == "assistant"), len(messages))
    return [_open(read_text(each)) for each in messages[first:] if each.get("role") == "user"]


def write(step: Step | None, form: Form, number: int) -> dict[str, Any]:
    """A step of a job (`recall`, `edit`, `run_check`, or none: it is done) as the program reads it."""
    if step is not None and step[0] == "recall" and form.recall is not None:
        return _call(form.recall, {"query": step[1]["query"]}, number)
    if step is None and not form.ends:
        return {"role": "assistant", "content": "DONE"}
    command = f"echo {form.ends}" if step is None else _write_command(*step)
    if form.shell is None:
        return {"role": "assistant", "content": f"The next step.\n\n```{form.block}\n{command}\n```"}
    return _call(form.shell, {_find_place(form.shell): command}, number)


def _write_command(name: str, arguments: Mapping[str, Any]) -> str:
    if name == "recall":
        return f"memory recall {shlex.quote(arguments['query'])}"
    if name == "edit":
        return shlex.join(["python3", "-c", _EDIT, arguments["path"], arguments["old"], arguments["new"]])
    return "git status --short"


def _find_place(shell: Mapping[str, Any]) -> str:
    """Under which name a shell is told its command."""
    schema = shell.get("parameters")
    known = schema.get("properties") if isinstance(schema, dict) else None
    return "cmd" if isinstance(known, dict) and "cmd" in known else "command"


def _call(function: Mapping[str, Any], arguments: dict[str, Any], number: int) -> dict[str, Any]:
    """A call of a tool, with a word for whatever else the tool must be told."""
    schema = function.get("parameters")
    schema = schema if isinstance(schema, dict) else {}
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    for key in schema.get("required") or ():
        kind = known[key].get("type") if isinstance(known.get(key), dict) else None
        arguments.setdefault(key, {"boolean": False, "integer": 1, "number": 1}.get(str(kind), "the next step"))
    said = {"name": function["name"], "arguments": json.dumps(arguments, ensure_ascii=False)}
    call = {"id": f"call-{number}", "type": "function", "function": said}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _is_function(tool: Any) -> bool:
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("function"), dict)
        and isinstance(tool["function"].get("name"), str)
    )


def _open(text: str) -> str:
    """What a command printed, where the program wraps it in JSON."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    output = found.get("output") if isinstance(found, dict) else None
    return output if isinstance(output, str) else text
