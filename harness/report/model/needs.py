"""Which memory for which need: rules over columns and declared capabilities, never a grade. docs/choosing.md has them.

Every memory that decides worse than no memory is left out for each need. Those that fit are in the order of their right
decisions, then of their tokens; for the fewest tokens in the order of these. What counts is the worst way of reading.
Several needs together leave the rows that fit each of them: the page only combines what is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from harness.metrics.columns import COLUMNS
from harness.metrics.completion import DECISIONS_RIGHT
from harness.metrics.tokens import TOKENS_BACKEND, TOKENS_PER_JOB, TOKENS_TOTAL
from harness.metrics.trust import sharing
from harness.model.results import Results
from harness.model.trial import CANNOT_TELL
from harness.report import words
from harness.report.model import judges, table, ways
from harness.report.model.board import Board, BoardRow

Rule = Callable[[Results, Board, BoardRow], str]
"""Why a row does not fit, or nothing."""
UNKNOWN = "not measured"
OPEN = (UNKNOWN, CANNOT_TELL, words.NOT_MEASURED["not-run"], words.NOT_MEASURED["not-applicable"])
"""How a reason begins that tells of no fault, and of nothing that was shown: several needs cannot be told to be met."""
Rank = tuple[float, float, str]
"""The lowest stands first."""


def _rank_right(results: Results, row: BoardRow) -> Rank:
    """The most right decisions by the lowest count over the read policies, then the fewest tokens."""
    write = ways.best_write(results, row.key)
    right = ways.spread(results, row.key, DECISIONS_RIGHT, write)
    paid = ways.spread(results, row.key, TOKENS_PER_JOB, write)
    return (-right.numbers[0] if right else 0.0, paid.numbers[0] if paid else float("inf"), row.name)


def _rank_tokens(results: Results, row: BoardRow) -> Rank:
    """The fewest tokens by the highest count over the read policies, then by the lowest."""
    paid = ways.spread(results, row.key, TOKENS_PER_JOB, ways.best_write(results, row.key))
    # Without a number it stands last.
    low, high = paid.numbers if paid else (float("inf"), float("inf"))
    return high, low, row.name


@dataclass(frozen=True)
class Need:
    """What a team may ask for. rules: all of them have to hold; rank: the order of those that fit."""

    id: str
    asks: str
    rules: tuple[Rule, ...]
    rank: Callable[[Results, BoardRow], Rank] = _rank_right


@dataclass(frozen=True)
class Reason:
    """Why a row does not fit, or cannot be told to. Without a need: it fits none."""

    need: Need | None
    why: str
    known: bool = True


@dataclass(frozen=True)
class Choice:
    """A row as the page narrows by needs.

    Attributes:
        tokens: What a completed job costs under the best and the worst way of reading.
        whole: Whether that is all of it.
        cheap: Its place in the order of the fewest tokens.
    """

    row: BoardRow
    price: str
    tokens: tuple[float, float] | None
    whole: bool
    cheap: int
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Answer:
    """The rows that fit a need, each with what it costs, and why the others do not."""

    need: Need
    fit: tuple[tuple[BoardRow, str], ...]
    others: tuple[tuple[BoardRow, str], ...]


def _column(name: str) -> Rule:
    """The cell of a column is good."""

    def rule(results: Results, board: Board, row: BoardRow) -> str:
        score = board.find(row.key, name)
        if score.judgement == "good":
            return ""
        if not score.measured:
            return f"{score.text} ({score.why})" if score.why else UNKNOWN
        return score.cases[0].told if score.cases else f"{score.text} {score.word}".rstrip()

    return rule


def _declares(*capabilities: str) -> Rule:
    """The backend declares these capabilities."""

    def rule(results: Results, board: Board, row: BoardRow) -> str:
        own = results.backends.get(row.key)
        declared = own.backend if own else None
        if declared is None:
            return UNKNOWN
        for name in capabilities:
            if not declared.supports(name):
                note = declared.support[name].note if name in declared.support else ""
                return words.make_visible(note, 80) or f"does not declare {name}"
        return ""

    return rule


def _drill(name: str) -> Rule:
    """No measure of a drill went wrong."""

    def rule(results: Results, board: Board, row: BoardRow) -> str:
        cells = {cell.id for cell in judges.list_drills(results, row.key) if cell.drill == name}
        members = [
            each
            for column in COLUMNS.values()
            for each in judges.list_members(results, row.key, column.id)
            if each.drill in cells
        ]
        if not any(each.pooled.value is not None for each in members):
            return UNKNOWN
        wrong = next((each.case for each in members if each.wrong), None)
        if wrong is not None:
            return wrong.told
        # Clean as far as it was told: what broke, or was not run, may hide a fault.
        return (
            "not all of it was measured" if any(each.pooled.failed or each.pooled.not_run for each in members) else ""
        )

    return rule


def _no_server(results: Results, board: Board, row: BoardRow) -> str:
    own = results.backends.get(row.key)
    return "needs a server" if own and own.backend and own.backend.served else ""


def _client(*languages: str) -> Rule:
    """An agent in another language than these can use it; with one language, an agent in that one."""

    def rule(results: Results, board: Board, row: BoardRow) -> str:
        own = results.backends.get(row.key)
        clients = own.backend.clients if own and own.backend else ()
        if not clients:
            return UNKNOWN
        fits = languages[0] in clients if len(languages) == 1 else bool({*clients} - {*languages})
        return "" if fits or "any" in clients else f"clients in {words.join_words(clients)} only"

    return rule


def _no_model(results: Results, board: Board, row: BoardRow) -> str:
    """By what it declares, and by the calls of chat models that were counted."""
    own = results.backends.get(row.key)
    if own and own.backend and own.backend.supports("extracts"):
        return "a chat model inside rewrites what it is told"
    spent = table.find_pooled(results, row.key, TOKENS_BACKEND)
    if spent is None or spent.value is None:
        return UNKNOWN
    return "it calls a chat model" if spent.value else ""


def _inspected(results: Results, board: Board, row: BoardRow) -> str:
    seen = judges.tell_inspected(results, row.key)
    return UNKNOWN if seen is None else seen


def _helps(results: Results, board: Board, row: BoardRow) -> str:
    score = board.find(row.key, "decisions")
    return "" if score.judgement == "good" else score.word or UNKNOWN


def _pays(results: Results, board: Board, row: BoardRow) -> str:
    """It completes jobs, in the write policy that the scoreboard shows, and does not cost more than no memory."""
    score = board.find(row.key, judges.COST)
    if ways.spread(results, row.key, TOKENS_PER_JOB, ways.best_write(results, row.key)) is None:
        # Tokens without a completed job speak against a row, tokens that nobody counted do not.
        return ", ".join(filter(None, [score.text, score.word])) if score.measure == TOKENS_TOTAL else UNKNOWN
    return score.word if score.judgement == "bad" else ""


NEEDS = (
    Need("helps", "It has to help, whatever the agent reads first", (_helps,)),
    Need("tokens", "It has to cost the fewest tokens for each completed job", (_pays,), _rank_tokens),
    Need("deletion", "What was deleted has to be gone", (_column("deleted"),)),
    Need("users", "Several users or projects share it", (_declares("scope_user", "scope_repo"), _column("scopes"))),
    Need("processes", "Several processes write at once", (_declares("multi_process"), _drill(sharing.DRILL.name))),
    Need("server", "No server may run", (_no_server,)),
    Need("sources", "Each memory has to name its source", (_declares("source"), _column("sources"))),
    Need("offline", "It has to work without a chat model, so offline", (_no_model,)),
    Need("kept", "Whatever was written is kept", (_column("kept"),)),
    Need("undo", "A planted memory can be taken back", (_column("poison"),)),
    Need("reset", "All of one user or project can be deleted in one call", (_declares("forget_scope"),)),
    Need("typescript", "The agent is written in TypeScript", (_client("TypeScript"),)),
    Need("languages", "The agent is written in neither Python nor TypeScript", (_client("Python", "TypeScript"),)),
    Need("inspected", "Its stored bytes can be inspected", (_inspected,)),
)


def answer(results: Results, board: Board) -> list[Answer]:
    """One answer a need of which anything is known."""
    return [found for need in NEEDS if (found := _answer(results, board, need)).fit or found.others]


def _answer(results: Results, board: Board, need: Need) -> Answer:
    fit, others = list[tuple[BoardRow, str]](), list[tuple[BoardRow, str]]()
    tested = [row for row in board.rows if not row.cold and row.key in results.backends]
    for row in sorted(tested, key=lambda row: need.rank(results, row)):
        # The first reason is told: failing calls may be behind all others, and a need's own rules are what was asked.
        why = _find_reason(results, board, row, (_excuse_failing, *need.rules, _not_worse))
        if why == UNKNOWN:
            # What was not measured speaks neither for a row nor against it.
            continue
        (others if why else fit).append((row, why or describe_price(results, row)))
    return Answer(need, tuple(fit), tuple(others))


def list_choices(results: Results, board: Board, answers: Iterable[Answer]) -> list[Choice]:
    """Every row with all that speaks against it, the most right decisions first; what did not run stands last."""
    rows = [row for row in board.rows if not row.cold]
    played = [row for row in rows if row.key in results.backends]
    cheap = {row.key: at for at, row in enumerate(sorted(played, key=lambda row: _rank_tokens(results, row)))}
    needs = [each.need for each in answers]
    ordered = sorted(played, key=lambda row: _rank_right(results, row))
    choices = [_choose(results, board, row, cheap[row.key], needs) for row in ordered]
    for row in rows:
        if row.key not in results.backends:
            why = next((each.reason for each in results.run.unplayed if each.backend == row.key), UNKNOWN)
            absent = Reason(
                None, f"did not run: {words.make_visible(why, 200)}" if why != UNKNOWN else why, known=False
            )
            # Behind all that were played.
            choices.append(Choice(row, "", None, False, len(rows), (absent,)))
    return choices


def _choose(results: Results, board: Board, row: BoardRow, cheap: int, needs: Iterable[Need]) -> Choice:
    always = _find_reason(results, board, row, (_excuse_failing, _not_worse))
    found = [(None, always), *((need, _find_reason(results, board, row, need.rules)) for need in needs)]
    reasons = (Reason(need, why, known=not why.startswith(OPEN)) for need, why in found if why)
    paid = ways.spread(results, row.key, TOKENS_PER_JOB, ways.best_write(results, row.key))
    whole = paid is not None and not any(each.at_least for each in paid.by_read.values())
    tokens = paid.numbers if paid else None
    return Choice(row, describe_price(results, row), tokens, whole, cheap, tuple(reasons))


def _find_reason(results: Results, board: Board, row: BoardRow, rules: Iterable[Rule]) -> str:
    return next(filter(None, (rule(results, board, row) for rule in rules)), "")


def _not_worse(results: Results, board: Board, row: BoardRow) -> str:
    score = board.find(row.key, "decisions")
    return score.word or f"decisions: {score.text}" if score.judgement == "bad" else ""


def _excuse_failing(results: Results, board: Board, row: BoardRow) -> str:
    """Whatever a row whose calls failed says may be the failures' doing."""
    return "calls failed" if row.key in results.doubted() else ""


def describe_price(results: Results, row: BoardRow) -> str:
    """Right decisions and tokens per completed job, in the write policy that suits a row best."""
    return ", ".join(_describe_price(results, row))


def _describe_price(results: Results, row: BoardRow) -> Iterator[str]:
    write = ways.best_write(results, row.key)
    if right := ways.spread(results, row.key, DECISIONS_RIGHT, write):
        yield f"{right.text} of {right.of:,} decisions right" if right.of else f"{right.text} decisions right"
    if paid := ways.spread(results, row.key, TOKENS_PER_JOB, write):
        yield f"{paid.text} tokens a job"
