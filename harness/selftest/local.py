"""Controls without gold and plain stores, played in this process: a proof needs no child, as none of them lies."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from harness.adapter import Ack, Adapter, Item, Layer, Memory, Space
from harness.backend import registry
from harness.gateway.meter import Meter
from harness.log.parts import Check
from harness.log.reader import Log
from harness.log.transcript import Transcript
from harness.machine.processes import Killed
from harness.model.backend import Backend, Declared
from harness.model.job import Job
from harness.model.trial import Spec
from harness.play import controls
from harness.play.backends import Playable
from harness.play.store import Handle, InOnePage, InThisProcess
from harness.play.trouble import AGAIN
from harness.repo.checkout import Repo
from harness.repo.checks import Work, WorkTrees

T = TypeVar("T", bound=Log | Transcript)
Keeps = Callable[[Item, Sequence[Item]], bool]
"""Whether a store that drops some of what it is told keeps an item of a batch."""


def make_adapter(name: str) -> Adapter:
    """The adapter behind a registered name or `module:Class`."""
    reference = _find_entry(name).reference
    if reference is None:
        raise registry.RegistryError(f"backend '{name}' is no adapter: it needs gold")
    module, _, attribute = reference.partition(":")
    made: Adapter = getattr(importlib.import_module(module), attribute)()
    return made


@cache
def _find_entry(name: str) -> registry.AdapterEntry:
    """Once a name: a proof plays hundreds of trials, and each look reads what every installed package registers."""
    return registry.find(Spec(adapter=name))


class _Local(InOnePage):
    """A memory with what makes it a `Handle`."""

    took = 0.0

    def __init__(self, memory: Memory, keeps: Keeps | None) -> None:
        self._memory, self._keeps = memory, keeps

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        kept = [self._keeps is None or self._keeps(item, items) for item in items]
        acks = iter(self._memory.remember([item for item, stays in zip(items, kept, strict=True) if stays]))
        return [next(acks) if stays else Ack(()) for stays in kept]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def kill(self) -> None:
        self._memory.close()


class LocalHost(InThisProcess):
    """A space for one trial; what reopens is the store in `root`."""

    def __init__(self, backend: Backend, root: Path, seed: int, keeps: Keeps | None) -> None:
        self._adapter, self.backend, self.root, self._keeps = make_adapter(backend.name), backend, root, keeps
        # without a gateway, as nothing here embeds or asks a model
        self._space = Space(str(root), "", "", 0, seed)

    def open(self) -> Handle:
        return cast(Handle, _Local(self._adapter.open(self._space), self._keeps))

    @property
    def folder(self) -> Path:
        return self.root

    def flush(self) -> None:
        """Nothing is held back."""

    def layers(self) -> list[Layer]:
        return self._adapter.storage(self._space)


@dataclass(frozen=True)
class LocalStores:
    """Opens stores in this process; nothing in them embeds.

    Attributes:
        keeps: What a store does not drop.
    """

    keeps: Keeps | None = None

    def warm(self, texts: Iterable[str], backend: str) -> None:
        """Nothing is embedded."""

    def played(self, backend: str, meter: Meter) -> None:
        """Nobody asks."""

    def vectors(self, texts: Sequence[str]) -> Sequence[bytes]:
        return ()

    def check(self) -> None:
        """Nobody asks."""

    def find_cut(self) -> str:
        """Nothing is there to be cut off."""
        return ""

    @contextmanager
    def lend(
        self, playable: Playable, seed: int, folder: Path, older: Playable | None = None
    ) -> Iterator[tuple[LocalHost, Meter]]:
        yield LocalHost(playable.backend, folder / "store", seed, self.keeps), Meter()

    def lend_chat(self) -> AbstractContextManager[tuple[None, Meter]]:
        """Nobody answers."""
        return nullcontext((None, Meter()))

    def kill(self) -> None:
        """Nobody waits here."""


class PaperWorkTrees(WorkTrees):
    """Believes every decision: each check prints the value that was chosen. Sound where the checks are proven."""

    def do(self, repo: Repo, commit: str, job: Job, values: Mapping[str, str | None], *, visible: bool = False) -> Work:
        seen = (
            Check(decision=each.id, command=each.check, exit=0, value=values.get(each.id), output="")
            for each in job.decisions
        )
        return Work("", (), tuple(seen))


def require_whole(log: T) -> T:
    """Raises Killed if the machine ended it, and RuntimeError if we broke: then it proves nothing."""
    if log.final:
        return log
    fault = log.end.fault if log.end else None
    if fault and fault.kind == "machine":
        # the message ends with advice for a run, and a proof has nothing to resume
        raise Killed(f"{log.trial.id}: {fault.message.removesuffix(f'; {AGAIN}')}; nothing is proven: run it again")
    raise RuntimeError(f"{log.trial.id}: {fault.message if fault else 'it has no end'}")


def make_playable(name: str) -> Playable:
    """A control or an adapter of ours, as it describes itself in this process and as a run would play it."""
    spec, entry = Spec(adapter=name), _find_entry(name)
    if entry.reference is None:
        return Playable(entry, spec, controls.describe(name))
    made = make_adapter(name)
    support = {word: Declared(level=said.level, note=said.note) for word, said in made.support.items()}
    return Playable(entry, spec, Backend(name=name, version=made.version(), support=support, control=entry.control))
