"""What the memory can be trusted with, in sentences: what went wrong, then what was clean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.report import words
from harness.report.model.board import Board, BoardRow, Head
from harness.report.model.judges import SPEED
from harness.report.model.table import Score
from harness.report.text.lines import NAMED, Claim, VerdictLine, shorten

Cells = Sequence[tuple[BoardRow, Score]]
FEW = 6
"""As many backends as have a point of their own on what is wrong with each."""


def judge(sound: Board, board: Board) -> Iterator[VerdictLine]:
    """What went wrong, of a few backends one by one, of many column by column; then what was clean everywhere.

    Args:
        sound: The board without the rows of which nothing is concluded; what no row failed in, no row of all did.
    """
    columns = _list_told(sound)
    wrong = [(column, cells) for column, cells in columns if any(score.judgement == "bad" for _, score in cells)]
    if sum(not row.cold for row in sound.rows) <= FEW:
        yield from _judge_rows(sound, wrong)
    else:
        yield from (_judge_column(column, cells) for column, cells in wrong)
    columns = _list_told(board)
    clean = [each for each in columns if all(score.judgement == "good" for _, score in each[1])]
    whole = [(column, cells) for column, cells in clean if len(cells) == sum(not row.cold for row in board.rows)]
    clean_columns = [f"{column.head} ({column.clean})" if column.clean else column.head for column, _ in whole]
    parts = [f"No test failed with any backend in: {', '.join(clean_columns)}."] if clean_columns else []
    parts += [_tell_partly(board, column, cells) for column, cells in clean if (column, cells) not in whole]
    if parts:
        yield VerdictLine(" ".join(parts), columns[-1][0].topic, "good")


def _list_told(board: Board) -> list[tuple[Head, Cells]]:
    """The columns of trust with the rows of which they say something; of speed the scoreboard alone tells."""
    return [
        (column, cells)
        for column in board.trust
        if column.id != SPEED
        if (cells := [(row, score) for row, score in board.list_scores(column.id) if _is_told(score)])
    ]


def _tell_partly(board: Board, column: Head, cells: Cells) -> str:
    """`Sources: all proven in bm25 and chroma; no number for notes.`: what was not measured is not clean."""
    known = {row.key for row, _ in cells}
    others = [row.name for row in board.rows if not row.cold and row.key not in known]
    sound, rest = (
        words.join_words(names) if len(names) <= NAMED else f"{len(names)} backends"
        for names in ([row.name for row, _ in cells], others)
    )
    return f"{column.head}: {column.clean or 'passed'} in {sound}; no number for {rest}."


def _is_told(score: Score) -> bool:
    return score.measured or score.judgement == "bad"


def _judge_rows(board: Board, wrong: Sequence[tuple[Head, Cells]]) -> Iterator[VerdictLine]:
    """A point for each backend: `chroma: deleted texts still on the disk (26 of 26)`."""
    sound = []
    for row in board.rows:
        claims = [
            Claim(_tell_fault(score, f" of {column.head}"), row.key, column.id)
            for column, cells in wrong
            for other, score in cells
            if other.key == row.key and score.judgement == "bad"
        ]
        if claims:
            text = f"{row.name}: {'; '.join(each.phrase for each in claims)}."
            yield VerdictLine(text, wrong[0][0].topic, "bad", tuple(claims))
        elif not row.cold and any(other.key == row.key for _, cells in wrong for other, _ in cells):
            sound.append(row.name)
    if sound:
        text = f"{words.join_words(sound)}: every test that could be made passed."
        yield VerdictLine(text, wrong[0][0].topic, "good")


def _judge_column(column: Head, cells: Cells) -> VerdictLine:
    """`Deletion: chroma and mem0: deleted texts still on the disk (26 of 26)`; then who is clean."""
    groups: dict[str, list[BoardRow]] = {}
    for row, score in cells:
        if score.judgement == "bad":
            groups.setdefault(_tell_fault(score), []).append(row)
    claims = []
    for told, held in groups.items():
        names = words.join_words([row.name for row in held]) if len(held) <= NAMED else f"{len(held)} backends"
        claims.append(Claim(f"{names}: {told}", held[0].key, column.id))
    sound = [row for row, score in cells if score.judgement == "good"]
    rest = shorten([Claim(row.name, row.key, column.id) for row in sound]) if column.clean else []
    text = f"{column.head}: {'; '.join(each.phrase for each in claims)}."
    if rest:
        text += f" {column.clean[0].upper()}{column.clean[1:]}: {words.join_words([each.phrase for each in rest])}."
    return VerdictLine(text, column.topic, "bad", (*claims, *rest))


def _tell_fault(score: Score, whose: str = "") -> str:
    if not score.measured:
        return f"the test{whose} failed"
    return score.cases[0].told if score.cases else f"{score.word} ({score.text})" if score.word else score.text
