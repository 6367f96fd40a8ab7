"""The scoreboard: a row for each backend, a cell for each question, each judged by itself against the controls.

A cell of trust counts what went wrong, so that 0 is clean in every column; it shows the worst measure that its word
covers. No column is a grade, and nothing is added up over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from harness import metrics
from harness.compare.statements import COLD
from harness.metrics.acting import STALE_USE
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.deletion import DELETED_FROM_BYTES
from harness.metrics.provenance import SOURCE_VERIFIED
from harness.metrics.recall import CHANCE, RECALL
from harness.metrics.tokens import TOKENS_PER_JOB, TOKENS_TOTAL
from harness.metrics.trust.keeping import RECALL_SECONDS
from harness.metrics.words import Scored
from harness.model.backend import SOUND
from harness.model.results import Pooled, Results, TrustCell
from harness.model.trial import WritePolicy
from harness.report import headline, tables, words
from harness.report.worst import Worst, share_bad

Judgement = Literal["good", "middling", "bad", "open"]
"""open: nothing was measured, or nothing is there to judge it against."""
SHAPES: dict[Judgement, str] = {"good": "\u25cf", "middling": "\u25d0", "bad": "\u25b2", "open": "\u2013"}
"""Each judgement has a shape and a colour, so that the page can be read without colours."""
RARELY, OFTEN = 0.10, 0.30
"""Shares of decisions acted on stale rules: up to the first is good, beyond the second is bad. Fixed before any run."""
MOST, LITTLE = 2 / 3, 1 / 3
"""Shares of the way from chance to the oracle: a recall from the first on is good, below the second it is bad."""
CHEAPER, DEARER = 0.75, 1.25
"""Tokens for each job done, as a ratio to those without memory."""
AT_ONCE, WAITING = 0.1, 1.0
"""Seconds of one recall: what feels immediate, and what keeps a train of thought (Nielsen 1993)."""


@dataclass(frozen=True)
class Score:
    """One cell of the scoreboard.

    Attributes:
        text: The number in words.
        word: What the judgement means here.
        why: Which measure it is, or why there is no number.
        cells: Cells of stories that it pools.
        drill: The cell of the drill that it is of, and `measure` which of its measures.
        shares: What a bar shows, from 0 to 1: appended, then looked up first.
    """

    text: str
    judgement: Judgement = "open"
    word: str = ""
    why: str = ""
    cells: tuple[str, ...] = ()
    drill: str = ""
    measure: str = ""
    shares: tuple[float, ...] = ()

    @property
    def shape(self) -> str:
        return SHAPES[self.judgement]


@dataclass(frozen=True)
class ScoreColumn:
    """A question. `topic` is the part of the page that goes on with it.

    Attributes:
        beside: How to read the number.
    """

    name: str
    head: str
    beside: str
    topic: str


@dataclass(frozen=True)
class ScoreRow:
    """One backend, or no memory."""

    key: str
    name: str
    version: str
    scores: tuple[Score, ...]

    @property
    def cold(self) -> bool:
        return self.key == COLD


@dataclass(frozen=True)
class Scoreboard:
    """The rows, no memory first. cold: its share of right decisions, at which a line runs through all rows.

    Attributes:
        bounds: What the best and the worst possible memory reach here, in words.
    """

    columns: tuple[ScoreColumn, ...]
    rows: tuple[ScoreRow, ...]
    cold: float | None
    bounds: str

    @property
    def empty(self) -> bool:
        """Nothing was measured of any backend."""
        scores = [score for row in self.rows if not row.cold for score in row.scores]
        return all(score.judgement == "open" and not score.shares for score in scores)

    def of(self, key: str, column: str) -> Score:
        """One cell. KeyError if there is none."""
        place = {each.name: at for at, each in enumerate(self.columns)}[column]
        return {row.key: row.scores for row in self.rows}[key][place]


Judge = Callable[[Results, str], Score]
_DASH = Score(SHAPES["open"])


def collect(results: Results) -> Scoreboard:
    """Columns without any cell that was tried are left out; a backend that could not run keeps its row."""
    tested = list_tested(results)
    keys = [*([COLD] if COLD in results.backends else []), *tested]
    found = {key: [_judge(results, key, column, judge) for column, judge in QUESTIONS] for key in keys}
    kept = [
        at for at, (column, _) in enumerate(QUESTIONS)
        if any(found[key][at] != _DASH for key in tested) or column.name == "decisions"
    ]  # fmt: skip
    rows = [
        ScoreRow(key, tables.name_row(results, key), _version(results, key), tuple(found[key][at] for at in kept))
        for key in keys
    ]
    known = {row.key for row in rows}
    rows += [
        ScoreRow(each.backend, words.visible(each.backend, 60), "", tuple(_absent(each.reason) for _ in kept))
        for each in results.run.unplayed
        if each.backend not in known
    ]
    cold = _find(results, COLD, DECISIONS_RIGHT)
    return Scoreboard(
        tuple(QUESTIONS[at][0] for at in kept), tuple(rows), _share(cold) if cold else None, _bounds(results)
    )


def _judge(results: Results, key: str, column: ScoreColumn, judge: Judge) -> Score:
    """Without a memory there is nothing to ask it."""
    return judge(results, key) if key != COLD or column.name in ("decisions", "cost") else _DASH


def list_tested(results: Results) -> list[str]:
    """The backends under test by name: those with a row that is no control's, and those that were only drilled."""
    rows = {name for name in results.backends if tables.group(results, name) == "ranked"}
    drilled = {cell.backend for cell in results.trust if cell.backend not in results.backends}
    return sorted(rows | drilled - {SOUND})


