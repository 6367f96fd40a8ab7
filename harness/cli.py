"""The command line. Exit codes: 0 good, 1 a check failed, 2 bad usage or bad input, 3 something could not run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from harness import paths
from harness.model import DEFAULT_BACKENDS, DEFAULT_BUDGET, DEFAULT_K, DEFAULT_NOISE, SECRET, Selection, Split

if TYPE_CHECKING:
    from harness.folder import Folder
    from harness.repo import Repo
    from harness.results import Results
    from harness.scenario import Scenario

GOOD, FAILED, BAD, COULD_NOT_RUN = 0, 1, 2, 3
FOLDER = click.Path(path_type=Path)
SPLIT = click.Choice(["all", "dev", "held"])


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
            _stop(
                f"the package '{name}' comes from {places or 'nowhere'}, not from {paths.ROOT}: run `make bench` there"
            )


def _stop(message: object, code: int = BAD) -> NoReturn:
    _say(message)
    sys.exit(code)


def _say(message: object) -> None:
    """One line; what a backend put into it cannot steer the terminal."""
    from harness.report.words import visible

    click.echo(f"coldwarm: {visible(' '.join(str(message).split()))}", err=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="coldwarm")
def commands() -> None:
    """Does a memory backend make a coding agent better at repo work, and does what it remembers deserve trust?

    Exit codes: 0 good, 1 a gate or check failed, 2 bad usage or bad input, 3 something asked for could not run.
    """


def _suite(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--fixtures", type=FOLDER, default=paths.FIXTURES, help="Folder of the fixtures.")(command)
    return click.option("--tasks", type=FOLDER, default=paths.TASKS, help="Folder of the scenarios.")(command)


def _out(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--out", type=FOLDER, default=paths.REPORTS / "out", help="Where runs are written.")(command)


@commands.command()
@click.option("--backend", "-b", "backends", multiple=True, help="NAME, NAME,key=value or module:Class; repeatable.")
@click.option("--scenario", "-s", "scenarios", multiple=True, help="Id, kind or file name; repeatable. Default: all.")
@click.option("--split", type=SPLIT, default="all", show_default=True, help="Of each kind, a part is held back.")
@click.option("--noise", "-n", type=click.IntRange(0, 100_000), multiple=True, default=DEFAULT_NOISE, show_default=True)
@click.option("--write", type=click.Choice(["append", "curated"]), multiple=True, default=("append", "curated"))
@click.option("--seed", type=int, multiple=True, default=(1,), show_default=True)
@click.option("-k", type=click.IntRange(1, 100), default=DEFAULT_K, show_default=True, help="Hits asked for.")
@click.option("--budget", type=click.IntRange(1), default=DEFAULT_BUDGET, show_default=True, help="Tokens that count.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=1, show_default=True, help="Trials side by side.")
@click.option("--allow", multiple=True, help="A backend that may be missing without failing the run; repeatable.")
@click.option("--trial", "only", multiple=True, help="Only the trials whose id begins so; repeatable.")
@click.option("--keep", is_flag=True, help="Keep each trial's store below the run's folder.")
@click.option("--resume", type=FOLDER, help="Go on with this run's folder: what is finished is not played again.")
@_out
@_suite
def run(
    backends: tuple[str, ...],
    scenarios: tuple[str, ...],
    split: Any,
    noise: tuple[int, ...],
    write: tuple[Any, ...],
    seed: tuple[int, ...],
    k: int,
    budget: int,
    jobs: int,
    allow: tuple[str, ...],
    only: tuple[str, ...],
    keep: bool,
    resume: Path | None,
    out: Path,
    tasks: Path,
    fixtures: Path,
) -> None:
    """Play scenarios cold and warm against backends, and write a report."""
    from harness import registry, runner
    from harness.folder import Folder, FolderError
    from harness.models.embedder import EmbedderError
    from harness.progress import Lines
    from tasks import suite

    try:
        folder = Folder.open(resume) if resume else None
        selection = (
            _resumed(folder.read().selection, backends)
            if folder
            else _selection(backends, scenarios, split, noise, write, seed, k, budget)
        )
        cast = runner.cast(selection, allow)
        stories = _stories(tasks, fixtures, selection.scenarios, selection.split)
        folder = folder or Folder.create(out)
    except (FolderError, registry.RegistryError) as error:
        _stop(error)
    listener = Lines(_console())
    command = " ".join(["coldwarm", *map(registry.redacted, sys.argv[1:])])
    played = runner.Run(
        folder, selection, cast, command, stories, paths.cache_root(), listener,
        jobs=jobs, only=only, keep=keep,
        suite=suite.identity([story for story, _ in stories], tasks, selection.split),
    )  # fmt: skip
    try:
        played.play()
    except KeyboardInterrupt:
        _stop(f"stopped; finished trials are kept: coldwarm run --resume {folder.root}", COULD_NOT_RUN)
    except (EmbedderError, OSError) as error:
        _stop(f"{error}; finished trials are kept: coldwarm run --resume {folder.root}", COULD_NOT_RUN)
    finally:
        listener.ended()
    sys.exit(_report(folder))


def _selection(
    backends: tuple[str, ...],
    scenarios: tuple[str, ...],
    split: Split,
    noise: tuple[int, ...],
    write: tuple[Any, ...],
    seed: tuple[int, ...],
    k: int,
    budget: int,
) -> Selection:
    from harness import registry

    specs = tuple(registry.parse(text) for text in backends or DEFAULT_BACKENDS)
    return Selection(
        backends=specs, scenarios=scenarios, split=split, noise=noise, writes=write, seeds=seed, k=k, budget=budget
    )


def _resumed(selection: Selection, backends: tuple[str, ...]) -> Selection:
    """What a run asked for. Its secrets were never written down: whoever goes on with it gives them again."""
    from harness import registry

    given = {spec.label: spec for spec in map(registry.parse, backends)}
    specs = tuple(given.get(spec.label, spec) for spec in selection.backends)
    for spec in specs:
        if any(SECRET.search(key) and spec.settings[key] == value for key, value in spec.shown.items()):
            raise registry.RegistryError(f"backend '{spec.label}' had secrets, which are not kept: repeat it with -b")
    return selection.model_copy(update={"backends": specs})


def _stories(tasks: Path, fixtures: Path, names: tuple[str, ...], split: Split) -> list[tuple[Scenario, Repo]]:
    from harness.repo import FixtureError
    from tasks import loader, suite

    try:
        files = suite.of_split(loader.find(tasks, names), tasks, split)
        return loader.load(files, fixtures, paths.cache_root())
    except (loader.ScenarioError, FixtureError) as error:
        _stop(error)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def _report(folder: Folder) -> int:
    """Scores the logs, writes everything that is derived from them, prints the table; the exit code it deserves."""
    from harness import report
    from harness.report import console

    results = _scored(folder)
    written = report.write(folder, results)
    console.show(results, _console())
    click.echo(f"report: {_shown(written.page)}")
    return _verdict(results)


def _scored(folder: Folder) -> Results:
    from harness import compare
    from harness.blobs import BlobError
    from harness.folder import FolderError

    try:
        return compare.results(folder)
    except (FolderError, BlobError) as error:
        _stop(error)


def _verdict(results: Results) -> int:
    """Bad logs are bad input; a trial that did not end, or a backend that never began, could not run."""
    for problem in results.run.problems:
        _say(problem)
    missing = [each for each in results.run.unplayed if not each.allowed]
    for each in missing:
        _say(f"{each.backend} could not run: {each.reason}")
    unended = sorted({cell.trial for cell in results.cells if cell.status in ("failed", "incomplete", "not-run")})
    for trial in unended:
        _say(f"trial {trial} did not get to its end")
    if results.run.problems:
        return BAD
    return COULD_NOT_RUN if missing or unended else GOOD


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@commands.command()
@click.argument("folder", type=FOLDER, default=paths.REPORTS / "out" / "latest")
def score(folder: Path) -> None:
    """Compute results.json of a run again, from its logs and blobs alone."""
    from harness import report

    opened = _opened(folder)
    results = _scored(opened)
    click.echo(_shown(report.write(opened, results).results))
    sys.exit(_verdict(results))


@commands.command()
@click.argument("folder", type=FOLDER, default=paths.REPORTS / "out" / "latest")
def report(folder: Path) -> None:
    """Write results, summary and page of a run again, from its logs and blobs alone, and print the table."""
    sys.exit(_report(_opened(folder)))


def _opened(folder: Path) -> Folder:
    from harness.folder import Folder, FolderError

    try:
        return Folder.open(folder)
    except FolderError as error:
        _stop(error)


@commands.command(name="list")
@click.option("--split", type=SPLIT, default="all", show_default=True, help="Of each kind, a part is held back.")
@_suite
def list_(split: Any, tasks: Path, fixtures: Path) -> None:
    """Show the scenarios, what they hold, and the backends."""
    from harness import listing, registry
    from tasks import suite

    stories = [story for story, _ in _stories(tasks, fixtures, (), split)]
    listing.show(stories, suite.identity(stories, tasks, split), _console())
    for word, control in (("backends", False), ("controls", True)):
        names = [name for name, entry in registry.known().items() if entry.control is control]
        click.echo(f"{word}: {', '.join(names)}")


@commands.group()
def new() -> None:
    """Write what a suite of your own begins with."""


@new.command(name="scenario")
@click.argument("name")
@click.option("--fixture", required=True, help="The repository in which the story plays.")
@_suite
def new_scenario(name: str, fixture: str, tasks: Path, fixtures: Path) -> None:
    """Write a scenario that holds, as KIND/NAME, to be changed from there."""
    from tasks import skeleton
    from tasks.loader import ScenarioError

    try:
        file = skeleton.write(name, tasks, fixtures, fixture, paths.cache_root())
    except ScenarioError as error:
        _stop(error)
    click.echo(f"{_shown(file)}: written; tasks/README.md explains it")


@commands.group()
def selftest() -> None:
    """Prove that the measuring itself can be trusted."""


@selftest.command(name="suite")
@_suite
def selftest_suite(tasks: Path, fixtures: Path) -> None:
    """Prove of every scenario that no control wins it and its checks cannot be fooled (a minute or two)."""
    from harness import selftest
    from harness.selftest import table
    from tasks import loader

    try:
        files = loader.find(tasks)
    except loader.ScenarioError as error:
        _stop(error)
    proven = selftest.prove(files, fixtures, paths.cache_root())
    table.show(proven, _console())
    for breach in proven.breaches:
        _say(breach)
    click.echo(f"{len(files)} scenarios, {len(proven.breaches)} breaches")
    sys.exit(FAILED if proven.breaches else GOOD)


@commands.group()
def export() -> None:
    """Write the suite, or what a run measured, as tables for other tools."""


@export.command(name="suite")
@click.argument("directory", metavar="DIR", type=FOLDER)
@_suite
def export_suite(directory: Path, tasks: Path, fixtures: Path) -> None:
    """Write facts, probes and jobs into DIR, as a data set for Hugging Face `datasets` and pandas."""
    from harness import export
    from tasks import suite

    stories = [story for story, _ in _stories(tasks, fixtures, (), "all")]
    try:
        export.suite(directory, stories, suite.identity(stories, tasks, "all"))
    except export.ExportError as error:
        _stop(error)
    click.echo(_shown(directory / "README.md"))


@export.command(name="results")
@click.argument("folder", metavar="RUN", type=FOLDER)
@click.argument("directory", metavar="DIR", type=FOLDER)
def export_results(folder: Path, directory: Path) -> None:
    """Write cells and measures of the run in folder RUN into DIR, as Parquet."""
    from harness import export
    from harness.blobs import BlobError
    from harness.folder import FolderError

    try:
        results = export.results(directory, _opened(folder))
    except export.MissingExtraError as error:
        _stop(error, COULD_NOT_RUN)
    except (export.ExportError, FolderError, BlobError) as error:
        _stop(error)
    click.echo(_shown(directory / "cells.parquet"))
    sys.exit(_verdict(results))


@commands.command()
@click.argument("files", type=FOLDER, nargs=-1)
@_suite
def validate(files: tuple[Path, ...], tasks: Path, fixtures: Path) -> None:
    """Prove scenario files against their fixtures: one line for each problem."""
    from tasks import loader

    try:
        chosen = list(files) or loader.find(tasks)
    except loader.ScenarioError as error:
        _stop(error)
    problems = [line for path in chosen for line in loader.validate(path, fixtures, paths.cache_root())]
    for line in problems:
        click.echo(line, err=True)
    click.echo(f"{len(chosen)} scenarios, {len(problems)} problems")
    sys.exit(BAD if problems else GOOD)


@commands.command()
@_out
def doctor(out: Path) -> None:
    """Say what works on this machine, and open every adapter for real."""
    from harness.doctor import examine

    good = True
    for finding in examine(out):
        good = good and finding.good
        click.echo(f"{'ok  ' if finding.good else 'BAD '} {finding.name:<22} {' '.join(finding.seen.split())}")
    sys.exit(GOOD if good else COULD_NOT_RUN)
