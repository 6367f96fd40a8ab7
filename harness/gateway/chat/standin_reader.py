"""How the stand-in answers a reader that asks for one of some options: by what the notes in its prompt name.

It knows no gold and reads what any model would read. The first note that names exactly one of the options decides,
where "instead of", "no longer" and their like stand before the name of what is over; else it is unknown. So it acts on
the first note that it meets, as the scripted reader does when it trusts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

UNKNOWN = "unknown"
"""The option that stands for none of them."""
NOTE = re.compile(r"^- (.*)$", re.MULTILINE)


def list_options(body: Mapping[str, Any]) -> list[str] | None:
    """What the JSON schema of a request allows as `choice`, without `unknown`; None: it asks for something else."""
    try:
        allowed = body["response_format"]["json_schema"]["schema"]["properties"]["choice"]["enum"]
    except (KeyError, TypeError):
        return None
    if not isinstance(allowed, list) or not all(isinstance(each, str) for each in allowed):
        return None
    return [each for each in allowed if each != UNKNOWN]


def decide(prompt: str, options: Sequence[str]) -> str:
    """The option that the first telling note of a prompt names."""
    return decide_by(find_notes(prompt), options)


def find_notes(prompt: str) -> str:
    return prompt.partition("Notes:")[2].partition("\nQuestion:")[0]


def decide_by(notes: str, options: Sequence[str]) -> str:
    """The option that the first telling note names; unknown, if there is none."""
    # the longest first: of "blue" and "blue green" the shorter would match first and leave a rest
    names = "|".join(re.escape(each) for each in sorted(options, key=len, reverse=True))
    over = re.compile(rf"\b(?:instead of|rather than|no longer|not|from|was)\b \W?(?:{names})(?![\w-])", re.IGNORECASE)
    for note in NOTE.findall(notes):
        if len(named := find_named(over.sub("", note), options)) == 1:
            return named[0]
    return UNKNOWN


def find_named(text: str, options: Sequence[str]) -> list[str]:
    """The options that a text names at identifier boundaries, one within another's name left out."""
    found = {
        option: [hit.span() for hit in re.finditer(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text, re.IGNORECASE)]
        for option in options
    }
    spans = [span for own in found.values() for span in own]

    def alone(span: tuple[int, int]) -> bool:
        return not any(low <= span[0] and span[1] <= high and (low, high) != span for low, high in spans)

    return [option for option, own in found.items() if any(map(alone, own))]
