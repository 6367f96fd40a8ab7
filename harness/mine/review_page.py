"""A page on which a person keeps or drops candidates, and the file that remembers what was decided.

The page is one file without network. It saves `decisions.json`, {"candidates": {ID: "keep" | "drop"}}.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.machine import documents, files, shortage
from harness.machine.documents import DocumentError
from harness.mine.candidates import Candidate, Stand
from harness.mine.mining import Judgement, Mined, MineError
from harness.repo.changes import Commit, read_texts
from harness.report.outputs.page import digest, make_environment, read_assets

SAMPLE = 20
"""Candidates that are shown first, where there are more than twice as many: by these one sees what the others are."""
AROUND = 3
"""Lines shown above and below a value."""


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
        found = Counter(card.candidate.kind for card in self.cards)
        return [(kind, many) for kind, many in sorted(found.items()) if 1 < many < len(self.cards)]


def read(file: Path) -> dict[str, Judgement]:
    """What was decided, by id of the candidate. Raises MineError for a file that is none of ours."""
    try:
        candidates = documents.read_json(file)["candidates"]
        if not all(isinstance(name, str) and judged in ("keep", "drop") for name, judged in candidates.items()):
            raise ValueError
    except DocumentError as error:
        raise MineError(f"{file}: is no file that a page of `coldwarm mine --review` saved: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise MineError(f"{file}: is no file that a page of `coldwarm mine --review` saved") from None
    return dict(candidates)


def write(mined: Mined, page: Path, decided: Mapping[str, Judgement]) -> None:
    """Writes the page, with what was decided before: nothing of it is lost when the page saves."""
    cards = make_cards(mined, [*mined.candidates, *mined.dropped], decided)
    sample, groups = _arrange(cards)
    style = read_assets(("style.css", "mine.css"))
    script = read_assets(("mine.js",))
    text = (
        make_environment()
        .get_template("mine.html.j2")
        .render(
            style=style,
            style_hash=digest(style),
            script=script,
            script_hash=digest(script),
            repository=mined.repo.name,
            changes=len(mined.commits) - 1,
            decided=decided,
            count=len(cards),
            sample=sample,
            groups=groups,
        )
    )
    try:
        files.write(page, text)
    except OSError as error:
        raise MineError(f"{page}: cannot be written: {shortage.tell(error)}") from None


def make_cards(mined: Mined, shown: Sequence[Candidate], decided: Mapping[str, Judgement]) -> list[Card]:
    """Each with the lines that left and came."""
    places = [(stand.commit, stand.path) for each in shown for stand in each.stands]
    texts = dict(zip(places, read_texts(mined.repo, places), strict=True))
    return [Card(each, tuple(_list_diffs(each, texts)), decided.get(each.id)) for each in shown]


def _arrange(cards: Sequence[Card]) -> tuple[list[Card], list[Group]]:
    """A sample, drawn by the digests of candidates, if there are many; then all others by commit, the newest first."""
    drawn = sorted(cards, key=lambda card: card.candidate.id)[: SAMPLE if len(cards) > 2 * SAMPLE else 0]
    groups: dict[str, list[Card]] = {}
    for card in cards:
        if card not in drawn:
            groups.setdefault(card.candidate.commits[-1].hash, []).append(card)
    for own in groups.values():
        own.sort(key=lambda card: (card.candidate.kind, card.candidate.file))
    made = [Group(own[0].candidate.commits[-1], tuple(own)) for own in groups.values()]
    return drawn, sorted(made, key=lambda group: (group.commit.at, group.commit.hash), reverse=True)


def _list_diffs(candidate: Candidate, texts: Mapping[tuple[str, str], str | None]) -> Iterator[Diff]:
    for old, new, commit in zip(candidate.stands, candidate.stands[1:], candidate.commits, strict=False):
        before, after = _split_rows(texts[old.commit, old.path]), _split_rows(texts[new.commit, new.path])
        yield Diff(commit, new.path, tuple(_list_rows(before, after, old, new)))


def _split_rows(text: str | None) -> list[str]:
    return (text or "").split("\n")


def _list_rows(before: Sequence[str], after: Sequence[str], old: Stand, new: Stand) -> Iterator[Row]:
    start = max(0, new.line - 1 - AROUND)
    yield from (Row(" ", start + at + 1, text) for at, text in enumerate(after[start : new.line - 1]))
    yield from (Row("-", old.line, text) for text in before[old.line - 1 : old.line])
    yield from (Row("+", new.line, text) for text in after[new.line - 1 : new.line])
    yield from (Row(" ", new.line + at + 1, text) for at, text in enumerate(after[new.line : new.line + AROUND]))
