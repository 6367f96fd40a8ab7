"""The verdict: plain sentences, each made from counts and comparisons, and true under every way of working it names.

Where the data contradict a template, the sentence is left out. What a sentence says of one backend depends on that
backend alone; only sentences that compare backends look at several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Comparison, Results, Unplayed
from harness.model.trial import ReadPolicy, WritePolicy
from harness.report import words
from harness.report.model import table, ways, work
from harness.report.model.board import Board, BoardRow
from harness.report.model.score import Score
from harness.report.model.ways import READS, Spread
from harness.report.text import limits

Tone = Literal["good", "bad", "plain"]
NAMED = 4
"""As many backends as a sentence names; of more it says how many, as the scoreboard below names them."""
WORK = ("decisions", "stale", "recalled", "cost", "speed")
"""Columns that are told by sentences of their own, or by the scoreboard alone."""


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


def judge(results: Results, board: Board) -> list[VerdictLine]:
    """The agent's work first, then what the memory can be trusted with, then what the run does not tell.

    Nothing is concluded about a backend whose calls failed: what its row says may be the failures' doing.
    """
    failing = [table.show_name(results, name) for name in results.beyond()]
    if board.empty:
        why = "".join(f" {_tell_absent(each)}." for each in results.run.unplayed)
        if failing:
            why += f" The calls of {words.join_words(failing)} failed."
        return [VerdictLine(f"Nothing was measured of any backend.{why}", "not-measured", "bad")]
    sound = replace(board, rows=tuple(row for row in board.rows if row.key not in results.beyond()))
    found = [*_judge_decisions(results, sound), *_advise(results, sound), *_compare(results, sound), *_trust(sound)]
    if not results.trust:
        found.append(VerdictLine("Trust was not tested: no drill was played.", "not-measured"))
    if failing and not found:
        only = f"Nothing can be concluded: the calls of {words.join_words(failing)} failed."
        found = [VerdictLine(only, "not-measured", "bad")]
    return [*found, VerdictLine(" ".join(limits.tell(results, board)), "limits")]


def _tell_absent(each: Unplayed) -> str:
    """What was not allowed to be absent has a band above the verdict, with its reason."""
    reason = f": {words.visible(each.reason, 200)}" if each.allowed else ""
    return f"{words.visible(each.backend, 60)} could not run{reason}"


# --- the agent's work ---------------------------------------------------------------------------------------------

Reached = tuple[BoardRow, Spread]


def _list_reached(results: Results, board: Board) -> list[Reached]:
    """Every row with its right decisions in the write policy that suits it best, the highest counts first."""
    found = [
        (row, spread)
        for row in board.rows
        if not row.cold and row.key not in results.like_oracle
        if (spread := ways.spread(results, row.key, DECISIONS_RIGHT, ways.best_write(results, row.key))) is not None
    ]
    return sorted(found, key=lambda each: (tuple(-number for number in each[1].numbers), each[0].name))


def _judge_decisions(results: Results, board: Board) -> Iterator[VerdictLine]:
    """Whether memory helps: rows of one write policy and one word share a sentence."""
    held = results.run.conditions
    cold = ways.spread(results, COLD, DECISIONS_RIGHT, held.headline_write)
    if cold is None:
        return
    groups: dict[tuple[str, str], list[Reached]] = {}
    for row, spread in _list_reached(results, board):
        _, word = work.tell_standing(ways.stand(results, row.key, spread.write or held.headline_write))
        groups.setdefault((word, spread.write or ""), []).append((row, spread))
    base = f"{cold.text} of {cold.of:,}" if cold.of else cold.text
    for (word, write), reached in groups.items():
        claims = [_claim(row, spread.text, "decisions") for row, spread in reached]
        claims = _shorten(claims, [spread for _, spread in reached])
        names = words.join_words([each.phrase for each in claims])
        way = f", {ways.WRITTEN[write]}" if len(results.list_writes()) > 1 and write in ways.WRITTEN else ""  # type: ignore[index]
        text, tone = _tell_standing(word, names, len(reached), base, way)
        rests = tuple(_list_rests(results, [row.key for row, _ in reached]))
        yield VerdictLine(text, "work", tone, tuple(claims), rests)


def _tell_standing(word: str, names: str, many: int, base: str, way: str) -> tuple[str, Tone]:
    leads = "leads" if many == 1 else "lead"
    if word == "better than no memory":
        return f"Memory helps. Without it, {base} decisions are right; {names}{way}, {leads} to more.", "good"
    if word == "worse than no memory":
        return f"{names}{way}, {leads} to fewer right decisions than no memory ({base}).", "bad"
    if word == "no difference shown":
        return f"No difference to no memory ({base} decisions right) was shown for {names}{way}.", "plain"
    if word == "too few stories":
        return f"Too few stories to tell whether memory helps: right decisions without it {base}; {names}{way}.", "plain"
    return f"{names}{way}: {word}. Without memory, {base} decisions are right.", "plain"


def _list_rests(results: Results, keys: Sequence[str]) -> Iterator[Comparison]:
    for key in keys:
        for each in results.list_comparisons(ways.best_write(results, key)):
            if each.measure == DECISIONS_RIGHT and {each.left, each.right} == {COLD, key}:
                yield each


def _advise(results: Results, board: Board) -> Iterator[VerdictLine]:
    """What a look-up before each write changes, under each read policy: counts of the rows that had both."""
    keys = [row.key for row in board.rows if not row.cold and row.key not in results.like_oracle]
    told = []
    for read in ways.list_reads(results):
        pairs = [
            (ways.count(before), ways.count(after), after.of or 0)
            for key in keys
            if (before := ways.pool(results, key, DECISIONS_RIGHT, "append", read)) is not None
            and (after := ways.pool(results, key, DECISIONS_RIGHT, "curated", read)) is not None
            and before.value is not None and after.value is not None
        ]  # fmt: skip
        if pairs:
            told.append((read, pairs))
    if not told or any(not pairs for _, pairs in told):
        return
    of = f" of {told[0][1][0][2]:,}" if len({pair[2] for _, pairs in told for pair in pairs}) == 1 else ""
    parts = [
        f"{_range([after for _, after, _ in pairs])}{of if not at else ''} instead of "
        f"{_range([before for before, _, _ in pairs])} if the agent {READS[read]}"
        for at, (read, pairs) in enumerate(told)
    ]
    everywhere = all(after >= before for _, pairs in told for before, after, _ in pairs)
    gains = everywhere and any(after > before for _, pairs in told for before, after, _ in pairs)
    head = "Search for the old note and replace it before you write" if gains else "A look-up before each write"
    yield VerdictLine(f"{head}: right decisions are {'; '.join(parts)}.", "policies", "good" if gains else "plain")


def _range(values: Sequence[float]) -> str:
    return ways.show_range(min(values), max(values))


def _compare(results: Results, board: Board) -> Iterator[VerdictLine]:
    """What differs between backends, and under which read policies; rows that are equal in all are said to be so."""
    tested = {row.key for row in board.rows if not row.cold}
    text = [line for group, line in zip(results.twins, board.equals, strict=True) if set(group.rows) <= tested]
    writes = [ways.best_write(results, key) for key in tested if ways.spreads(results, key, DECISIONS_RIGHT)]
    rests: tuple[Comparison, ...] = ()
    if writes:
        write = max(sorted(set(writes)), key=writes.count)
        told, rests = _compare_under(results, tested, write)
        text += told
    if text:
        yield VerdictLine(" ".join(text), "work", rests=rests)


def _compare_under(
    results: Results, tested: set[str], write: WritePolicy
) -> tuple[list[str], tuple[Comparison, ...]]:
    pairs = [
        each
        for read in ways.list_reads(results)
        for each in results.list_comparisons(write, read)
        if each.measure == DECISIONS_RIGHT and each.able and {each.left, each.right} <= tested
    ]
    found: dict[frozenset[str], dict[ReadPolicy, str]] = {}
    for each in pairs:
        found.setdefault(frozenset((each.left, each.right)), {})[each.read_policy] = _find_winner(each)
    if not found:
        return [], ()
    told, reads = list[str](), len(ways.list_reads(results))
    beaten: dict[tuple[str, str], list[str]] = {}
    for pair, winners in sorted(found.items(), key=lambda each: sorted(each[0])):
        shown = {winner for winner in winners.values() if winner}
        if len(shown) == 1:
            (winner,) = shown
            when = [READS[read] for read, each in winners.items() if each]
            how = "" if len(when) == len(winners) == reads else f" if the agent {' or '.join(when)}"
            beaten.setdefault((winner, how), []).extend(pair - {winner})
    for (winner, how), losers in beaten.items():
        names = words.join_words([table.name_row(results, name) for name in sorted(losers)])
        told.append(f"{table.name_row(results, winner)} leads to more right decisions than {names}{how}.")
    alike = [pair for pair, winners in found.items() if not any(winners.values())]
    names_alike = sorted({name for pair in alike for name in pair})
    if alike and len(alike) == len(names_alike) * (len(names_alike) - 1) // 2:
        joined = words.join_words([table.name_row(results, name) for name in names_alike])
        told.append(f"Between {joined} no difference in right decisions was shown.")
    if len(told) > NAMED:
        told = [f"Of {len(found)} pairs of backends, {len(found) - len(alike)} differ in right decisions."]
    return told, tuple(pairs)


def _find_winner(comparison: Comparison) -> str:
    sides = {"left-better": comparison.left, "right-better": comparison.right}
    return sides.get(comparison.verdict, "")


# --- trust --------------------------------------------------------------------------------------------------------


def _trust(board: Board) -> Iterator[VerdictLine]:
    """A point for each column in which something went wrong, then what was clean everywhere."""
    clean = []
    for column in board.columns:
        if column.id in WORK:
            continue
        cells = [(row, score) for row, score in board.list_scores(column.id) if score.measured or score.judgement == "bad"]
        wrong = [(row, score) for row, score in cells if score.judgement == "bad"]
        if wrong:
            claims = list(_tell_wrong(wrong, column.id))
            sound = [row for row, score in cells if score.judgement == "good"]
            rest = _shorten([Claim(row.name, row.key, column.id) for row in sound], [])
            text = f"{column.head}: {'; '.join(each.phrase for each in claims)}."
            if rest and column.clean:
                text += f" {column.clean[0].upper()}{column.clean[1:]}: {words.join_words([each.phrase for each in rest])}."
            yield VerdictLine(text, "trust", "bad", (*claims, *rest) if column.clean else tuple(claims))
        elif cells and all(score.judgement == "good" for _, score in cells):
            clean.append(f"{column.head} ({column.clean})" if column.clean else column.head)
    if clean:
        yield VerdictLine(f"Nothing went wrong in: {', '.join(clean)}.", "trust", "good")


def _tell_wrong(wrong: Sequence[tuple[BoardRow, Score]], column: str) -> Iterator[Claim]:
    """Rows with the same gravest case together: `chroma and mem0: 26 of 26 deleted texts on the disk`."""
    groups: dict[tuple[str, str], list[BoardRow]] = {}
    for row, score in wrong:
        groups.setdefault((score.word or score.why, score.text), []).append(row)
    for (word, text), held in groups.items():
        names = words.join_words([row.name for row in held]) if len(held) <= NAMED else f"{len(held)} backends"
        each = " each" if len(held) > 1 else ""
        yield Claim(f"{names}: {text}{each} {word}".rstrip(), held[0].key, column)


def _claim(row: BoardRow, text: str, column: str) -> Claim:
    return Claim(f"{row.name} ({text})", row.key, column)


def _shorten(claims: list[Claim], spreads: Sequence[Spread]) -> list[Claim]:
    """All of a few; of many how many they are, with the range of what they reach."""
    if len(claims) <= NAMED:
        return claims
    reached = ""
    if spreads:
        low, high = min(each.numbers[0] for each in spreads), max(each.numbers[1] for each in spreads)
        reached = f" ({ways.show_range(low, high)})"
    return [replace(claims[0], phrase=f"{len(claims)} backends{reached}")]


def list_by_row(lines: Sequence[VerdictLine]) -> Mapping[str, list[VerdictLine]]:
    """The points that make a claim about each row."""
    found: dict[str, list[VerdictLine]] = {}
    for line in lines:
        for claim in line.claims:
            found.setdefault(claim.row, []).append(line)
    return found
