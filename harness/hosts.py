"""The two places where a memory can live: a child process with its own folder, or, for controls with gold, here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness import process
from harness.adapter import Layer, Space
from harness.controls import GoldMemory
from harness.events import Backend
from harness.launch import Launcher, spawn
from harness.process import Deadlines, RemoteMemory


@dataclass
class ChildHost:
    """A backend's space for one trial. Every open is a fresh process; the store in `root` is what they share."""

    adapter: str
    backend: Backend
    root: Path
    space: Space
    deadlines: Deadlines
    launch: Launcher = spawn
    opened: int = field(default=0, init=False)

    def open(self) -> RemoteMemory:
        self.root.mkdir(parents=True, exist_ok=True)
        return process.open_memory(self.adapter, self.space, self._home(), self.deadlines, self.launch)

    def layers(self) -> list[Layer]:
        return process.storage(self.adapter, self.space, self._home(), self.deadlines, self.launch)

    def compact(self) -> None:
        process.compact(self.adapter, self.space, self._home(), self.deadlines, self.launch)

    def _home(self) -> Path:
        self.opened += 1
        return self.root.parent / f"home-{self.opened}"


@dataclass
class GoldHost:
    """A control with gold: lives in this process, keeps nothing."""

    backend: Backend
    make: Callable[[], GoldMemory]
    root: Path = Path()

    def open(self) -> GoldMemory:
        return self.make()

    def layers(self) -> list[Layer]:
        return []
