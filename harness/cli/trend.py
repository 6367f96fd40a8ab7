"""A measure over many runs, or over releases: `trend`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import COULD_NOT_RUN, shorten, stop, tell, write_page
from harness.cli.options import FOLDER


@click.command()
@click.argument("runs", metavar="RUN...", type=FOLDER, nargs=-1, required=True)
@click.option("--measure", "measures", metavar="NAME", multiple=True, help="Of stories or of a drill; repeatable.")
@click.option("--html", "page", type=FOLDER, help="Write a page with a chart for each measure there, too.")
def trend(runs: tuple[Path, ...], measures: tuple[str, ...], page: Path | None) -> None:
    """Show how measures moved over runs or releases.

    RUN is a run (a folder or packed), a results.json or a baseline; they stand in the order of their dates. A line
    joins runs that were played alike; where they were not, it says why. One run alone is shown over the releases that
    it played (-b mem0@2.0.4 -b mem0@2.2.1). Without --measure, the measures that a report shows for every policy, and
    those that a release made better or worse.

    \b
    coldwarm trend reports/out/2* --measure decisions_right --html trend.html
    """
    from difflib import get_close_matches

    from harness.compare.rows import CONTRASTED
    from harness.regress import baseline_files, releases, trend_page
    from harness.regress import trend as trends
    from harness.regress.baseline import DEFINITIONS, RegressError

    for name in measures:
        if name not in DEFINITIONS:
            near = get_close_matches(name, DEFINITIONS, n=1)
            hint = f"did you mean {near[0]}?" if near else "docs/measures.md names them"
            stop(f"--measure {name}: there is no such measure; {hint}")
    try:
        sides = [baseline_files.load_evidence(run) for run in runs]
    except RegressError as error:
        stop(error)
    if len(sides) > 1:
        loaded = trends.order([side.baseline for side in sides])
        collected = [trends.collect(loaded, name) for name in measures or CONTRASTED]
    else:
        ladders = [[step.baseline for step in steps] for steps in releases.list_ladders(sides[0]).values()]
        if not ladders:
            stop("one run alone has to have played two releases of a backend; else a trend takes two runs or more")
        verdicts = trends.compare_ends(ladders)
        changed = sorted({name for _, name in verdicts} - {*CONTRASTED})
        loaded = [step for steps in ladders for step in steps]
        collected = [trends.collect_releases(ladders, name, verdicts) for name in measures or (*CONTRASTED, *changed)]
    found = [each for each in collected if each.lines]
    if not found:
        stop(f"no run has a number of {', '.join(measures) or 'these measures'}", COULD_NOT_RUN)
    tell(f"{len(loaded)} {found[0].over}s, {loaded[0].run} to {loaded[-1].run}")
    for each in found:
        tell("")
        for line in trends.describe(each):
            tell(line)
    if page:
        write_page(page, trend_page.write_page(loaded, found))
        tell(f"page: {shorten(page)}")
