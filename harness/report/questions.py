"""The questions of the scoreboard, and how each cell is judged: by itself, against the controls, without a grade."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness import metrics
from harness.compare.statements import COLD
from harness.metrics import columns
from harness.metrics.acting import STALE_USE
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.deletion import DELETED_FROM_BYTES
from harness.metrics.provenance import SOURCE_VERIFIED
from harness.metrics.recall import CHANCE, RECALL
from harness.metrics.tokens import TOKENS_PER_JOB, TOKENS_TOTAL
from harness.metrics.trust.keeping import RECALL_SECONDS
from harness.metrics.trust.promises import BROKEN_PROMISES, PROMISES
from harness.metrics.words import Scored
from harness.model.results import Pooled, Results, TrustCell
from harness.model.trial import Definition, WritePolicy
from harness.report import headline, tables, words
from harness.report.scores import (
    DASH,
    Judge,
    Judgement,
    Score,
    ScoreColumn,
    explain_none,
    find_pooled,
    find_share,
    list_both,
    show_cases,
    show_counts,
)
from harness.report.worst import Worst, share_bad

RARELY, OFTEN = 0.10, 0.30
"""Shares of decisions acted on stale rules: up to the first is good, beyond the second is bad. Fixed before any run."""
MOST, LITTLE = 2 / 3, 1 / 3
"""Shares of the way from chance to the oracle: a recall from the first on is good, below the second it is bad."""
CHEAPER, DEARER = 0.75, 1.25
"""Tokens for each job done, as a ratio to those without memory."""
REMAINS = (columns.DELETED.at("stored"), columns.DELETED.at("vector"))
STILL_THERE = "still there"
"""The gravities of deletion at which a deleted memory is still stored, and the word for it."""
ARROW, STEPS = " \u2192 ", 48
"""Between two steps of a sequence; characters of it that a cell shows."""
AT_ONCE, WAITING = 0.1, 1.0
"""Seconds of one recall: what feels immediate, and what keeps a train of thought (Nielsen 1993)."""


# --- questions of stories ---------------------------------------------------------------------------------------


def _decisions(results: Results, key: str) -> Score:
    """Against no memory, by the comparison that belongs to the last write policy."""
    both = list_both(results, key, DECISIONS_RIGHT)
    if not both:
        return explain_none(find_pooled(results, key, DECISIONS_RIGHT))
    made = Score(
        show_counts(both), cells=both[0].cells, measure=DECISIONS_RIGHT,
        shares=tuple(find_share(each) or 0.0 for each in both),
    )  # fmt: skip
    if key == COLD:
        return made
    write = results.list_writes()[-1] if len(both) > 1 else results.run.conditions.headline_write
    return made.judge(*_against_cold(results, key, write))


def _against_cold(results: Results, key: str, write: WritePolicy) -> tuple[Judgement, str]:
    for each in results.list_comparisons(write):
        if each.measure == DECISIONS_RIGHT and {each.left, each.right} == {COLD, key} and each.able:
            if each.verdict == "no-difference-shown":
                return "middling", "no difference shown"
            better = each.left if each.verdict == "left-better" else each.right
            return ("good", "better than no memory") if better == key else ("bad", "worse than no memory")
    return "open", "too few stories"


def _stale(results: Results, key: str) -> Score:
    both = list_both(results, key, STALE_USE)
    if not both:
        return explain_none(find_pooled(results, key, STALE_USE))
    shares = tuple(find_share(each) or 0.0 for each in both)
    made = Score(show_counts(both), cells=both[0].cells, measure=STALE_USE, shares=shares)
    recall = find_pooled(results, key, RECALL)
    if not shares[-1] and recall is not None and not recall.value:
        return made.judge("open", words.NO_MERIT)
    if shares[-1] <= RARELY:
        return made.judge("good", "rarely")
    return made.judge("bad", "often") if shares[-1] > OFTEN else made.judge("middling", "at times")


def _recall(results: Results, key: str) -> Score:
    """Between drawing blindly and the oracle, which recalls all."""
    pooled, chance = find_pooled(results, key, RECALL), find_pooled(results, key, CHANCE)
    if pooled is None or pooled.value is None:
        return explain_none(pooled)
    share = find_share(pooled) or 0.0
    floor = (find_share(chance) if chance else None) or 0.0
    gone = (share - floor) / (1 - floor) if floor < 1 else 1.0
    made = Score(show_cases(pooled), cells=pooled.cells, measure=RECALL, shares=(share,), why=f"by chance {floor:.0%}")
    if gone >= MOST:
        return made.judge("good", "most of it")
    if gone < LITTLE:
        return made.judge("bad", "little above chance" if gone > 0 else "not above chance")
    return made.judge("middling", "some of it")


def _cost(results: Results, key: str) -> Score:
    pooled, cold = find_pooled(results, key, TOKENS_PER_JOB), find_pooled(results, COLD, TOKENS_PER_JOB)
    if pooled is None or pooled.value is None:
        paid = find_pooled(results, key, TOKENS_TOTAL)
        if pooled is not None and pooled.not_applicable and paid is not None and paid.value is not None:
            made = Score("no job done", cells=paid.cells)
            if key == COLD:
                return made
            done = cold is not None and cold.value is not None
            return made.judge("bad", "paid for nothing") if done else made.judge("open", "nor without a memory")
        return explain_none(pooled)
    made = Score(words.number(pooled.value), cells=pooled.cells, measure=TOKENS_PER_JOB)
    if key == COLD:
        return made
    if cold is None or cold.value is None:
        return made.judge("open", "nothing to compare with")
    ratio = pooled.value / cold.value
    word = f"{ratio:.0%} of no memory" if ratio < 10 else f"{ratio:,.0f} times no memory"
    return made.judge("good" if ratio <= CHEAPER else "bad" if ratio > DEARER else "middling", word)


def _proven(results: Results, key: str) -> Score:
    own = results.backends[key].measures if key in results.backends else {}
    found = tables.show_family(results.definitions, own, SOURCE_VERIFIED) if own else None
    return _faults(results, [(found, "")] if found else [], "all proven")


# --- questions of trust -------------------------------------------------------------------------------------------


def _trust(question: str, clean: str, lead: str = "") -> Judge:
    """The worst of the headlines of drills that say they count here, and of the stories' family that `lead` leads."""

    def judge(results: Results, key: str) -> Score:
        return _faults(results, list(_members(results, key, question, lead)), clean)

    return judge


