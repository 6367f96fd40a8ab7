"""`coldwarm calibrate`: how far the scripted reader may be believed."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import open_run, stop
from harness.cli.options import FOLDER


@click.command()
@click.argument("folders", type=FOLDER, nargs=-1, required=True, metavar="RUN...")
def calibrate(folders: tuple[Path, ...]) -> None:
    """Compare a model's decisions with the scripted reader's.

    Prints a page in Markdown, over the cells that both played. The runs, folders or packed, are of a reader with a
    model (choice, chat, agent:PROFILE) and of the scripted reader, with the same backends, stories, noise and seeds.
    Ends with 2 if they have no cell in common.

    \b
    coldwarm run -b chroma -b notes -d none --out runs
    coldwarm run -b chroma -b notes -d none --out runs --reader choice --model NAME --chat model
    coldwarm calibrate runs/FIRST runs/SECOND > calibration.md
    """
    from harness.compare import calibration
    from harness.log.blobs import BlobError
    from harness.log.folder import FolderError
    from harness.report.outputs import markdown

    try:
        calibrations = calibration.calibrate([open_run(folder) for folder in folders])
    except (calibration.CalibrationError, FolderError, BlobError) as error:
        stop(error)
    click.echo(markdown.write_calibration(calibrations), nl=False)
