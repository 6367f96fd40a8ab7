"""The shortest way to a report: `demo`."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from harness.cli.common import GOOD, say, shorten, with_out
from harness.cli.play import run

STORY = "stale-deploy-rule/forgotten-runbook"
BACKENDS = ("notes", "bm25")


@click.command()
@with_out
@click.option("--open", "browse", is_flag=True, help="Open the report in the browser.")
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
        )
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else GOOD
    page = out / "latest" / "report.html"
    if browse and page.exists() and not webbrowser.open(page.resolve().as_uri()):
        say(f"no browser could be started: open {shorten(page)} yourself")
    context.exit(code)
