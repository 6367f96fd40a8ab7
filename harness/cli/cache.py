"""The trials that are kept across runs: `cache`."""

from __future__ import annotations

import click

from harness import paths
from harness.cli.common import shorten, tell
from harness.cli.options import Between


@click.command()
@click.option("--older", type=Between(0), metavar="DAYS", help="Remove what was not used for so many days.")
@click.option("--size", type=Between(0), metavar="MB", help="Remove what was not used for longest, down to this.")
@click.option("--all", "everything", is_flag=True, help="Remove all of them.")
def cache(older: float | None, size: float | None, everything: bool) -> None:
    """Show or remove the finished trials that runs may reuse.

    A trial that was finished under the same conditions is not played again, in any run folder: `coldwarm run --fresh`
    plays it anyway. Beyond 2 GB, a run removes those that were not used for longest.
    """
    from harness.log.trial_cache import TrialCache
    from harness.machine.entries import BOUND
    from harness.report.words import format_count

    trials = TrialCache(paths.find_trials())
    if everything or older is not None or size is not None:
        # Without --size the bound of every run holds, too.
        most_bytes = 0 if everything else BOUND if size is None else int(size * 1_000_000)
        removed = trials.prune(most_bytes, None if older is None else older * 86_400)
        tell(f"removed: {removed}")
    entries = trials.list_entries()
    megabytes = sum(each.bytes for each in entries) / 1_000_000
    tell(f"{format_count(len(entries), 'trial')}, {megabytes:,.1f} MB, in {shorten(trials.root)}")
