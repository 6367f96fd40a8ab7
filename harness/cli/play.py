"""Playing: `run`, and what rebuilds a run from its logs: `score`, `report`."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import paths
from harness.cli.common import (
    COULD_NOT_RUN,
    FOLDER,
    SPLIT,
    SPLIT_HELP,
    GroupedCommand,
    beside,
    load_stories,
    open_run,
    report_run,
    score_run,
    shorten,
    stop,
    terminal,
    verdict,
    with_demands,
    with_elsewhere,
    with_open,
    with_out,
    with_output,
    with_processes,
    with_suite,
    wrote,
)
from harness.model.trial import (
    CHOICE,
    DEFAULT_BACKENDS,
    DEFAULT_BUDGET,
    DEFAULT_K,
    DEFAULT_NOISE,
    SCRIPTED,
    SECRET,
    Chat,
    DrillSize,
    Selection,
    Split,
    name_reader,
    split_reader,
)

if TYPE_CHECKING:
    from harness.log.folder import RunFile
    from harness.play.backends import Backends
    from harness.play.executor import Executor

GROUPS = {
    "What is played": (
        "backends", "scenarios", "split", "noise", "write", "seed", "seeds", "drilled", "drill_size", "reader",
        "model", "k", "budget",
    ),
    "Chat models": ("chat", "record", "chat_budget", "chat_cost", "chat_price"),
    "How it is played": ("jobs", "dask", "shard", "only", "keep", "resume", "fresh"),
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
    help="NAME, NAME,key=value, module:Class or NAME=module:Class; python=PATH: in another interpreter; repeatable. "
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
    type=click.Choice(["append", "curated"]),
    multiple=True,
    default=("append", "curated"),
    show_default=True,
    help="append: write only; curated: look up first and supersede. Repeatable.",
)
@click.option(
    "--seed", type=int, multiple=True, default=(1,), show_default=True, help="Of drawn noise and canaries; repeatable."
)
@click.option("--seeds", type=click.IntRange(1, 100), help="So many seeds, 1 and on: instead of --seed.")
@click.option(
    "-k", type=click.IntRange(1, 100), default=DEFAULT_K, show_default=True, help="Hits that a query asks for."
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    default=DEFAULT_BUDGET,
    show_default=True,
    help="Tokens of memory text that count as recalled.",
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
    help="Who does the jobs: scripted, choice (a chat model takes each decision), or module:Class.",
)
@click.option("--model", metavar="NAME", default="", help="The chat model of the reader, as its endpoint calls it.")
@click.option(
    "--drill-size",
    type=SizeOfDrills(),
    help="Memories in the store of a drill; least: as few as catch every planted fault. Default: each drill's own.",
)
@click.option(
    "--chat", metavar="WHO", help="Who answers chat calls of backends and readers: stand-in, model, or a folder."
)
@click.option("--record", type=FOLDER, help="Folder to which the answers of --chat are recorded.")
@click.option("--chat-budget", type=click.IntRange(1), help="Tokens of chat calls after which the run stops.")
@click.option("--chat-cost", type=float, help="Money for chat calls after which the run stops, at --chat-price.")
@click.option("--chat-price", type=(float, float), help="Price of a million tokens: prompt, completion.")
@click.option("--jobs", "-j", type=click.IntRange(1, 64), default=1, show_default=True, help="Trials side by side.")
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Play on the workers of this Dask scheduler; local:4: of one here, with 4 processes.",
)
@click.option("--allow", metavar="BACKEND", multiple=True, help="May be missing without failing the run; repeatable.")
@click.option(
    "--allow-faults", metavar="NAME=COUNT", multiple=True, help="So many calls of a backend may fail; repeatable."
)
@click.option("--trial", "only", metavar="ID", multiple=True, help="Only trials whose id begins so; repeatable.")
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
def run(
    chat_budget: int | None,
    chat_cost: float | None,
    chat_price: tuple[float, float] | None,
    jobs: int,
    dask: str | None,
    allow: tuple[str, ...],
    allow_faults: tuple[str, ...],
    only: tuple[str, ...],
    keep: bool,
    shard: str | None,
    gates: Path | None,
    baseline: Path | None,
    resume: Path | None,
    fresh: bool,
    quiet: bool,
    as_json: bool,
    browse: bool,
    out: Path,
    tasks: Path,
    fixtures: Path,
    **asked: Any,
) -> None:
    """Play scenarios cold and warm against backends, and write a report.

    \b
    coldwarm run -b notes -b bm25 -s forgotten-runbook -n 0 -d none     one story, half a minute
    coldwarm run -b mine=my_store:MyStore -b none -d deletion -j 2      your own backend, all stories, one drill
    coldwarm run -b chroma -b mem0,store=faiss --gates gates.toml -j 2  thresholds for CI
    """
    from harness import regress
    from harness.backend import registry
    from harness.gateway.chat.choice import upstream
    from harness.gateway.chat.wire import ChatError
    from harness.gateway.embedder import EmbedderError
    from harness.gateway.gateway import GatewayError
    from harness.gateway.meter import Budget
    from harness.log.folder import Folder, FolderError
    from harness.log.trial_cache import TrialCache
    from harness.machine import extras
    from harness.play import plan, runner
    from harness.play.trouble import ExecutorError
    from harness.report.progress import PlainProgress, say_during
    from harness.report.words import plain
    from tasks import suite

    try:
        regress.check(gates, baseline)
        folder = Folder.open(_unpack(resume)) if resume else None
        tolerated = {**(folder.read().allowed_faults if folder else {}), **dict(map(registry.allowance, allow_faults))}
        shard = folder.read().shard if folder else shard
        if shard and (gates or baseline):
            raise regress.RegressError("a shard is no run that gates could judge: give them to `coldwarm merge`")
        selection = _resume(folder.read(), **asked) if folder else _selection(**asked)
        allowance = Budget(chat_budget, chat_cost, *(chat_price or (0.0, 0.0)))
        chat = upstream(selection.chat, os.environ).name if selection.chat else ""
        screen = terminal(quiet=quiet, as_json=as_json)
        with say_during(screen, "asking the backends what they are"):
            executor, playables = _ask(dask, jobs, selection, allow, keeps=keep or bool(asked["record"]))
        for each in playables.unplayed:
            screen.print(plain(f"{each.backend} cannot run: {each.reason}"), markup=False)
            if each.backend in playables.undescribed and not each.allowed:
                hint = f"nothing was played; leave it out with -b, or go on without it: --allow {each.backend}"
                stop(f"{each.backend} could not run: {each.reason}; {hint}", COULD_NOT_RUN)
        stories = load_stories(tasks, fixtures, selection.scenarios, selection.split)
        if baseline and extras.explain_missing(["scipy"]):
            stop(extras.lacks("scipy", "comparing drills with a baseline"), COULD_NOT_RUN)
        dealt = plan.Shard.parse(shard) if shard else None
        ids = [trial.id for trial in plan.trials(selection, [story for story, _ in stories])]
        ids += [trial.id for trial in plan.list_drills(selection, [*playables.playables])]
        if only and not any(name.startswith(only) for name in ids):
            raise ValueError(f"--trial {' '.join(only)}: no trial of this run has an id that begins so")
        folder = folder or Folder.create(out)
        regress.keep(folder, gates, baseline)
    except (FolderError, registry.RegistryError, regress.RegressError, ChatError, ValueError) as error:
        stop(error)
    listener = PlainProgress(screen)
    listener.lacks(playables.unplayed)
    command = " ".join(["coldwarm", *map(registry.redact, sys.argv[1:])])
    played = runner.Runner(
        folder, selection, playables, command, stories, paths.cache_root(), listener,
        executor=executor, only=only, keep=keep, shard=dealt, chat=chat, budget=allowance,
        allowed_faults=tolerated, trial_cache=TrialCache(paths.trials()), fresh=fresh,
        suite=suite.identity([story for story, _ in stories], tasks, selection.split),
    )  # fmt: skip
    try:
        played.play()
    except KeyboardInterrupt:
        stop(f"stopped; finished trials are kept: coldwarm run --resume {folder.root}", COULD_NOT_RUN)
    except FolderError as error:
        stop(error)
    except (EmbedderError, ExecutorError, GatewayError, runner.Exhausted, OSError) as error:
        stop(f"{error}; finished trials are kept: coldwarm run --resume {folder.root}", COULD_NOT_RUN)
    finally:
        listener.ended()
    sys.exit(report_run(folder, quiet=quiet, as_json=as_json, jobs=jobs, browse=browse))


def _ask(
    dask: str | None, jobs: int, selection: Selection, allow: tuple[str, ...], *, keeps: bool
) -> tuple[Executor, Backends]:
    """Who plays, closed with the command, and what it can play. Raises RegistryError and ValueError."""
    from harness.play.executor import Threads
    from harness.play.trouble import ExecutorError

    if dask is None:
        return (here := Threads(jobs)), here.describe(selection, allow)
    if keeps:
        raise ValueError("--keep and --record leave files where trials are played: not with --dask")
    from harness.play.dask import Dask

    try:
        there = click.get_current_context().with_resource(Dask.connected(dask))
        return there, there.describe(selection, allow)
    except ExecutorError as error:
        stop(error, COULD_NOT_RUN)


def _selection(
    backends: tuple[str, ...],
    scenarios: tuple[str, ...],
    split: Split,
    noise: tuple[int, ...],
    write: tuple[Any, ...],
    seed: tuple[int, ...],
    seeds: int | None,
    k: int,
    budget: int,
    drilled: tuple[str, ...],
    drill_size: DrillSize | None,
    chat: str | None,
    record: Path | None,
    reader: str,
    model: str,
) -> Selection:
    from harness.backend import interpreters, registry
    from harness.gateway.chat.standin import CHOOSER
    from harness.play import drills, readers

    if "@" in reader:
        raise ValueError(f"--reader {reader}: name its model with --model")
    label = name_reader(reader, model or (CHOOSER if (reader, chat) == (CHOICE, "stand-in") else ""))
    readers.digest(label)  # that it is there is known before anything is played
    readers.find(label)
    if split_reader(label)[1] and not chat:
        raise ValueError(f"--reader {reader} asks a chat model: --chat stand-in, model, or a folder of recordings")

    specs = interpreters.name_releases(registry.parse(text) for text in backends or DEFAULT_BACKENDS)
    chosen = () if "none" in drilled else drills.chosen(drilled)
    return Selection(
        backends=specs, scenarios=scenarios, split=split, noise=noise, writes=write, k=k, budget=budget,
        seeds=tuple(range(1, seeds + 1)) if seeds else seed, drills=chosen, drill_size=drill_size,
        chat=_chat(chat, record), reader=label,
    )  # fmt: skip


def _chat(who: str | None, record: Path | None) -> Chat | None:
    """Raises ValueError for what would record nothing."""
    if who in ("stand-in", "model"):
        return Chat(answers=who, folder=str(record) if record else None)
    if record:
        raise ValueError("--record writes down what --chat stand-in or --chat model answers: name one of them")
    return Chat(answers="recordings", folder=who) if who else None


def _unpack(run: Path) -> Path:
    if beside(run):
        stop(f"{run}: a packed run is not played on: unpack it into a folder (tar -xf) and resume that")
    return run


def _resume(file: RunFile, backends: tuple[str, ...], chat: str | None, record: Path | None, **_: object) -> Selection:
    """What a run asked for. Its secrets were never written down: whoever goes on with it gives them again."""
    from harness.backend import interpreters, registry

    selection = file.selection
    given = {spec.label: spec for spec in interpreters.name_releases(map(registry.parse, backends))}
    specs = tuple(
        given.get(spec.label) or interpreters.again(spec, file.interpreters.get(spec.label))
        for spec in selection.backends
    )
    for spec in specs:
        if any(SECRET.search(key) and spec.settings[key] == value for key, value in spec.shown.items()):
            raise registry.RegistryError(f"backend '{spec.label}' had secrets, which are not kept: repeat it with -b")
    return selection.model_copy(update={"backends": specs, "chat": _chat(chat, record) or selection.chat})


@click.command()
@click.argument("folder", type=FOLDER, default=paths.RUNS / "latest")
@with_elsewhere
@with_processes
def score(folder: Path, out: Path | None, jobs: int) -> None:
    """Compute results.json of a run again, from its logs and blobs alone."""
    opened = open_run(folder)
    written = wrote(opened, *score_run(opened, jobs), out or beside(folder))
    click.echo(shorten(written.results))
    sys.exit(verdict(written.said))


@click.command()
@click.argument("folder", type=FOLDER, default=paths.RUNS / "latest")
@with_output
@with_elsewhere
@with_processes
def report(folder: Path, quiet: bool, as_json: bool, out: Path | None, jobs: int) -> None:
    """Write results, summary and page of a run again, from its logs and blobs alone, and print the table."""
    sys.exit(report_run(open_run(folder), out=out or beside(folder), quiet=quiet, as_json=as_json, jobs=jobs))
