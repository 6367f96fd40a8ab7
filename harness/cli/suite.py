"""The suite: `list`, `new`, `validate`, `selftest`, `export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from harness import paths
from harness.cli.common import (
    BAD,
    COULD_NOT_RUN,
    FAILED,
    GOOD,
    choose_exit_code,
    load_stories,
    open_run,
    open_terminal,
    say,
    shorten,
    spell,
    stop,
    tell,
)
from harness.cli.options import FOLDER, HELD_SEED_HELP, SPLIT, SPLIT_HELP, with_suite


@click.command(name="list")
@click.option("--split", type=SPLIT, default="all", show_default=True, help=SPLIT_HELP)
@click.option("--held-seed", type=click.IntRange(0), default=0, show_default=True, help=HELD_SEED_HELP)
@click.option("--backend", "-b", "backends", multiple=True, help="What this one declares instead; repeatable.")
@click.option("--backends", "everyone", is_flag=True, help="What each backend declares.")
@with_suite
def list_(split: Any, held_seed: int, backends: tuple[str, ...], everyone: bool, tasks: Path, fixtures: Path) -> None:
    """List the scenarios and the backends.

    With -b or --backends, prints what backends declare, as Markdown: native, emulated and how, or not there and why.
    None of them needs to be installed.
    """
    from harness.backend import interpreters, registry
    from harness.backend.client import MemoryFault
    from harness.cli import capabilities, listing
    from harness.repo import programs
    from tasks import suite

    if everyone:
        backends += tuple(name for name, entry in registry.list_adapters().items() if not entry.control)
    if backends:
        try:
            declared_support = capabilities.list_capabilities(interpreters.name_releases(map(registry.parse, backends)))
        except registry.RegistryError as error:
            stop(error)
        except MemoryFault as error:
            stop(error, COULD_NOT_RUN)
        click.echo(capabilities.write_markdown(declared_support), nl=False)
        return

    stories = [story for story, _ in load_stories(tasks, fixtures, (), split, held_seed)]
    listing.show(stories, suite.identity(stories, tasks, split, held_seed), open_terminal())
    if lacking := {story.id: missing for story in stories if (missing := programs.find_missing(story))}:
        tell(f"cannot run here: {programs.describe_missing(lacking)}")
    for word, control in (("backends", False), ("controls", True)):
        names = [name for name, entry in registry.list_adapters().items() if entry.control is control]
        click.echo(f"{word}: {', '.join(names)}")


@click.group()
def new() -> None:
    """Write what an adapter or a suite of your own begins with."""


@new.command(name="adapter")
@click.argument("name")
@click.option("--into", type=FOLDER, default=Path(), help="Folder of the file. Default: the working folder.")
def new_adapter(name: str, into: Path) -> None:
    """Write NAME.py, an adapter that works, explained in full."""
    from harness.cli import adapter_skeleton

    try:
        file, reference = adapter_skeleton.write_adapter(name, into)
    except adapter_skeleton.NewAdapterError as error:
        stop(error)
    place = "" if into.resolve() == Path.cwd() else f"COLDWARM_ADAPTER_PATH={spell(into)} "
    tell(f"{file}: written. Check it: {place}coldwarm conform {reference}")
    tell(f"Play it: {place}coldwarm run -b {name}={reference} -b none -s forgotten-runbook -n 0 -d deletion")


@new.command(name="scenario")
@click.argument("name")
@click.option("--fixture", help="The fixture in which the story plays.")
@click.option("--spoken", is_flag=True, help="With transcripts and a hidden test; always so with --suite deep.")
@click.option("--from", "between", metavar="OLDER..NEWER", help="Tell what these commits of --repo changed.")
@click.option("--repo", "repository", default=".", show_default=True, help="With --from: a clone, or a URL.")
@with_suite
def new_scenario(
    name: str, fixture: str | None, spoken: bool, between: str | None, repository: str, tasks: Path, fixtures: Path
) -> None:
    """Write a first scenario, which holds, to be changed.

    With --fixture it is a skeleton with a comment at every key; --spoken adds a folder with what was said in each
    session and with the test that judges its job, as in the suite deep. With --from it tells up to three values that
    changed in your own repository, which is only read: what commits cannot know stands in it as lines to uncomment.

    \b
    Example: coldwarm new scenario migration/first --from v1.0..HEAD --repo ../our-service --suite our-suite
             coldwarm run --suite our-suite -b chroma -b none -n 0 -d none
    """
    from harness.mine import mining, ranges
    from harness.repo.checkout import FixtureError
    from harness.report.words import format_count
    from tasks import skeleton
    from tasks.loader import ScenarioError

    if (fixture is None) == (between is None):
        stop("say where the story plays: --fixture NAME, or --from OLDER..NEWER for commits of your own repository")
    if between is not None and spoken:
        stop("--spoken goes with --fixture: commits do not know what was said")
    if between is not None and tasks in (paths.TASKS, *paths.SUITES.values()):
        stop("say where your own suite is, or shall be: --suite DIR")
    try:
        if fixture is not None:
            spoken |= tasks.resolve() == paths.DEEP.resolve()
            file = skeleton.write(name, tasks, fixtures, fixture, paths.cache_root(), spoken=spoken)
            beside = f", with what was said in {shorten(file.with_suffix(''))}" if spoken else ""
            tell(f"{shorten(file)}: written{beside}; {shorten(paths.TASKS / 'README.md')} explains it")
            return
        draft = ranges.write(name, tasks, repository, str(between), paths.cache_root())
    except (ScenarioError, mining.MineError, FixtureError) as error:
        stop(error)
    tell(f"{shorten(draft.file)}: {draft.lines} lines; {draft.told} of {format_count(draft.found, 'value')} that "
         f"changed in {format_count(draft.changes, 'commit')}")  # fmt: skip
    tell(f"Prove it: coldwarm validate {spell(draft.file)}")
    tell(f"Play it: coldwarm run --suite {spell(tasks)} -b chroma -b none -n 0 -d none --open")


@click.group()
def selftest() -> None:
    """Prove that the measuring itself can be trusted."""


@selftest.command(name="suite")
@click.option("--scenario", "-s", "names", multiple=True, help="Of one id, kind or file; repeatable. Default: all.")
@click.option("--fresh", is_flag=True, envvar="COLDWARM_FRESH", help="Do anew the jobs that an earlier self-test did.")
@with_suite
def selftest_suite(names: tuple[str, ...], fresh: bool, tasks: Path, fixtures: Path) -> None:
    """Prove the scenarios: no control wins, no check is fooled.

    Takes some minutes. With -s, it also prints each way to take each decision, and what the visible and the hidden
    tests say of it. A story whose programs are not installed is left out: then it exits with 3.
    """
    from harness.repo import programs
    from harness.report.words import format_count
    from harness.selftest import separability, suite, table
    from tasks import loader

    try:
        files = loader.find(tasks, names)
    except loader.ScenarioError as error:
        stop(error)
    try:
        proven = suite.prove(files, fixtures, paths.cache_root(), fresh=fresh)
    except separability.MissingError as error:
        stop(error, COULD_NOT_RUN)
    except programs.ProgramsError as error:
        stop(error)
    table.show(proven, open_terminal(), with_jobs=bool(names))
    for breach in proven.breaches:
        say(breach)
    if reused := proven.describe_reused():
        tell(f"the jobs of {reused}; --fresh does them anew")
    left_out = proven.left_out
    breaches = format_count(len(proven.breaches), "breach", "breaches")
    ended = f"{format_count(len(files) - len(left_out), 'scenario')}, {breaches}"
    tell(f"{ended}, {len(left_out)} left out: {programs.describe_missing(left_out)}" if left_out else ended)
    sys.exit(FAILED if proven.breaches else COULD_NOT_RUN if left_out else GOOD)


@selftest.command(name="measures")
@click.argument("names", nargs=-1, metavar="[FAULT]...")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), help="Plays side by side. Default: one more than processors.")
@click.option("--fresh", is_flag=True, envvar="COLDWARM_FRESH", help="Play anew what an earlier self-test has played.")
@click.option("--every-drill", is_flag=True, help="Play every drill with every fault.")
@click.option("--renew", is_flag=True, help="Write down that a fault may move what it moved, for review.")
def selftest_measures(names: tuple[str, ...], jobs: int | None, fresh: bool, every_drill: bool, renew: bool) -> None:
    """Prove that the measures see each planted fault.

    And that nothing else moves: a fault plays the drills that must flag it, and some of the others, drawn by its
    name. All of them take some minutes.
    """
    from harness.gateway.embedder import EmbedderError
    from harness.report.words import format_count
    from harness.selftest import allowed, faults, measures, measures_table

    try:
        planted = faults.list_planted(names)
        proven = measures.prove(
            planted, paths.cache_root(), jobs, lambda name: click.echo(f"measured {name}"),
            fresh=fresh, every_drill=every_drill, renew=renew,
        )  # fmt: skip
    except faults.FaultNameError as error:
        stop(error)
    except EmbedderError as error:
        stop(error, COULD_NOT_RUN)
    measures_table.show(proven, open_terminal())
    if renew:
        allowed.write(
            {row.fault.name: row.fault.may for row in proven.rows}, {fault.__name__ for fault in faults.FAULTS}
        )
        click.echo(f"{shorten(allowed.FILE)}: written; review what changed in it")
    for breach in proven.breaches:
        say(breach)
    if reused := proven.describe_reused():
        click.echo(f"{reused}; --fresh plays them anew")
    breaches = format_count(len(proven.breaches), "breach", "breaches")
    click.echo(f"{format_count(len(planted), 'planted fault')}, {breaches}")
    sys.exit(FAILED if proven.breaches else GOOD)


@click.group()
def export() -> None:
    """Write the suite, results or calls of a run for other tools."""


@export.command(name="suite")
@click.argument("directory", metavar="DIR", type=FOLDER)
@with_suite
def export_suite(directory: Path, tasks: Path, fixtures: Path) -> None:
    """Write the suite into DIR, as a data set.

    Facts, probes and jobs, as Hugging Face `datasets` and pandas read them.
    """
    from harness.report.outputs import export
    from tasks import suite

    stories = [story for story, _ in load_stories(tasks, fixtures, (), "all")]
    try:
        export.suite(directory, stories, suite.identity(stories, tasks, "all"), suite.SUITE_DATE)
    except export.ExportError as error:
        stop(error)
    click.echo(shorten(directory / "README.md"))


@export.command(name="harbor")
@click.argument("directory", metavar="DIR", type=FOLDER)
@click.option("--scenario", "-s", "names", multiple=True, help="Of one id, kind or file; repeatable. Default: all.")
@with_suite
def export_harbor(directory: Path, names: tuple[str, ...], tasks: Path, fixtures: Path) -> None:
    """Write each job as two tasks of Harbor, cold and warm.

    DIR is a new folder. Checks judge there as here.
    """
    from harness.play.story import Story
    from harness.published import harbor
    from harness.report.words import format_count

    try:
        written = harbor.export(directory, [Story(*each) for each in load_stories(tasks, fixtures, names, "all")])
    except harbor.HarborError as error:
        stop(error)
    click.echo(f"{shorten(directory)}: {format_count(written.tasks, 'task')} of {format_count(written.jobs, 'job')}")


@export.command(name="results")
@click.argument("folder", metavar="RUN", type=FOLDER)
@click.argument("directory", metavar="DIR", type=FOLDER)
def export_results(folder: Path, directory: Path) -> None:
    """Write cells and measures of RUN into DIR, as Parquet."""
    from harness.log.blobs import BlobError
    from harness.log.folder import FolderError
    from harness.report.outputs import export

    try:
        results = export.results(directory, open_run(folder))
    except export.MissingExtraError as error:
        stop(error, COULD_NOT_RUN)
    except (export.ExportError, FolderError, BlobError) as error:
        stop(error)
    click.echo(shorten(directory / "cells.parquet"))
    sys.exit(choose_exit_code(results))


@export.command(name="spans")
@click.argument("folder", metavar="RUN", type=FOLDER)
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--content", is_flag=True, help="Write questions and texts of memories, too.")
def export_spans(folder: Path, file: Path, content: bool) -> None:
    """Write the memory calls of RUN as OpenTelemetry spans.

    FILE gets OTLP JSON, a trial a line. Names are those of the GenAI memory conventions, which OpenTelemetry marks as
    development. A span starts at the time of the story and is as long as the call took.
    """
    from harness.log.blobs import BlobError
    from harness.log.folder import FolderError
    from harness.report.outputs import export

    try:
        export.spans(file, open_run(folder), content=content)
    except (export.ExportError, FolderError, BlobError) as error:
        stop(error)
    click.echo(shorten(file))


@click.command()
@click.argument("files", type=FOLDER, nargs=-1)
@with_suite
def validate(files: tuple[Path, ...], tasks: Path, fixtures: Path) -> None:
    """Prove scenario files, with a line for each problem.

    All of the suite takes half a minute. Looks at keys, commits and cited lines, reads every phrasing and rewrite as a
    run would, does each job once with the right options and tries its checks. `selftest suite` proves much more.
    """
    from harness.report.words import format_count, make_plain
    from harness.selftest.suite import validate as examine
    from tasks import loader

    try:
        chosen = list(files) or loader.find(tasks)
    except loader.ScenarioError as error:
        stop(error)
    problems = examine(chosen, fixtures, paths.cache_root())
    for line in problems:
        click.echo(make_plain(line), err=True)
    click.echo(f"{format_count(len(chosen), 'scenario')}, {format_count(len(problems), 'problem')}")
    sys.exit(BAD if problems else GOOD)
