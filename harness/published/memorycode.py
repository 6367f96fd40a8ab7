"""MemoryCode: a mentor gives coding rules over many sessions and changes some of them."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from harness.published import rows
from harness.published.sets import (
    Document,
    Format,
    Haystack,
    PublishedSet,
    Question,
    SetError,
    Shape,
    Unit,
    Wording,
    hash_bytes,
)

RULE, REQUEST = "in the words of the rule", "by the request for code"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_GIVEN = ("instruction-add", "instruction-update")
_FIRST = datetime(2024, 1, 1, 9, tzinfo=UTC)
"""The set has no dates: its sessions are a day apart."""


class _Telling(NamedTuple):
    """A rule as one session tells it."""

    session: int
    version: int
    topic: str
    request: str


def read(folder: Path, unit: Unit, wording: Wording) -> PublishedSet:
    """Reads the folder that holds `dialogue_1.json` and so on, or of a file with a dialogue a row. Raises SetError."""
    # by length first, as dialogue_10 comes after dialogue_9
    files = sorted(folder.glob("dialogue_*.json"), key=lambda file: (len(file.name), file.name))
    if folder.is_dir() and not files:
        raise SetError(f"{folder}: holds no dialogue_1.json; name the folder `dataset` of MemoryCode")
    odd: Counter[str] = Counter({"rules that are told again in the same version": 0})
    read_files = [(file, *rows.read(file)) for file in files or [folder]]
    haystacks = tuple(
        _read_dialogue(file.stem if files else f"dialogue_{at}", dialogue, odd)
        for file, dialogues, _ in read_files
        for at, dialogue in enumerate(dialogues, 1)
    )
    digest = hash_bytes("".join(f"{file.name} {hash_bytes(data)}\n" for file, _, data in read_files).encode())
    return PublishedSet(MEMORYCODE.name, unit, wording, digest, haystacks, odd)


def _read_dialogue(name: str, dialogue: Shape, odd: Counter[str]) -> Haystack:
    versions_by_rule: dict[int, list[_Telling]] = {}
    documents = []
    for at, session in enumerate(dialogue["sessions"]):
        when = (_FIRST + timedelta(days=at)).isoformat()
        documents.append(Document(name=f"S{at}", session=f"S{at}", at=when, text=session["text"].text))
        # not strict: what does not go together is told below, with the number of its session
        topics = [
            topic.text for kind, topic in zip(session["type"], session["topic"], strict=False) if kind.value in _GIVEN
        ]
        rules = [rule for rule in dialogue["instructions"][at] if isinstance(rule.value, list)]
        if len(topics) != len(rules) or len(rules) != len(list(session["session_eval_query"])):
            raise SetError(f"{name}: session {at} names {len(rules)} rules and tells {len(topics)}")
        for rule, topic, request in zip(rules, topics, session["session_eval_query"], strict=True):
            versions_by_rule.setdefault(rule[0].take(int), []).append(
                _Telling(at, rule[1].take(int), topic, request.text)
            )
    questions = [question for rule, versions in sorted(versions_by_rule.items()) for question in _ask(rule, versions)]
    odd["rules that are told again in the same version"] += sum(
        len(versions) > 1 and len({each.version for each in versions}) == 1 for versions in versions_by_rule.values()
    )
    return Haystack(id=name, documents=tuple(documents), questions=tuple(questions))


def _ask(rule: int, versions: list[_Telling]) -> list[Question]:
    """Of a rule that changed: for what holds now, in words of the rule without the literal that changed, and as the
    programmer would come upon it."""
    *earlier, last = versions
    # a rule that was changed back is as right in its first session as in its last
    stale = tuple(f"S{each.session}" for each in earlier if each.version != last.version)
    ways = ((RULE, _QUOTED.sub("", last.topic)), (REQUEST, last.request))
    return [
        Question(id=str(rule), way=way, text=text, sessions=(f"S{last.session}",), stale=stale)
        for way, text in ways
        if stale
    ]


MEMORYCODE = Format(
    name="memorycode",
    title="MemoryCode",
    home="https://github.com/for-ai/MemoryCode (folder dataset)",
    licence="Apache-2.0",
    units=("session",),
    wordings=("text",),
    k=(5,),
    read=read,
)
