"""How the cells of the scoreboard are judged.

Of the agent's work they stand in the write policy that suits a row best: decisions, stale rules, recall and cost. Of
trust each column shows the gravest measure that went wrong, with its own cases; clean, its leading measure.
Stories and drills speak in the same column: every number counts what went wrong, as the sentences do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose

from harness.compare.rows import COLD
from harness.metrics import columns
from harness.metrics.acting import STALE_USE
from harness.metrics.columns import Column
from harness.metrics.completion import DECISIONS_RIGHT, JOBS_DONE
from harness.metrics.recall import CHANCE, RECALL
from harness.metrics.tokens import TOKENS_PER_JOB, TOKENS_TOTAL
from harness.metrics.trust.promises import BROKEN_PROMISES
from harness.metrics.trust.speed import RECALL_SECONDS
from harness.model.cells import TrustCell
from harness.model.results import Pooled, Results
from harness.model.trial import Definition, ReadPolicy
from harness.report import words
from harness.report.model import table, ways
from harness.report.model.table import DASH, Case, Judgement, Number, ScoreboardCell, explain_none, is_hidden
from harness.report.model.ways import Spread, Standing, join_reads

# --- the agent's work -------------------------------------------------------------------------------------------------

DECISIONS, STALE, RECALLED, COST = "decisions", "stale", "recalled", "cost"
"""Columns."""
RARELY, OFTEN = 0.10, 0.30
"""Shares of decisions acted on stale rules: up to the first is good, beyond the second is bad. Fixed before any run."""
MOST, LITTLE = 2 / 3, 1 / 3
"""Shares of the way from chance to the oracle: a recall from the first on is good, below the second it is bad."""
CHEAPER, DEARER = 0.75, 1.25
"""Tokens for each completed job, as a ratio to those without memory."""
Judge = Callable[[Results, str, Column], ScoreboardCell]


def judge_decisions(results: Results, key: str, column: Column) -> ScoreboardCell:
    """Against no memory, under every read policy that was played."""
    score = _show(results, key, DECISIONS_RIGHT)
    if key == COLD or not score.measured:
        return score
    if key in results.like_oracle:
        return replace(score, word="equals the oracle")
    judgement, word = tell_standing(ways.stand(results, key, ways.best_write(results, key)))
    return replace(score, judgement=judgement, word=word)


def tell_standing(stand: Mapping[ReadPolicy, Standing]) -> tuple[Judgement, str]:
    """What comparisons with no memory say together; what holds under one read policy alone names it."""
    standings = set(stand.values())
    if not standings:
        return "open", "not compared"
    if standings == {"untold"}:
        return "open", "too few stories"
    if standings == {"better"}:
        return "good", "better than no memory"
    if standings == {"worse"}:
        return "bad", "worse than no memory"
    if standings <= {"open", "untold"}:
        return "middling", "no difference shown"
    sentences = [
        f"{each} than no memory {_tell_when([read for read, own in stand.items() if own == each], stand)}"
        for each in ("better", "worse") if each in standings
    ]  # fmt: skip
    return "bad" if "worse" in standings else "middling", "; ".join(sentences)


def _tell_when(reads: Sequence[ReadPolicy], played: Iterable[ReadPolicy]) -> str:
    """`if the agent ...`; where that would name most of the ways that were played, `unless the agent ...` the rest."""
    rest = [read for read in played if read not in reads]
    if len(rest) < len(reads):
        return f"unless the agent {join_reads(rest)}"
    return f"if the agent {join_reads(reads)}"


def judge_stale(results: Results, key: str, column: Column) -> ScoreboardCell:
    """Not good where little is decided right: who decides nothing acts on nothing stale."""
    score = _show(results, key, STALE_USE)
    if not score.measured:
        return score
    write = ways.best_write(results, key)
    found, right = ways.spread(results, key, STALE_USE, write), ways.spread(results, key, DECISIONS_RIGHT, write)
    cold = ways.spread(results, COLD, DECISIONS_RIGHT, write)
    if found is None:  # a number under the other write policy alone
        return score
    low, high = found.shares
    word = " to ".join(dict.fromkeys(_tell_often(share) for share in found.shares))
    if high <= RARELY:
        if right is None or not right.shares[0] or cold is None or right.shares[0] < cold.shares[0]:
            return replace(score, word="decides too little right to tell")
        return replace(score, judgement="good", word=word)
    return replace(score, judgement="bad" if low > OFTEN else "middling", word=word)


def _tell_often(share: float) -> str:
    return "rarely" if share <= RARELY else "sometimes" if share <= OFTEN else "often"


def judge_recall(results: Results, key: str, column: Column) -> ScoreboardCell:
    """Between drawing blindly and the oracle, which recalls all."""
    score = _show(results, key, RECALL)
    if not score.measured:
        return score
    write = ways.best_write(results, key)
    found, chance = ways.spread(results, key, RECALL, write), ways.spread(results, key, CHANCE, write)
    if found is None:
        return score
    floor = chance.shares[0] if chance else 0.0
    # A store of at most k memories gives back all of them, so no row can be above chance.
    gone = (found.shares[0] - floor) / (1 - floor) if floor < 1 else 1.0
    score = replace(score, why=f"by chance {floor:.0%}")
    if gone >= MOST:
        return replace(score, judgement="good", word="most answers")
    if gone < LITTLE:
        return replace(score, judgement="bad", word="little above chance" if gone > 0 else "not above chance")
    return replace(score, judgement="middling", word="some answers")


def judge_cost(results: Results, key: str, column: Column) -> ScoreboardCell:
    """Tokens for each completed job beside those of no memory, with the jobs that both rest on."""
    score, write = _show(results, key, TOKENS_PER_JOB), ways.best_write(results, key)
    found, cold = (ways.spread(results, each, TOKENS_PER_JOB, write) for each in (key, COLD))
    if found is None:
        return _tell_unpaid(results, key, score, cold)
    done = ways.spread(results, key, JOBS_DONE, write)
    total = f" of {done.of:,}" if done and done.of else ""
    jobs = f"{ways.show_range(*_count_jobs(found))}{total} jobs done"
    score = replace(score, rests=jobs)
    if key == COLD:
        return replace(score, word=jobs)
    if cold is None:
        return replace(score, word=f"{jobs}; without memory none")
    low, high = (value / cold.numbers[0] for value in found.numbers)
    way = f"{ways.WRITE_LABELS[write]}: " if len(score.lines) > 1 else ""
    ratio, base = _tell_ratio(low, high), words.format_number(_count_jobs(cold)[0])
    word = f"{way}{ratio} the cost without memory, {cold.text} tokens a job; {jobs}, without memory {base}"
    # Doing fewer jobs than without memory is no saving.
    if high <= CHEAPER and _count_jobs(found)[0] >= _count_jobs(cold)[1]:
        return replace(score, judgement="good", word=word)
    return replace(score, judgement="bad" if low > DEARER else "middling", word=word)


def _count_jobs(spread: Spread) -> tuple[float, float]:
    """The jobs that a ratio rests on, the fewest and the most over the read policies."""
    jobs = [float(each.of or 0) for each in spread.by_read.values()]
    return min(jobs), max(jobs)


def _tell_ratio(low: float, high: float) -> str:
    if high >= 10:
        return f"{ways.show_range(round(low), round(high))} times"
    return f"{low:.0%} of" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%}\u2013{high:.0%} of"


def _tell_unpaid(results: Results, key: str, score: ScoreboardCell, cold: Spread | None) -> ScoreboardCell:
    """Tokens that no completed job shares."""
    paid = table.find_pooled(results, key, TOKENS_TOTAL)
    ratio = table.find_pooled(results, key, TOKENS_PER_JOB)
    if ratio is None or not ratio.not_applicable or paid is None or paid.value is None:
        return score
    score = ScoreboardCell((Number("no job completed", paid.cells),), measure=TOKENS_TOTAL)
    if key == COLD:
        return score
    return (
        replace(score, judgement="bad", word="paid for nothing")
        if cold
        else replace(score, word="none without memory either")
    )


def _show(results: Results, key: str, measure: str) -> ScoreboardCell:
    """The row's best write policy first, append beneath it; named where several were played."""
    spreads = ways.spreads(results, key, measure)
    if not spreads:
        return explain_none(table.find_pooled(results, key, measure))
    write = ways.best_write(results, key)
    ordered = sorted(spreads, key=lambda each: each.write != write)
    several = len(results.list_writes()) > 1 and key != COLD
    usual = ways.are_usual(results)
    shown = [*ordered[:1], *sorted(ordered[1:], key=lambda each: each.write != "append")[:1]]
    # In a usual run the legend says that the first number is of looking up, so it is not named again.
    lines = [
        Number(_tell(each, named=several and not (usual and at == 0 and each.write == "curated")), each.first.cells)
        for at, each in enumerate(shown)
    ]
    if measure == TOKENS_PER_JOB:  # of the first, the word tells it
        many = [_count_jobs(each) for each in shown[1:]]
        rests = [f" ({ways.show_range(*each)} {'job' if each[1] == 1 else 'jobs'})" for each in many]
        lines[1:] = [line._replace(text=line.text + jobs) for line, jobs in zip(lines[1:], rests, strict=True)]
    # A bar shows a share, and what is not counted has none.
    bars = tuple(each.shares for each in spreads if each in shown) if ordered[0].first.hits is not None else ()
    low, high = ordered[0].shares
    worse = high if results.definitions[measure].better == "lower" else low
    return ScoreboardCell(tuple(lines), measure=measure, bars=bars, value=worse)


