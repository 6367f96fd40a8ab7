"""The verdict: plain sentences, each made from counts and comparisons, and true under every way of working it names.

Where the data contradict a template, the sentence is left out. What a sentence says of one backend depends on that
backend alone; only sentences that compare backends look at several.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.model.results import Comparison, Pooled, Results, Unplayed
from harness.model.trial import USUAL_WRITES, Measured, ReadPolicy, WritePolicy
from harness.report import words
from harness.report.model import judges, sections, table, ways
from harness.report.model.board import Board, BoardRow
from harness.report.model.ways import READS, Spread, join_reads
from harness.report.text import jobs, points
from harness.report.text.points import NAMED, Claim, Tone, VerdictLine, shorten

WHICHEVER = "whichever note it later acts on"
"""Under every read policy that was played."""
ROBUST = "Whichever note it later acts on, memory helps if the agent"
"""Beginning of a sentence: then what it does when it writes, with which memories that is so, and who supports it."""
TAKES = "what that takes is"
"""Beginning of who supports a way of writing."""
SUPPORTED: Mapping[sections.Level, str] = {
    "native": "built into", "emulated": "added by our code for", "unsupported": "impossible with",
}  # fmt: skip


def judge(results: Results, board: Board) -> list[VerdictLine]:
    """The agent's work first, then what the memory can be trusted with, then what the run does not tell.

    Nothing is concluded about a backend of which many calls failed: what its row says may be the failures' doing.
    """
    doubted = results.doubted()
    failing = [table.show_name(results, name) for name in doubted]
    if board.empty:
        why = "".join(f" {_tell_absent(each)}." for each in results.run.unplayed)
        if failing:
            why += f" The calls of {words.join_words(failing)} failed."
        if not why and any(isinstance(each, Measured) for cell in results.trust for each in cell.measures.values()):
            return [VerdictLine("What was measured is in no column of the scoreboard: the tables have it.", "trust")]
        return [VerdictLine(f"Nothing was measured of any backend.{why}", "not-measured", "bad")]
    sound = replace(board, rows=tuple(row for row in board.rows if row.key not in doubted))
    lines = [
        *_judge_decisions(results, sound),
        *_advise(results, sound),
        *_tell_robust(results, sound),
        *_compare(results, sound),
        *jobs.tell_jobs(results),
        *points.tell_trust(sound, board),
    ]
    if not results.trust:
        lines.append(VerdictLine("No drill was played: of trust, only what the stories show is known.", "not-measured"))
    if failing and not lines:
        only = f"Nothing can be concluded: the calls of {words.join_words(failing)} failed."
        lines = [VerdictLine(only, "not-measured", "bad")]
    if untold := " ".join(points.tell_limits(results, board)):
        lines.append(VerdictLine(untold, "limits"))
    return lines


def _tell_absent(each: Unplayed) -> str:
    """What was not allowed to be absent has a band above the verdict, with its reason."""
    reason = f": {words.make_visible(each.reason, 200)}" if each.allowed else ""
    return f"{words.make_visible(each.backend, 60)} could not run{reason}"


# --- the agent's work ---------------------------------------------------------------------------------------------

Reached = tuple[BoardRow, Spread]


def _list_reached(results: Results, board: Board) -> list[Reached]:
    """Every row with its right decisions in the write policy that suits it best, the highest counts first."""
    reached = [
        (row, spread)
        for row in board.rows
        if not row.cold and row.key not in results.like_oracle
        if (spread := ways.spread(results, row.key, DECISIONS_RIGHT, ways.best_write(results, row.key))) is not None
    ]
    return sorted(reached, key=lambda each: (tuple(-number for number in each[1].numbers), each[0].name))


def _judge_decisions(results: Results, board: Board) -> Iterator[VerdictLine]:
    """Whether memory helps: rows of one write policy and one word share a sentence."""
    conditions = results.run.conditions
    cold = ways.spread(results, COLD, DECISIONS_RIGHT, conditions.headline_write)
    if cold is None:
        return
    groups: dict[tuple[str, str, int], list[Reached]] = {}
    for row, spread in _list_reached(results, board):
        stand = ways.stand(results, row.key, spread.write or conditions.headline_write)
        _, word = judges.tell_standing(stand)
        # The number of ways of reading is in the key, as the sentence says whether it holds for several.
        groups.setdefault((word, spread.write or "", len(stand)), []).append((row, spread))
    base = f"{cold.text} of {cold.of:,}" if cold.of else cold.text
    for (word, _, reads), reached in groups.items():
        claims = [_claim(row, _tell_right([spread]), "decisions") for row, spread in reached]
        claims = shorten(claims, _tell_right([spread for _, spread in reached]))
        names = words.join_words([each.phrase for each in claims])
        named = len(results.list_writes()) > 1 and reached[0][1].write
        text, tone = _tell_standing(
            word, names, base, ways.WRITE_DESCRIPTIONS[named] if named else "", several=reads > 1
        )
        rests = tuple(_list_rests(results, [row.key for row, _ in reached]))
        yield VerdictLine(text, "work", tone, tuple(claims), rests)


def _tell_right(spreads: Sequence[Spread]) -> str:
    """`35-48 of 60 right`: the lowest and the highest count."""
    low, high = min(each.numbers[0] for each in spreads), max(each.numbers[1] for each in spreads)
    return f"{ways.show_range(low, high)}{_tell_cases({each.of for each in spreads})} right"


def _tell_cases(cases: set[int | None]) -> str:
    """` of 60`, if all have equally many."""
    return f" of {cases.pop():,}" if len(cases) == 1 and None not in cases else ""


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
        return f"Too few stories to tell whether memory helps with {names}{way}: without it {base} are right.", "plain"
    if word == "not compared":
        return f"With {names}{way}: no story compares it with no memory.", "plain"
    proven = f"With {names}, more right decisions than without memory ({base}) were proven"
    # The words are those of `judges.tell_standing`, which name the ways of reading where these differ.
    if only := re.fullmatch(r"better than no memory if the agent ([^;]*)", word):
        both = f"{written} and, when it asks, {only[1]}" if written else only[1]
        return f"{proven} only if the agent {both}.", "plain"
    if most := re.fullmatch(r"better than no memory unless the agent ([^;]*)", word):
        return (
            f"{proven}{way}. If {'it later' if way else 'the agent'} {most[1]}, no gain over no memory was proven.",
            "plain",
        )
    tone: Tone = "bad" if "worse" in word else "plain"
    return f"With {names}{way}, decisions are {word}. Without memory, {base} are right.", tone


def _list_rests(results: Results, keys: Sequence[str]) -> Iterator[Comparison]:
    for key in keys:
        write = ways.best_write(results, key)
        for (written, _), each in results.against_cold(key, DECISIONS_RIGHT).items():
            if written == write:
                yield each


def _advise(results: Results, board: Board) -> Iterator[VerdictLine]:
    """What a look-up before each write was proven to change: counts under each read policy, from the row with the
    fewest to the one with the most."""
    reads, keys = ways.list_reads(results), [row.key for row, _ in _list_reached(results, board)]
    tested = {
        (each.right, each.read_policy): each
        for each in results.comparisons
        if each.family == "writes" and each.write_policy == "curated" and each.able and each.right in keys
    }
    parts, gaining, losing, untold = list[str](), set[str](), set[str](), list[ReadPolicy]()
    for read in reads:
        better, worse = (
            [key for key in keys if (key, read) in tested and tested[key, read].verdict == word]
            for word in ("right-better", "left-better")
        )
        parts += [_tell_gain(results, own, read) for own in (better, worse) if own]
        gaining, losing = gaining | {*better}, losing | {*worse}
        untold += [] if better or worse or not any((key, read) in tested for key in keys) else [read]
    if not gaining:
        return
    rest = [key for key in keys if key not in gaining | losing and any((key, read) in tested for read in reads)]
    advice = "The agent should look up the old note and replace it, not only add the new one."
    if losing:
        advice = "An agent that looks up the old note and replaces it gains in some cases and loses in others."
    if untold:
        parts.append(f"If it {join_reads(untold)}, no gain over only adding was proven.")
    text = " ".join([advice, *parts, *([f"For {_join(results, rest)}, none was proven."] if rest else [])])
    yield VerdictLine(text, "policies", "plain" if losing else "good", rests=tuple(tested.values()))


def _tell_gain(results: Results, keys: Sequence[str], read: ReadPolicy) -> str:
    """`If it acts on the first note, right decisions then go from 19-30 to 35-46 of 60 with bm25 and mem0.`"""
    pairs = [_pair_writes(results, key)[read] for key in keys]
    of = _tell_cases({each.of for pair in pairs for each in pair})
    names = _join(results, keys) if len(keys) <= NAMED else f"{len(keys)} backends"
    before, after = _format_range(before for before, _ in pairs), _format_range(after for _, after in pairs)
    return f"If it {READS[read]}, right decisions then go from {before} to {after}{of} with {names}."


def _pair_writes(results: Results, row: str) -> dict[ReadPolicy, tuple[Pooled, Pooled]]:
    """Right decisions of a row appended and looked up first, under each read policy that has both."""
    pairs = {}
    for read in ways.list_reads(results):
        # Append, then curated: their order makes them before and after.
        before, after = (ways.pool_way(results, row, DECISIONS_RIGHT, write, read) for write in USUAL_WRITES)
        if before is not None and after is not None and before.value is not None and after.value is not None:
            pairs[read] = before, after
    return pairs


def _format_range(figures: Iterable[Pooled]) -> str:
    values = [ways.count(each) for each in figures]
    return ways.show_range(min(values), max(values))


def _tell_robust(results: Results, board: Board) -> Iterator[VerdictLine]:
    """The ways of writing under which some memory helps however it is read, and how far each memory supports them."""
    rows = [row for row in board.rows if row.key in table.list_ranked(results)]
    clauses, rests = list[str](), list[Comparison]()
    for write in results.list_writes():
        won = [row.key for row in rows if row.key not in results.like_oracle and _is_robust(results, row.key, write)]
        if won:
            names = _join(results, won) if len(won) <= NAMED else f"{len(won)} backends"
            clauses.append(
                f"{ways.WRITE_DESCRIPTIONS[write]}, with {names} ({TAKES} {_tell_support(results, rows, write)})"
            )
            rests += [results.against_cold(key, DECISIONS_RIGHT)[write, read]
                      for key in won for read in ways.list_reads(results, key)]  # fmt: skip
    if clauses:
        yield VerdictLine(f"{ROBUST} {'; or if it '.join(clauses)}.", "policies", rests=tuple(rests))


def _is_robust(results: Results, key: str, write: WritePolicy) -> bool:
    stood = ways.stand(results, key, write)
    # One way of reading alone says nothing of others.
    return len(stood) > 1 and set(stood.values()) == {"better"}


def _tell_support(results: Results, rows: Sequence[BoardRow], write: WritePolicy) -> str:
    """`built into chroma and mem0, added by our code for bm25, impossible with notes`: as their adapters declare it."""
    levels = dict[sections.Level, list[str]]()
    for row in rows:
        if backend := results.backends[row.key].backend:
            levels.setdefault(sections.judge_write(backend, write, results.backends[row.key].clock).level, []).append(
                row.name
            )
    parts = [] if levels.get("native") else ["built into no backend"]
    for level, whose in SUPPORTED.items():
        names = levels.get(level, [])
        few = words.join_words(names) if len(names) <= NAMED else f"{len(names)} backends"
        if names:
            parts.append(f"{whose} {'every backend' if len(names) == len(rows) > 1 else few}")
    return ", ".join(parts)


def _compare(results: Results, board: Board) -> Iterator[VerdictLine]:
    """What differs between backends, and under which read policies; rows that are equal in all are said to be so."""
    tested = [row.key for row, _ in _list_reached(results, board)]
    # A group is told only if something is concluded of each of its rows.
    text = [line for group, line in zip(results.twins, board.equals, strict=True) if set(group.rows) <= set(tested)]
    writes = [ways.best_write(results, key) for key in tested]
    rests: tuple[Comparison, ...] = ()
    if writes:
        # Sorted first, as a set has no order: of equally frequent ways the same one is taken each time.
        sentences, rests = _compare_under(results, tested, max(sorted(set(writes)), key=writes.count))
        text += sentences
    if text:
        yield VerdictLine(" ".join(text), "work", rests=rests)


def _compare_under(
    results: Results, tested: Sequence[str], write: WritePolicy
) -> tuple[list[str], tuple[Comparison, ...]]:
    """Sentences on pairs of rows under one write policy, and what they rest on. `tested`: the highest counts first."""
    reads = ways.list_reads(results)
    written = ways.WRITE_DESCRIPTIONS[write] if len(results.list_writes()) > 1 else ""
    pairs = [
        each
        for read in reads
        for each in results.list_comparisons(write, read, "pairs")
        if each.measure == DECISIONS_RIGHT and each.able and {each.left, each.right} <= set(tested)
    ]
    winners_by_pair: dict[frozenset[str], dict[ReadPolicy, str]] = {}
    for each in pairs:
        winners_by_pair.setdefault(frozenset((each.left, each.right)), {})[each.read_policy] = _find_winner(each)
    beaten = defaultdict[tuple[str, str], set[str]](set)
    for pair, winners in winners_by_pair.items():
        when = [read for read, winner in winners.items() if winner]
        if len(shown := {winner for winner in winners.values() if winner}) == 1:
            (winner,) = shown
            # What holds under every way of reading names none.
            beaten[winner, _tell_when(written, [] if len(when) == len(reads) else when)] |= pair - shown
    together = defaultdict[tuple[frozenset[str], str], list[str]](list)
    for (winner, how), losers in sorted(beaten.items(), key=lambda each: (tested.index(each[0][0]), each[0][1])):
        together[frozenset(losers), how].append(winner)
    sentences = [f"{_join(results, winners)} {'leads' if len(winners) == 1 else 'lead'} to more right decisions than "
            f"{_join(results, sorted(losers, key=tested.index))}{how}."
            for (losers, how), winners in together.items()]  # fmt: skip
    alike = [pair for pair, winners in winners_by_pair.items() if not any(winners.values())]
    names = [name for name in tested if any(name in pair for pair in alike)]
    # Only if every pair of these names is alike is the sentence true of all.
    if alike and len(alike) == len(names) * (len(names) - 1) // 2:
        sentences.append(
            f"No difference in right decisions was proven between {_join(results, names)}{_tell_when(written, [])}."
        )
    elif alike and sentences and _names_all_differences(results, winners_by_pair):
        sentences.append(
            f"Between any other two, no difference in right decisions was proven{_tell_when(written, [])}."
        )
    if len(sentences) > NAMED:
        differ = len(winners_by_pair) - len(alike)
        sentences = [
            f"Of {len(winners_by_pair)} pairs of backends, {differ} differ in right decisions{_tell_when(written, [])}."
        ]
    return sentences, tuple(pairs)


def _names_all_differences(
    results: Results, winners_by_pair: Mapping[frozenset[str], Mapping[ReadPolicy, str]]
) -> bool:
    """Whether sentences name all that differ: not if the reading decides who leads, nor if one stands for its twins."""
    twins = {name for group in results.twins for name in group.rows}
    differ = {pair: {winner for winner in winners.values() if winner} for pair, winners in winners_by_pair.items()}
    return all(len(shown) < 2 and not (shown and pair & twins) for pair, shown in differ.items())


def _tell_when(written: str, read: Sequence[ReadPolicy]) -> str:
    """How the agent works where it is so: `, if the agent looks up the old note before it writes, and later ...`."""
    reads = f"{'later ' if written else ''}{join_reads(read)}" if read else ""
    parts = [each for each in (written, reads) if each]
    return f", if the agent {', and '.join(parts)}" if parts else ""


def _join(results: Results, names: Sequence[str]) -> str:
    return words.join_words([table.name_row(results, name) for name in names])


def _find_winner(comparison: Comparison) -> str:
    sides = {"left-better": comparison.left, "right-better": comparison.right}
    return sides.get(comparison.verdict, "")


def _claim(row: BoardRow, text: str, column: str) -> Claim:
    return Claim(f"{row.name} ({text})", row.key, column)
