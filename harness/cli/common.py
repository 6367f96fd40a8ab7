"""What the commands share: exit codes, one-line errors, and loading of stories and runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from harness import paths
from harness.machine import files, shortage
from harness.model.trial import Split

if TYPE_CHECKING:
    from harness.log.folder import Folder
    from harness.model.cells import AnyCell
    from harness.model.prices import Prices
    from harness.model.results import Results
    from harness.model.scenario import Scenario
    from harness.repo.checkout import Repo
    from harness.report import ReportFiles
    from harness.report.model.evidence import Evidences

GOOD, FAILED, BAD, COULD_NOT_RUN = 0, 1, 2, 3
SHOWN = 5
"""Trials that are named where many did not get to their end."""
LEAST_WIDTH = 20
"""Columns of a terminal; one that says that it has fewer does not know."""


def stop(message: object, code: int = BAD) -> NoReturn:
    say(message)
    sys.exit(code)


def say(message: object) -> None:
    """One line; what a backend put into it cannot steer the terminal."""
    from harness.log import pack
    from harness.report.words import make_plain

    with unheard():
        # A packed run is read from a temporary folder, whose path would mean nothing to the user.
        click.echo(f"coldwarm: {make_plain(' '.join(pack.name_files(str(message)).split()))}", err=True)


@contextmanager
def unheard() -> Iterator[None]:
    """What cannot be written to standard error, as on a full disk, is told by the exit code alone."""
    try:
        yield
    except OSError:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends


@contextmanager
def naming_run(folder: Folder) -> Iterator[None]:
    """Where standard output takes nothing any more, whoever has waited for a run is told where it is."""
    try:
        yield
    except OSError as error:
        if error.filename:
            raise
        why = shortage.explain_error(error) or error.strerror or error
        say(f"standard output or a file: {why}; the run is kept, and shown by: coldwarm report {spell(folder.root)}")
        if isinstance(error, BrokenPipeError):
            raise  # to click, which knows that nothing can be written at the end either
        sys.exit(COULD_NOT_RUN)


def tell(line: object) -> None:
    """One line on standard output, as harmless as on standard error."""
    from harness.report.words import make_plain

    click.echo(make_plain(str(line)))


def tell_json(text: str) -> None:
    """Strings of JSON can say the same without what a CI server reads as a command."""
    # each sign before another one, so that of three no two stay side by side
    click.echo(re.sub("#(?=#)|:(?=:)", lambda found: f"\\u{ord(found[0]):04x}", text), nl=False)


def open_page(page: Path) -> None:
    """Opens a page in the browser that BROWSER names, else in the machine's; one line if there is none."""
    if page.exists() and not webbrowser.open(page.resolve().as_uri()):
        say(f"no browser could be started: open {shorten(page)} yourself")


def read_prices(file: Path) -> Prices:
    """Raises PricesError."""
    from harness.machine import documents
    from harness.model.prices import PricesError, check_prices

    try:
        return check_prices(documents.read_toml(file), file)
    except documents.DocumentError as error:
        raise PricesError(f"{file}: {error}") from None


def write_page(path: Path, text: str) -> None:
    try:
        files.write(path, text)
    except OSError as error:
        stop(f"{path}: cannot be written: {shortage.tell(error)}; choose another with --html", COULD_NOT_RUN)


def load_stories(
    tasks: Path, fixtures: Path, names: tuple[str, ...], split: Split, held_seed: int = 0
) -> list[tuple[Scenario, Repo]]:
    from harness.repo import programs
    from harness.repo.checkout import FixtureError
    from tasks import loader, suite

    if names == ("none",):
        return []
    try:
        # Called for its refusal: a wrong COLDWARM_TEST_ENV is told before any story is loaded.
        programs.find_environment()
        files = suite.of_split(loader.find(tasks, names), tasks, split, held_seed)
        return loader.load(files, fixtures, paths.cache_root())
    except (loader.ScenarioError, FixtureError, programs.ProgramsError) as error:
        # A full disk shows as a fixture that cannot be built, and is no bad input.
        if lack := shortage.explain_error(error, paths.cache_root()):
            stop(f"{paths.cache_root()}: {lack}", COULD_NOT_RUN)
        stop(error)


def leave_out(stories: list[tuple[Scenario, Repo]]) -> list[tuple[Scenario, Repo]]:
    """The stories whose programs are installed, to be played; the others are named. Without any left, it ends here."""
    from harness.repo.programs import find_missing

    lacking = {story.id: missing for story, _ in stories if (missing := find_missing(story))}
    for name, missing in lacking.items():
        say(f"{name} is left out: its tests need {' and '.join(missing)}, not installed here")
    if stories and len(lacking) == len(stories):
        stop("no story is left to play", COULD_NOT_RUN)
    return [(story, repo) for story, repo in stories if story.id not in lacking]


def open_terminal(*, quiet: bool = False, as_json: bool = False) -> Any:
    """Where progress and tables go. Where no terminal is, lines are 80 wide, unless COLUMNS says otherwise.

    COLUMNS=0 is what a shell without a terminal may say.
    """
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise  # to click, as of all that is printed: rich's own exit code says that a gate is broken

    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and len(columns) < 6 else 0
    if not columns and (sys.stderr if as_json else sys.stdout).isatty():
        width = shutil.get_terminal_size().columns
    return Screen(
        highlight=False, soft_wrap=True, stderr=as_json, quiet=quiet, width=width if width >= LEAST_WIDTH else 80
    )


