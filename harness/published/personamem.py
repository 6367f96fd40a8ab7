"""PersonaMem: long talks with a persona whose preferences change, and questions at points of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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

_FIRST = datetime(2024, 1, 1, 9, tzinfo=UTC)
"""The set has no dates: its sessions are a day apart."""
_NOWHERE = "distances that lead to no session"
_ASKED = ("user_question_or_message", "question")
"""The column of the question, in either of the two published forms."""
_COLUMNS = ("question_id", "shared_context_id", "end_index_in_shared_context", "distance_to_ref_in_blocks")
Row = Mapping[str, str]


def read(folder: Path, unit: Unit, wording: Wording) -> PublishedSet:
    """Reads a folder with one file `questions*` and one `shared_contexts*`. Raises SetError."""
    questions, contexts = rows.find(folder, "questions*"), rows.find(folder, "shared_contexts*")
    (question_rows, some), (context_rows, more) = rows.read(questions), rows.read(contexts)
    talks = {name: context[name] for context in context_rows for name in context.take(dict)}
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in map(_check, question_rows):
        name = row["shared_context_id"]
        if name not in talks:
            raise SetError(f"{questions}: asks of {name}, which {contexts.name} does not hold")
        # what is asked at one point of a talk shares a store, which holds the talk up to there
        groups.setdefault((name, _parse_number(questions, row, "end_index_in_shared_context")), []).append(row)
    odd: Counter[str] = Counter({_NOWHERE: 0})
    haystacks = tuple(
        _read_group(questions, f"{name[:12]}-{end}", list(talks[name])[:end], each, unit, wording, odd)
        for (name, end), each in groups.items()
    )
    return PublishedSet(PERSONAMEM.name, unit, wording, hash_bytes(some + more), haystacks, odd)


def _check(row: Shape) -> Row:
    """A row with all that is asked of it."""
    # a CSV has an empty cell where JSON has no key
    fields = {name: str(value) for name, value in row.take(dict).items() if value not in (None, "")}
    lacking = [name for name in _COLUMNS if name not in fields] or ([] if _ask(fields) else [_ASKED[0]])
    if lacking:
        raise row.wrong(f"has no {lacking[0]!r}")
    return fields


def _ask(row: Row) -> str:
    return next((row[name] for name in _ASKED if row.get(name)), "")


def _parse_number(file: Path, row: Row, column: str) -> int:
    try:
        return int(row[column])
    except ValueError:
        raise SetError(f"{file}: {column} is no whole number: {row[column][:40]!r}") from None


def _read_group(
    file: Path, name: str, turns: list[Shape], question_rows: list[Row], unit: Unit, wording: Wording, odd: Counter[str]
) -> Haystack:
    """A session begins with what the system says of the persona. The set names the place of an answer by how many
    sessions lie between it and the end."""
    sessions: list[list[str]] = []
    for turn in turns:
        role = turn["role"].text
        if role == "system" or not sessions:
            sessions.append([])
        if role != "system":
            sessions[-1].append(word_turn(role, turn["content"].text, wording))
    documents = []
    for at, messages in enumerate(sessions):
        when = _FIRST + timedelta(days=at)
        texts = (
            {f"S{at}": "\n".join(messages)}
            if unit == "session"
            else {f"S{at}:{n}": each for n, each in enumerate(messages, 1)}
        )
        documents += [
            Document(name=each, session=f"S{at}", at=(when + timedelta(seconds=seconds)).isoformat(), text=text)
            for seconds, (each, text) in enumerate(texts.items())
            # where the system alone spoke, there is nothing to remember
            if text.strip()
        ]
    questions = []
    for row in question_rows:
        place = len(sessions) - _parse_number(file, row, "distance_to_ref_in_blocks")
        known = 0 <= place < len(sessions)
        odd[_NOWHERE] += not known
        gold = (f"S{place}",) if known else ()
        questions.append(Question(id=row["question_id"], way="asked", text=_ask(row), sessions=gold))
    return Haystack(id=name, documents=tuple(documents), questions=tuple(questions))


PERSONAMEM = Format(
    name="personamem",
    title="PersonaMem",
    home="https://github.com/bowen-upenn/PersonaMem (a folder with questions_32k.csv and shared_contexts_32k.jsonl)",
    licence="not verified: see where you got it",
    units=("session", "turn"),
    wordings=("text", "said"),
    k=(1, 3, 5, 10),
    read=read,
)
