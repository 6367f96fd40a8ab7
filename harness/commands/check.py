"""Looking at this machine and at adapters: `doctor`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.commands.common import COULD_NOT_RUN, GOOD, with_out


@click.command()
@with_out
def doctor(out: Path) -> None:
    """Say what works on this machine, and open every adapter for real."""
    from harness.doctor import examine

    good = True
    for finding in examine(out):
        good = good and finding.good
        click.echo(f"{'ok  ' if finding.good else 'BAD '} {finding.name:<22} {' '.join(finding.seen.split())}")
    sys.exit(GOOD if good else COULD_NOT_RUN)