def _tell(spread: Spread, *, named: bool) -> str:
    counted = spread.first.hits is not None and spread.of
    text = f"{spread.text} of {spread.of:,}" if counted else spread.text
    if any(each.at_least for each in spread.by_read.values()):
        text = f"\u2265 {text}"
    return f"{ways.WRITE_LABELS[spread.write]} {text}" if named and spread.write else text


WORK_JUDGES: Mapping[str, Judge] = {
    DECISIONS: judge_decisions, STALE: judge_stale, RECALLED: judge_recall, COST: judge_cost,
}  # fmt: skip


# --- trust ------------------------------------------------------------------------------------------------------------

BYTES = columns.DELETED.leads[:2]
"""Measures that look at stored bytes, of the drill first."""
PROMISES, SPEED = columns.PROMISES.id, columns.SPEED.id
"""Columns with rules of their own."""
ARROW, STEPS = " \u2192 ", 48
"""Between two steps of a sequence; characters of it that a cell shows."""
AT_ONCE, WAITING = 0.1, 1.0
"""Seconds of one recall: what feels immediate, and what keeps a train of thought (Nielsen 1993)."""


@dataclass(frozen=True)
class Member:
    """A measure of a column as one row has it."""

    definition: Definition
    pooled: Pooled
    drill: str = ""

    @property
    def wrong(self) -> float:
        """The share that went wrong, from 0 to 1; 0 without a number."""
        return share_bad(self.definition, self.pooled) or 0.0

    @property
    def case(self) -> Case:
        """How many went wrong, whichever of its cases the measure counts."""
        pooled, definition = self.pooled, self.definition
        of = pooled.of or 0
        hits = pooled.hits if pooled.hits is not None else (pooled.value or 0.0) * of
        # Hits may be parts of a case, and a difference of floats has false last digits.
        wrong = hits if definition.better == "lower" else round(of - hits, 6)
        return Case(definition.name, words.describe_fault(definition), wrong, of, pooled.cells, self.drill)


