"""One way to play a trial: `play_trial`, in any process that has opened an environment."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

from harness.adapter import Item
from harness.backend.client import MemoryFault
from harness.backend.store import make_opaque_name
from harness.gateway import tokens
from harness.gateway.meter import Meter
from harness.log import reader, transcript
from harness.log.blobs import Blobs
from harness.log.events import Closed, Event
from harness.log.folder import DRILLS, LOGS
from harness.log.lines import Writer
from harness.log.reader import Log, Outline, read
from harness.log.transcript import Ended, Transcript
from harness.machine import leftovers
from harness.model.canary import query_word
from harness.model.drill import DrillTrial, Plan
from harness.model.trial import Trial, digest, split_reader
from harness.play import controls, drills, engine, plan, readers, trouble
from harness.play.backends import Playable
from harness.play.controls import GoldStore
from harness.play.drills.stage import DrillStore
from harness.play.environment import Environment, Settings, Stores
from harness.play.readers import AskModel
from harness.play.session import Part, Tools
from harness.play.store import SETTLE_SECONDS, Handle, Store
from harness.play.writer import ChatWriter
from harness.scan.copies import Copies
from harness.text.classify import Classifier


def play_trial(trial: Trial | DrillTrial, environment: Environment) -> Path:
    """Plays a trial or a drill into a log of its own, whose payloads are blobs; its store is removed afterwards.

    What goes wrong is in the log, but for what ends the run: trouble.ENDS_RUN. A log without an end: it was stopped.
    """
    if isinstance(trial, DrillTrial):
        return _drill(trial, environment)
    return _find_story(trial, environment)


def compute_identity(trial: Trial | DrillTrial, settings: Settings) -> str:
    """Equal for two trials that must have the same outcome; nothing is played or opened."""
    if isinstance(trial, DrillTrial):
        return plan.compute_identity(trial, _digest_drill(trial, settings))
    return plan.compute_identity(trial, _make_part(trial, settings).digests)


def load(trial: Trial | DrillTrial, path: Path, blobs: Blobs) -> Log | Transcript:
    """What was played, from where `play_trial` said. Raises LogError."""
    return transcript.read_calls(path, blobs) if isinstance(trial, DrillTrial) else read(path, blobs)


def read_outline(trial: Trial | DrillTrial, path: Path, blobs: Blobs) -> Outline:
    """The outline of a trial, found as `load` finds it."""
    return transcript.read_outline(path, blobs) if isinstance(trial, DrillTrial) else reader.read_outline(path, blobs)


class Stopped(BaseException):  # not an error, and for nobody else to handle: the run was told to end
    """Ends a drill in the middle; its transcript stays incomplete."""


def _find_story(trial: Trial, environment: Environment) -> Path:
    part = _make_part(trial, environment.settings)
    classifier = environment.settings.find_story(trial).find_classifier(part.canaries)
    with (
        environment.place(trial.id, LOGS) as (path, folder),
        _open_home(part, environment, classifier, folder) as (host, meter),
        _lend_chat(trial, environment.stores) as (ask_model, asked),
        Writer(path, environment.blobs.redactor) as log,
        trouble.fence(log, Closed, environment.blobs, lambda: environment.control.stopping),
        closing(
            engine.play(
                part, host, _make_tools(trial, environment, classifier, ask_model), meter, environment.settings.ways
            )
        ) as events,
    ):
        for event in events:
            if environment.control.stopping:  # what comes now may be our own doing: the trial is played again
                break
            environment.stores.check()
            trouble.check_endpoint(meter, asked)
            played = trial.backend if isinstance(event, Closed) and event.status == "complete" else None
            if played is not None:
                trouble.check_gateway(environment.stores)
            log.append(event)
            if played is not None:
                environment.stores.played(played, meter)
    return path


def _make_tools(trial: Trial, environment: Environment, classifier: Classifier, ask_model: AskModel | None) -> Tools:
    story = environment.settings.find_story(trial)
    return Tools(
        repo=story.repo,
        explorer=story.explorer,
        classifier=classifier,
        work_trees=environment.work_trees,
        blobs=environment.blobs,
        count=tokens.count,
        host=describe_machine(),
        reader=readers.find(trial.reader),
        ask_model=ask_model,
        writer=_find_writer(trial, ask_model),
    )


def _find_writer(trial: Trial, ask_model: AskModel | None) -> ChatWriter | None:
    """Who decides what is remembered; None: all that the story tells is."""
    _, model = split_reader(trial.writer)
    return ChatWriter(model, ask_model, tokens.count) if model and ask_model else None


def _lend_chat(trial: Trial, stores: Stores) -> AbstractContextManager[tuple[AskModel | None, Meter]]:
    """The chat model of the run, for a reader or a writer that has one."""
    models = [split_reader(each)[1] for each in (trial.reader, trial.writer)]
    return stores.lend_chat() if any(models) else nullcontext((None, Meter()))


def _drill(trial: DrillTrial, environment: Environment) -> Path:
    digests = _digest_drill(trial, environment.settings)  # first, as a large plan is written for it, and let go
    written = plan.write_drill(drills.ALL[trial.drill], trial.size, trial.seed)
    playable, older = _find_playable(trial, environment.settings), _find_older(trial, environment.settings)
    if len(written.pieces) >= plan.MANY:
        _try_out(trial, playable, written.pieces[0].item, environment)
    environment.stores.warm(_list_texts(written), trial.backend)
    with (
        environment.place(trial.id, DRILLS) as (path, folder),
        environment.stores.lend(playable, trial.seed, folder, older) as (store, meter),
        Writer(path, environment.blobs.redactor) as log,
    ):

        def emit(event: Event) -> None:
            if environment.control.stopping:
                raise Stopped
            environment.stores.check()
            trouble.check_endpoint(meter)
            if isinstance(event, Ended) and event.status == "complete":
                trouble.check_gateway(environment.stores)
            log.append(event)

        with suppress(Stopped), trouble.fence(log, Ended, environment.blobs, lambda: environment.control.stopping):
            drills.play(
                trial,
                written,
                cast(DrillStore, store),  # drills kill, and only child processes can be killed
                environment.blobs,
                emit,
                environment.stores.vectors,
                digests,
                describe_machine(),
                Copies(folder, environment.control.noted) if environment.settings.keep else None,
                older.backend if older else None,
            )
    return path


def _list_texts(written: Plan) -> Sequence[str]:
    """Every text that a drill will write or ask."""
    texts = ((each.item.text, each.query, query_word(each.canary or "")) for each in written.pieces)
    return [text for each in texts for text in each if text]


@contextmanager
def _open_home(
    part: Part, environment: Environment, classifier: Classifier, folder: Path
) -> Iterator[tuple[Store[Handle] | None, Meter]]:
    """Where the memory of a story lives; nowhere in the cold arm, and in this process if it is handed the gold."""
    if part.trial.backend is None:
        yield None, Meter()
        return
    playable = replace(_find_playable(part.trial, environment.settings), clock=part.trial.clock)
    if playable.entry.reference is None:
        gold = controls.list_wanted(playable.entry.name, part.scenario)
        yield GoldStore(playable.backend, lambda: controls.GoldMemory(gold, classifier)), Meter()
        return
    if part.trial.noise >= plan.MANY:
        _try_out(part.trial, playable, part.noise[0].item, environment)
    environment.stores.warm(engine.list_texts(part), part.trial.backend)
    with environment.stores.lend(playable, part.trial.seed, folder) as lent:
        yield lent


def _try_out(trial: Trial | DrillTrial, playable: Playable, item: Item, environment: Environment) -> None:
    """Writes and asks for one memory in a store of its own: whether the backend embeds anything is known from there."""
    stores, folder = environment.stores, environment.folder.work / make_opaque_name()
    try:
        # a fault shows again in the trial itself, which logs it
        with suppress(MemoryFault), stores.lend(playable, trial.seed, folder) as (store, meter):
            memory = store.open()
            try:
                memory.remember([item])
                memory.settle(SETTLE_SECONDS)
                memory.recall(item.text, item.scope, trial.k, item.at)
                memory.close()
                stores.played(playable.spec.label, meter)
            finally:
                memory.kill()
    finally:
        leftovers.remove(folder)


def _find_older(trial: DrillTrial, settings: Settings) -> Playable | None:
    """The release that hands its store over, in a drill of that."""
    return settings.playables[trial.older] if trial.older else None


def _find_playable(trial: Trial | DrillTrial, settings: Settings) -> Playable:
    assert trial.backend is not None
    return settings.playables[trial.backend]


def _make_part(trial: Trial, settings: Settings) -> Part:
    """A trial with all that it is made of."""
    story, embedder = settings.find_story(trial), settings.embedder_digest
    if trial.backend is None:
        # Who plays a salted story asks its model without a memory, too.
        return plan.make_part(
            trial, story, None, "", embedder, settings.answerer if readers.uses_salt(trial.reader) else ""
        )
    playable = _find_playable(trial, settings)
    return plan.make_part(trial, story, playable.backend, playable.source, embedder, settings.answerer)


def _digest_drill(trial: DrillTrial, settings: Settings) -> Mapping[str, str]:
    playable = _find_playable(trial, settings)
    plan_digest = plan.digest_drill(drills.ALL[trial.drill], trial.size, trial.seed)
    digests = plan.drill_digests(
        plan_digest, playable.backend, playable.source, settings.embedder_digest, settings.answerer
    )
    # the older release wrote the store: its sources decide the outcome as well
    if older := _find_older(trial, settings):
        digests["older"] = digest([older.backend.model_dump(mode="json"), older.source])
    return digests


@cache
def describe_machine() -> Mapping[str, str]:
    """What of this machine a result may depend on."""
    link = sqlite3.connect(":memory:")
    # whether SQLite overwrites what it deletes decides what is found in the bytes
    secure = link.execute("pragma secure_delete").fetchone()[0]
    link.close()
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "sqlite": sqlite3.sqlite_version,
        "sqlite_secure_delete": str(secure),
        "cpus": str(os.cpu_count()),
    }
