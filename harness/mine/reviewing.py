"""A page on which a person keeps or drops candidates, and the file that remembers what was decided.

The page is one file without network. It saves `decisions.json`, {"candidates": {ID: "keep" | "drop"}}.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.machine import documents, files
from harness.machine.documents import DocumentError
from harness.mine.candidates import Candidate, Stand
from harness.mine.mining import Judgement, Mined, MineError
from harness.repo.changes import Commit, read_texts
from harness.report.outputs import templating

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


def read(file: Path) -> dict[str, Judgement]:
    """What was decided, by id of the candidate. Raises MineError for a file that is none of ours."""
    try:
        said = documents.read_json(file)["candidates"]
        if not all(isinstance(name, str) and judged in ("keep", "drop") for name, judged in said.items()):
            raise ValueError
    except DocumentError as error:
        raise MineError(f"{file}: is no file that a page of `coldwarm mine --review` saved: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise MineError(f"{file}: is no file that a page of `coldwarm mine --review` saved") from None
    return dict(said)


def write(mined: Mined, page: Path, decided: Mapping[str, Judgement]) -> None:
    """Writes the page, with what was decided before: nothing of it is lost when the page saves."""
    style = templating.read(("style.css", "mine.css"))
    script = templating.read(("mine.js",))
    text = (
        templating.environment()
        .get_template("mine.html.j2")
        .render(
            style=style,
            style_hash=templating.digest(style),
            script=script,
            script_hash=templating.digest(script),
            repository=mined.repo.name,
            changes=len(mined.commits) - 1,
            decided=decided,
            cards=_make_cards(mined, decided),
        )
    )
    try:
        files.write(page, text)
    except OSError as error:
        raise MineError(f"{page}: cannot be written: {error.strerror}") from None


def _make_cards(mined: Mined, decided: Mapping[str, Judgement]) -> list[Card]:
    shown = [*mined.candidates, *mined.dropped]
    places = [(stand.commit, stand.path) for each in shown for stand in each.stands]
    texts = dict(zip(places, read_texts(mined.repo, places), strict=True))
    return [
        Card(each, tuple(_list_diffs(each, texts)), decided.get(each.id))
        for each in sorted(shown, key=lambda each: (each.kind, each.file, each.changed))
    ]


def _list_diffs(candidate: Candidate, texts: Mapping[tuple[str, str], str | None]) -> Iterator[Diff]:
    for old, new, commit in zip(candidate.stands, candidate.stands[1:], candidate.commits, strict=False):
        before, after = _rows(texts[old.commit, old.path]), _rows(texts[new.commit, new.path])
        yield Diff(commit, new.path, tuple(_list_rows(before, after, old, new)))


def _rows(text: str | None) -> list[str]:
    return (text or "").split("\n")


def _list_rows(before: Sequence[str], after: Sequence[str], old: Stand, new: Stand) -> Iterator[Row]:
    start = max(0, new.line - 1 - AROUND)
    yield from (Row(" ", start + at + 1, text) for at, text in enumerate(after[start : new.line - 1]))
    yield from (Row("-", old.line, text) for text in before[old.line - 1 : old.line])
    yield from (Row("+", new.line, text) for text in after[new.line - 1 : new.line])
    yield from (Row(" ", new.line + at + 1, text) for at, text in enumerate(after[new.line : new.line + AROUND]))