def report_run(
    folder: Folder,
    *,
    out: Path | None = None,
    quiet: bool = False,
    as_json: bool = False,
    jobs: int = 1,
    browse: bool = False,
    claims: Path | None = None,
) -> int:
    """Scores the logs, writes everything that is derived from them, prints the table; the exit code it deserves.

    Args:
        browse: Opens the page.
        claims: What was registered before the run.
    """
    from harness.report.outputs import terminal as console
    from harness.report.progress import say_during
    from harness.report.words import make_plain

    screen = open_terminal(quiet=quiet, as_json=as_json)
    with say_during(screen, "scoring the logs and writing the report"):
        written = tell_written(folder, *score_run(folder, jobs, claims), out)
    results = written.said
    console.show(results, screen)
    if as_json:
        tell_json(written.results.read_text(encoding="utf-8"))
    if not (quiet and as_json):
        for line in (console.describe_end(results), f"report: {shorten(written.page)}"):
            click.echo(make_plain(line), err=as_json)
    if browse:
        open_page(written.page)
    return choose_exit_code(results)


def score_run(folder: Folder, jobs: int = 1, claims: Path | None = None) -> tuple[Results, Evidences]:
    from harness import regress
    from harness.log.blobs import BlobError
    from harness.log.folder import FolderError
    from harness.machine.processes import Killed
    from harness.report.model import evidence

    try:
        planned = len((file := folder.read()).trials) + len(file.drills)
    except FolderError as error:  # it could be read when the command began
        stop(f"{error}; it was removed or changed meanwhile: restore it, or run again", COULD_NOT_RUN)
    if planned and not folder.list_stories() and not folder.list_drills():
        stop(f"{shorten(folder.root)}: none of its {planned} trials has a log: play them, or restore logs/ and drills/")
    try:
        results, parts = evidence.read(folder, jobs)
        judged = regress.judge_run(results, folder)
        return regress.judge_claims(judged, claims) if claims else judged, parts
    except (FolderError, BlobError, regress.RegressError) as error:
        stop(error)
    except Killed as error:
        stop(f"scoring: {error}; all logs are kept: coldwarm report {shorten(folder.root)}", COULD_NOT_RUN)


def _tell_unended(reasons: Mapping[str, str]) -> None:
    """Names trials, one for each reason: what happened to several is said once."""
    alike = dict[str, list[str]]()
    for trial, why in reasons.items():
        alike.setdefault(why or trial, []).append(trial)
    for first, *others in list(alike.values())[:SHOWN]:
        which = f"{first} and {len(others)} more did not get to their" if others else f"{first} did not get to its"
        say(": ".join(filter(None, [f"trial {which} end", reasons[first]])))
    if unlisted := sum(map(len, list(alike.values())[SHOWN:])):
        say(f"{unlisted} more trials did not get to their end: the report names them")


def tell_written(folder: Folder, results: Results, parts: Evidences, out: Path | None = None) -> ReportFiles:
    from harness import report
    from harness.log.folder import FolderError

    try:
        return report.write(folder, results, parts, out)
    except FolderError as error:
        stop(error, COULD_NOT_RUN)


def choose_exit_code(results: Results) -> int:
    """Damaged logs could not be scored; then a broken gate failed; then what did not end, never began, failed in more
    calls than was allowed, or was not measured for a gate could not run."""
    from harness.log.folder import LOGS
    from harness.report import words
    from harness.report.model.table import state_faults

    for problem in (*results.run.problems, *filter(None, [words.describe_unsealed(results)])):
        say(problem)
    missing = [each for each in results.run.unplayed if not each.allowed]
    for each in missing:
        say(f"{each.backend} could not run: {each.reason}")
    cells: list[AnyCell] = [*results.cells, *results.trust]
    lost = (each for each in cells if each.status in ("failed", "incomplete", "not-run"))
    # A trial has a cell for each way of reading, and is named once.
    unended = {cell.played: cell.reason for cell in sorted(lost, key=lambda cell: (cell.folder != LOGS, cell.played))}
    _tell_unended(unended)
    failing = [each for each in state_faults(results) if each.bad]
    for statement in failing:
        say(f"{statement.line}; allow them with coldwarm run --allow-faults {statement.backend}=COUNT")
    if results.run.missing:
        say(f"shards {', '.join(results.run.missing)} are missing: give them to `coldwarm merge`, too")
    unmet = [gate for gate in results.gates if gate.verdict != "held"]
    for gate in sorted(unmet, key=lambda gate: gate.verdict == "broken"):  # what broke is read last
        say(gate.says)
    if results.run.problems:
        return COULD_NOT_RUN
    if any(gate.verdict == "broken" for gate in unmet):
        return FAILED
    return COULD_NOT_RUN if missing or unended or failing or results.run.missing or unmet else GOOD


def shorten(path: Path) -> Path:
    """As it is named from the working folder, if it lies below that and that is still there."""
    with suppress(FileNotFoundError, ValueError):
        return path.relative_to(Path.cwd())
    return path


def spell(path: Path) -> str:
    """A word as it is typed in a shell, where it may have blanks."""
    return shlex.quote(str(shorten(path)))


def find_report_folder(run: Path) -> Path | None:
    """The folder for reports of a run: beside a packed one, in a folder of its name, else into its
    own folder (None).
    """
    from harness.log import pack

    return run.with_name(run.name.removesuffix(pack.SUFFIX)) if pack.is_packed(run) else None


def open_run(folder: Path) -> Folder:
    from harness.log.folder import Folder, FolderError
    from harness.machine import leftovers

    try:
        opened = Folder.open(folder)
    except FolderError as error:
        stop(error)
    if leftovers.is_claimed(opened.root):
        say(f"{shorten(folder)}: a process still plays this run: what it has not finished is missing here")
    return opened