def share_bad(definition: Definition, pooled: Pooled) -> float | None:
    """How much of it went wrong, from 0 to 1; None without a number, and of what has no best value."""
    best = {"higher": 1.0, "lower": 0.0}.get(definition.better)
    if pooled.value is None or best is None or definition.unit != "proportion":
        return None
    share = pooled.hits / pooled.of if pooled.hits is not None and pooled.of else pooled.value
    # A mean of floats may miss its best value by rounding, which is no fault.
    return 0.0 if isclose(share, best, abs_tol=1e-12) else abs(best - share)


def list_members(results: Results, key: str, column: str) -> list[Member]:
    """Every measure of a column that a row has, the gravest first."""
    members = list(_list_members(results, key, column))
    return sorted(members, key=lambda each: (each.definition.gravity or 0, -each.wrong, each.definition.name))


def _list_members(results: Results, key: str, column: str) -> Iterator[Member]:
    if key in results.backends:
        for name, pooled in results.backends[key].measures.items():
            if results.definitions[name].column == column:
                yield Member(results.definitions[name], pooled)
    for cell in list_drills(results, key):
        for name, measure in cell.measures.items():
            if results.trust_definitions[name].column == column:
                yield Member(results.trust_definitions[name], Pooled.of_one(measure), cell.id)


def list_drills(results: Results, key: str) -> list[TrustCell]:
    return [cell for cell in results.trust if cell.backend == key]


