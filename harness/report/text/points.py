"""Points of the verdict: what one is, those on what the memory can be trusted with, and what a run cannot tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.compare.comparisons import find_dominated
from harness.compare.rows import DOMINANCE, DUMP, ENOUGH
from harness.metrics.completion import DECISIONS_RIGHT, GUESSED_RIGHT
from harness.model.results import Comparison, Results
from harness.model.trial import SCRIPTED, Measured
from harness.report import words
from harness.report.model.board import Board, BoardRow, Head
from harness.report.model.judges import SPEED
from harness.report.model.table import ScoreboardCell

# --- a point ----------------------------------------------------------------------------------------------------------

Tone = Literal["good", "bad", "plain"]
NAMED = 4
"""As many backends as a sentence names; of more it says how many, as the scoreboard below names them."""


@dataclass(frozen=True)
class Claim:
    """What a sentence says of one backend, and the cell of the scoreboard that says the same."""

    phrase: str
    row: str
    column: str


@dataclass(frozen=True)
class VerdictLine:
    """One point of the verdict. `topic` is the part of the page that goes on with it.

    Attributes:
        claims: In the order of the text.
        rests: The comparisons that it is made from.
    """

    text: str
    topic: str
    tone: Tone = "plain"
    claims: tuple[Claim, ...] = ()
    rests: tuple[Comparison, ...] = ()


def shorten(claims: Sequence[Claim], reached: str = "") -> list[Claim]:
    """All of a few; of many how many they are, and what they reach."""
    if len(claims) <= NAMED:
        return [*claims]
    beside = f" ({reached})" if reached else ""
    # The first stands for all of them: its cell is where the sentence leads.
    return [replace(claims[0], phrase=f"{len(claims)} backends{beside}")]


# --- what went wrong, then what was clean -----------------------------------------------------------------------------

Cells = Sequence[tuple[BoardRow, ScoreboardCell]]
FEW = 6
"""As many backends as have a point of their own on what is wrong with each."""


def tell_trust(sound: Board, board: Board) -> Iterator[VerdictLine]:
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
    """`Sources: all sources proven in bm25 and chroma; no number for notes.`: what was not measured is not clean."""
    known = {row.key for row, _ in cells}
    others = [row.name for row in board.rows if not row.cold and row.key not in known]
    sound, rest = (
        words.join_words(names) if len(names) <= NAMED else f"{len(names)} backends"
        for names in ([row.name for row, _ in cells], others)
    )
    return f"{column.head}: {column.clean or 'passed'} in {sound}; no number for {rest}."


def _is_told(score: ScoreboardCell) -> bool:
    return score.measured or score.judgement == "bad"


def _judge_rows(board: Board, wrong: Sequence[tuple[Head, Cells]]) -> Iterator[VerdictLine]:
    """A point for each backend: `chroma: deleted texts still on the disk (26 of 26)`."""
    sound = dict[bool, list[str]]()
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
        elif _failed_nowhere(board, row) and any(other.key == row.key for _, cells in wrong for other, _ in cells):
            sound.setdefault(_is_whole(board, row), []).append(row.name)
    sentences = {True: "every test passed", False: "every test that could run passed"}
    if sound:
        # Reversed, as True sorts last: those of which every test ran come first.
        text = " ".join(
            f"{words.join_words(names)}: {sentences[whole]}." for whole, names in sorted(sound.items())[::-1]
        )
        yield VerdictLine(text, wrong[0][0].topic, "good")


def _failed_nowhere(board: Board, row: BoardRow) -> bool:
    """In no column of trust, speed among them, which has no point of its own."""
    return not row.cold and all(board.find(row.key, head.id).judgement != "bad" for head in board.trust)


def _is_whole(board: Board, row: BoardRow) -> bool:
    """Whether no column of trust lacks its number."""
    return all(board.find(row.key, head.id).measured for head in board.trust)


def _judge_column(column: Head, cells: Cells) -> VerdictLine:
    """`Deletion: chroma and mem0: deleted texts still on the disk (26 of 26)`; then who is clean."""
    groups: dict[str, list[BoardRow]] = {}
    for row, score in cells:
        if score.judgement == "bad":
            groups.setdefault(_tell_fault(score), []).append(row)
    claims = []
    for problem, held in groups.items():
        names = words.join_words([row.name for row in held]) if len(held) <= NAMED else f"{len(held)} backends"
        claims.append(Claim(f"{names}: {problem}", held[0].key, column.id))
    sound = [row for row, score in cells if score.judgement == "good"]
    rest = shorten([Claim(row.name, row.key, column.id) for row in sound]) if column.clean else []
    text = f"{column.head}: {'; '.join(each.phrase for each in claims)}."
    if rest:
        text += f" {column.clean[0].upper()}{column.clean[1:]}: {words.join_words([each.phrase for each in rest])}."
    return VerdictLine(text, column.topic, "bad", (*claims, *rest))


def _tell_fault(score: ScoreboardCell, whose: str = "") -> str:
    if not score.measured:
        return f"the test{whose} failed"
    return score.cases[0].told if score.cases else f"{score.word} ({score.text})" if score.word else score.text


# --- what a run cannot tell: for the verdict in short, for the page in full -------------------------------------------

SCRIPTED_READER = (
    "What a live agent would do: the scripted reader follows fixed rules. It compares memories under equal reading "
    "and predicts no agent's success."
)
SCRIPT = "Fixed rules took the decisions; how a live agent would decide was not measured."
NAMED_LACKING = 2
"""As many backends as are named with what has no number."""
ONE_READER = "What another agent would do: the reader {reader} did the jobs, and it is one of many."
DRILLS = (
    "How likely a fault of trust is in your use: a drill shows what can happen in one store of some hundred memories, "
    "with this machine's builds of libraries. Its intervals are over the drill's own cases."
)


def _tell_doubtful(board: Board, doubted: Collection[str]) -> Iterator[str]:
    """What was counted against a row whose calls failed: `What went wrong with x may be due to that: ...`"""
    wrong = [
        (row, _tell_fault(score))
        for _, cells in _list_told(board)
        for row, score in cells
        if row.key in doubted and score.measured and score.judgement == "bad"
    ]
    for row in {row.key: row for row, _ in wrong}.values():
        faults = words.join_words([fault for other, fault in wrong if other.key == row.key])
        yield f"What went wrong with {row.name} may be due to that: {faults}."


def tell_limits(results: Results, board: Board) -> Iterator[str]:
    """Sentences for the last point of the verdict."""
    if results.stories:
        yield tell_reach(results)
    yield from _tell_lacking(board)
    doubted, failing = results.doubted(), results.beyond()
    if names := [row.name for row in board.rows if row.key in doubted]:
        failed = f"the calls of {words.join_words(names)} failed"
        yield f"As {failed}, nothing is concluded of what the table shows for {'it' if len(names) == 1 else 'them'}."
        yield from _tell_doubtful(board, doubted)
    for row in board.rows:
        # Of the doubted nothing is concluded at all, as was just said.
        if row.key in failing.keys() - doubted.keys():
            count = sum(each.count for each in failing[row.key])
            brought = "it would have brought" if count == 1 else "they would have brought"
            failed = f"{count:,} of {results.calls[row.key]:,}"
            yield f"Of {row.name}, {failed} calls failed: what {brought} counts as missing."
    if results.stories:
        scripted = results.run.conditions.reader == SCRIPTED
        yield SCRIPT if scripted else "Another agent may decide otherwise."


def _tell_lacking(board: Board) -> Iterator[str]:
    """`There is no number for notes in Sources and Dates.`; of many backends, how many."""
    lacking: dict[str, list[str]] = {}
    for row in board.rows:
        for column, score in zip(board.columns, row.scores, strict=True):
            if not score.measured and score.why:
                lacking.setdefault(row.name, []).append(column.head)
    if len(lacking) > NAMED_LACKING:
        many = words.format_count(sum(map(len, lacking.values())), "number is", "numbers are")
        yield f"{many[0].upper()}{many[1:]} missing in the table; the word in each such cell says why."
    elif lacking:
        whole = len(board.columns)
        sentences = [
            f"{name} in {'every column' if len(heads) == whole else words.join_words(heads)}"
            for name, heads in lacking.items()
        ]
        yield f"There is no number for {'; for '.join(sentences)}."


def explain_limits(results: Results) -> list[str]:
    """What a reader must not take from this run, each point in full."""
    if not results.stories:
        return [DRILLS]
    reader = results.run.conditions.reader
    first = SCRIPTED_READER if reader == SCRIPTED else ONE_READER.format(reader=words.make_visible(reader, 60))
    sentences = [first, *([DRILLS] if results.trust else []), *_tell_guesses(results)]
    many = len(results.stories)
    sentences.append(tell_reach(results))
    if commits := sum(story.commits for story in results.stories):
        cases = f"{words.format_count(many, 'story', 'stories')} that {words.format_count(commits, 'commit')} made"
        counted = words.format_count(many, "cluster")
        sentences.append(
            f"How many cases these are: {cases}. No two tell of one commit, so statistics count {counted}, not facts."
        )
    if many < ENOUGH:
        sentences.append(f"How sure a number is: with fewer than {ENOUGH} stories, no interval is given.")
    if too_easy := find_dominated(results.comparisons):
        things = words.join_words([words.label(measure) for measure in DOMINANCE])
        sentences.append(
            f"What it is worth to be selective: at noise {results.run.conditions.headline_noise} {DUMP}, which gives "
            "back everything, is as good as "
            f"{words.join_words([words.make_visible(name, 40) for name in too_easy])} in "
            f"{things}, and better in at least one of them. These stories are too easy."
        )
    return sentences


def tell_reach(results: Results) -> str:
    """The number of stories below which no difference in decisions is proven, whatever it is between."""
    many = words.format_count(len(results.stories), "story", "stories")
    able = [
        each.reach.least
        for each in results.comparisons
        if each.measure == DECISIONS_RIGHT and each.able and each.reach is not None
    ]
    if not able:
        return f"With {many}, no difference in decisions can be proven."
    return (
        f"With {many}, a difference is proven only if at least {min(able)} of them show it and clearly outweigh those "
        "that show the opposite."
    )


def _tell_guesses(results: Results) -> list[str]:
    """What a model decides right without a memory, where only a memory can know, was guessed."""
    if results.run.conditions.reader == SCRIPTED:
        return []
    cold = [cell.measures.get(GUESSED_RIGHT) for cell in results.cells if cell.arm == "cold"]
    measured = [each for each in cold if isinstance(each, Measured) and each.of]
    hits, of = sum(each.hits or 0 for each in measured), sum(each.of or 0 for each in measured)
    return (
        [f"Guessed: without a memory, {hits:g} of {of} decisions that only a memory can know came out right."]
        if of
        else []
    )
