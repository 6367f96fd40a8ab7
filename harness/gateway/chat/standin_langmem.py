"""How the stand-in answers what Hindsight and LangMem ask a model to make of what they are told.

Which facts there are is decided as for Mem0 (`harness.gateway.chat.standin_mem0`), by the same rules: they are added,
and nothing that is known is changed or taken back.

- Hindsight 1.1.0 makes one call for each chunk. It wants `{"facts": [{"what", "when", "where", "who", "why",
  "fact_type", "entities"}]}`, with N/A for what is not known.
- LangMem 0.0.30 makes one call for a conversation, which stands between tags, after the memories that are there. It
  wants a call of the tool `Memory` for each new one.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from harness.gateway.chat import standin_mem0
from harness.gateway.chat.standin_agent import list_tools
from harness.gateway.chat.standin_mem0 import Prompt
from harness.gateway.chat.wire import read_text

_CHUNK = re.compile(r"Extract facts from the following chunk\.\n[\s\S]*?\nContent:\n(?P<told>[\s\S]*)\Z")
_SESSION = re.compile(r"<session_(?P<name>[0-9a-f-]+)>\n(?P<told>[\s\S]*)\n</session_(?P=name)>")
_SPEAKER = re.compile(r"^=+ \w+ Message =+$", re.MULTILINE)
_INSTANCE = re.compile(r"^<instance id=(\S+) schema_type=\"Memory\">\n(.*)\n</instance>$", re.MULTILINE)
_TOOL = "Memory"
_REST = {"when": "N/A", "where": "N/A", "who": "N/A", "why": "N/A", "fact_type": "world", "entities": []}


def answer(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message that one of the two reads; None: the request is of neither."""
    prompt = read_text(body["messages"][-1])
    if found := _CHUNK.search(prompt):
        rows = [{"what": fact, **_REST} for fact in standin_mem0.extract_facts(found["told"])]
        return {"role": "assistant", "content": json.dumps({"facts": rows}, ensure_ascii=False)}
    if (found := _SESSION.search(prompt)) and _TOOL in list_tools(body):
        known = _list_known("\n".join(read_text(each) for each in body["messages"][:-1]))
        turns = [("user", turn) for turn in _SPEAKER.split(found["told"])]
        return _call([fact.text for fact in standin_mem0.decide(Prompt(turns, known, []))])
    return None


def _list_known(prompt: str) -> dict[str, str]:
    """Each is shown as Python writes a dict; what does not read as one is passed over."""
    known = {}
    for name, shown in _INSTANCE.findall(prompt):
        try:
            known[name] = str(ast.literal_eval(shown)["content"])
        except (ValueError, SyntaxError, KeyError, TypeError):
            continue
    return known


def _call(facts: list[str]) -> dict[str, Any]:
    if not facts:
        return {"role": "assistant", "content": "There is nothing new to remember."}
    calls = [
        {"id": f"call-{at}", "type": "function",
         "function": {"name": _TOOL, "arguments": json.dumps({"content": fact}, ensure_ascii=False)}}
        for at, fact in enumerate(facts)
    ]  # fmt: skip
    return {"role": "assistant", "content": None, "tool_calls": calls}
