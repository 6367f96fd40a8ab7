"""LongMemEval: questions about a user, each asked of a history of its own, whose evidence are sessions and turns."""

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
    SetError,
    Shape,
    Unit,
    Wording,
    hash_bytes,
    word_turn,
)

FORM = "2023/05/20 (Sat) 02:21"
_ABSTAIN = "_abs"
"""In the id of a question whose answer the history does not hold."""
_ABSTAINS, _UNNAMED = "questions to abstain from", "questions without evidence that the user said"


def read(file: Path, unit: Unit, wording: Wording) -> PublishedSet:
    """Reads `longmemeval_s.json` and its like. As in the set's own code, memories hold what the user said (`text`);
    with `said` what the assistant said, too. Raises SetError.
    """
    entries, data = rows.read(file)
    odd: Counter[str] = Counter({_ABSTAINS: 0, _UNNAMED: 0})
    haystacks = tuple(_read_entry(entry, unit, wording, odd) for entry in entries)
    if not haystacks:
        raise SetError(f"{file}: holds no question")
    return PublishedSet(LONGMEMEVAL.name, unit, wording, hash_bytes(data), haystacks, odd)


def _read_entry(entry: Shape, unit: Unit, wording: Wording, odd: Counter[str]) -> Haystack:
    name = entry["question_id"].text
    # what stands before the colon of a turn's name is its session
    ids = [each.text.replace(":", "_") for each in entry["haystack_session_ids"]]
    dates = [each.take_date(_date, FORM) for each in entry["haystack_dates"]]
    sessions = list(entry["haystack_sessions"])
    if not len(ids) == len(dates) == len(sessions):
        raise SetError(f"{name}: {len(sessions)} sessions, {len(ids)} ids, {len(dates)} dates")
    named = {each.text.replace(":", "_") for each in entry["answer_session_ids"]}
    documents: list[Document] = []
    turns, gold_turns = list[str](), list[str]()
    for at, (session, when, session_turns) in sorted(
        enumerate(zip(ids, dates, sessions, strict=True)), key=_order_by_time
    ):
        # a history may hold a session twice, and documents are told apart by their names
        place = session if ids.count(session) == 1 else f"{session}#{at}"
        messages = []
        for number, turn in enumerate(session_turns, 1):
            mine = turn["role"].text == "user"
            if mine and "has_answer" in turn and turn["has_answer"].value is True:
                turns.append(f"{place}:{number}")
                gold_turns += [place] if session in named else []
            if mine or wording == "said":
                messages.append((number, word_turn(turn["role"].text, turn["content"].text, wording)))
        if unit == "session":
            text = ("\n" if wording == "said" else " ").join(text for _, text in messages)
            documents.append(Document(name=place, session=place, at=when.isoformat(), text=text))
        else:
            documents += [
                Document(
                    name=f"{place}:{number}",
                    session=place,
                    at=(when + timedelta(seconds=number)).isoformat(),
                    text=text,
                )
                for number, text in messages
            ]
    abstains = _ABSTAIN in name
    odd[_ABSTAINS] += abstains
    odd[_UNNAMED] += not abstains and not gold_turns
    gold = () if abstains else tuple(dict.fromkeys(gold_turns))
    question = Question(
        id=name, way="asked", text=entry["question"].text, sessions=gold, turns=tuple(turns) if gold else ()
    )
    return Haystack(id=name, documents=tuple(documents), questions=(question,))


def _order_by_time(each: tuple[int, tuple[str, datetime, Shape]]) -> tuple[datetime, int]:
    # the place breaks ties, as Shapes have no order
    return each[1][1], each[0]


def _date(text: str) -> datetime:
    day, _, hour = text.split()
    return datetime.strptime(f"{day} {hour}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


LONGMEMEVAL = Format(
    name="longmemeval",
    title="LongMemEval",
    home="https://github.com/xiaowu0162/LongMemEval (longmemeval_s.json or _oracle)",
    licence="MIT",
    units=("session", "turn"),
    wordings=("text", "said"),
    k=(1, 3, 5, 10, 30, 50),
    read=read,
)
