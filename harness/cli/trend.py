"""A measure over many runs: `trend`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import COULD_NOT_RUN, FOLDER, shorten, stop, tell, write_page


@click.command()
@click.argument("runs", metavar="RUN...", type=FOLDER, nargs=-1, required=True)
@click.option("--measure", "measures", metavar="NAME", multiple=True, help="Of stories or of a drill; repeatable.")
@click.option("--html", "page", type=FOLDER, help="Write a page with a chart for each measure there, too.")
def trend(runs: tuple[Path, ...], measures: tuple[str, ...], page: Path | None) -> None:
    """Show how measures moved from run to run.

    RUN is a run (a folder or packed), a results.json or a baseline; they stand in the order of their dates. A line
    joins runs that were played alike; where they were not, it says why. Without --measure, the measures that a
    report shows for every policy.

    \b
    coldwarm trend reports/out/2* --measure decisions_right --html trend.html
    """
    from difflib import get_close_matches

    from harness.compare.rows import CONTRASTED
    from harness.regress import baseline_files, trend_page
    from harness.regress import trend as trends
    from harness.regress.baseline import DEFINITIONS, RegressError

    for name in measures:
        if name not in DEFINITIONS:
            near = get_close_matches(name, DEFINITIONS, n=1)
            hint = f"did you mean {near[0]}?" if near else "docs/measures.md names them"
            stop(f"--measure {name}: there is no such measure; {hint}")
    if len(runs) < 2:
        stop("a trend takes two runs or more: coldwarm trend RUN RUN")
    try:
        loaded = trends.order([baseline_files.load(run) for run in runs])
    except RegressError as error:
        stop(error)
    found = [made for name in measures or CONTRASTED if (made := trends.collect(loaded, name)).lines]
    if not found:
        stop(f"no run has a number of {', '.join(measures) or 'these measures'}", COULD_NOT_RUN)
    tell(f"{len(loaded)} runs, {loaded[0].run} to {loaded[-1].run}")
    for each in found:
        tell("")
        for line in trends.describe(each):
            tell(line)
    if page:
        write_page(page, trend_page.write_page(loaded, found))
        tell(f"page: {shorten(page)}")
