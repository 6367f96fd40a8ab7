"""A page on which a person keeps or drops candidates, and the file that remembers what was decided.

The page is one file without network. It saves `decisions.json`, {"candidates": {ID: "keep" | "drop"}}.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.machine import documents, files
from harness.machine.documents import DocumentError
from harness.mine.candidates import Candidate
from harness.mine.exclusions import BESIDE
from harness.mine.mining import Judgement, Mined, MineError, refuse
from harness.repo.changes import Commit, read_texts
from harness.report.outputs.template import fill_template
from harness.secrets.detector import list_places

SAMPLE = 20
"""Candidates that are shown first, where there are more than twice as many: by these one sees what the others are."""
HIDDEN = "\u2588"
"""What is shown for each letter of a secret."""


@dataclass(frozen=True)
class Row:
    """A line of a diff: its sign, its number in the file, and what it says."""

    sign: str
    number: int
    text: str


@dataclass(frozen=True)
class Diff:
    """One commit that changed the value."""

    commit: Commit
    path: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Card:
    """A candidate as the page shows it."""

    candidate: Candidate
    diffs: tuple[Diff, ...]
    judged: Judgement | None


@dataclass(frozen=True)
class Group:
    """What one commit changed last."""

    commit: Commit
    cards: tuple[Card, ...]

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """Kinds of facts of which there are several, beside others."""
        counts = Counter(card.candidate.kind for card in self.cards)
        return [(kind, many) for kind, many in sorted(counts.items()) if 1 < many < len(self.cards)]


def read(file: Path) -> dict[str, Judgement]:
    """What was decided, by id of the candidate. Raises MineError for a file that is none of ours."""
    try:
        candidates = documents.read_json(file)["candidates"]
        if not all(isinstance(name, str) and judged in ("keep", "drop") for name, judged in candidates.items()):
            raise ValueError
    except DocumentError as error:
        raise MineError(f"{file}: is no file that a page of `coldwarm mine --review` saved: {error}") from None
    # JSON of another shape: no object, no such key, no names in it
    except (ValueError, KeyError, TypeError, AttributeError):
        raise MineError(f"{file}: is no file that a page of `coldwarm mine --review` saved") from None
    return dict(candidates)


def write(mined: Mined, page: Path, decided: Mapping[str, Judgement]) -> None:
    """Writes the page, with what was decided before: nothing of it is lost when the page saves."""
    cards = make_cards(mined, [*mined.candidates, *mined.dropped], decided)
    sample, groups = _arrange(cards)
    text = fill_template(
        "mine.html.j2",
        ("style.css", "mine.css"),
        ("mine.js",),
        repository=mined.repo.name,
        changes=len(mined.commits) - 1,
        decided=decided,
        count=len(cards),
        sample=sample,
        groups=groups,
    )
    try:
        files.write(page, text)
    except OSError as error:
        refuse(page, error)


def make_cards(mined: Mined, shown: Sequence[Candidate], decided: Mapping[str, Judgement]) -> list[Card]:
    """Each with the lines that left and came."""
    places = [(stand.commit, stand.path) for each in shown for stand in each.stands]
    texts = dict(zip(places, read_texts(mined.repo, places), strict=True))
    return [Card(each, tuple(_list_diffs(each, texts)), decided.get(each.id)) for each in shown]


def _arrange(cards: Sequence[Card]) -> tuple[list[Card], list[Group]]:
    """A sample, drawn by the digests of candidates, if there are many; then all others by commit, the newest first."""
    drawn = sorted(cards, key=lambda card: card.candidate.id)[: SAMPLE if len(cards) > 2 * SAMPLE else 0]
    by_commit: dict[str, list[Card]] = {}
    for card in cards:
        if card not in drawn:
            by_commit.setdefault(card.candidate.commits[-1].hash, []).append(card)
    for own in by_commit.values():
        own.sort(key=lambda card: (card.candidate.kind, card.candidate.file))
    # the commit of a diff, whose subject shows no secret
    groups = [Group(own[0].diffs[-1].commit, tuple(own)) for own in by_commit.values()]
    return drawn, sorted(groups, key=lambda group: (group.commit.at, group.commit.hash), reverse=True)


def _list_diffs(candidate: Candidate, texts: Mapping[tuple[str, str], str | None]) -> Iterator[Diff]:
    # not strict, as stands are one more than commits
    for old, new, commit in zip(candidate.stands, candidate.stands[1:], candidate.commits, strict=False):
        before, after = (_list_around(texts[stand.commit, stand.path] or "", stand.line) for stand in (old, new))
        commit = replace(commit, subject=_hide(commit.subject))
        yield Diff(commit, new.path, tuple(_list_rows(before, after, old.line, new.line)))


def _list_around(text: str, line: int) -> dict[int, str]:
    """The lines around one by their numbers."""
    start = max(0, line - 1 - BESIDE)
    around = _hide("\n".join(text.split("\n")[start : line + BESIDE]))
    return dict(enumerate(around.split("\n"), start + 1))


def _hide(text: str) -> str:
    """The text without secrets, in as many lines."""
    shown = [*text]
    for begin, end in list_places(text):
        # as many characters as before, so that the other places stay right
        shown[begin:end] = [letter if letter == "\n" else HIDDEN for letter in text[begin:end]]
    return "".join(shown)


def _list_rows(before: Mapping[int, str], after: Mapping[int, str], old: int, new: int) -> Iterator[Row]:
    yield from (Row(" ", number, text) for number, text in after.items() if number < new)
    yield from (Row(sign, at, rows[at]) for sign, rows, at in (("-", before, old), ("+", after, new)) if at in rows)
    yield from (Row(" ", number, text) for number, text in after.items() if number > new)
