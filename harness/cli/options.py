"""Options that several commands have, their types, and help under headings."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from harness import paths
from harness.model.trial import DEFAULT_CALL_SECONDS


class PlainPath(click.Path):
    """A path that can be written down: every file of a run is UTF-8, and names where it lies."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            os.fspath(value).encode()
        except UnicodeEncodeError:
            self.fail(_explain_name(os.fsencode(value)), param, ctx)
        return super().convert(value, param, ctx)


def _explain_name(name: bytes) -> str:
    try:
        return f"{name.decode()!a}: this locale has only {sys.getfilesystemencoding()}: set LC_ALL=C.UTF-8"
    except UnicodeDecodeError:
        return f"{name!r}: its name is not UTF-8: choose another"


class Between(click.FloatRange):
    """A range of numbers: what is no number lies in none, though no comparison says so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no number of seconds, days or whatever is counted here", param, ctx)
        return number


FOLDER = PlainPath(path_type=Path)
SPLIT = click.Choice(["all", "dev", "held"])
SPLIT_HELP = "Part of the suite: dev to work with, held kept back for a final run."
HELD_SEED_HELP = "Draws which stories are held; any number but 0 draws others than those that everybody knows."


class GroupedCommand(click.Command):
    """A command of many options: its help shows them under headings.

    Attributes:
        groups: Heading -> names of parameters.
    """

    def __init__(self, *args: Any, groups: Mapping[str, Sequence[str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        known = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        named = {name for names in self.groups.values() for name in names}
        # What no heading names is shown all the same.
        groups = {**self.groups, "Other": [name for name in known if name not in named]}
        for heading, names in groups.items():
            records = [record for name in names if (record := known[name]) is not None]
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def with_suite(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--fixtures", type=FOLDER, default=paths.FIXTURES, help="Folder of the fixtures.")(command)
    return click.option(
        "--tasks", "--suite", "tasks", type=FOLDER, default=paths.TASKS, callback=_find_suite,
        help=f"Folder of the scenarios, a suite; or {', '.join(paths.SUITES)}.",
    )(command)  # fmt: skip


def _find_suite(_context: click.Context, _param: click.Parameter, value: Path) -> Path:
    return paths.find_suite(value)


def with_call_seconds(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--call-seconds", type=Between(1, 86_400), metavar="SECONDS",
        help=f"Seconds for a call of a backend, and more for each memory. Default: {DEFAULT_CALL_SECONDS:g} (of "
        "`promises` 10), or what its adapter declares if that is longer. Opening: 120, or this if longer.",
    )(command)  # fmt: skip


def with_out(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--out", type=FOLDER, default=paths.RUNS, help="Where runs are written.")(command)


def with_elsewhere(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--out", type=FOLDER, help="Where to write, if not into the run's folder.")(command)


def with_processes(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--jobs", "-j", type=click.IntRange(1, 64), default=_count_jobs, help="Stories scored side by side."
    )(command)


def _count_jobs() -> int:
    # a default has to lie in its option's range, too
    return min(os.cpu_count() or 1, 64)


def with_demands(command: Callable[..., Any]) -> Callable[..., Any]:
    baseline = click.option("--baseline", type=FOLDER, help="Compare with what `coldwarm baseline save` wrote.")
    return click.option("--gates", type=FOLDER, help="Thresholds of a gates.toml; a broken one exits 1.")(
        baseline(command)
    )


def with_open(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--open", "browse", is_flag=True, help="Open the report in the browser.")(command)


def with_output(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--json", "as_json", is_flag=True, help="Print results.json on stdout, all else on stderr.")(
        command
    )
    return click.option("--quiet", "-q", is_flag=True, help="Print only how it ended.")(command)
