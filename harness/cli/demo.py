"""The shortest way to a report: `demo`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import GOOD, with_open, with_out
from harness.cli.play import run

STORY = "stale-deploy-rule/forgotten-runbook"
BACKENDS = ("notes", "bm25")


@click.command()
@with_out
@with_open
@click.pass_context
def demo(context: click.Context, out: Path, browse: bool) -> None:
    """Play one story with two memories in half a minute, and say where the report is.

    A notes file that is loaded whole and a keyword index (BM25) play a story in which a deploy rule changes; then
    both are told to delete. Needs no SDK, no key and no network.
    """
    click.echo(f"playing {STORY} with {' and '.join(BACKENDS)} (under half a minute)")
    code = GOOD
    try:
        context.invoke(
            run,
            backends=BACKENDS,
            scenarios=(STORY,),
            noise=(20,),
            drilled=("deletion",),
            drill_size=20,
            jobs=2,
            fresh=True,
            out=out,
            browse=browse,
        )
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else GOOD
    context.exit(code)
