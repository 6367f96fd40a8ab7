"""`coldwarm plan`: from a pilot run to the size of the run that answers a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.common import COULD_NOT_RUN, open_run, read_prices, stop, tell
from harness.cli.options import FOLDER, Between

if TYPE_CHECKING:
    from harness.compare.planning import Need, Plan, Spending
    from harness.model.prices import Prices


@click.command()
@click.argument("folder", metavar="RUN", type=FOLDER)
@click.option(
    "--difference", type=Between(0, 100, min_open=True), default=10, show_default=True, metavar="POINTS",
    help="The smallest difference that you care about, of 100.",
)  # fmt: skip
@click.option(
    "--power", "wanted", type=Between(0.5, 0.99), default=0.8, show_default=True, metavar="SHARE",
    help="The share of runs that should find it.",
)  # fmt: skip
@click.option("--row", default="", metavar="NAME", help="Whose difference; else the row that strays most.")
@click.option("--against", default="", metavar="NAME", help="Another row; else no memory.")
@click.option("--measure", default="", metavar="NAME", help="jobs_done, for one; else the share of right decisions.")
@click.option(
    "--prices", type=click.Path(path_type=Path), metavar="FILE", help="What tokens cost; else as the run was told."
)
def plan(
    folder: Path, difference: float, wanted: float, row: str, against: str, measure: str, prices: Path | None
) -> None:
    """Say how many stories, seeds and tokens a run needs.

    RUN (a folder or packed) is a finished pilot. Runs of other sizes are drawn from what it measured story by story,
    and judged by the test of the verdict. Ends with 3 if the pilot is too small to say, or leaves too little room.

    \b
    coldwarm plan coldwarm-runs/latest --difference 10 --power 0.8
    """
    from harness.compare import cost_model, planning
    from harness.log.blobs import BlobError
    from harness.log.folder import FolderError
    from harness.metrics.completion import DECISIONS_RIGHT
    from harness.model.prices import PricesError
    from harness.regress import baseline_files
    from harness.regress.baseline import RegressError

    # Not the option's own default, as measures are imported only where they are needed.
    measure = measure or DECISIONS_RIGHT
    if measure not in (known := planning.list_measures()):
        stop(f"--measure {measure}: known are {', '.join(known)}")
    opened = open_run(folder)
    try:
        price_list: Prices | None = read_prices(prices) if prices else opened.read().prices
    except PricesError as error:
        stop(error)
    try:
        results = baseline_files.load_evidence(opened.root).results
        assert results is not None, "a folder has results"
        side = planning.choose(results, row, against, measure)
        answer = planning.plan(side, difference / 100, wanted)
        spending = planning.spend(results, cost_model.list_costs([opened]), side, price_list)
    except (RegressError, planning.UnknownRowError, FolderError, BlobError) as error:
        stop(error)
    except planning.PlanError as error:
        stop(error, COULD_NOT_RUN)
    for line in _describe(answer, spending, price_list):
        tell(line)


def _describe(plan: Plan, spending: Spending, prices: Prices | None) -> Iterator[str]:
    from harness.report.words import format_count

    side, points = plan.side, f"{100 * plan.difference:g} of 100"
    many = f", p adjusted for {side.compared} comparisons" if side.compared > 1 else ""
    seeds = format_count(side.seeds, "seed")
    yield f"pilot: {side.right} against {_name(side.left)}, {side.measure}, {len(side.stories)} stories, {seeds}{many}"
    yield f"to find a difference of {points} in {100 * plan.power:.3g} of 100 runs:"
    for need in plan.needs:
        yield f"  {_describe_need(need)}{'; the least to play' if need == plan.best and len(plan.needs) > 1 else ''}"
    low, high = plan.range
    yield f"  another pilot of {len(side.stories)} stories could have said {low or _most()} to {high or _most()}"
    if side.seeds == 1:
        yield "  the pilot has one seed: what more seeds would save, it cannot tell"
    if plan.best and plan.best.stories:
        yield from _describe_cost(plan.best.stories * plan.best.seeds, spending, prices)
    yield ""
    columns = list(next(iter(plan.table.values())))
    yield f"share of runs that would find it, with {format_count(plan.best.seeds if plan.best else 1, 'seed')}:"
    yield "difference | " + " | ".join(f"{each} stories" for each in columns)
    for step, shares in plan.table.items():
        own = (f"{100 * share:.0f} %".rjust(len(f"{of} stories")) for of, share in shares.items())
        yield f"{f'{100 * step:g}'.rjust(10)} | {' | '.join(own)}"


def _describe_need(need: Need) -> str:
    from harness.report.words import format_count

    return f"{need.stories or _most()} stories, {format_count(need.seeds, 'seed')}"


def _most() -> str:
    from harness.compare.power import STORIES

    return f"more than {STORIES[-1]}"


def _describe_cost(times: int, spending: Spending, prices: Prices | None) -> Iterator[str]:
    """Of both rows that are compared, no other."""
    seconds = spending.seconds * times
    length = f"{seconds / 3600:,.1f} hours" if seconds >= 3600 else f"{seconds / 60:,.1f} minutes"
    length = f"{length} of backends and reader, as the pilot was played"
    if not spending.tokens:
        yield f"  both rows take no tokens, as no chat model was asked; {length}"
        return
    if spending.money is not None and prices:
        money = f"{spending.money * times:,.2f} {prices.currency} ({prices})"
    else:
        money = "price unknown (--prices)"
    yield f"  both rows take about {spending.tokens * times:,.0f} tokens; {money}; {length}"


def _name(row: str) -> str:
    from harness.compare.rows import COLD

    return "no memory" if row == COLD else row
