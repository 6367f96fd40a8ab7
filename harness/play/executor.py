"""Where the trials of a run are played side by side: an executor opens the environments and takes the trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.model.drill import DrillTrial
from harness.model.trial import Selection, Trial
from harness.play.backends import Backends, describe_all
from harness.play.environment import Control, Environment, Settings
from harness.play.trial import play_trial

Submit = Callable[[Trial | DrillTrial], "Future[Path]"]
"""Hands a trial over; the future brings what `play_trial` returns or raises."""


class Executor(Protocol):
    """Who plays trials side by side. To order and to judge them is the runner's, as are budget and stop.

    Attributes:
        slots: How many trials it takes at once; may change while it plays.
        here: It plays with what is installed on this machine.
        alone: All slots share one environment, so that a server is lent to one of them at a time.
    """

    @property
    def slots(self) -> int: ...
    @property
    def here(self) -> bool: ...
    @property
    def alone(self) -> bool: ...

    def describe(self, selection: Selection, allowed: Iterable[str]) -> Backends:
        """Who of the selection can be played there, as `backends.describe_all`. Asked before it is opened."""

    def opened(self, settings: Settings, control: Control) -> AbstractContextManager[Submit]:
        """Opens the environments of the workers, and closes them at the end of the block.

        An exception in the block ends what is under way at once.
        """


@dataclass(frozen=True)
class Threads:
    """Threads of this process, which share one environment."""

    slots: int
    here = True
    alone = True

    def describe(self, selection: Selection, allowed: Iterable[str]) -> Backends:
        return describe_all(selection, allowed)

    @contextmanager
    def opened(self, settings: Settings, control: Control) -> Iterator[Submit]:
        with (
            Environment(settings, control) as environment,
            ThreadPoolExecutor(self.slots, thread_name_prefix="trial") as pool,
        ):
            try:
                yield lambda trial: pool.submit(play_trial, trial, environment)
            except BaseException:
                # the pool waits for its threads, and these wait for answers
                control.stop.set()
                environment.stores.kill()
                raise
