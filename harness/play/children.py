"""The stores of backends that live in child processes, with all that these share: gateway, fork servers, services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.adapter import Space
from harness.backend import interpreters
from harness.backend.client import Deadlines, MemoryFault
from harness.backend.forkserver import ForkServers
from harness.backend.server_pool import Services
from harness.backend.store import ChildStore, OlderRelease
from harness.gateway.alternate_embedders import SwitchedEmbedder
from harness.gateway.gateway import Gateway
from harness.gateway.meter import Meter
from harness.machine import leftovers, story_clock
from harness.machine.story_clock import StoryClock
from harness.model.backend import EmbedderName, Fault
from harness.model.trial import Clock
from harness.play.backends import Playable
from harness.play.readers import AskModel


@dataclass(frozen=True)
class Children:
    """Safe for several threads.

    Attributes:
        dims: Of the embeddings behind the gateway.
    """

    gateway: Gateway
    fork_servers: ForkServers
    services: Services
    deadlines: Deadlines
    dims: int

    @classmethod
    @contextmanager
    def opened(
        cls,
        gateway: Gateway,
        root: Path,
        deadlines: Deadlines,
        dims: int,
        noted: Callable[[str], None] = lambda _: None,
    ) -> Iterator[Children]:
        """Opens a host for stores in folders below `root`/work.

        Args:
            noted: Hears one line now and then while a server starts.
        """
        with (
            ForkServers(root / "work" / "forkservers", (gateway.port,)) as fork_servers,
            Services(root / "services", gateway.url, noted) as services,
        ):
            yield cls(gateway, fork_servers, services, deadlines, dims)

    def warm(self, texts: Iterable[str], backend: str) -> None:
        """Embeds what a trial will write and ask, before any of its clocks starts; nothing for who never asks."""
        self.gateway.warm(texts, backend)

    def played(self, backend: str, meter: Meter) -> None:
        self.gateway.note_end(backend, meter)

    def find_cut(self) -> str:
        return self.gateway.find_cut()

    def vectors(self, texts: Sequence[str]) -> Sequence[bytes]:
        return self.gateway.vectors(texts)

    def check(self) -> None:
        self.gateway.check()

    @contextmanager
    def lend(
        self, playable: Playable, seed: int, folder: Path, older: Playable | None = None
    ) -> Iterator[tuple[ChildStore, Meter]]:
        """An empty store in a folder, whose name is its key, and a meter for what it embeds.

        The backend's server, if it has one, serves this store alone.
        """
        reference, key, python = playable.entry.reference, folder.name, interpreters.find_interpreter(playable.spec)
        assert reference is not None
        with self.services.lent(reference, python) as service, _lend_clock(playable.clock, folder) as shown:
            # a server asks the gateway by a key of its own, whichever store it serves
            keys = (key, service.key) if service else (key,)
            meter = self.gateway.register(*keys)
            launch = interpreters.make_launcher(playable.spec, partial(self.fork_servers.launch, clock=shown))
            root = folder / "store"
            space = Space(str(root), self.gateway.url, key, self.dims, seed, dict(playable.spec.settings))
            try:
                yield (
                    ChildStore(
                        reference,
                        playable.backend,
                        root,
                        space,
                        self.deadlines,
                        launch,
                        service,
                        self._older(older),
                        partial(self._switch, meter),
                        meter.unanswered,
                        partial(self._find_outage, meter),
                        shown,
                    ),
                    meter,
                )
            finally:
                self.gateway.unregister(*keys)

    def _find_outage(self, meter: Meter, since: float) -> str:
        """What kept a call to the models under these keys from its answer since a moment; empty: nothing."""
        return meter.find_outage(since) or self.gateway.find_cut()

    def _switch(self, meter: Meter, name: EmbedderName) -> int:
        """Which embedder answers who is counted by this meter; how many numbers its vectors have."""
        # without an embedder (no dims) there is none that could be exchanged
        meter.switched = SwitchedEmbedder(name, self.dims) if self.dims and name != "own" else None
        return meter.switched.dims if meter.switched else self.dims

    def _older(self, playable: Playable | None) -> OlderRelease | None:
        if playable is None or playable.entry.reference is None:
            return None
        # without a clock: a drill hands stores over, and drills play by the wall clock
        launch = interpreters.make_launcher(playable.spec, self.fork_servers.launch)
        return OlderRelease(playable.entry.reference, playable.backend, playable.spec.settings, launch)

    @contextmanager
    def lend_chat(self) -> Iterator[tuple[AskModel, Meter]]:
        """Lends a reader its chat model; where the gateway has none, it says so to each call."""
        with self.gateway.lend_chat() as (client, meter):
            yield client.complete, meter

    def kill(self) -> None:
        """Ends every child and every call to a model: nobody waits for an answer that is not wanted."""
        self.fork_servers.kill()
        self.gateway.stop()


@contextmanager
def _lend_clock(clock: Clock, folder: Path) -> Iterator[StoryClock | None]:
    """The clock of a store in this folder, beside it, where its processes can only read. Raises MemoryFault."""
    if clock == "wall":
        yield None
        return
    if lack := story_clock.explain_missing():
        raise MemoryFault(Fault(kind="machine", op="open", message=f"the story's clock: {lack}"), alive=False)
    shown = StoryClock(folder.with_name(f"{folder.name}-clock"))
    try:
        yield shown
    finally:
        leftovers.remove(shown.folder)
