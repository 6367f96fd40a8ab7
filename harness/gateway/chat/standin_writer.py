"""How the stand-in writes: each line of a transcript that is no question and holds no secret is one memory.

It knows no gold, and does not see what holds no longer. Where it is shown memories, a new one takes the place of those
with which it shares at least half of their words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_SECRET = re.compile(r"\b(?:password|passphrase|secret|token|api key|bearer)\b", re.IGNORECASE)
_WORD = re.compile(r"\w[\w./-]*")


def is_asked(body: Mapping[str, Any]) -> bool:
    """Whether a request asks what to remember."""
    form = body.get("response_format")
    named = form.get("json_schema") if isinstance(form, dict) else None
    return isinstance(named, dict) and named.get("name") == "memories"


def decide(prompt: str) -> str:
    """The answer, as the chat writer reads it."""
    before, _, transcript = prompt.partition("\nTranscript:\n")
    known = {
        int(number): _list_words(text) for number, text in _LINE.findall(before.partition("\nKnown memories:\n")[2])
    }
    memories = []
    for number, text in _LINE.findall(transcript):
        if text.endswith("?") or _SECRET.search(text):
            continue
        words = _list_words(text)
        # a memory without words would be like every text
        near = [at for at, other in known.items() if other and 2 * len(words & other) >= len(other)]
        known = {at: other for at, other in known.items() if at not in near}
        memories.append({"text": text, "from": [int(number)], "replaces": near})
    return json.dumps({"memories": memories}, ensure_ascii=False)


def _list_words(text: str) -> frozenset[str]:
    return frozenset(each.casefold() for each in _WORD.findall(text))
