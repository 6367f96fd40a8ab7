"""From the options of `run` to the folder of a run that was played."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness import paths
from harness.cli.common import (
    COULD_NOT_RUN,
    find_report_folder,
    leave_out,
    load_stories,
    open_terminal,
    read_prices,
    say,
    stop,
)
from harness.cli.reading import check_clock, choose_reader
from harness.machine import documents
from harness.model.trial import (
    DEFAULT_BACKENDS,
    SCRIPTED,
    SECRET,
    USUAL_WRITES,
    Chat,
    Clock,
    DrillSize,
    Feed,
    Selection,
    Split,
    WritePolicy,
    name_reader,
    split_reader,
)

if TYPE_CHECKING:
    from harness.log.folder import Folder
    from harness.model.scenario import Scenario
    from harness.play.backends import Backends
    from harness.play.executor import Executor
    from harness.repo.checkout import Repo


def play(
    chat_budget: int | None,
    chat_cost: float | None,
    chat_price: tuple[float, float] | None,
    prices: Path | None,
    yes: bool,
    jobs: int,
    dask: str | None,
    allow: tuple[str, ...],
    allow_faults: tuple[str, ...],
    only: tuple[str, ...],
    keep: bool,
    call_seconds: float | None,
    shard: str | None,
    gates: Path | None,
    baseline: Path | None,
    resume: Path | None,
    fresh: bool,
    quiet: bool,
    as_json: bool,
    out: Path,
    tasks: Path,
    fixtures: Path,
    **options: Any,
) -> Folder:
    """Plays, and says how it goes on; the parameters are those of `run`. What ends it early stops the command."""
    from harness import regress
    from harness.backend import registry
    from harness.cli import confirm_cost
    from harness.gateway.chat.upstreams import make_upstream
    from harness.gateway.chat.wire import ChatError
    from harness.gateway.embedder import EmbedderError
    from harness.gateway.gateway import GatewayError
    from harness.gateway.meter import Budget
    from harness.log.folder import Folder, FolderError, join_command
    from harness.log.trial_cache import TrialCache
    from harness.machine import extras, shortage
    from harness.play import plan, runner
    from harness.play.trouble import ExecutorError
    from harness.report.progress import PlainProgress
    from tasks import suite

    try:
        folder = Folder.open(_unpack(resume)) if resume else None
        tasks, fixtures = _find_again(folder, tasks, fixtures)
        tolerated = {
            **(folder.read().allowed_faults if folder else {}),
            **dict(map(registry.parse_allowance, allow_faults)),
        }
        # A resumed run stays the shard that it was.
        shard = folder.read().shard if folder else shard
        call_seconds = call_seconds or (folder.read().call_seconds if folder else None)
        if shard and (gates or baseline):
            raise regress.RegressError("a shard is no run that gates could judge: give them to `coldwarm merge`")
        selection = _resume(folder, **options) if folder else select(**options)
        check_clock(selection, here=dask is None)
        # Before anything is played: a gate on a misspelt row would only show at the end of a run.
        regress.check(gates, baseline, selection)
        table = read_prices(prices) if prices else None
        model = split_reader(selection.reader)[1] or split_reader(selection.writer)[1]
        known = table.models.get(model) if table else None
        paid = chat_price or ((known.prompt, known.completion) if known else (0.0, 0.0))
        allowance = Budget(chat_budget, chat_cost, *paid)
        chat = make_upstream(selection.chat, os.environ).name if selection.chat else ""
        screen = open_terminal(quiet=quiet, as_json=as_json)
        executor, playables, stories = _prepare(
            screen, dask, jobs, selection, allow, tasks, fixtures, keeps=keep or bool(options["record"])
        )
        # Otherwise its lack shows only when the finished run is judged.
        if baseline and extras.explain_missing(["scipy"]):
            stop(extras.explain_lack("scipy", "comparing drills with a baseline"), COULD_NOT_RUN)
        dealt = plan.Shard.parse(shard) if shard else None
        planned = plan.list_trials(selection, [story for story, _ in stories], playables.apart)
        tested = plan.list_drills(selection, playables.playables, playables.taking_over)
        if lone := plan.explain_unplanned(selection, tested):
            raise ValueError(lone)
        ids = [*(trial.id for trial in planned), *(trial.id for trial in tested)]
        if only and not any(name.startswith(only) for name in ids):
            raise ValueError(f"--trial {' '.join(only)}: no trial of this run has an id that begins so")
        wanted = [trial for trial in planned if not only or trial.id.startswith(only)]
        confirm_cost.ask(
            screen, selection, wanted, [story for story, _ in stories], chat_price or known, table, yes=yes
        )
        # Only now, so that what is refused above leaves no run behind.
        folder = folder or Folder.create(out)
        regress.keep(folder, gates, baseline)
    except (FolderError, registry.RegistryError, regress.RegressError, ChatError, ValueError) as error:
        stop(error)
    listener = PlainProgress(screen)
    listener.lacks(playables.unplayed)
    # The command stands in run.json, which holds no secret.
    command = join_command(["coldwarm", *map(registry.redact, sys.argv[1:])])
    played = runner.Runner(
        folder, selection, playables, command, stories, paths.cache_root(), listener,
        executor=executor, only=only, keep=keep, shard=dealt, chat=chat, budget=allowance, call_seconds=call_seconds,
        allowed_faults=tolerated, trial_cache=TrialCache(paths.find_trials()), fresh=fresh, prices=table,
        suite=suite.identity([story for story, _ in stories], tasks, selection.split, selection.held_seed),
    )  # fmt: skip
    trouble = ""
    try:
        played.play()
    except KeyboardInterrupt:
        trouble = "stopped"
    except FolderError as error:
        stop(error)
    except (EmbedderError, ExecutorError, GatewayError, runner.Exhausted, OSError) as error:
        lack = shortage.explain_error(error, folder.root) if isinstance(error, OSError) else ""
        trouble = f"{folder.root}: {lack}" if lack else str(error)
    finally:
        listener.ended()
    if trouble:
        say(f"{trouble}; finished trials are kept. Resume the run with:")
        click.echo(_spell_resume(folder, tasks, fixtures), err=True)  # by itself, to be copied
        sys.exit(COULD_NOT_RUN)
    return folder


def _find_again(folder: Folder | None, tasks: Path, fixtures: Path) -> tuple[Path, Path]:
    """The suite, which a run that goes on needs not be given again: as its command named it."""
    from harness.log.folder import find_option

    command = folder.read().command if folder else ""
    suite, lying = find_option(command, "--suite", "--tasks"), find_option(command, "--fixtures")
    # The default: nobody has named another suite.
    if suite and tasks == paths.TASKS:
        tasks = paths.find_suite(suite)
    if lying and fixtures == paths.FIXTURES and Path(lying).exists():
        fixtures = Path(lying)
    return tasks, fixtures


def _spell_resume(folder: Folder, tasks: Path, fixtures: Path) -> str:
    folders = (("--suite", tasks, paths.TASKS), ("--fixtures", fixtures, paths.FIXTURES))
    names = {path: name for name, path in paths.SUITES.items()}
    own = [word for option, path, usual in folders if path != usual for word in (option, names.get(path, str(path)))]
    return shlex.join(["coldwarm", "run", "--resume", str(folder.root), *own])


def _name_spoken(mute: str) -> str:
    """What can be done in place of playing a story without transcripts."""
    from harness.model.scenario import MINED

    if mute.startswith(f"{MINED}/"):
        return (
            "it was mined without your team's sessions: mine it again with `--sessions FOLDER` of "
            "`coldwarm import sessions`, or play it without --feed"
        )
    return "play the suite that has: --suite deep"


def _prepare(
    screen: Any,
    dask: str | None,
    jobs: int,
    selection: Selection,
    allow: tuple[str, ...],
    tasks: Path,
    fixtures: Path,
    *,
    keeps: bool,
) -> tuple[Executor, Backends, list[tuple[Scenario, Repo]]]:
    """Who plays, what can be played, and the stories, which are loaded while environments are made."""
    from harness.backend import environments
    from harness.report.progress import say_during
    from harness.report.words import make_plain

    for spec in selection.backends:
        if spec.pinned:
            environments.begin(spec)
    stories = leave_out(load_stories(tasks, fixtures, selection.scenarios, selection.split, selection.held_seed))
    if mute := [story.id for story, _ in stories if selection.feed != "facts" and not story.spoken]:
        raise ValueError(f"--feed {selection.feed}: {mute[0]} has no transcripts; {_name_spoken(mute[0])}")
    with say_during(screen, "asking the backends what they are"):
        executor, playables = _ask(dask, jobs, selection, allow, keeps=keeps)
    for line in environments.describe(selection.backends):
        screen.print(make_plain(line), markup=False)
    played = any(spec.label in playables.playables for spec in selection.backends)
    for each in playables.unplayed:
        if each.backend in playables.undescribed and not each.allowed:
            instead = f"leave it out with -b, or go on without it: --allow {each.backend}"
            hint = "run it again" if playables.undescribed[each.backend] == "machine" else instead
            stop(f"{each.backend} could not run: {each.reason}; nothing was played; {hint}", COULD_NOT_RUN)
        if played or len(playables.unplayed) > 1:  # else the end says it
            screen.print(make_plain(f"{each.backend} cannot run: {each.reason}"), markup=False)
    if not played:
        first, *others = playables.unplayed
        more = f" ({len(others)} more above)" if others else ""
        stop(f"nothing was played: {first.backend} could not run: {first.reason}{more}", COULD_NOT_RUN)
    return executor, playables, stories


def _ask(
    dask: str | None, jobs: int, selection: Selection, allow: tuple[str, ...], *, keeps: bool
) -> tuple[Executor, Backends]:
    """Who plays, closed with the command, and what it can play. Raises RegistryError and ValueError."""
    from harness.machine import shortage
    from harness.play.executor import Threads
    from harness.play.trouble import ExecutorError

    if dask is None:
        if lack := shortage.explain_crowd(jobs):
            stop(lack, COULD_NOT_RUN)
        return (here := Threads(jobs)), here.describe(selection, allow)
    if keeps:
        raise ValueError("--keep and --record leave files where trials are played: not with --dask")
    from harness.play.dask import Dask

    try:
        there = click.get_current_context().with_resource(Dask.connected(dask))
        return there, there.describe(selection, allow)
    except ExecutorError as error:
        stop(error, COULD_NOT_RUN)


def select(
    backends: tuple[str, ...],
    scenarios: tuple[str, ...],
    split: Split,
    held_seed: int,
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
    writer: str,
    model: str,
    undated: bool,
    feed: Feed,
    clock: Clock,
    rounds: int,
) -> Selection:
    """What these options of `run` ask for. Raises RegistryError and ValueError for what makes no sense."""
    from harness.backend import interpreters, registry
    from harness.gateway.chat.standin import WRITER
    from harness.play import drills

    writing = ""
    if writer != SCRIPTED:
        writing = model or (WRITER if chat == "stand-in" else "")
        _check_writer(writer, writing, chat, scenarios, write)
        # --model then names the writer's alone: the scripted reader has none.
        model = "" if reader == SCRIPTED else model
    label = choose_reader(reader, model, chat, rounds)
    specs = interpreters.name_releases(map(registry.parse, _add_placebos(backends or DEFAULT_BACKENDS, reader)))
    if len({*drilled}) > 1 and "none" in drilled:
        raise ValueError("-d none plays no drill: leave it out, or the others")
    if seed and seeds:
        raise ValueError("--seed and --seeds both say which seeds: give one of them")
    chosen = () if "none" in drilled else drills.choose_drills(drilled)
    if feed != "facts":
        write = _check_feed(feed, write, noise, writer)
    if scenarios == ("none",) and not chosen:
        raise ValueError("-s none with -d none leaves nothing to play: leave one of them out")
    return Selection(
        backends=specs, scenarios=scenarios, split=split, held_seed=held_seed, noise=noise, writes=write, k=k,
        budget=budget,
        seeds=tuple(range(1, seeds + 1)) if seeds else seed or (1,), drills=chosen, drill_size=drill_size,
        chat=_make_chat(chat, record), reader=label, writer=name_reader(writer, writing), undated=undated,
        feed=feed, clock=clock, rounds=rounds,
    )  # fmt: skip


def _add_placebos(backends: tuple[str, ...], reader: str) -> tuple[str, ...]:
    """An agent program may work otherwise for having a memory at all: so controls that hold nothing of a story come
    along with a backend under test, as those with gold do."""
    from harness.backend import registry
    from harness.play.plan import PLACEBOS

    tested = any(not registry.find(registry.parse(each)).control for each in backends)
    added = PLACEBOS if tested and reader.startswith("agent:") else ()
    return (*backends, *(name for name in added if name not in backends))


def _check_feed(
    feed: Feed, write: tuple[WritePolicy, ...], noise: tuple[int, ...], writer: str
) -> tuple[WritePolicy, ...]:
    """The write policies that there are with transcripts. Raises ValueError for what cannot be combined with them."""
    from harness.play.transcript_noise import MOST

    # The usual ways are the default of --write, so nobody asked for them.
    if write not in (USUAL_WRITES, ("append",)):
        raise ValueError(f"--feed {feed} with --write {write[0]}: a transcript is only added; leave --write out")
    if writer != SCRIPTED:
        raise ValueError(f"--feed {feed} with --writer: a transcript is stored as it is; leave one of them out")
    if max(noise) > MOST:
        raise ValueError(f"--feed {feed}: at most {MOST} memories of noise, which are pieces of other transcripts")
    return ("append",)


def _check_writer(
    writer: str, model: str, chat: str | None, scenarios: tuple[str, ...], write: tuple[WritePolicy, ...]
) -> None:
    """Raises ValueError for what would write nothing, or by nobody."""
    from harness.machine import extras

    if other := [each for each in write if each not in USUAL_WRITES]:
        raise ValueError(f"--writer {writer} decides what is kept: --write {other[0]} is for the scripted one")
    if not chat:
        raise ValueError(f"--writer {writer} asks a chat model: --chat stand-in, model, or a folder of recordings")
    if not model:
        raise ValueError(f"--writer {writer} needs a chat model: name it with --model")
    if "none" in scenarios:
        raise ValueError(f"--writer {writer} writes what stories tell, and -s none plays none")
    if extras.explain_missing(["openai"]):
        raise ValueError(extras.explain_lack("openai", f"--writer {writer}"))


def _make_chat(who: str | None, record: Path | None) -> Chat | None:
    """Raises ValueError for what would record nothing."""
    if who in ("stand-in", "model"):
        return Chat(answers=who, folder=str(record) if record else None)
    if record:
        raise ValueError("--record writes down what --chat stand-in or --chat model answers: name one of them")
    return Chat(answers="recordings", folder=who) if who else None


def _unpack(run: Path) -> Path:
    if find_report_folder(run):
        stop(f"{run}: a packed run is not played on: unpack it into a folder (tar -xf) and resume that")
    return run


def _resume(folder: Folder, backends: tuple[str, ...], chat: str | None, record: Path | None, **_: object) -> Selection:
    """What a run asked for. Its secrets were never written down: whoever goes on with it gives them again."""
    from harness.backend import interpreters, registry

    file = folder.read()
    selection = file.selection
    given_specs = {spec.label: spec for spec in interpreters.name_releases(map(registry.parse, backends))}
    run_specs = (
        given_specs.get(spec.label) or interpreters.restore_interpreter(spec, file.interpreters.get(spec.label))
        for spec in selection.backends
    )
    # The lock installs what the run began with, not what its releases resolve to today.
    specs = tuple(
        spec.model_copy(update={"lock": documents.read_text(lock)})
        if (lock := folder.lock(spec.label)).exists()
        else spec
        for spec in run_specs
    )
    for spec in specs:
        # What is kept of a secret is a placeholder: settings that equal it were not given again.
        if any(SECRET.search(key) and spec.settings[key] == value for key, value in spec.shown.items()):
            raise registry.RegistryError(f"backend '{spec.label}' had secrets, which are not kept: repeat it with -b")
    return selection.model_copy(update={"backends": specs, "chat": _make_chat(chat, record) or selection.chat})