def writes(results: Results) -> tuple[WritePolicy, ...]:
    """The write policies that were played, append first."""
    played = {each.write_policy for each in results.contrasts}
    orders: tuple[WritePolicy, ...] = ("append", "curated")
    return tuple(each for each in orders if each in played)


def pool_under(results: Results, name: str, measure: str, write: WritePolicy) -> Pooled | None:
    """A measure of stories under one write policy; the cold arm writes nothing and is always the same."""
    if name == COLD or write == results.run.conditions.headline_write:
        return _find(results, name, measure)
    own = tables.contrast(results, name, write)
    return own.get(measure) if own else None


def _find(results: Results, name: str, measure: str) -> Pooled | None:
    row = results.backends.get(name)
    return row.measures.get(measure) if row else None


def _share(pooled: Pooled) -> float | None:
    if pooled.hits is not None and pooled.of:
        return pooled.hits / pooled.of
    return pooled.value


def _version(results: Results, key: str) -> str:
    row = results.backends.get(key)
    return words.visible(row.backend.version, 40) if row and row.backend else ""


def _absent(reason: str) -> Score:
    return Score(words.NOT_MEASURED["not-run"], why=words.visible(reason, 200))


def _none(pooled: Pooled | None) -> Score:
    """The word for no number, which is neither good nor bad; what broke is bad."""
    if pooled is None:
        return _DASH
    word = words.value(pooled)
    why = "; ".join(words.visible(reason, 160) for reason in pooled.reasons)
    return Score(word, "bad" if pooled.failed else "open", why=why, cells=pooled.cells)


def _both(results: Results, key: str, measure: str) -> list[Pooled]:
    """A measure under each write policy that was played, with a number."""
    found = [pool_under(results, key, measure, write) for write in writes(results) or ("append",)]
    if key == COLD:
        found = found[:1]
    return [each for each in found if each is not None and each.value is not None]


def _counts(both: Sequence[Pooled]) -> str:
    """`23 -> 44 of 60`: under each write policy, of the cases of the last."""
    return " \u2192 ".join(words.number(each.hits or 0) for each in both) + f" of {both[-1].of:,}"


# --- questions of stories ---------------------------------------------------------------------------------------


def _decisions(results: Results, key: str) -> Score:
    """Against no memory, by the comparison that belongs to the last write policy."""
    both = _both(results, key, DECISIONS_RIGHT)
    if not both:
        return _none(_find(results, key, DECISIONS_RIGHT))
    made = Score(
        _counts(both), cells=both[0].cells, measure=DECISIONS_RIGHT,
        shares=tuple(_share(each) or 0.0 for each in both),
    )  # fmt: skip
    if key == COLD:
        return made
    write = writes(results)[-1] if len(both) > 1 else results.run.conditions.headline_write
    return _with(made, *_against_cold(results, key, write))


def _with(score: Score, judgement: Judgement, word: str) -> Score:
    return Score(score.text, judgement, word, score.why, score.cells, score.drill, score.measure, score.shares)


