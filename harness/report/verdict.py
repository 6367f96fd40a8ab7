"""The verdict: at most five plain sentences, each true of the data that it is made from.

A sentence is made from counts and comparisons by a template. Where the data contradict the template, it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from harness.compare.rows import COLD
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.trust.deletion import FORGOTTEN
from harness.metrics.trust.promises import PROMISES
from harness.model.results import Comparison, Results, Unplayed
from harness.model.trial import SCRIPTED, Measured, WritePolicy
from harness.report import tables, words
from harness.report.questions import STILL_THERE
from harness.report.scoreboard import Scoreboard, ScoreRow
from harness.report.scores import Score, pool_under

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
    """One sentence or two. `topic` is the part of the page that goes on with it.

    Attributes:
        claims: In the order of the text.
    """

    text: str
    topic: str
    tone: Tone = "plain"
    claims: tuple[Claim, ...] = ()


def judge(results: Results, board: Scoreboard) -> list[VerdictLine]:
    """What a manager may quote, the agent's work first, then what the memory can be trusted with.

    Nothing is concluded about a backend whose calls failed: what its row says may be the failures' doing.
    """
    failing = [tables.show_name(results, name) for name in results.beyond()]
    if board.empty:
        why = "".join(f" {_absent(each)}." for each in results.run.unplayed)
        if failing:
            why += f" The calls of {words.join_words(failing)} failed."
        return [VerdictLine(f"Nothing was measured of any backend.{why}", "not-measured", "bad")]
    everyone = sum(not row.cold for row in board.rows)
    sound = replace(board, rows=tuple(row for row in board.rows if row.key not in results.beyond()))
    found = [
        *_decisions(results),
        *_between(results),
        *_deletion(results, sound, everyone),
        *_trust(results, sound, everyone),
    ]
    told = [replace(line, claims=_claim_names(results, line.text)) if line.topic == "work" else line for line in found]
    if failing and not told:
        only = f"Nothing can be concluded: the calls of {words.join_words(failing)} failed."
        told = [VerdictLine(only, "not-measured", "bad")]
    return [*told, VerdictLine(_open(results, board), "limits")]


def _absent(each: Unplayed) -> str:
    """What was not allowed to be absent has a band above the verdict, with its reason."""
    reason = f": {words.visible(each.reason, 200)}" if each.allowed else ""
    return f"{words.visible(each.backend, 60)} could not run{reason}"


def _claim_names(results: Results, text: str) -> tuple[Claim, ...]:
    """Every backend that a sentence on decisions names."""
    names = {tables.name_row(results, name): name for name in _list_tested(results)}
    longest = sorted(map(re.escape, names), key=len, reverse=True)
    found = re.finditer(rf"(?<![\w@,=])(?:{'|'.join(longest)})(?![\w@=])", text) if names else ()
    return tuple(Claim(each[0], names[each[0]], "decisions") for each in found)


def _list_tested(results: Results) -> list[str]:
    """The backends under test with a row, of which something may be concluded."""
    failing = results.beyond()
    return [name for name in results.list_tested() if name in results.backends and name not in failing]


def _name(results: Results, names: Sequence[str]) -> str:
    return words.join_words([tables.name_row(results, name) for name in names])


def _hits(results: Results, name: str, write: WritePolicy) -> int | None:
    pooled = pool_under(results, name, DECISIONS_RIGHT, write)
    return None if pooled is None or pooled.hits is None else round(pooled.hits)


def _range(values: Sequence[int]) -> str:
    return f"{min(values)} to {max(values)}" if min(values) < max(values) else f"{values[0]}"


def _winner(comparison: Comparison) -> str | None:
    sides = {"left-better": comparison.left, "right-better": comparison.right}
    return sides.get(comparison.verdict)


def _against_cold(results: Results, write: WritePolicy) -> dict[str, str | None]:
    """Backend -> who is better by more than chance, it or the cold arm, or neither; only of what could be told."""
    tested = set(_list_tested(results))
    pairs = [each for each in results.list_comparisons(write) if each.measure == DECISIONS_RIGHT and each.able]
    return {
        other: _winner(each)
        for each in pairs
        for other in {each.left, each.right} - {COLD}
        if COLD in (each.left, each.right) and other in tested
    }


# --- the agent's work ---------------------------------------------------------------------------------------------


def _decisions(results: Results) -> Iterator[VerdictLine]:
    """Whether memory helped, and under which write policy."""
    played = results.list_writes()
    last = played[-1] if played else results.run.conditions.headline_write
    against = _against_cold(results, last)
    cold = _hits(results, COLD, last)
    pooled = pool_under(results, COLD, DECISIONS_RIGHT, last)
    if cold is None or pooled is None:
        return
    reached = dict(_all(results, last))
    better = [name for name, winner in against.items() if winner == name]
    worse = [name for name, winner in against.items() if winner == COLD]
    if any(reached.get(name, 0) <= cold for name in better) or any(reached.get(name, cold) >= cold for name in worse):
        return  # the means that were compared and the counts disagree: no sentence is true of both
    lost = f" With {_name(results, worse)}, fewer: {_range(_of(results, worse, last))}." if worse else ""
    chance = {name: reached[name] for name in against if not against[name] and name in reached}
    way = ", written with a look-up first" if last == "curated" else ""
    if better:
        open_ = f" Could still be chance: {_count(results, chance)}." if chance else ""
        yield VerdictLine(_tell_help(results, better, last, cold, pooled.of or 0) + lost + open_, "work", "good")
    elif against:
        maybe = f"{_count(results, chance)}, which could be chance" if chance else ""
        told = "; ".join(filter(None, (f"without memory {cold}", maybe)))
        yield VerdictLine(
            f"Memory was not shown to help. Right decisions of {pooled.of:,}{way}: {told}.{lost}",
            "work",
            "bad" if worse else "plain",
        )
    elif reached:
        yield VerdictLine(
            f"Too few stories to tell whether memory helps. Right decisions of {pooled.of:,}{way}: "
            f"{_count(results, reached)}; without memory {cold}.",
            "work",
        )


def _count(results: Results, reached: Mapping[str, int]) -> str:
    """Each backend with its own number, or the range of many."""
    if len(reached) > NAMED:
        return f"{_range(list(reached.values()))} with {len(reached)} backends"
    return words.join_words([f"{tables.name_row(results, name)} {hits}" for name, hits in reached.items()])


def _all(results: Results, write: WritePolicy) -> list[tuple[str, int]]:
    """Right decisions of each backend under test that has a number."""
    found = [(name, _hits(results, name, write)) for name in _list_tested(results)]
    return [(name, hits) for name, hits in found if hits is not None]


def _of(results: Results, names: Sequence[str], write: WritePolicy) -> list[int]:
    return [hits for name, hits in _all(results, write) if name in names]


def _tell_help(results: Results, better: Sequence[str], write: WritePolicy, cold: int, of: int) -> str:
    now, before = _of(results, better, write), _of(results, better, "append")
    helped_before = {name for name, winner in _against_cold(results, "append").items() if winner == name}
    looked_up = write == "curated" and len(before) == len(now) and not helped_before & set(better)
    verb = "leads" if len(better) == 1 else "lead"
    if looked_up and all(old < new for old, new in zip(before, now, strict=True)):
        return (
            f"Look up before you write. Written that way, {_name(results, better)} {verb} to {_range(now)} right "
            f"decisions of {of:,}; appended only, to {_range(before)}. Without memory: {cold}."
        )
    way = ", written with a look-up first," if write == "curated" else ""
    return (
        f"Memory helps: {_name(results, better)}{way} {verb} to {_range(now)} right decisions of {of:,}. "
        f"Without memory: {cold}."
    )


def _between(results: Results) -> Iterator[VerdictLine]:
    """What differs between backends, in the policy that the first sentence is about."""
    played = results.list_writes()
    last = played[-1] if played else results.run.conditions.headline_write
    tested = set(_list_tested(results))
    pairs = [
        each for each in results.list_comparisons(last)
        if each.measure == DECISIONS_RIGHT and each.able and {each.left, each.right} <= tested
    ]  # fmt: skip
    if not pairs:
        return
    beaten: dict[str, list[str]] = {}
    for each in pairs:
        if winner := _winner(each):
            beaten.setdefault(winner, []).append(each.right if winner == each.left else each.left)
    told = []
    for losers in dict.fromkeys(tuple(sorted(each)) for each in beaten.values()):
        winners = [name for name, own in beaten.items() if tuple(sorted(own)) == losers]
        if min(_of(results, winners, last), default=0) > max(_of(results, losers, last), default=0):
            told.append(f"{_name(results, winners)} led to more right decisions than {_name(results, losers)}")
    open_ = {frozenset((each.left, each.right)) for each in pairs if not _winner(each)}
    alike = sorted({name for pair in open_ for name in pair})
    if open_ and len(open_) == len(alike) * (len(alike) - 1) // 2:
        told.append(f"between {_name(results, alike)} no difference in decisions was found")
    if told:
        text = "; ".join(told)
        if len(played) > 1 and last == "curated":
            text = f"Written with a look-up first, {text}"  # appended, the same backends may differ
        named = text.startswith(tuple(tables.name_row(results, name) for name in tested))
        yield VerdictLine(f"{text if named else text[0].upper() + text[1:]}.", "work")


# --- trust --------------------------------------------------------------------------------------------------------


def _deletion(results: Results, board: Scoreboard, everyone: int) -> Iterator[VerdictLine]:
    told = _list_scored(board, "deleted")
    bad = [(row, score) for row, score in told if score.judgement == "bad" and score.measure]
    clean = _merge([(row, "") for row, score in told if score.judgement == "good"], "deleted", everyone)
    kept = _merge([(row, score.text) for row, score in bad if score.word == STILL_THERE], "deleted", everyone)
    wrong = _merge([(row, score.why) for row, score in bad if score.word != STILL_THERE], "deleted", everyone)
    returned = _merge(list(_list_returned(results, board)), RETURNED, everyone)
    parts = [f"Deleted memories are still stored in {_join(kept)}."] if kept else []
    parts += [f"Deleting went wrong in {_join(wrong)}."] if wrong else []
    parts += [f"Deleted memories are handed back on request by {_join(returned)}."] if returned else []
    parts += [f"Deleted is gone in {_join(clean)}."] if clean else []
    if parts:
        tone: Tone = "bad" if bad or returned else "good"
        yield VerdictLine(" ".join(parts), "deleted", tone, (*kept, *wrong, *returned, *clean))


RETURNED = "returned"
"""Stands for the column of the claim that no column makes: a deleted memory that comes back on request."""


def find_returned(results: Results, backend: str) -> tuple[str, float, int] | None:
    """Drill cell, deleted memories that some route still brings, and how many were deleted; None if it brings none."""
    for cell in results.trust:
        found = cell.measures.get(FORGOTTEN)
        if cell.backend == backend and isinstance(found, Measured) and found.hits is not None and found.of:
            return (cell.id, found.of - found.hits, found.of) if found.hits < found.of else None
    return None


def _list_returned(results: Results, board: Scoreboard) -> Iterator[tuple[ScoreRow, str]]:
    for row in board.rows:
        if not row.cold and (found := find_returned(results, row.key)):
            yield row, f"{words.number(found[1])} of {found[2]:,}"


def _merge(told: Sequence[tuple[ScoreRow, str]], column: str, everyone: int) -> list[Claim]:
    """A claim for each backend with what is said of it; said once if it is the same; many are counted.

    Args:
        told: Rows with what is said of them, which may be nothing.
        everyone: All backends with a row, of which those are some.
    """
    if len(told) > NAMED:
        count = f"all {everyone}" if len(told) == everyone else f"{len(told)} of {everyone}"
        return [Claim(f"{count} backends", told[0][0].key, column)]
    if len(told) > 1 and told[0][1] and len({said for _, said in told}) == 1:
        told = [*((row, "") for row, _ in told[:-1]), (told[-1][0], f"{told[-1][1]} each")]
    return [Claim(f"{row.name} ({said})" if said else row.name, row.key, column) for row, said in told]


def _join(claims: Sequence[Claim]) -> str:
    return words.join_words([each.phrase for each in claims])


BAD = {
    "scopes": "scopes (users, projects) were not kept apart in",
    "poison": "poisoned memories did harm in",
    "kept": "keeping memories went wrong in",
    "found": "finding memories again went wrong in",
    PROMISES: "random sequences of operations broke a promise of",
}
"""True of every measure that its question covers."""
BY_NAME = ("kept", "found")
"""Questions that cover so many things that a number says little without the name of its measure."""
CLEAN = {
    "scopes": "scopes (users, projects) were kept apart",
    "poison": "poisoned memories did no harm",
    "kept": "everything was kept",
    "found": "everything was found again",
    PROMISES: "no random sequence of operations broke a promise",
}


def _trust(results: Results, board: Scoreboard, everyone: int) -> Iterator[VerdictLine]:
    """What else went wrong, with the backend; what is clean names whom, unless it is so of all."""
    if not results.trust:
        yield VerdictLine("Trust was not tested: no drill was played.", "not-measured")
        return
    bad, clean, harmed, unharmed = list[str](), list[str](), list[Claim](), list[Claim]()
    for name in BAD:
        told = _list_scored(board, name)
        wrong = [(row, _say(score, name)) for row, score in told if score.judgement == "bad" and score.measure]
        sound = [row for row, score in told if score.judgement == "good"]
        if faulty := _merge(wrong, name, everyone):
            bad.append(f"{BAD[name]} {_join(faulty)}")
            harmed += faulty
        elif len(sound) == everyone:
            clean.append(CLEAN[name])
        elif named := _merge([(row, "") for row in sound], name, everyone):
            clean.append(f"{CLEAN[name]} in {_join(named)}")
            unharmed += named
    text = "; ".join([*bad, *clean])
    if text:
        yield VerdictLine(f"{text[0].upper()}{text[1:]}.", "trust", "bad" if bad else "good", (*harmed, *unharmed))


def _say(score: Score, column: str) -> str:
    """What a sentence on trust says of one backend."""
    return score.why if column in BY_NAME else score.word if column == PROMISES else score.text


def _list_scored(board: Scoreboard, column: str) -> list[tuple[ScoreRow, Score]]:
    """Of each backend with something to say under a question: declared as unsupported is no part of it."""
    if column not in {each.name for each in board.columns}:
        return []
    rows = [(row, board.of(row.key, column)) for row in board.rows if not row.cold]
    return [(row, score) for row, score in rows if score.measure or score.judgement == "bad"]


def _open(results: Results, board: Scoreboard) -> str:
    """What the run does not answer."""
    scripted = results.run.conditions.reader == SCRIPTED and results.stories
    open_ = sum(not score.measure and bool(score.why) for row in board.rows for score in row.scores)
    parts = ["what a live agent would do"] if scripted else ["what another agent would do"]
    if failing := [tables.show_name(results, name) for name in results.beyond()]:
        parts.append(f"anything about {words.join_words(failing)} (calls failed)")
    if open_:
        parts.append(f"{words.plural(open_, 'cell')} below without a number")
    return f"Not answered by this run: {words.join_words(parts)}."
