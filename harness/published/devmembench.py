"""DevMemBench: 25 sessions of a coding assistant over some projects, and 200 questions that name their sessions."""

from __future__ import annotations

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
    Shape,
    Unit,
    Wording,
    hash_bytes,
    word_turn,
)

FORM = "2025-01-31"
_ABSTAINS, _UNKNOWN = "questions to abstain from", "ids of sessions that are not there"


def read(folder: Path, unit: Unit, wording: Wording) -> PublishedSet:
    """Reads the folder that holds `sessions` and `questions`. Raises SetError."""
    session_rows, data = rows.read(rows.find(folder, "sessions"))
    question_rows, more = rows.read(rows.find(folder, "questions"))
    documents: list[Document] = []
    for session in session_rows:
        name, at = session["sessionId"].text, session["metadata"]["date"].take_date(_date, FORM)
        messages = [word_turn(turn["role"].text, turn["content"].text, wording) for turn in session["messages"]]
        texts = (
            {name: "\n".join(messages)}
            if unit == "session"
            else {f"{name}:{n}": text for n, text in enumerate(messages, 1)}
        )
        # turns have no times of their own: a second apart, they keep their order when they are sorted
        documents += [
            Document(name=each, session=name, at=(at + timedelta(seconds=seconds)).isoformat(), text=text)
            for seconds, (each, text) in enumerate(texts.items())
        ]
    known = {each.session for each in documents}
    # at 0, so that figures.json also lists what did not occur
    odd: Counter[str] = Counter({_ABSTAINS: 0, _UNKNOWN: 0})
    questions = tuple(_read_question(each, known, odd) for each in question_rows)
    # times in UTC as ISO 8601 sort as texts
    haystack = Haystack(id="all", documents=tuple(sorted(documents, key=lambda each: each.at)), questions=questions)
    return PublishedSet(DEVMEMBENCH.name, unit, wording, hash_bytes(data + more), (haystack,), odd)


def _read_question(row: Shape, known: set[str], odd: Counter[str]) -> Question:
    named = [each.text for each in row["haystackSessionIds"]]
    odd[_ABSTAINS] += not named
    odd[_UNKNOWN] += sum(each not in known for each in named)
    gold = tuple(dict.fromkeys(each for each in named if each in known))
    return Question(id=row["questionId"].text, way="asked", text=row["question"].text, sessions=gold)


def _date(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


DEVMEMBENCH = Format(
    name="devmembench",
    title="DevMemBench",
    home="https://github.com/prosperitypirate/opencode-memory (folder benchmark/src/dataset)",
    licence="MIT",
    units=("session", "turn"),
    wordings=("text", "said"),
    k=(1, 3, 5, 10),
    read=read,
)
