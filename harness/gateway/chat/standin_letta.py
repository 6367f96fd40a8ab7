"""How the stand-in answers in the place of the model of a Letta agent.

Letta 0.16.8 shows the blocks of the agent's prompt and offers `memory_insert`. What the user said last becomes facts,
by the rules of `harness.gateway.chat.standin_mem0`; those that no block holds are put at the end of one block, a
line each, in one call. After the call, or where there is nothing new, the turn ends with words. When a dialogue has
become too long, Letta asks for a summary of it, which is one sentence: the facts are in the blocks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from harness.gateway.chat import standin_mem0
from harness.gateway.chat.standin_agent import list_tools
from harness.gateway.chat.standin_mem0 import Prompt
from harness.gateway.chat.wire import read_text

_TOOL = "memory_insert"
_BLOCK = re.compile(r"^<value>\n(?P<held>[\s\S]*?)\n</value>\n</(?P<label>[^>\n]+)>$", re.MULTILINE)
_SUMMARY = re.compile(
    r"Your task is to create a detailed summary of the conversation so far|"
    r"The following messages are being evicted from the BEGINNING of your context window"
)
_SPEAKER = re.compile(r"^(?:user|assistant|tool): ", re.MULTILINE)


def answer(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """The agent's next message; None: the request is not one of such an agent."""
    system, *dialogue = body["messages"]
    if _SUMMARY.match(read_text(system)):
        return {"role": "assistant", "content": "What was told is in the memory blocks."}
    blocks = list(_BLOCK.finditer(read_text(system)))
    if not blocks or _TOOL not in list_tools(body):
        return None
    said = [*takewhile(lambda message: message.get("role") == "user", reversed(dialogue))][::-1]
    turns = [("user", part) for each in said for part in _SPEAKER.split(read_text(each))]
    known = [line for block in blocks for line in block["held"].splitlines()]
    facts = [fact.text for fact in standin_mem0.decide(Prompt(turns, {}, known))]
    if not facts:
        return {"role": "assistant", "content": "Noted."}
    # Letta lists blocks in no order
    arguments = {"label": min(block["label"] for block in blocks), "new_string": "\n".join(facts)}
    function = {"name": _TOOL, "arguments": json.dumps(arguments, ensure_ascii=False)}
    call = {"id": f"call-{len(dialogue)}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