def _against_cold(results: Results, key: str, write: WritePolicy) -> tuple[Judgement, str]:
    for each in results.list_comparisons(write):
        if each.measure == DECISIONS_RIGHT and {each.left, each.right} == {COLD, key} and each.able:
            if each.verdict == "no-difference-shown":
                return "middling", "no difference shown"
            better = each.left if each.verdict == "left-better" else each.right
            return ("good", "better than no memory") if better == key else ("bad", "worse than no memory")
    return "open", "too few stories"


def _stale(results: Results, key: str) -> Score:
    both = _both(results, key, STALE_USE)
    if not both:
        return _none(_find(results, key, STALE_USE))
    shares = tuple(_share(each) or 0.0 for each in both)
    made = Score(_counts(both), cells=both[0].cells, measure=STALE_USE, shares=shares)
    recall = _find(results, key, RECALL)
    if not shares[-1] and recall is not None and not recall.value:
        return _with(made, "open", words.NO_MERIT)
    if shares[-1] <= RARELY:
        return _with(made, "good", "rarely")
    return _with(made, "bad", "often") if shares[-1] > OFTEN else _with(made, "middling", "at times")


def _recall(results: Results, key: str) -> Score:
    """Between drawing blindly and the oracle, which recalls all."""
    pooled, chance = _find(results, key, RECALL), _find(results, key, CHANCE)
    if pooled is None or pooled.value is None:
        return _none(pooled)
    share = _share(pooled) or 0.0
    floor = (_share(chance) if chance else None) or 0.0
    gone = (share - floor) / (1 - floor) if floor < 1 else 1.0
    made = Score(_of(pooled), cells=pooled.cells, measure=RECALL, shares=(share,), why=f"by chance {floor:.0%}")
    if gone >= MOST:
        return _with(made, "good", "most of it")
    return _with(made, "bad", "little above chance") if gone < LITTLE else _with(made, "middling", "some of it")


def _cost(results: Results, key: str) -> Score:
    pooled, cold = _find(results, key, TOKENS_PER_JOB), _find(results, COLD, TOKENS_PER_JOB)
    if pooled is None or pooled.value is None:
        paid = _find(results, key, TOKENS_TOTAL)
        if pooled is not None and pooled.not_applicable and paid is not None and paid.value is not None:
            made = Score("no job done", cells=paid.cells)
            return made if key == COLD else _with(made, "bad", "paid for nothing")
        return _none(pooled)
    made = Score(words.number(pooled.value), cells=pooled.cells, measure=TOKENS_PER_JOB)
    if key == COLD:
        return made
    if cold is None or cold.value is None:
        return _with(made, "open", "nothing to compare with")
    ratio = pooled.value / cold.value
    word = f"{ratio:.0%} of no memory" if ratio < 10 else f"{ratio:,.0f} times no memory"
    return _with(made, "good" if ratio <= CHEAPER else "bad" if ratio > DEARER else "middling", word)


def _of(pooled: Pooled) -> str:
    return f"{words.number(pooled.hits or 0)} of {pooled.of:,}" if pooled.of else words.value(pooled)


def _proven(results: Results, key: str) -> Score:
    own = results.backends[key].measures if key in results.backends else {}
    found = tables.show_family(results.definitions, own, SOURCE_VERIFIED) if own else None
    return _faults(results, [(found, "")] if found else [], "all proven", "not proven")


# --- questions of trust -------------------------------------------------------------------------------------------


def _trust(question: str, clean: str, faulty: str, lead: str = "") -> Judge:
    """The worst of the headlines of drills that say they count here, and of the stories' family that `lead` leads."""

    def judge(results: Results, key: str) -> Score:
        return _faults(results, list(_members(results, key, question, lead)), clean, faulty)

    return judge


def _members(results: Results, key: str, question: str, lead: str) -> Iterator[tuple[Worst, str]]:
    if lead and key in results.backends:
        found = tables.show_family(results.definitions, results.backends[key].measures, lead)
        if found is not None:
            yield found, ""
    cells: list[TrustCell] = [cell for cell in results.trust if cell.backend == key]
    for column in headline.COLUMNS:
        told = headline.find_worst(results, cells, column) if column.score == question else None
        if told is not None:
            yield told


