"""`coldwarm cost`: what the chat calls of runs cost."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import open_run, read_prices, stop
from harness.cli.options import FOLDER


@click.command()
@click.argument("folders", type=FOLDER, nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What tokens cost, as reports/prices.toml; else as the run was told.",
)
def cost(folders: tuple[Path, ...], prices: Path | None) -> None:
    """Show what the chat calls of runs cost.

    Prints a page in Markdown: for each job done, and by payer and phase. From logs alone, so prices may change after
    the run. A run that is given twice counts once.

    \b
    coldwarm cost coldwarm-runs/latest --prices prices.toml
    """
    from harness.compare import cost_model
    from harness.log.blobs import BlobError
    from harness.log.folder import FolderError
    from harness.model.prices import PricesError
    from harness.report.outputs import markdown

    runs = {(run := open_run(folder)).read().id: run for folder in folders}  # `runs/*` has the link `latest`, too
    try:
        run_prices = (run.read().prices for run in runs.values())
        known = read_prices(prices) if prices else next(filter(None, run_prices), None)
        page = markdown.write_costs(cost_model.list_costs([*runs.values()]), known)
    except (PricesError, FolderError, BlobError) as error:
        stop(error)
    click.echo(page, nl=False)
