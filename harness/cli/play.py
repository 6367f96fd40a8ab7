"""Playing: `run`, and what rebuilds a run from its logs: `score`, `report`."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import click

from harness import paths
from harness.cli.common import (
    choose_exit_code,
    find_report_folder,
    naming_run,
    open_run,
    report_run,
    score_run,
    shorten,
    tell_written,
)
from harness.cli.options import (
    FOLDER,
    HELD_SEED_HELP,
    SPLIT,
    SPLIT_HELP,
    Between,
    GroupedCommand,
    with_call_seconds,
    with_demands,
    with_elsewhere,
    with_open,
    with_out,
    with_output,
    with_processes,
    with_suite,
)
from harness.model.trial import (
    DEFAULT_BACKENDS,
    DEFAULT_BUDGET,
    DEFAULT_K,
    DEFAULT_NOISE,
    MOST_ROUNDS,
    SCRIPTED,
    USUAL_WRITES,
    Clock,
    DrillSize,
    Feed,
    WritePolicy,
)

WRITE_HELP = (
    "append: add what is learnt. curated: look up first and replace what the new fact contradicts. matched: replace "
    "what is worded alike. deprecate: look up first and mark what the new fact contradicts as ended. expire: delete "
    "what has outlived its kind. on-commit: follow the cited lines at each commit. deprecate-on-commit: both. "
    "reviewed: keep what is unsure back until it is confirmed. Repeatable."
)
GROUPS = {
    "What is played": (
        "backends", "scenarios", "split", "held_seed", "noise", "write", "seed", "seeds", "drilled", "drill_size",
        "reader", "writer", "model", "k", "budget", "undated",
        "feed", "clock", "rounds",
    ),
    "Chat models": ("chat", "record", "chat_budget", "chat_cost", "chat_price", "prices", "yes"),
    "How it is played": ("jobs", "dask", "shard", "only", "call_seconds", "keep", "resume", "fresh"),
    "What fails the run": ("gates", "baseline", "allow", "allow_faults"),
    "Output": ("out", "quiet", "as_json", "browse"),
    "A suite of your own": ("tasks", "fixtures"),
}  # fmt: skip


class DrillChoice(click.ParamType[str]):
    """The drills that there are. They are looked up only where one is asked for: a command's start must be short."""

    name = "drill"

    @cached_property
    def _choice(self) -> click.Choice[str]:
        from harness.play import drills

        return click.Choice([*drills.ALL, "all", "none"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._choice.convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._choice.get_metavar(param, ctx)


class SizeOfDrills(click.ParamType[DrillSize]):
    """A number of memories, or the word `least`."""

    name = "memories"
    _range = click.IntRange(20, 100_000)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> DrillSize:
        return "least" if value == "least" else self._range.convert(value, param, ctx)


@click.command(cls=GroupedCommand, groups=GROUPS)
@click.option(
    "--backend",
    "-b",
    "backends",
    metavar="BACKEND",
    multiple=True,
    help="NAME, NAME@VERSION (in an environment of its own), NAME,key=value, module:Class or NAME=module:Class; "
    "python=PATH: in another interpreter; repeatable. "
    f"Default: {', '.join(DEFAULT_BACKENDS)}.",
)
@click.option(
    "--scenario",
    "-s",
    "scenarios",
    metavar="NAME",
    multiple=True,
    help="Id, kind or file of a scenario; repeatable. none: only the drills. Default: all.",
)
@click.option("--split", type=SPLIT, default="all", show_default=True, help=SPLIT_HELP)
@click.option("--held-seed", type=click.IntRange(0), default=0, show_default=True, help=HELD_SEED_HELP)
@click.option(
    "--noise",
    "-n",
    type=click.IntRange(0, 100_000),
    multiple=True,
    default=DEFAULT_NOISE,
    show_default=True,
    help="Unrelated memories written beside the story's; repeatable.",
)
@click.option(
    "--write",
    type=click.Choice(get_args(WritePolicy)),
    multiple=True,
    default=USUAL_WRITES,
    show_default=True,
    help=WRITE_HELP,
)
# Without a default, as --seeds is refused beside a seed that was given.
@click.option(
    "--seed",
    type=int,
    multiple=True,
    show_default="1",
    help="Seed for generated noise and canaries; repeatable.",
)
@click.option("--seeds", type=click.IntRange(1, 100), metavar="N", help="Run seeds 1 to N, instead of --seed.")
@click.option(
    "-k", type=click.IntRange(1, 100), default=DEFAULT_K, show_default=True, help="Results requested per query."
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    default=DEFAULT_BUDGET,
    show_default=True,
    help="Tokens of memory text that count as recalled.",
)
@click.option(
    "--undated",
    is_flag=True,
    help="Write all memories of a story with the same date: no date tells which of two rivals is newer.",
)
@click.option(
    "--feed",
    type=click.Choice(get_args(Feed)),
    default="facts",
    show_default=True,
    help="What a memory is told of a session: facts, a sentence each; sessions, all that was said, in pieces of ours; "
    "native, all that was said, captured in the backend's own way (both need --suite deep, or your own transcripts).",
)
@click.option(
    "--clock",
    type=click.Choice(get_args(Clock)),
    default="wall",
    show_default=True,
    help="What a backend takes for now while a story is played: the time of the machine, or that of each session "
    "(needs libfaketime).",
)
@click.option(
    "--drill",
    "-d",
    "drilled",
    multiple=True,
    type=DrillChoice(),
    default=("all",),
    show_default=True,
    help="Tests of trust to play beside the stories; repeatable.",
)
@click.option(
    "--reader",
    metavar="NAME",
    default=SCRIPTED,
    show_default=True,
    help="Who does the jobs: scripted, choice (a chat model takes each decision), chat (it does whole jobs by tools; "
    "chat-json: without tool calls), agent:PROFILE (an agent program does), or module:Class.",
)
@click.option(
    "--writer",
    type=click.Choice([SCRIPTED, "chat"]),
    default=SCRIPTED,
    show_default=True,
    help="Who decides what is remembered: scripted (all that a story tells), chat (a chat model, from the transcript).",
)
@click.option(
    "--model", metavar="NAME", default="", help="The chat model of reader and writer, as its endpoint calls it."
)
@click.option(
    "--rounds",
    type=click.IntRange(1, MOST_ROUNDS),
    default=1,
    show_default=True,
    metavar="N",
    help="How often an agent program works at a job: after each round but the last it is told which checks fail.",
)
@click.option(
    "--drill-size",
    type=SizeOfDrills(),
    help="Memories in the store of a drill; least: as few as catch every planted fault. Default: each drill's own.",
)
@click.option(
    "--chat",
    metavar="WHO",
    help="Who answers chat calls of backends, readers and writer: stand-in, model, or a folder.",
)
@click.option("--record", type=FOLDER, help="Folder to which the answers of --chat are recorded.")
@click.option("--chat-budget", type=click.IntRange(1), help="Tokens of chat calls after which the run stops.")
@click.option(
    "--chat-cost",
    type=Between(0, min_open=True),
    help="Money for chat calls after which the run stops, at --chat-price.",
)
@click.option("--chat-price", type=(Between(0), Between(0)), help="Price of a million tokens: prompt, completion.")
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A table of prices, as reports/prices.toml: for the estimate, for --chat-cost, and for the report.",
)
@click.option("--yes", is_flag=True, help="Start a paid run without asking, once its estimate is printed.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=1, show_default=True, help="Trials side by side.")
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Play on the workers of this Dask scheduler; local:4 starts four local workers.",
)
@click.option("--allow", metavar="BACKEND", multiple=True, help="Don't fail if BACKEND is unavailable; repeatable.")
@click.option(
    "--allow-faults", metavar="NAME=COUNT", multiple=True, help="Tolerate COUNT failed calls of a backend; repeatable."
)
@click.option("--trial", "only", metavar="ID", multiple=True, help="Only trials whose id begins so; repeatable.")
@with_call_seconds
@click.option("--keep", is_flag=True, help="Keep each trial's store below the run's folder.")
@click.option("--shard", metavar="N/OF", help="Play a share, as 2/4; `coldwarm merge` joins them.")
@click.option(
    "--fresh",
    is_flag=True,
    envvar="COLDWARM_FRESH",
    help="Play trials anew that an earlier run finished under the same conditions.",
)
@with_demands
@click.option("--resume", type=FOLDER, metavar="RUN", help="Resume the run in this folder; skips finished trials.")
@with_output
@with_open
@with_out
@with_suite
def run(browse: bool, **options: Any) -> None:
    """Play scenarios against backends, and write a report.

    Every scenario is played cold, without a memory, and warm, with each backend.

    \b
    coldwarm run -b notes -b bm25 -s forgotten-runbook -n 0 -d none     one story, half a minute
    coldwarm run -b mine=my_store:MyStore -b none -d deletion -j 2      your own backend, all stories, one drill
    coldwarm run -b chroma -b mem0,store=faiss --gates gates.toml -j 2  thresholds for CI
    """
    from harness.cli import playing

    folder = playing.play(**options)
    # The report is scored by as many processes as trials were played side by side.
    shown = {name: options[name] for name in ("quiet", "as_json", "jobs")}
    with naming_run(folder):
        code = report_run(folder, **shown, browse=browse)
    sys.exit(code)


@click.command()
@click.argument("folder", type=FOLDER, default=paths.RUNS / "latest")
@with_elsewhere
@with_processes
def score(folder: Path, out: Path | None, jobs: int) -> None:
    """Compute the results of a run again, from its logs alone."""
    opened = open_run(folder)
    written = tell_written(opened, *score_run(opened, jobs), out or find_report_folder(folder))
    click.echo(shorten(written.results))
    sys.exit(choose_exit_code(written.said))


@click.command()
@click.argument("folder", type=FOLDER, default=paths.RUNS / "latest")
@with_output
@with_elsewhere
@with_processes
@click.option("--claims", type=FOLDER, help="Claims that were registered before the run: what was found of each.")
def report(folder: Path, quiet: bool, as_json: bool, out: Path | None, jobs: int, claims: Path | None) -> None:
    """Write the report of a run again, from its logs alone.

    That is its results, summary and page; the table is printed.
    """
    place = out or find_report_folder(folder)
    sys.exit(report_run(open_run(folder), out=place, quiet=quiet, as_json=as_json, jobs=jobs, claims=claims))
