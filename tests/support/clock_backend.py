"""An adapter that answers a question with what the clocks of its process show. Standard library only."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.adapter import Ack, BaseAdapter, BaseMemory, Hit, Item, Layer, Memory, Scope, Space


def _ask_sqlite() -> float:
    with sqlite3.connect(":memory:") as link:
        return float(link.execute("SELECT strftime('%s', 'now')").fetchone()[0])


def _ask_child() -> float:
    return float(subprocess.run(["date", "+%s"], capture_output=True, check=True, text=True).stdout)


def _ask_grandchild() -> float:
    code = "import subprocess, sys; sys.stdout.write(subprocess.check_output(['date', '+%s'], text=True))"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)


def _sleep() -> float:
    began = time.monotonic()
    time.sleep(0.01)
    asyncio.run(asyncio.sleep(0.01))
    return time.monotonic() - began


def _spoil() -> float:
    """Whether it can change its clock."""
    try:
        Path(os.environ["FAKETIME_TIMESTAMP_FILE"]).write_text("+0")
    except OSError:
        return 0.0
    return 1.0


CLOCKS: Mapping[str, Callable[[], float]] = {
    "python": time.time, "sqlite": _ask_sqlite, "child": _ask_child, "grandchild": _ask_grandchild,
    "monotonic": time.monotonic, "sleep": _sleep, "file": lambda: Path(__file__).stat().st_mtime, "spoil": _spoil,
}  # fmt: skip


class ClockMemory(BaseMemory):
    def remember(self, items: Sequence[Item]) -> list[Ack]:
        return [Ack(()) for _ in items]

    def settle(self, seconds: float) -> bool:
        return True

    def close(self) -> None:
        """It holds nothing."""

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        return [Hit("m1", str(CLOCKS[query]()))]


class ClockBackend(BaseAdapter):
    name = "clock"

    def version(self) -> str:
        return "1"

    def open(self, space: Space) -> Memory:
        return ClockMemory()

    def storage(self, space: Space) -> list[Layer]:
        return []
