"""The verdict: plain sentences, each made from counts and comparisons, and true under every way of working it names.

Where the data contradict a template, the sentence is left out. What a sentence says of one backend depends on that
backend alone; only sentences that compare backends look at several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Comparison, Pooled, Results, Unplayed
from harness.model.trial import Measured, ReadPolicy, WritePolicy
from harness.report import words
from harness.report.model import table, trust, ways, work
from harness.report.model.board import Board, BoardRow, Head
from harness.report.model.score import Score
from harness.report.model.ways import READS, Spread
from harness.report.text import limits

Tone = Literal["good", "bad", "plain"]
WHICHEVER = "whichever note it later acts on"
"""Under every read policy that was played."""
NAMED = 4
"""As many backends as a sentence names; of more it says how many, as the scoreboard below names them."""
FEW = 6
"""As many backends as have a point of their own on what is wrong with each."""


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
        if not why and any(isinstance(each, Measured) for cell in results.trust for each in cell.measures.values()):
            return [VerdictLine("What was measured is in no column of the scoreboard: the tables have it.", "trust")]
        return [VerdictLine(f"Nothing was measured of any backend.{why}", "not-measured", "bad")]
    sound = replace(board, rows=tuple(row for row in board.rows if row.key not in results.beyond()))
    found = [
        *_judge_decisions(results, sound),
        *_advise(results, sound),
        *_compare(results, sound),
        *_judge_trust(sound),
    ]
    if not results.trust:
        found.append(VerdictLine("No drill was played: of trust, only what the stories show is known.", "not-measured"))
    if failing and not found:
        only = f"Nothing can be concluded: the calls of {words.join_words(failing)} failed."
        found = [VerdictLine(only, "not-measured", "bad")]
    if untold := " ".join(limits.tell(results, board)):
        found.append(VerdictLine(untold, "limits"))
    return found


def _tell_absent(each: Unplayed) -> str:
    """What was not allowed to be absent has a band above the verdict, with its reason."""
    reason = f": {words.visible(each.reason, 200)}" if each.allowed else ""
    return f"{words.visible(each.backend, 60)} could not run{reason}"


# --- the agent's work ---------------------------------------------------------------------------------------------

Reached = tuple[BoardRow, Spread]
Cells = Sequence[tuple[BoardRow, Score]]


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
    groups: dict[tuple[str, str, int], list[Reached]] = {}
    for row, spread in _list_reached(results, board):
        stand = ways.stand(results, row.key, spread.write or held.headline_write)
        _, word = work.tell_standing(stand)
        groups.setdefault((word, spread.write or "", len(stand)), []).append((row, spread))
    base = f"{cold.text} of {cold.of:,}" if cold.of else cold.text
    for (word, _, reads), reached in groups.items():
        claims = [_claim(row, spread.text, "decisions") for row, spread in reached]
        claims = _shorten(claims, [spread for _, spread in reached])
        names = words.join_words([each.phrase for each in claims])
        named = len(results.list_writes()) > 1 and reached[0][1].write
        text, tone = _tell_standing(word, names, base, ways.WRITTEN[named] if named else "", several=reads > 1)
        rests = tuple(_list_rests(results, [row.key for row, _ in reached]))
        yield VerdictLine(text, "work", tone, tuple(claims), rests)


def _tell_standing(word: str, names: str, base: str, written: str, *, several: bool) -> tuple[str, Tone]:
    """One word of the scoreboard as a sentence.

    Args:
        written: What the agent does when it writes; empty if only one write policy was played.
        several: It holds for several read policies.
    """
    way = f", if the agent {written}" if written else ""
    always = f"{way}, {WHICHEVER}" if several else way
    if word == "better than no memory":
        return f"Memory helps with {names}: more decisions are right than without memory ({base}){always}.", "good"
    if word == "worse than no memory":
        return f"With {names}, fewer decisions are right than without memory ({base}){always}.", "bad"
    if word == "no difference shown":
        return f"For {names}, no difference from no memory ({base} right) could be proven{always}.", "plain"
    if word == "too few stories":
        return f"Too few stories to tell whether memory helps: {base} right without it; with {names}{way}.", "plain"
    if word == "not compared":
        return f"With {names}{way}: compared with no memory in no story.", "plain"
    if word.startswith("better if the agent ") and ";" not in word:
        when = word.removeprefix("better if the agent ")
        both = f"{written} and, when it asks, {when}" if written else when
        return (
            f"With {names}, more right decisions than without memory ({base}) were proven only if the agent {both}.",
            "plain",
        )
    tone: Tone = "bad" if "worse" in word else "plain"
    return f"With {names}{way}, right decisions are {word}. Without memory: {base}.", tone


def _list_rests(results: Results, keys: Sequence[str]) -> Iterator[Comparison]:
    for key in keys:
        write = ways.best_write(results, key)
        for (written, _), each in results.against_cold(key, DECISIONS_RIGHT).items():
            if written == write:
                yield each


def _advise(results: Results, board: Board) -> Iterator[VerdictLine]:
    """What a look-up before each write changes: counts under each read policy, from the row with the fewest to the one
    with the most, of the rows that it suits best."""
    gaining, others, pairs = list[str](), list[str](), defaultdict[ReadPolicy, list[tuple[Pooled, Pooled]]](list)
    for row in board.rows:
        own = {} if row.cold or row.key in results.like_oracle else _pair_writes(results, row.key)
        gains = [ways.count(after) - ways.count(before) for before, after in own.values()]
        if gains and max(gains) <= 0:
            others.append(row.name)
        elif gains and ways.best_write(results, row.key) == "curated":
            gaining.append(row.key)
            for read, pair in own.items():
                pairs[read].append(pair)
    if not any(_gains(results, name) for name in gaining):
        return
    names = words.join_words([table.name_row(results, name) for name in gaining])
    cases = {each.of for own in pairs.values() for pair in own for each in pair}
    of = f" of {cases.pop():,}" if len(cases) == 1 and None not in cases else ""
    parts = [
        f"from {_range(before for before, _ in own)} to {_range(after for _, after in own)}{'' if at else of} if it "
        f"{READS[read]}"
        for at, (read, own) in enumerate(pairs.items())
    ]
    names = names if len(gaining) <= NAMED else f"the {len(gaining)} backends"
    ends = ", from the worst backend to the best," if len(gaining) > 1 else ""
    rest = f" {words.join_words(others)} {'gains' if len(others) == 1 else 'gain'} nothing by it." if others else ""
    text = (
        f"The agent should search for the old note and replace it, not only add the new one. With {names}, right "
        f"decisions{ends} then go {', '.join(parts)}.{rest}"
    )
    yield VerdictLine(text, "policies", "good")


def _gains(results: Results, row: str) -> bool:
    """Whether a look-up makes a proven difference: a better standing against no memory under some read policy."""
    order = ("worse", "open", "better")
    before, after = (ways.stand(results, row, write) for write in get_args(WritePolicy))
    pairs = [(before[read], after[read]) for read in before.keys() & after.keys()]
    return any({*pair} <= {*order} and order.index(pair[1]) > order.index(pair[0]) for pair in pairs)


def _pair_writes(results: Results, row: str) -> dict[ReadPolicy, tuple[Pooled, Pooled]]:
    """Right decisions of a row appended and looked up first, under each read policy that has both."""
    found = {}
    for read in ways.list_reads(results):
        before, after = (ways.pool(results, row, DECISIONS_RIGHT, write, read) for write in get_args(WritePolicy))
        if before is not None and after is not None and before.value is not None and after.value is not None:
            found[read] = before, after
    return found


def _range(found: Iterable[Pooled]) -> str:
    values = [ways.count(each) for each in found]
    return ways.show_range(min(values), max(values))


def _compare(results: Results, board: Board) -> Iterator[VerdictLine]:
    """What differs between backends, and under which read policies; rows that are equal in all are said to be so."""
    tested = [row.key for row, _ in _list_reached(results, board)]
    text = [line for group, line in zip(results.twins, board.equals, strict=True) if set(group.rows) <= set(tested)]
    writes = [ways.best_write(results, key) for key in tested]
    rests: tuple[Comparison, ...] = ()
    if writes:
        told, rests = _compare_under(results, tested, max(sorted(set(writes)), key=writes.count))
        text += told
    if text:
        yield VerdictLine(" ".join(text), "work", rests=rests)


def _compare_under(
    results: Results, tested: Sequence[str], write: WritePolicy
) -> tuple[list[str], tuple[Comparison, ...]]:
    """Sentences on pairs of rows under one write policy, and what they rest on. `tested`: the highest counts first."""
    reads = ways.list_reads(results)
    written = ways.WRITTEN[write] if len(results.list_writes()) > 1 else ""
    pairs = [
        each
        for read in reads
        for each in results.list_comparisons(write, read, "pairs")
        if each.measure == DECISIONS_RIGHT and each.able and {each.left, each.right} <= set(tested)
    ]
    found: dict[frozenset[str], dict[ReadPolicy, str]] = {}
    for each in pairs:
        found.setdefault(frozenset((each.left, each.right)), {})[each.read_policy] = _find_winner(each)
    beaten = defaultdict[tuple[str, str], set[str]](set)
    for pair, winners in found.items():
        when = [READS[read] for read, winner in winners.items() if winner]
        if len(shown := {winner for winner in winners.values() if winner}) == 1:
            (winner,) = shown
            beaten[winner, _tell_when(written, [] if len(when) == len(reads) else when)] |= pair - shown
    together = defaultdict[tuple[frozenset[str], str], list[str]](list)
    for (winner, how), losers in sorted(beaten.items(), key=lambda each: (tested.index(each[0][0]), each[0][1])):
        together[frozenset(losers), how].append(winner)
    told = [f"{_join(results, winners)} {'leads' if len(winners) == 1 else 'lead'} to more right decisions than "
            f"{_join(results, sorted(losers, key=tested.index))}{how}."
            for (losers, how), winners in together.items()]  # fmt: skip
    alike = [pair for pair, winners in found.items() if not any(winners.values())]
    names = [name for name in tested if any(name in pair for pair in alike)]
    if alike and len(alike) == len(names) * (len(names) - 1) // 2:
        told.append(
            f"No difference in right decisions was proven between {_join(results, names)}{_tell_when(written, [])}."
        )
    elif alike and told and _are_all_told(results, found):
        told.append(f"Between any other two, no difference in right decisions was proven{_tell_when(written, [])}.")
    if len(told) > NAMED:
        differ = len(found) - len(alike)
        told = [f"Of {len(found)} pairs of backends, {differ} differ in right decisions{_tell_when(written, [])}."]
    return told, tuple(pairs)


def _are_all_told(results: Results, found: Mapping[frozenset[str], Mapping[ReadPolicy, str]]) -> bool:
    """Whether sentences name all that differ: not if the reading decides who leads, nor if one stands for its twins."""
    twins = {name for group in results.twins for name in group.rows}
    differ = {pair: {winner for winner in winners.values() if winner} for pair, winners in found.items()}
    return all(len(shown) < 2 and not (shown and pair & twins) for pair, shown in differ.items())


def _tell_when(written: str, read: Sequence[str]) -> str:
    """How the agent works where it is so: `, if the agent looks up the old note before it writes and checks ...`."""
    parts = [each for each in (written, " or ".join(read)) if each]
    return f", if the agent {' and '.join(parts)}" if parts else ""


def _join(results: Results, names: Sequence[str]) -> str:
    return words.join_words([table.name_row(results, name) for name in names])


def _find_winner(comparison: Comparison) -> str:
    sides = {"left-better": comparison.left, "right-better": comparison.right}
    return sides.get(comparison.verdict, "")


# --- trust --------------------------------------------------------------------------------------------------------


def _judge_trust(board: Board) -> Iterator[VerdictLine]:
    """What went wrong, of a few backends one by one, of many column by column; then what was clean everywhere."""
    columns = [
        (column, cells)
        for column in board.trust
        if column.id != trust.SPEED  # the scoreboard alone tells it
        if (cells := [(row, score) for row, score in board.list_scores(column.id) if _is_told(score)])
    ]
    wrong = [(column, cells) for column, cells in columns if any(score.judgement == "bad" for _, score in cells)]
    if sum(not row.cold for row in board.rows) <= FEW:
        yield from _judge_rows(board, wrong)
    else:
        yield from (_judge_column(column, cells) for column, cells in wrong)
    clean = [each for each in columns if all(score.judgement == "good" for _, score in each[1])]
    whole = [(column, cells) for column, cells in clean if len(cells) == sum(not row.cold for row in board.rows)]
    told = [f"{column.head} ({column.clean})" if column.clean else column.head for column, _ in whole]
    parts = [f"No test failed with any backend in: {', '.join(told)}."] if told else []
    parts += [_tell_partly(board, column, cells) for column, cells in clean if (column, cells) not in whole]
    if parts:
        yield VerdictLine(" ".join(parts), columns[-1][0].topic, "good")


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
    rest = _shorten([Claim(row.name, row.key, column.id) for row in sound], []) if column.clean else []
    text = f"{column.head}: {'; '.join(each.phrase for each in claims)}."
    if rest:
        text += f" {column.clean[0].upper()}{column.clean[1:]}: {words.join_words([each.phrase for each in rest])}."
    return VerdictLine(text, column.topic, "bad", (*claims, *rest))


def _tell_fault(score: Score, whose: str = "") -> str:
    if not score.measured:
        return f"the test{whose} failed"
    return score.cases[0].told if score.cases else f"{score.word} ({score.text})" if score.word else score.text


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
