"""Finished runs: `gate` and `compare`, `baseline` and `pack`, and `merge`, which makes one run of its shards."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from harness import paths
from harness.cli.common import (
    COULD_NOT_RUN,
    FAILED,
    GOOD,
    naming_run,
    open_run,
    open_terminal,
    report_run,
    say,
    shorten,
    stop,
    tell,
    tell_json,
    write_page,
)
from harness.cli.options import FOLDER, with_demands, with_out
from harness.machine import files, shortage


@click.command()
@click.argument("folder", metavar="RUN", type=FOLDER, default=paths.RUNS / "latest")
@with_demands
def gate(folder: Path, gates: Path | None, baseline: Path | None) -> None:
    """Judge a finished run by your gates.

    RUN (a folder or packed) is read and not changed. Gates and a baseline that it was played with count where none is
    given.
    Ends with 1 if a gate is broken, with 3 if one could not be measured.
    """
    from harness import regress
    from harness.regress import baseline_files

    opened = open_run(folder)
    own, before = opened.root / regress.GATES, opened.root / regress.BASELINE
    if gates is None and not own.exists():
        stop(f"{shorten(folder)} was played without gates: give --gates FILE")
    gates, baseline = gates or own, baseline or (before if before.exists() else None)
    try:
        regress.check(gates, baseline, opened.read().selection)
        results = baseline_files.load_evidence(opened.root).results
        assert results is not None, "a folder has results"
        judged = regress.judge(results, gates, baseline)
    except regress.RegressError as error:
        stop(error)
    for verdict in judged.gates:
        tell(verdict.says)
    verdicts = {each.verdict for each in judged.gates}
    sys.exit(FAILED if "broken" in verdicts else COULD_NOT_RUN if "not-measured" in verdicts else GOOD)


@click.command()
@click.argument("old", type=FOLDER)
@click.argument("new", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print all changes as JSON instead of the table.")
@click.option("--html", "page", type=FOLDER, help="Write a page with the cases of both runs side by side there, too.")
@click.option("--across-readers", "across", is_flag=True, help="Compare the stories though other readers did the jobs.")
def compare(old: Path, new: Path, as_json: bool, page: Path | None, across: bool) -> None:
    """Show what became better or worse from OLD to NEW.

    Each is a run (a folder or packed), a results.json or a baseline. Of a run its results.json is read: `coldwarm
    score` writes it again from the logs. Ends with 1 if something is worse or has no number any more, with 3 if nothing
    could be compared.
    """
    from harness.regress import baseline_files, comparison_table, pairing
    from harness.regress.baseline import RegressError

    try:
        sides = baseline_files.load_evidence(old), baseline_files.load_evidence(new)
    except RegressError as error:
        stop(error)
    before, now = (side.baseline for side in sides)
    against = pairing.judge_comparability(before, now, across=across)
    changes = pairing.list_changes(before, now, across=across)
    readers = before.conditions.reader, now.conditions.reader
    if across and not as_json:
        tell(f"Readers: {' -> '.join(readers)}.")
    if as_json:
        plain = {
            "readers": readers,
            "baseline": against.model_dump(mode="json"),
            "changes": [each.model_dump(mode="json") for each in changes],
        }
        tell_json(json.dumps(plain, indent=1, sort_keys=True) + "\n")
    else:
        comparison_table.show(against, now.run, changes, open_terminal())
    if page:
        from harness.regress import comparison_page as pages

        write_page(page, pages.write_page(*sides, across=across))
        # With --json, standard output is one JSON document.
        if not as_json:
            tell(f"page: {shorten(page)}")
    verdicts = {each.verdict for each in changes}
    if verdicts & {"worse", "vanished"}:
        sys.exit(FAILED)
    if not verdicts - {"not-comparable", "appeared"}:
        hint = "" if across or readers[0] == readers[1] else ": other readers did the jobs (--across-readers)"
        stop(f"nothing of {new} could be compared with {old}{hint}", COULD_NOT_RUN)
    sys.exit(GOOD)


@click.group()
def baseline() -> None:
    """Keep what a run measured, to compare later runs with it."""


@baseline.command()
@click.argument("folder", metavar="RUN", type=FOLDER)
@click.option("--output", "-o", type=FOLDER, default="baseline.json", show_default=True, help="The file to write.")
def save(folder: Path, output: Path) -> None:
    """Write the baseline of a run: a file to commit.

    RUN is its folder, or its results.json.
    """
    from harness.regress import baseline_files
    from harness.regress.baseline import RegressError
    from harness.report.words import format_count

    try:
        run_baseline = baseline_files.load(folder)
        files.write(output, baseline_files.write_text(run_baseline))
    except RegressError as error:
        stop(error)
    except OSError as error:
        stop(f"{output}: cannot be written: {shortage.tell(error)}; choose another with -o")
    held = (
        f"{format_count(len(run_baseline.stories), 'scenario')}, {format_count(len(run_baseline.entrants), 'backend')}"
    )
    tell(f"{shorten(output)}: {held} of run {run_baseline.run}")
    points = [*(point for row in run_baseline.rows for point in row.points), *(row.point for row in run_baseline.trust)]
    if holes := sum(point in ("failed", "not-run") for point in points):
        say(f"{holes} of {len(points)} numbers failed or were not run: there nothing will be compared with it")


@click.command()
@click.argument("folder", metavar="RUN", type=FOLDER, default=paths.RUNS / "latest")
@click.option("--output", "-o", type=FOLDER, help="The file to write; its name ends with .tar.xz.")
def pack(folder: Path, output: Path | None) -> None:
    """Write a run into one file, which other commands read.

    It holds logs, blobs and results; score, report, gate, compare, merge, trend and export read it like a folder.
    """
    from harness.log import pack as packing

    opened = open_run(folder)
    target = output or opened.root.with_name(f"{opened.read().id}{packing.SUFFIX}")
    if not target.name.endswith(packing.SUFFIX):
        stop(f"{target}: the name of a packed run ends with {packing.SUFFIX}")
    try:
        packing.pack(opened.root, target)
    except packing.PackError as error:
        stop(error)
    except OSError as error:
        stop(f"{target}: cannot be written: {shortage.tell(error)}; choose another with -o", COULD_NOT_RUN)
    tell(f"{shorten(target)}: {target.stat().st_size:,} bytes")


@click.command()
@click.argument("folders", metavar="FOLDER...", type=FOLDER, nargs=-1, required=True)
@with_demands
@with_out
def merge(folders: tuple[Path, ...], gates: Path | None, baseline: Path | None, out: Path) -> None:
    """Join the shards of a run into one run, and report it.

    A shard is what `run --shard 1/4` and so on play.
    """
    from harness import regress
    from harness.log.folder import FolderError
    from harness.play import shards

    try:
        # Before the merge, so that what is refused leaves no run behind.
        regress.check(gates, baseline, open_run(folders[0]).read().selection)
        folder = shards.merge(folders, out)
        regress.keep(folder, gates, baseline)
    except (FolderError, regress.RegressError) as error:
        stop(error)
    with naming_run(folder):
        code = report_run(folder)
    sys.exit(code)
