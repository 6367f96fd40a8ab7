"""Trials are tasks of a Dask cluster: of a scheduler that runs, or of one here for as long as the run.

Workers share no folder with the run. A trial comes back as a parcel (harness/log/parcel.py), whose log and blobs are
put in the run's folder before it counts as played. Dask gives the trials of a worker that dies to others.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any
from uuid import uuid4

from distributed import Client, LocalCluster, Scheduler, SchedulerPlugin, Worker, get_worker
from distributed.client import FutureCancelledError

from harness.log import parcel
from harness.log.folder import DRILLS, LOGS, Folder
from harness.log.lines import LogError
from harness.log.parcel import ParcelError
from harness.machine import leftovers
from harness.model.drill import DrillTrial
from harness.model.results import Unplayed
from harness.model.trial import Selection, Trial
from harness.play.backends import Backends, describe_all
from harness.play.dask_worker import Admission, Player, Sent, Ticket, admit, list_facts
from harness.play.environment import Control, Settings
from harness.play.executor import Submit
from harness.play.trouble import ExecutorError

ANSWER_SECONDS = 10
"""What a scheduler gets to answer."""
WORKER_SECONDS = 60
"""What a cluster without workers gets to have one."""
LOCAL = re.compile(r"local:([1-9]\d{0,2})")


class Dask:
    """The workers of a cluster that are as this command is, each with an environment of its own.

    Attributes:
        here: They are processes of this machine, started for this run.
    """

    def __init__(self, client: Client, where: str) -> None:
        self._client, self._where = client, where
        self.here = bool(LOCAL.fullmatch(where))
        self.alone = False
        # names plugins, topic, resources and keys, so that runs on one scheduler never meet
        self._run = f"coldwarm-{uuid4().hex[:12]}"
        self._threads: dict[str, int] = {}
        self._ticket = b""

    @classmethod
    @contextmanager
    def connected(cls, where: str) -> Iterator[Dask]:
        """To the scheduler at an address; for `local:4`, to one with four workers here. Raises ExecutorError."""
        for name in ("distributed", "distributed.client", "distributed.worker", "distributed.scheduler"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters of it is told in our words
        local = LOCAL.fullmatch(where)
        with (
            leftovers.make_temporary() as home,
            _start_workers(int(local[1]), home) if local else _connect(where) as client,
        ):
            yield cls(client, where)

    @property
    def slots(self) -> int:
        """Two for each thread: none waits while a parcel travels."""
        # with no worker left one trial is still handed over, so that the runner has something to wait for
        return 2 * sum(self._threads.values()) or 1

    def describe(self, selection: Selection, allowed: Iterable[str]) -> Backends:
        """Backends as this machine describes them, without those that no worker can play. Raises ExecutorError."""
        # may be an iterator, and is read twice
        allowed = tuple(allowed)
        backends = describe_all(selection, allowed)
        # pickled once, as workers know it again by its bytes
        self._ticket = pickle.dumps(Ticket(list_facts(), backends.playables, selection.chat))
        # `return`: a worker that raises is refused, and does not end the run
        admissions = self._client.run(admit, self._ticket, on_error="return")
        refused = {
            address: admission
            for address, admission in admissions.items()
            if not isinstance(admission, Admission) or admission.refused
        }
        if len(refused) == len(admissions):
            address, admission = next(iter(refused.items()), ("none is left", Admission()))
            why = admission.refused if isinstance(admission, Admission) else f"{type(admission).__name__}: {admission}"
            raise ExecutorError(f"--dask {self._where}: no worker may play this run: {address}: {why}")
        lacks = [admission.lacks for address, admission in admissions.items() if address not in refused]
        # what one worker has is played there: only what all lack is played nowhere
        nowhere = {label: why for label, why in lacks[0].items() if all(label in each for each in lacks)}
        unplayed = tuple(
            Unplayed(backend=label, reason=f"no worker has it: {why}", allowed=label in allowed)
            for label, why in nowhere.items()
        )
        playables = {label: each for label, each in backends.playables.items() if label not in nowhere}
        return Backends(playables, (*backends.unplayed, *unplayed), backends.undescribed)

    @contextmanager
    def opened(self, settings: Settings, control: Control) -> Iterator[Submit]:
        open_: dict[Future[Path], Any] = {}
        folder = Folder(settings.root)
        folder.blobs.redactor = settings.redactor

        def submit(trial: Trial | DrillTrial) -> Future[Path]:
            needs = {self._run: 1}
            if trial.backend is not None:
                needs[f"{self._run} {trial.backend}"] = 1
                if isinstance(trial, DrillTrial) and trial.older:
                    needs[f"{self._run} {trial.older}"] = 1
                if settings.playables[trial.backend].served:
                    needs[f"{self._run} server"] = 1
            # the run in the key, as Dask answers a key that it knows without playing again
            task = self._client.submit(_play, self._run, trial, key=f"{self._run}-{trial.id}", resources=needs)
            future = Future[Path]()
            # before the callback, which may be called at once and looks for it there
            open_[future] = task
            task.add_done_callback(lambda task: self._bring(trial, task, future, folder, open_))
            return future

        async def hear(event: tuple[float, Mapping[str, Any]]) -> None:
            await self._hear(event[1], control, open_)

        # before the plugins, which tell of their workers as soon as they are there
        self._client.subscribe_topic(self._run, hear)
        player = Player(self._run, self._ticket, pickle.dumps(Sent.make(settings)))
        try:
            self._client.register_plugin(_Watch(self._run, self._client.id), name=self._run)
            self._client.register_plugin(player, name=self._run)
        except ModuleNotFoundError as error:
            raise ExecutorError(f"--dask {self._where}: {error} there: start all of it in this environment") from None
        # `ignore`: a worker that has died meanwhile offers nothing
        offers = self._client.run(_offer, self._run, on_error="ignore")
        self._threads |= {address: threads for address, (threads, _) in offers.items() if threads}
        if not self._threads:
            address, (_, why) = next(iter(offers.items()), ("none is left", (0, "")))
            raise ExecutorError(f"--dask {self._where}: no worker may play this run: {address}: {why}")
        try:
            yield submit
        except BaseException:
            # the scheduler may be what is gone
            with suppress(Exception):
                self._client.cancel([*open_.values()], force=True)
            raise
        finally:
            with suppress(Exception):
                if self._client.status == "running":
                    self._client.unregister_worker_plugin(self._run)

    def _bring(
        self, trial: Trial | DrillTrial, task: Any, future: Future[Path], folder: Folder, open_: dict[Future[Path], Any]
    ) -> None:
        """What a worker has played -> the run's folder. In the client's thread for such calls."""
        error: BaseException | None = None
        target = folder.new_log(trial.id, DRILLS if isinstance(trial, DrillTrial) else LOGS)
        try:
            parcel.unpack(trial.id, task.result()).place(target, folder.blobs)
        except FutureCancelledError:
            # Dask cancels its futures when it loses the scheduler
            error = ExecutorError(f"the Dask scheduler at {self._where} is gone")
        except ParcelError as problem:
            error = LogError(f"what a worker sent of trial {trial.id} is not believed: {problem}")
        except BaseException as problem:
            # whatever it is: the runner waits for this future, and nobody else hears of it
            error = problem
        # gone if the end of the budget has answered it
        if open_.pop(future, None) is None:
            return
        if error:
            future.set_exception(error)
        else:
            future.set_result(target)

    async def _hear(self, event: Mapping[str, Any], control: Control, open_: dict[Future[Path], Any]) -> None:
        """What a worker or the scheduler tells, in the thread of the client's loop."""
        if "noted" in event:
            control.noted(event["noted"])
        if "joined" in event:
            self._threads[event["joined"]] = event["threads"]
            await self._client.run_on_scheduler(_wake)
        # a worker that was refused has no threads here, and nobody misses it
        if "gone" in event and self._threads.pop(event["gone"], 0):
            rest = "others play its trials" if self._threads else "no other is left: the run waits for one"
            control.noted(f"worker {event['gone']} is gone; {rest}")
        if "spent" in event:
            control.ledger.add(*event["spent"])
            if control.ledger.used_up and open_:  # so that the runner looks
                future, _ = open_.popitem()
                future.set_exception(ExecutorError("the budget is used up"))


