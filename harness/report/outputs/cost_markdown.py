"""The costs of chat calls in Markdown, as `coldwarm cost` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.compare.cost_model import Condition, Cost
from harness.model.prices import Prices
from harness.model.trial import SCRIPTED
from harness.report.model.sections import Costing, collect_costs
from harness.report.outputs.summary import format_code


def page(found: Sequence[Cost], prices: Prices | None) -> str:
    """The whole page in Markdown."""
    return "\n".join(_lines(collect_costs(found, prices))) + "\n"


def _lines(costing: Costing) -> Iterator[str]:
    yield from ("# What the chat calls cost", "", costing.says)
    if not costing.spent:
        yield "No chat call was made."
    if costing.unpriced:
        yield f"Without a price: {', '.join(format_code(name or 'several models', 60) for name in costing.unpriced)}."
    yield from costing.notes
    yield from ("", "## For each job done", "")
    yield _format_row(
        "reader, backend, writing, noise", "jobs done", "tokens", "money", "seconds working", "seconds writing"
    )
    yield _format_row("---", *["---:"] * 5)
    for job in costing.jobs:
        yield _format_row(_name(job.condition), *job[1:])
    yield from ("", "## By payer and phase", "")
    yield _format_row(
        "reader, backend, writing, noise", "payer", "phase", "model", "calls", "prompt", "of it cached", "answers",
        "money",
    )  # fmt: skip
    yield _format_row("---", "---", "---", "---", *["---:"] * 5)
    for spent in costing.spent:
        model = format_code(spent.model, 60) if spent.model else "-"
        yield _format_row(_name(spent.condition), spent.payer, spent.phase, model, *spent[4:])


def _name(condition: Condition) -> str:
    reader, backend, write, noise, writer = condition
    return ", ".join(
        [
            format_code(reader, 60),
            format_code(backend, 60) if backend else "cold",
            *([write] if write else []),
            str(noise),
            *([format_code(f"writer {writer}", 60)] if writer != SCRIPTED else []),
        ]
    )


def _format_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
