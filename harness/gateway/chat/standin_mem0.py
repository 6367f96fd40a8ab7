"""How the stand-in reads what Mem0 sends for extraction, and by which rules it decides what to remember.

Mem0 2.2.1 makes one call an `add`: a fixed system prompt, and a user prompt of sections. Back it wants
`{"memory": [{"id", "text", "attributed_to", "linked_memory_ids"}]}`; it can be told to add, and nothing else.

1. Each turn of the user and the assistant is cut into list items and sentences; code in backticks or fences and quotes
   are never cut. An item keeps the line ending in a colon that introduces it.
2. A sentence that leans on the one before (it, this, they, instead, ...) stays with it.
3. Greetings, thanks and questions are no facts. "Remember that" and "note that" are left out; "I" becomes "User".
4. None: what is known already (equal to an existing memory or to another fact but for case, punctuation and articles).
5. Update: what shares at least half of its words with an existing memory is linked to it. All else is an add.
6. No dates are worked out: that would need a clock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

# no DOTALL: both lists are JSON on one line, while messages may have any number
_PROMPT = re.compile(
    r"## Recently Extracted Memories\n(?P<recent>\[.*\])\n\n"
    r"## Existing Memories\n(?P<existing>\[.*\])\n\n"
    r"## New Messages\n(?P<new>[\s\S]*)\n\n"
    r"## Observation Date\n"
)
_TURN = re.compile(r"^(system|user|assistant): ", re.MULTILINE)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SPAN = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”")
_ITEM = re.compile(r"\s*(?:[-*•+]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"\s*#{1,6}\s")
_END = re.compile(r"[.!?][\"')\]]*\s+(?=\S)")
# a single capital before a full stop is an initial, but for the word I
_SHORTENED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|ca|mr|mrs|ms|dr|fig|(?-i:[A-HJ-Z]))\.$", re.IGNORECASE)
_LEANS = re.compile(
    r"(?:it|its|it's|this|that|these|those|they|their|he|she|his|her|then|otherwise|instead|there|but|so|because)\b",
    re.IGNORECASE,
)
_GREETING = r"(?:hi|hello|hey|bye|cheers|thanks|thank you|good (?:morning|afternoon|evening|night))"
_NAMED = r"(?: (?:so much|a lot|very much|again|there|all|everyone|team))?(?:,? (?-i:[A-Z])\w+)?"
_NODS = r"ok|okay|sure|great|perfect|sounds good|got it|understood|noted|acknowledged|you're welcome|yes|no"
_PHATIC = re.compile(rf"(?:(?:{_GREETING}{_NAMED}|{_NODS})[\s,.!]*)+", re.IGNORECASE)
_ASKED = re.compile(r"(?:please )?(?:remember|note|keep in mind|for the record)(?: that\b|:|,)\s*", re.IGNORECASE)
_I = r"(?:^|(?<=[,;:] )|(?<=and )|(?<=but )|(?<=that ))I"
_MODAL = "was|had|did|can|could|will|would|shall|should|must|may|might|never|always"
# in this order: each takes what those before it have left
_FIRST = (
    (re.compile(rf"{_I}(?:'m| am)\b"), "User is"),
    (re.compile(rf"{_I}(?:'ve| have)\b"), "User has"),
    (re.compile(rf"{_I} (?=(?:{_MODAL}|\w+ed)\b)"), "User "),
    (re.compile(rf"{_I} (\w+(?:s|x|z|ch|sh))\b"), r"User \1es"),
    (re.compile(rf"{_I} (\w+)\b"), r"User \1s"),
    (re.compile(r"(?<![\w-])[Mm]y(?![\w-])"), "User's"),
)
_WORD = re.compile(r"\w(?:[^\s`\"“”,;()\[\]]*\w)?")
_ARTICLES = frozenset({"a", "an", "the"})
_COMMON = _ARTICLES | {"is", "are", "was", "were", "be", "been", "to", "of", "in", "on", "at", "by", "for", "with"}
_COMMON |= {"and", "or", "as", "it", "its", "from", "has", "have"}


class ExtractedMemory(NamedTuple):
    """One fact to add.

    Attributes:
        links: The existing memories that it updates or goes on with.
    """

    text: str
    by: str
    links: tuple[str, ...]


class Prompt(NamedTuple):
    """What an extracting backend asks a model.

    Attributes:
        turns: (role, text) of what is new.
        existing: Id -> text.
        recent: Texts known from this session.
    """

    turns: list[tuple[str, str]]
    existing: Mapping[str, str]
    recent: Sequence[str]


def read(prompt: str) -> Prompt | None:
    """The user prompt of an extraction; None if it is another one."""
    found = _PROMPT.search(prompt)
    if found is None:
        return None
    try:
        existing, recent = json.loads(found["existing"]), json.loads(found["recent"])
        known = {str(each["id"]): str(each["text"]) for each in existing}
    except (ValueError, KeyError, TypeError):
        return None
    _, *parts = _TURN.split(found["new"])
    return Prompt(list(zip(parts[::2], parts[1::2], strict=True)), known, [_text(each) for each in recent])


def _text(each: Any) -> str:
    return str(each.get("text", "")) if isinstance(each, dict) else str(each)


def decide(prompt: Prompt) -> list[ExtractedMemory]:
    """What to add, in the order in which it was told."""
    known = {_plain(text) for text in (*prompt.existing.values(), *prompt.recent)}
    words = {name: _content(text) for name, text in prompt.existing.items()}
    found = []
    for role, turn_text in prompt.turns:
        for text in extract_facts(turn_text) if role != "system" else ():
            plain = _plain(text)
            if plain and plain not in known:
                known.add(plain)
                own = _content(text)
                # without words of its own it would be like every memory that has none
                links = tuple(name for name, other in words.items() if own and 2 * len(own & other) >= len(own | other))
                found.append(ExtractedMemory(text, role, links))
    return found


def extract_facts(text: str) -> list[str]:
    """The facts in what somebody said, each in one text that can stand alone."""
    found: list[str] = []
    for lead, block in _split_blocks(text):
        follows = False
        for sentence in _split_sentences(block):
            if sentence.rstrip("\"')]").endswith("?") or _PHATIC.fullmatch(sentence):
                follows = False
            elif follows and _LEANS.match(sentence):
                found[-1] = f"{found[-1]} {_reword(sentence)}"
            else:
                question = _ASKED.match(sentence)
                fact = _reword(sentence[question.end() :] if question else sentence)
                found.append(f"{_reword(lead)} {fact}" if lead else fact)
                follows = True
    return found


def _split_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs and list items, each after the line that introduces it ("" if none does); no headings."""
    lead, block, item, served = "", "", None, False  # served: the lead has introduced an item already
    for line in (*_FENCE.sub(_flatten_fence, text).splitlines(), ""):
        begins = _ITEM.match(line)
        if line.strip() and not begins and not _HEADING.match(line):
            block = f"{block} {line.strip()}".strip()
            continue
        if block.endswith(":"):
            *before, introduction = _split_sentences(block)
            if before:
                yield "", " ".join(before)
            if lead and not served:
                introduction = f"{lead} {introduction}"
            lead, served = introduction, False
        elif block:
            yield lead if item or not served else "", block
            lead, served = (lead, True) if item else ("", False)
        block, item = (line[begins.end() :].strip(), begins) if begins else ("", None)
    if lead and not served:
        yield "", lead


def _flatten_fence(fence: re.Match[str]) -> str:
    """A fence as one span: its line feeds are no ends of facts."""
    return f"`{' '.join(fence[0].strip('`').split())}`"


def _split_sentences(block: str) -> Iterator[str]:
    spans = [found.span() for found in _SPAN.finditer(block)]
    start = 0
    for end in _END.finditer(block):
        inside = any(low <= end.start() < high - 1 for low, high in spans)
        if inside or _SHORTENED.search(block[start : end.start() + 1]):
            continue
        yield block[start : end.end()].strip()
        start = end.end()
    yield block[start:].strip()


def _reword(sentence: str) -> str:
    for pattern, instead in _FIRST:
        sentence = pattern.sub(instead, sentence)
    return sentence


def _plain(text: str) -> tuple[str, ...]:
    return tuple(word for word in (found.casefold() for found in _WORD.findall(text)) if word not in _ARTICLES)


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in _plain(text) if word not in _COMMON)
