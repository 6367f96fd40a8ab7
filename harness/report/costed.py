"""`coldwarm cost`: what the chat calls of a run cost, as a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.compare.costs import Cost, Spent
from harness.model.prices import Prices
from harness.model.trial import SCRIPTED
from harness.report import words
from harness.report.markdown import code


def page(found: Sequence[Cost], prices: Prices | None) -> str:
    """The whole page."""
    return "\n".join(_lines(found, prices)) + "\n"


def _lines(found: Sequence[Cost], prices: Prices | None) -> Iterator[str]:
    yield from ("# What the chat calls cost", "")
    said = f"Money by {prices}." if prices else "No prices were given (--prices FILE), so there is no money."
    yield f"Tokens as the model's endpoint counted them. {said} Seconds are those of the machine that played."
    if not any(each.spent for each in found):
        yield "No chat call was made."
    if missing := sorted({name for each in found for name in each.list_unpriced(prices)} if prices else ()):
        yield f"Without a price: {', '.join(code(name or 'several models', 60) for name in missing)}."
    if untimed := sum(each.untimed for each in found):
        yield f"Seconds are missing of {words.plural(untimed, 'job')}, played by an older coldwarm."
    yield from ("", "## For each job done", "")
    yield _row("reader, backend, writing, noise", "jobs done", "tokens", "money", "seconds working", "seconds writing")
    yield _row("---", *["---:"] * 5)
    for each in found:
        yield _row(
            _name(each), f"{each.done} of {each.jobs}", _share(each.tokens, each.done, ",.0f"),
            _share(each.money(prices) if prices else None, each.done, ",.4f"), _share(each.working, each.done, ",.2f"),
            _share(each.writing, each.done, ",.2f"),
        )  # fmt: skip
    yield from ("", "## By payer and phase", "")
    yield _row(
        "reader, backend, writing, noise", "payer", "phase", "calls", "prompt", "of it cached", "answers", "money"
    )
    yield _row("---", "---", "---", *["---:"] * 5)
    for each in found:
        for spent in each.spent.values():
            yield _row(_name(each), spent.payer, spent.phase, *_count(spent, prices))


def _count(spent: Spent, prices: Prices | None) -> tuple[str, ...]:
    money = spent.money(prices) if prices else None
    counts = (spent.calls, spent.prompt, spent.cached, spent.completion)
    return (*(f"{count:,}" for count in counts), "-" if money is None else f"{money:,.4f}")


def _name(each: Cost) -> str:
    reader, backend, write, noise, writer = each.condition
    return ", ".join(
        [
            code(reader, 60),
            code(backend, 60) if backend else "cold",
            *([write] if write else []),
            str(noise),
            *([code(f"writer {writer}", 60)] if writer != SCRIPTED else []),
        ]
    )


def _share(total: float | None, done: int, form: str) -> str:
    """Of each job done; without one, all of it was for nothing."""
    if total is None:
        return "-"
    return format(total / done, form) if done else f"no job done ({format(total, form)} spent)"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