def _members(results: Results, key: str, question: str, lead: str) -> Iterator[tuple[Worst, str]]:
    if lead and key in results.backends:
        found = tables.show_family(results.definitions, results.backends[key].measures, lead)
        if found is not None:
            yield found, ""
    cells: list[TrustCell] = [cell for cell in results.trust if cell.backend == key]
    for column in headline.COLUMNS:
        told = headline.find_worst(results, cells, column) if column.id == question else None
        if told is not None:
            yield told


def _faults(results: Results, members: Sequence[tuple[Worst, str]], clean: str) -> Score:
    """What went wrong in the worst of them; then what failed or was not run; else how many cases were clean.

    A question covers many measures, so what went wrong has the name of its own.
    """

    def rank(member: tuple[Worst, str]) -> tuple[float, int]:
        return _wrong(results, member[0]), member[0].pooled.of or 0

    measured = [each for each in members if each[0].pooled.value is not None]
    open_ = [found.pooled for found, _ in members if found.pooled.failed or found.pooled.not_run]
    found, drill = max(measured, key=rank, default=(None, ""))
    bad = _wrong(results, found) if found else 0.0
    if found is None or (open_ and not bad):
        first = next(iter(open_ or [found.pooled for found, _ in members]), None)
        return explain_none(first)
    pooled, label = found.pooled, words.label(found.measure)
    text = f"{words.number(round(bad * pooled.of, 6))} of {pooled.of:,}" if pooled.of else f"{bad:.0%}"
    word = _name_fault(results, found.measure) if bad else clean
    return Score(
        text, "bad" if bad else "good", word, f"{label} {words.value(pooled)}", pooled.cells, drill, found.measure
    )


def _wrong(results: Results, found: Worst) -> float:
    return share_bad(_define(results, found.measure), found.pooled) or 0.0


def _define(results: Results, measure: str) -> Definition:
    return results.definitions.get(measure) or results.trust_definitions[measure]


def _name_fault(results: Results, measure: str) -> str:
    """A measure of which less is better is called by what went wrong; of others it is what was not met."""
    if (
        measure == DELETED_FROM_BYTES
        or (_define(results, measure).column, _define(results, measure).gravity) in REMAINS
    ):
        return STILL_THERE
    label = words.label(measure)
    return label if _define(results, measure).better == "lower" else f"not met: {label}"


