"""The environments of backends that were asked for by release: `env`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from harness.cli.common import COULD_NOT_RUN, shorten, stop, tell
from harness.cli.options import Between

if TYPE_CHECKING:
    from harness.backend.environments import Environment


@click.group(invoke_without_command=True)
@click.pass_context
def env(context: click.Context) -> None:
    """Show or remove the environments of backends (NAME@VERSION).

    Each is named by its lock and its Python, and shared by all runs. Its files are hard-linked to uv's cache where
    that is on the same disk.
    """
    if context.invoked_subcommand is None:
        from harness.backend import environments
        from harness.report.words import format_count

        found = environments.list_made()
        for each in found:
            tell(describe(each))
        tell(f"{format_count(len(found), 'environment')}, in {shorten(environments.find_root())}")


@env.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--older", type=Between(0), metavar="DAYS", help="Only what was not used for so many days.")
def prune(names: tuple[str, ...], older: float | None) -> None:
    """Remove environments: all, or those of some backends.

    A backend is named as mem0 or mem0@2.0.4. What a run uses stays.
    """
    import time

    from harness.backend import environments

    environments.sweep()
    found = environments.list_made()
    chosen = [each for each in found if not names or any(_is_of(each, name) for name in names)]
    if names and not chosen:
        known = sorted({name for each in found for name in each.made.names})
        stop(f"no environment is of {', '.join(names)}; there are: {', '.join(known) or 'none'}")
    if older is not None:
        chosen = [each for each in chosen if time.time() - each.used > older * 86_400]
    in_use = [each for each in chosen if not environments.remove(each)]
    tell(f"removed: {len(chosen) - len(in_use)}")
    for each in in_use:
        tell(f"in use: {describe(each)}")
    sys.exit(COULD_NOT_RUN if in_use else 0)


def _is_of(each: Environment, name: str) -> bool:
    # A label is NAME@RELEASE+SETTINGS: it may be named whole, by its release or by its name.
    return any(name in (own, own.partition("+")[0], own.partition("@")[0]) for own in each.made.names)


def describe(each: Environment) -> str:
    """One line: who uses it, what it holds, since when nobody did."""
    import time

    days = (time.time() - each.used) / 86_400
    # The first requirement is the backend's own package.
    own = each.made.requirements[0].partition("==")[0].lower()
    release = next((one for one in each.made.packages if one.lower().startswith(f"{own}==")), own)
    return (
        f"{', '.join(each.made.names)}: {release} and {len(each.made.packages) - 1} other packages, "
        f"Python {each.made.python}, {each.made.size / 1e6:,.0f} MB, "
        f"used {'today' if days < 1 else f'{days:.0f} days ago'} ({each.folder.name})"
    )
