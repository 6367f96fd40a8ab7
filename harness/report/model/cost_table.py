"""What the chat calls of a run cost, as tables of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.compare.cost_model import Condition, Cost, ReportedUsage, Spent
from harness.model.prices import Prices
from harness.report import words


class JobRow(NamedTuple):
    """What each job done cost under one condition, as text."""

    condition: Condition
    done: str
    tokens: str
    money: str
    working: str
    writing: str


class SpentRow(NamedTuple):
    """What one payer spent in one phase with one model, as text."""

    condition: Condition
    payer: str
    phase: str
    model: str
    calls: str
    prompt: str
    cached: str
    completion: str
    money: str


class Costing(NamedTuple):
    """Two tables, and what has to be said of them.

    Attributes:
        unpriced: Models that the table of prices does not know; an empty name: several under one count.
        notes: What is missing, and what agent programs count of their own.
    """

    says: str
    unpriced: Sequence[str]
    notes: Sequence[str]
    jobs: Sequence[JobRow]
    spent: Sequence[SpentRow]


def collect(found: Sequence[Cost], prices: Prices | None) -> Costing:
    """Of all rows, whether a chat call was made or not."""
    note = f"Money by {prices}." if prices else "No prices were given (--prices FILE), so there is no money."
    return Costing(
        f"Tokens as the model's endpoint counted them, and no less than our own count. {note} "
        "Seconds are those of the machine that played.",
        sorted({name for each in found for name in each.list_unpriced(prices)}) if prices else (),
        list(_note(found)),
        [_share_row(each, prices) for each in found],
        [_show_spent(each.condition, spent, prices) for each in found for spent in each.spent.values() if spent.calls],
    )


def on_page(found: Sequence[Cost], prices: Prices | None) -> Costing | None:
    """None: no chat model was called."""
    return collect(found, prices) if any(each.calls for each in found) else None


def _note(found: Sequence[Cost]) -> Iterator[str]:
    if untimed := sum(each.untimed for each in found):
        yield f"Seconds are missing of {words.format_count(untimed, 'job')}, played by an older coldwarm."
    if short := sum(spent.short for each in found for spent in each.spent.values()):
        calls = sum(each.calls for each in found)
        yield (
            f"Of {short:,} of {words.format_count(calls, 'call')} the endpoint counted far fewer tokens "
            "than were sent: the "
            "model did not read all of the prompt, or its endpoint miscounts. Our own count is charged."
        )
    reported = ReportedUsage()
    for each in found:
        reported.absorb(each.told)
    if reported.jobs:
        (own, said), (prompt, completion) = reported.own, reported.counted
        yield (
            f"The agent program counts {own:,} + {said:,} tokens of its own (prompt + answers) in "
            f"{words.format_count(reported.jobs, 'job')}; "
            f"its endpoint counted {prompt:,} + {completion:,} in the same ones, "
            f"{_compare(reported)}. Tables and budgets hold what the endpoint counted."
        )


def _compare(reported: ReportedUsage) -> str:
    return (
        f"and another number in {reported.differing} of {reported.jobs}"
        if reported.differing
        else "and the same in each"
    )


def _share_row(each: Cost, prices: Prices | None) -> JobRow:
    return JobRow(
        each.condition,
        f"{each.done} of {each.jobs}",
        _share(each.tokens, each.done, ",.0f"),
        _share(each.money(prices) if prices else None, each.done, ",.4f"),
        _share(each.working, each.done, ",.2f"),
        _share(each.writing, each.done, ",.2f"),
    )


def _share(total: float | None, done: int, form: str) -> str:
    """Of each job done; without one, all of it was for nothing."""
    if total is None:
        return "-"
    return format(total / done, form) if done else f"none ({format(total, form)} spent)"


def _show_spent(condition: Condition, spent: Spent, prices: Prices | None) -> SpentRow:
    money = spent.money(prices) if prices else None
    return SpentRow(
        condition, spent.payer, spent.phase, spent.model, f"{spent.calls:,}", f"{spent.prompt:,}",
        f"{spent.cached:,}", f"{spent.completion:,}", "-" if money is None else f"{money:,.4f}",
    )  # fmt: skip