def _promises(results: Results, key: str) -> Score:
    """Held over so many operations, or the shortest sequence that was not, in words."""
    for cell in results.trust:
        measure = cell.measures.get(BROKEN_PROMISES) if cell.backend == key else None
        if measure is None:
            continue
        pooled = Pooled.of_one(measure)
        if pooled.value is None:
            return explain_none(pooled)
        made = Score("held", drill=cell.id, measure=BROKEN_PROMISES, why=f"{pooled.of:,} operations")
        if not pooled.value:
            return made.judge("good", f"{pooled.of:,} operations")
        if cell.promise and cell.promise.random:  # a sequence that shows it now and then is no receipt
            return replace(made, text="broken", why=words.visible(cell.promise.says, 160)).judge(
                "bad", "not deterministic"
            )
        short = _shorten(words.visible(cell.promise.short)) if cell.promise else ""
        says = words.visible(cell.promise.says, 160) if cell.promise else ""
        return replace(made, text="broken", why=says).judge("bad", short)
    return DASH


def _shorten(steps: str) -> str:
    """The first steps of a sequence, whole ones; the receipt has all."""
    if len(steps) <= STEPS:
        return steps
    return f"{steps[:STEPS].rpartition(ARROW)[0] or steps[:STEPS]}{ARROW}\u2026"


def _speed(results: Results, key: str) -> Score:
    for cell in results.trust:
        if cell.backend == key and RECALL_SECONDS in cell.measures:
            pooled = Pooled.of_one(cell.measures[RECALL_SECONDS])
            if pooled.value is None:
                return explain_none(pooled)
            seconds = pooled.value
            milliseconds = f"{seconds * 1000:,.0f} ms" if seconds >= 0.001 else "< 1 ms"
            text = milliseconds if seconds < 1 else f"{seconds:,.1f} s"
            made = Score(text, drill=cell.id, measure=RECALL_SECONDS, why=f"{cell.size:,} memories in the store")
            if seconds <= AT_ONCE:
                return made.judge("good", "at once")
            return made.judge("middling", "noticed") if seconds <= WAITING else made.judge("bad", "slow")
    return DASH


def _word(measure: str, scored: Scored) -> Judge:
    """By the share of cases that went wrong, as the words of the measure judge it."""

    def judge(results: Results, key: str) -> Score:
        pooled = find_pooled(results, key, measure)
        if pooled is None or pooled.value is None:
            return explain_none(pooled)
        made = Score(show_cases(pooled), cells=pooled.cells, measure=measure)
        wrong = share_bad(results.definitions[measure], pooled)
        if wrong is None:
            return made
        good, middling, bad = scored.says
        if wrong <= scored.good:
            return made.judge("good", good)
        return made.judge("bad", bad) if wrong > scored.bad else made.judge("middling", middling)

    return judge


WRONG = "went wrong"
"""How numbers of trust are read: 0 is clean."""
_RULED: tuple[tuple[ScoreColumn, Judge], ...] = (
    (ScoreColumn("decisions", "Decides right", "append \u2192 look up", "work"), _decisions),
    (ScoreColumn("stale", "Acts on stale", "append \u2192 look up", "stale"), _stale),
    (ScoreColumn("recalled", "Recalls", "brought back", "recalled"), _recall),
    (ScoreColumn("cost", "Costs", "tokens a job done", "cost"), _cost),
    (ScoreColumn("sources", "Sources", WRONG, "proven"), _proven),
    (ScoreColumn("deleted", "Deletion", WRONG, "deleted"), _trust("deleted", "all gone", DELETED_FROM_BYTES)),
    (ScoreColumn("scopes", "Scopes", WRONG, "trust"), _trust("scopes", "none crossed")),
    (ScoreColumn("poison", "Poison", WRONG, "trust"), _trust("poison", "no harm")),
    (ScoreColumn("kept", "Keeping", WRONG, "trust"), _trust("kept", "all kept")),
    (ScoreColumn("found", "Search", WRONG, "trust"), _trust("found", "all found")),
    (ScoreColumn(PROMISES, "Promises", "held or broken", "trust"), _promises),
    (ScoreColumn("speed", "Speed", "one recall", "trust"), _speed),
)
_WORDED = [
    (own.scored.place, ScoreColumn(name, own.scored.head, own.scored.beside, own.topic.id), _word(name, own.scored))
    for name, own in metrics.WORDS.items()
    if own.scored
]
_PLACED = [(10 * at, column, judge) for at, (column, judge) in enumerate(_RULED, 1)]
QUESTIONS = tuple((column, judge) for _, column, judge in sorted(_PLACED + _WORDED, key=lambda each: each[0]))
"""Those with rules of their own, and those that a measure's words put beside them."""
