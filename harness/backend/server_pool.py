"""The servers of a run: each is lent to one trial at a time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Self

from harness.backend import client
from harness.backend.forkserver import spawn
from harness.backend.servers import Progress, Service
from harness.machine import leftovers


class Services:
    """The servers of a run, each started for the first trial that needs it and ended with the block.

    Adapters that describe the same server share it.

    Attributes:
        gateway: Where their models are. Safe for several threads.
    """

    def __init__(self, folder: Path, gateway: str, progress: Progress = lambda _: None) -> None:
        self._folder, self._gateway, self._progress = folder, gateway, progress
        self._known: dict[tuple[str, str], tuple[Service, threading.Lock] | None] = {}
        self._lock = threading.Lock()

    @contextmanager
    def lent(self, adapter: str, python: str = sys.executable) -> Iterator[Service | None]:
        """The adapter's server for one trial, which has it alone; None if it needs none. It need not run yet."""
        # held while the adapter is asked, or two trials would make two servers
        with self._lock:
            if (adapter, python) not in self._known:
                self._known[adapter, python] = self._find(adapter, python)
            known = self._known[adapter, python]
        if known is None:
            yield None
        else:
            service, alone = known
            with alone:
                try:
                    yield service
                finally:
                    service.release()

    def _find(self, adapter: str, python: str) -> tuple[Service, threading.Lock] | None:
        with leftovers.make_temporary() as home:
            server = client.serve(adapter, self._gateway, home / "home", launch=partial(spawn, python=python))
        if server is None:
            return None
        same = (known for known in self._known.values() if known and known[0].server == server)
        place = self._folder / server.programs[-1].name
        return next(same, None) or (Service(server, place, self._progress), threading.Lock())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for known in self._known.values():
            if known is not None:
                # adapters may share one, and to end it twice does nothing
                known[0].__exit__()
