"""LoCoMo: ten long conversations, and questions whose evidence are turns."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

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
    word_turn,
)

FORM = "1:56 pm on 8 May, 2023"
_TURN = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_NO_EVIDENCE, _MALFORMED, _UNKNOWN = (
    "questions without evidence",
    "malformed ids of turns",
    "ids of turns that are not there",
)


def read(file: Path, unit: Unit, wording: Wording) -> PublishedSet:
    """Reads `locomo10.json`; a session is all of its turns, a line each. Raises SetError."""
    talks, data = rows.read(file)
    odd: Counter[str] = Counter({_NO_EVIDENCE: 0, _MALFORMED: 0, _UNKNOWN: 0})
    haystacks = tuple(_read_talk(talk, unit, wording, odd) for talk in talks)
    if not haystacks:
        raise SetError(f"{file}: holds no conversation")
    return PublishedSet(LOCOMO.name, unit, wording, hash_bytes(data), haystacks, odd)


def _read_talk(talk: Shape, unit: Unit, wording: Wording, odd: Counter[str]) -> Haystack:
    name, conversation = talk["sample_id"].text, talk["conversation"]
    # by number, as session_10 comes after session_9
    # `fullmatch`, as a key session_1_date_time stands beside each session_1
    numbers = sorted(int(found[1]) for key in conversation.take(dict) if (found := _SESSION.fullmatch(key)))
    documents: list[Document] = []
    turns: set[str] = set()
    for number in numbers:
        session, at = f"D{number}", conversation[f"session_{number}_date_time"].take_date(_date, FORM)
        messages = []
        for turn in conversation[f"session_{number}"]:
            turns.add(turn["dia_id"].text)
            text = turn["text"].text
            messages.append((turn["dia_id"].text, word_turn(turn["speaker"].text, text, wording)))
        if unit == "session":
            text = "\n".join(text for _, text in messages)
            documents.append(Document(name=session, session=session, at=at.isoformat(), text=text))
        else:
            for seconds, (turn_id, text) in enumerate(messages):
                # a second apart, so that they keep their order
                when = (at + timedelta(seconds=seconds)).isoformat()
                documents.append(Document(name=turn_id, session=session, at=when, text=text))
    questions = tuple(
        _read_question(at, qa, {f"D{n}" for n in numbers}, turns, odd) for at, qa in enumerate(talk["qa"])
    )
    return Haystack(id=name, documents=tuple(documents), questions=questions)


def _read_question(at: int, qa: Shape, sessions: set[str], turns: set[str], odd: Counter[str]) -> Question:
    """Evidence counts if its id is whole; of one that names a turn which is not there, the session still counts."""
    listed = [each.text.strip() for each in qa["evidence"]]
    odd[_NO_EVIDENCE] += not listed
    named, held = [], []
    for each in listed:
        found = _TURN.fullmatch(each)
        odd[_MALFORMED] += found is None
        if found is not None:
            named.append(each)
            held.append(f"D{found[1]}")
    odd[_UNKNOWN] += sum(each not in turns for each in named)
    gold = tuple(dict.fromkeys(each for each in held if each in sessions))
    return Question(id=str(at), way="asked", text=qa["question"].text, turns=tuple(dict.fromkeys(named)), sessions=gold)


def _date(text: str) -> datetime:
    return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


LOCOMO = Format(
    name="locomo",
    title="LoCoMo",
    home="https://github.com/snap-research/LoCoMo (data/locomo10.json)",
    licence="CC BY-NC 4.0: not for commercial use, and its makers are to be named",
    units=("turn", "session"),
    wordings=("text", "said"),
    k=(1, 5, 10),
    read=read,
)
