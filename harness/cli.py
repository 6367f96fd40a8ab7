"""The command line. Exit codes: 0 good, 1 a check failed, 2 bad usage or bad input, 3 something could not run."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from harness import paths
from harness.commands import check, gate, github, play, suite
from harness.commands.common import stop


def main() -> None:
    """Every error a user can cause is one line on standard error."""
    gc.set_threshold(100_000, 50, 50)  # a run's events are many and hold no cycles: collecting them took a third
    _check_checkout()
    commands()


def _check_checkout() -> None:
    """Other packages are called `adapters` and `tasks` too; ours must be the ones beside this harness."""
    import importlib.util

    for name in ("adapters", "tasks"):
        found = importlib.util.find_spec(name)
        places = list(found.submodule_search_locations or ()) if found else []
        if not any(Path(place).parent == paths.ROOT for place in places):
            stop(
                f"the package '{name}' comes from {places or 'nowhere'}, not from {paths.ROOT}: run `make bench` there"
            )


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="coldwarm")
def commands() -> None:
    """Does a memory backend make a coding agent better at repo work, and does what it remembers deserve trust?

    Exit codes: 0 good, 1 a gate or check failed, 2 bad usage or bad input, 3 something asked for could not run.
    """


for _command in (  # in the order of --help
    play.run,
    play.score,
    play.report,
    gate.compare,
    gate.baseline,
    gate.merge,
    github.github,
    suite.list_,
    suite.new,
    suite.selftest,
    suite.export,
    suite.validate,
    check.doctor,
    check.conform,
):
    commands.add_command(_command)
