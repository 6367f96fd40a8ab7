"""The two places where a memory can live: a child process with its own folder, or, for controls with gold, here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path

from harness.adapter import Call, Layer, Space
from harness.backend import client
from harness.backend.client import Deadlines, MemoryFault, RemoteMemory
from harness.backend.forkserver import Launcher, locate_work_tree, spawn
from harness.backend.servers import Service
from harness.backend.supervised import ServiceError
from harness.machine.story_clock import StoryClock
from harness.model.backend import Backend, EmbedderName, Fault

ENDING = 0.2
"""Seconds in which a server that is about to end does so."""


def make_opaque_name() -> str:
    """A new name for a store's folder, and a key, that tell nobody what is played there."""
    return secrets.token_hex(8)


@dataclass(frozen=True)
class OlderRelease:
    """Another release of a backend, whose store it takes over."""

    adapter: str
    backend: Backend
    settings: Mapping[str, str]
    launch: Launcher


@dataclass
class ChildStore:
    """A backend's space for one trial. Every open is a fresh process; the store in `root` is what they share."""

    adapter: str
    backend: Backend
    root: Path
    space: Space
    deadlines: Deadlines
    launch: Launcher = spawn
    service: Service | None = None
    """The server in which its memories live; it gives this store a place of its own before the first open."""
    older: OlderRelease | None = None
    switch: Callable[[EmbedderName], int] = lambda _: 0
    """Puts another embedder behind its key, and says how many numbers a vector has now."""
    unanswered: Callable[[], int] = lambda: 0
    """How many calls under its key were left without vectors by us up to now."""
    endpoint: Callable[[float], str] = lambda _: ""
    """Why a call to the models under its key got no answer since a moment, by no doing of its own; empty: all did."""
    clock: StoryClock | None = None
    """What its processes take for now; None: the wall clock."""
    # copies of this store share it (`as_older`): their homes lie in one folder, and none is used twice
    homes: Iterator[int] = field(default_factory=partial(count, 1))

    def open(self) -> RemoteMemory:
        # before `mkdir`, which takes a link to a folder for a folder
        if self.root.is_symlink() or (self.root.exists() and not self.root.is_dir()):
            complaint = "it has put a file or a link in the place of its store's folder"
            raise MemoryFault(Fault(kind="breach", op="open", message=complaint), alive=False)
        self.root.mkdir(parents=True, exist_ok=True)
        if self.service is not None:
            self._serve(self.service)
        began = time.monotonic()
        try:
            memory = client.open_memory(self.adapter, self.space, self._home(), self.deadlines, self.launch)
        except MemoryFault as error:
            raise client.excuse(error, self._outage(began)) from None
        memory.outage = self._outage
        self._check_clock(memory)
        return memory

    def set_clock(self, at: str) -> None:
        """Its processes live at this time from here on, where they have a clock of the story's."""
        if self.clock is not None:
            self.clock.set(datetime.fromisoformat(at))

    def _check_clock(self, memory: RemoteMemory) -> None:
        """Raises MemoryFault: an interpreter may be linked so that nothing can be loaded before its libraries."""
        if self.clock is not None and not self.clock.shows(memory.tell_time()):
            memory.kill()
            complaint = "its process shows another time than the story's: libfaketime does not reach it"
            raise MemoryFault(Fault(kind="machine", op="open", message=complaint), alive=False)

    def beside(self, name: str) -> ChildStore:
        """An empty store of the same backend, in a folder of this name beside the store."""
        root = self.root.parent / name / "store"
        # without a service, so that the server gives it a place of its own when it is opened
        return replace(self, root=root, space=replace(self.space, root=str(root), service=None))

    def as_older(self) -> ChildStore:
        """This store, as the older release opens it."""
        assert self.older is not None, "only where a store is handed over"
        space = replace(self.space, settings=dict(self.older.settings))
        return replace(
            self, adapter=self.older.adapter, backend=self.older.backend, space=space, launch=self.older.launch
        )

    def switch_embedder(self, name: EmbedderName) -> None:
        """From the next opening on, the endpoint embeds otherwise, and the space says how long its vectors are."""
        self.space = replace(self.space, dims=self.switch(name))

    def lend_work_tree(self, repo: str) -> Path:
        """The folder for the checkout of a repository; from the next opening on, the space names it."""
        lent = self.space.work_trees
        # numbered, as a name in a scope need not be one of a folder
        place = Path(lent.get(repo) or locate_work_tree(self.folder) / str(len(lent)))
        place.mkdir(parents=True, exist_ok=True)  # else no process could be shown it
        self.space = replace(self.space, work_trees={**lent, repo: str(place)})
        return place

    def _serve(self, service: Service) -> None:
        with _translate_faults():
            if self.space.service is None:
                self.space = replace(self.space, service=service.fresh(self.root))
            service.check()

    def _outage(self, since: float) -> ServiceError | None:
        """What the endpoint of its models did, or why its server, if it has one, is no longer there. A connection is
        cut before who had it is seen to end."""
        if lack := self.endpoint(since):
            return ServiceError(lack, lack)
        if self.service is None:
            return None
        for pause in (0.0, ENDING):
            time.sleep(pause)
            try:
                self.service.check()
            except ServiceError as error:
                return error
        return None

    @property
    def folder(self) -> Path:
        """All that belongs to the trial: the store, every process's home with its output, and what lies beside."""
        return self.root.parent

    def flush(self) -> None:
        """What a server holds back is in its files before they are looked at. Asks the backend nothing."""
        if self.service is not None:
            with _translate_faults():
                self.service.flush()

    def layers(self) -> list[Layer]:
        return client.ask_storage(self.adapter, self.space, self._home(), self.deadlines, self.launch)

    def compact(self) -> None:
        servers = self.service.ports if self.service is not None else ()
        client.compact(self.adapter, self.space, self._home(), self.deadlines, self.launch, servers)

    def write_program(self, calls: Sequence[Call]) -> str:
        """Calls as a program against the backend's own SDK; "" if its adapter prints none, or what it prints is no
        answer.
        """
        with suppress(MemoryFault):
            return client.write_program(
                self.adapter, calls, self.space.settings, self._home(), self.deadlines, self.launch
            )
        return ""

    def _home(self) -> Path:
        return self.root.parent / f"home-{next(self.homes)}"


@contextmanager
def _translate_faults() -> Iterator[None]:
    """A server that cannot be had, or has died, is a fault of the backend, unless it was the machine's doing."""
    try:
        yield
    except ServiceError as error:
        raise MemoryFault(Fault(kind=error.kind, op="serve", message=str(error)), alive=False) from None
