"""The command `github`, for a job on GitHub."""

from __future__ import annotations

import os
from pathlib import Path

import click

from harness import paths
from harness.cli.common import say, stop
from harness.cli.options import FOLDER
from harness.machine import documents, shortage

SUMMARY = "GITHUB_STEP_SUMMARY"


@click.command()
@click.argument("folder", type=FOLDER, default=paths.RUNS / "latest")
@click.option("--gates", default="gates.toml", show_default=True, help="Where the gates stand in the repository.")
def github(folder: Path, gates: str) -> None:
    """Annotate broken gates, and write the summary of a GitHub job.

    Also warns of what is bad and demanded by no gate. Prints workflow commands; ends with 0, as the run itself has told
    how it ended.
    """
    from harness.model.results import Results
    from harness.regress.baseline_files import MOST
    from harness.report.outputs import ci

    try:
        results = Results.model_validate_json(documents.read_bytes(folder / "results.json", MOST))
        text = documents.read_text(folder / "summary.md")
    except ValueError:
        # Both what documents raise and what pydantic raises is a ValueError.
        stop(f"{folder} holds no results of this version: coldwarm report {folder} writes them")
    for line in (*ci.annotate(results, gates), *ci.warn_undemanded(results, gates)):
        click.echo(line)
    place = os.environ.get(SUMMARY)
    if not place:
        return say(f"{SUMMARY} is not set: no job summary was written")
    try:
        # Earlier commands of the step may have written to the same file.
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(ci.cut_summary(text))
    except OSError as error:
        stop(f"{place}: cannot be written: {shortage.tell(error)}")
    return None
