"""What the commands share: exit codes, one-line errors, options, and loading of stories and runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from harness import paths
from harness.model import Split

if TYPE_CHECKING:
    from harness.folder import Folder
    from harness.repo import Repo
    from harness.results import Results
    from harness.scenario import Scenario

GOOD, FAILED, BAD, COULD_NOT_RUN = 0, 1, 2, 3
FOLDER = click.Path(path_type=Path)
SPLIT = click.Choice(["all", "dev", "held"])


def stop(message: object, code: int = BAD) -> NoReturn:
    say(message)
    sys.exit(code)


def say(message: object) -> None:
    """One line; what a backend put into it cannot steer the terminal."""
    from harness.report.words import visible

    click.echo(f"coldwarm: {visible(' '.join(str(message).split()))}", err=True)


def with_suite(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--fixtures", type=FOLDER, default=paths.FIXTURES, help="Folder of the fixtures.")(command)
    return click.option("--tasks", type=FOLDER, default=paths.TASKS, help="Folder of the scenarios.")(command)


def with_out(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--out", type=FOLDER, default=paths.REPORTS / "out", help="Where runs are written.")(command)


def load_stories(tasks: Path, fixtures: Path, names: tuple[str, ...], split: Split) -> list[tuple[Scenario, Repo]]:
    from harness.repo import FixtureError
    from tasks import loader, suite

    if names == ("none",):
        return []
    try:
        files = suite.of_split(loader.find(tasks, names), tasks, split)
        return loader.load(files, fixtures, paths.cache_root())
    except (loader.ScenarioError, FixtureError) as error:
        stop(error)


def terminal() -> Any:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def reported(folder: Folder) -> int:
    """Scores the logs, writes everything that is derived from them, prints the table; the exit code it deserves."""
    from harness import report
    from harness.report import console

    results = scored(folder)
    written = report.write(folder, results)
    console.show(results, terminal())
    click.echo(f"report: {shown(written.page)}")
    return verdict(results)


def scored(folder: Folder) -> Results:
    from harness import compare
    from harness.blobs import BlobError
    from harness.folder import FolderError

    try:
        return compare.results(folder)
    except (FolderError, BlobError) as error:
        stop(error)


def verdict(results: Results) -> int:
    """Bad logs are bad input; a trial that did not end, or a backend that never began, could not run."""
    for problem in results.run.problems:
        say(problem)
    missing = [each for each in results.run.unplayed if not each.allowed]
    for each in missing:
        say(f"{each.backend} could not run: {each.reason}")
    unended = sorted({cell.trial for cell in results.cells if cell.status in ("failed", "incomplete", "not-run")})
    unended += sorted(cell.id for cell in results.trust if cell.status in ("failed", "incomplete", "not-run"))
    for trial in unended:
        say(f"trial {trial} did not get to its end")
    if results.run.problems:
        return BAD
    return COULD_NOT_RUN if missing or unended else GOOD


def shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def open_run(folder: Path) -> Folder:
    from harness.folder import Folder, FolderError

    try:
        return Folder.open(folder)
    except FolderError as error:
        stop(error)