def tell_inspected(results: Results, key: str) -> str | None:
    """Why nobody could look at the bytes of a row, or nothing if somebody could; None if nobody tried."""
    looked = [each.pooled for each in list_members(results, key, columns.DELETED.id) if each.definition.name in BYTES]
    if any(each.value is not None for each in looked):
        return ""
    reasons = [reason for each in looked if each.unsupported or each.failed for reason in each.reasons]
    return words.make_visible(reasons[0], 120) if reasons else None


def judge_trust(results: Results, key: str, column: Column) -> ScoreboardCell:
    """What went wrong, the gravest first; else what broke or could not be told; else the leading measure."""
    members = list_members(results, key, column.id)
    wrong = [each for each in members if each.wrong]
    if wrong:
        cases = tuple(each.case for each in wrong)
        return replace(_show_case(cases[0]), judgement="bad", word=cases[0].fault, cases=cases)
    missed = [each.pooled for each in members if each.pooled.failed or each.pooled.not_run]
    missed += [each.pooled for each in members if is_hidden(each.pooled)]
    if missed:
        return explain_none(missed[0])
    by_name = {each.definition.name: each for each in members}
    leads = [by_name[name] for name in column.leads if name in by_name]
    # What has no number for the question itself is not clean by what stands beside it.
    lead = next((each for each in leads or members if each.pooled.value is not None), None)
    if lead is None:
        return explain_none(next((each.pooled for each in (*leads, *members)), None))
    return replace(_show_case(lead.case), judgement="good", word=column.clean)


def _show_case(case: Case) -> ScoreboardCell:
    text = case.counted if case.of else words.share(case.wrong)
    value = case.wrong / case.of if case.of else case.wrong
    return ScoreboardCell((Number(text, case.cells),), drill=case.drill, measure=case.measure, value=value)


def judge_promises(results: Results, key: str, column: Column) -> ScoreboardCell:
    """Held over so many operations, or the shortest sequence that was not, in words."""
    for cell in list_drills(results, key):
        measure = cell.measures.get(BROKEN_PROMISES)
        if measure is None:
            continue
        pooled = Pooled.of_one(measure)
        if pooled.value is None:
            return explain_none(pooled)
        operations = words.format_count(pooled.of or 0, "operation")
        score = ScoreboardCell((Number(operations),), drill=cell.id, measure=BROKEN_PROMISES, value=pooled.of)
        if not pooled.value:
            return replace(score, judgement="good", word=column.clean)
        sentence = words.make_visible(cell.promise.says, 160) if cell.promise else ""
        if cell.promise and cell.promise.random:  # a sequence that shows it now and then is no receipt
            return replace(score, judgement="bad", word="broken, not every time", why=sentence)
        short = _shorten(words.make_visible(cell.promise.short)) if cell.promise else ""
        return replace(score, judgement="bad", word=f"broken: {short}" if short else "broken", why=sentence)
    return DASH


def _shorten(steps: str) -> str:
    """The first steps of a sequence, whole ones; the receipt has all."""
    if len(steps) <= STEPS:
        return steps
    # The first step alone may be longer than a cell shows.
    return f"{steps[:STEPS].rpartition(ARROW)[0] or steps[:STEPS]}{ARROW}\u2026"


def judge_speed(results: Results, key: str, column: Column) -> ScoreboardCell:
    for cell in list_drills(results, key):
        if RECALL_SECONDS not in cell.measures:
            continue
        pooled = Pooled.of_one(cell.measures[RECALL_SECONDS])
        if pooled.value is None:
            return explain_none(pooled)
        seconds = pooled.value
        milliseconds = f"{seconds * 1000:,.0f} ms" if seconds >= 0.001 else "< 1 ms"
        text = milliseconds if seconds < 1 else f"{seconds:,.1f} s"
        why = f"{cell.size:,} memories in the store"
        score = ScoreboardCell((Number(text),), drill=cell.id, measure=RECALL_SECONDS, why=why, value=seconds)
        if seconds <= AT_ONCE:
            return replace(score, judgement="good", word="at once")
        if seconds <= WAITING:
            return replace(score, judgement="middling", word="noticed")
        return replace(score, judgement="bad", word="slow")
    return DASH


TRUST_JUDGES: Mapping[str, Judge] = {PROMISES: judge_promises, SPEED: judge_speed}