def _play(run: str, trial: Trial | DrillTrial) -> bytes:
    """A task."""
    player: Player = get_worker().plugins[run]
    return player.play(trial)


def _offer(run: str, dask_worker: Worker) -> tuple[int, str]:
    """How many trials a worker plays at once, and why it plays none."""
    player: Player = dask_worker.plugins[run]
    return player.threads, player.refused


def _wake(dask_scheduler: Scheduler) -> None:
    """Lets it look again at tasks that no worker could take: it does so for a new worker, and not for new resources."""
    for worker in dask_scheduler.workers.values():
        found = dask_scheduler.bulk_schedule_unrunnable_after_adding_worker(worker)
        dask_scheduler.transitions(found, "coldwarm-joined")


class _Watch(SchedulerPlugin):  # type: ignore[misc]  # its types are not read
    """The scheduler's part: it tells of lost workers, and ends the run on all workers once the command is gone."""

    def __init__(self, run: str, client: str) -> None:
        self._run, self._client = run, client

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        scheduler.log_event(self._run, {"gone": worker})

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        if client == self._client:
            scheduler.remove_plugin(self._run)
            # a command that ended in good order has taken the plugin back itself
            if self._run in scheduler.worker_plugins:
                # kept, as the event loop holds its tasks by weak references only
                self._ending = asyncio.ensure_future(scheduler.unregister_worker_plugin(None, self._run))


@contextmanager
def _connect(where: str) -> Iterator[Client]:
    try:
        client = Client(where, timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise ExecutorError(f"--dask {where}: no Dask scheduler answers there: {reason}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise ExecutorError(
                f"--dask {where}: the scheduler has had no worker for {WORKER_SECONDS} s: dask worker {where}"
            ) from None
        yield client


@contextmanager
def _start_workers(workers: int, home: Path) -> Iterator[Client]:
    _start_tracker()
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, worker_dashboard_address=None,
            # Else port 8787, with a warning if it is taken, and a folder of its own beside ours, which stays.
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0", "local_directory": str(home)},
            silence_logs=logging.CRITICAL, local_directory=str(home),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


def _start_tracker() -> None:
    """Python's own process that tidies up after ours outlives a hangup: a terminal that closes tells all of its group,
    and what then writes to a tracker that is gone prints a traceback. A blocked signal stays blocked in the child."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        resource_tracker.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