def _faults(results: Results, members: Sequence[tuple[Worst, str]], clean: str, faulty: str) -> Score:
    """What went wrong in the worst of them; then what broke; else how many cases were clean, of the lead."""

    def rank(member: tuple[Worst, str]) -> tuple[float, bool, int]:
        found = member[0]
        return _wrong(results, found), found.pooled.failed > 0, found.pooled.of or 0

    if not members:
        return _DASH
    found, drill = max(members, key=rank)
    pooled = found.pooled
    if pooled.value is None:
        measured = [each for each in members if each[0].pooled.value is not None]
        if pooled.failed or not measured:
            return _none(pooled)
        found, drill = max(measured, key=rank)
        pooled = found.pooled
    bad = _wrong(results, found)
    text = f"{words.number(round(bad * pooled.of, 6))} of {pooled.of:,}" if pooled.of else f"{bad:.0%}"
    return Score(
        text, "bad" if bad else "good", faulty if bad else clean,
        why=f"{found.measure.replace('_', ' ')}: {words.value(pooled)}", cells=pooled.cells, drill=drill,
        measure=found.measure,
    )  # fmt: skip


def _wrong(results: Results, found: Worst) -> float:
    definition = results.definitions.get(found.measure) or results.trust_definitions[found.measure]
    return share_bad(definition, found.pooled) or 0.0


def _speed(results: Results, key: str) -> Score:
    for cell in results.trust:
        if cell.backend == key and RECALL_SECONDS in cell.measures:
            pooled = Pooled.of_one(cell.measures[RECALL_SECONDS])
            if pooled.value is None:
                return _none(pooled)
            seconds = pooled.value
            milliseconds = f"{seconds * 1000:,.0f} ms" if seconds >= 0.001 else "under 1 ms"
            text = milliseconds if seconds < 1 else f"{seconds:,.1f} s"
            made = Score(text, drill=cell.id, measure=RECALL_SECONDS, why=f"{cell.size:,} memories in the store")
            if seconds <= AT_ONCE:
                return _with(made, "good", "at once")
            return _with(made, "middling", "noticed") if seconds <= WAITING else _with(made, "bad", "slow")
    return _DASH


def _bounds(results: Results) -> str:
    told = [
        f"{name.replace('_', ' ')} {words.number(pooled.hits)}"
        for name in ("oracle", "stale_oracle")
        if (pooled := _find(results, name, DECISIONS_RIGHT)) is not None and pooled.hits is not None
    ]
    return ", ".join(told)


def _word(measure: str, scored: Scored) -> Judge:
    """By the share of cases that went wrong, as the words of the measure judge it."""

    def judge(results: Results, key: str) -> Score:
        pooled = _find(results, key, measure)
        if pooled is None or pooled.value is None:
            return _none(pooled)
        made = Score(_of(pooled), cells=pooled.cells, measure=measure)
        wrong = share_bad(results.definitions[measure], pooled)
        if wrong is None:
            return made
        good, middling, bad = scored.says
        if wrong <= scored.good:
            return _with(made, "good", good)
        return _with(made, "bad", bad) if wrong > scored.bad else _with(made, "middling", middling)

    return judge


_RULED: tuple[tuple[ScoreColumn, Judge], ...] = (
    (ScoreColumn("decisions", "Decides right", "append \u2192 look up first", "work"), _decisions),
    (ScoreColumn("stale", "Acts on stale", "append \u2192 look up", "stale"), _stale),
    (ScoreColumn("recalled", "Recalls", "brought back", "recalled"), _recall),
    (ScoreColumn("cost", "Costs", "tokens a job done", "cost"), _cost),
    (ScoreColumn("sources", "Sources", "not proven", "proven"), _proven),
    (
        ScoreColumn("deleted", "Deletion", "still there", "deleted"),
        _trust("deleted", "all gone", "still there", DELETED_FROM_BYTES),
    ),
    (ScoreColumn("scopes", "Scopes", "crossed", "trust"), _trust("scopes", "none crossed", "crossed")),
    (ScoreColumn("poison", "Poison", "acted on", "trust"), _trust("poison", "no harm", "harmed")),
    (
        ScoreColumn("kept", "Kept", "lost by kills, updates, restores", "trust"),
        _trust("kept", "nothing lost", "not kept"),
    ),
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
