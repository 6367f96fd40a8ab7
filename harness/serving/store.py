"""The memory of one adapter, kept in a folder between sessions; its backend runs in a child process, as in a run."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NoReturn

from harness.backend import client, interpreters, registry
from harness.backend.client import Deadlines, RemoteMemory
from harness.backend.store import ChildStore
from harness.gateway.cache import EmbeddingCache
from harness.gateway.embedder import choose
from harness.gateway.gateway import Gateway
from harness.machine import documents, files, leftovers, shortage
from harness.machine.documents import DocumentError
from harness.model.backend import Backend
from harness.model.trial import Spec
from harness.play.backends import DEADLINES, Playable
from harness.play.children import Children
from harness.serving import names
from harness.serving.names import Names

CARD = "memory.json"
"""Says what wrote the store: another backend, release or embedder cannot read it."""


class StoreError(Exception):
    """A folder in which this memory cannot be opened. One line."""


class OpenStore:
    """A store that is open, and opened again after a fault that ended its process."""

    def __init__(self, store: ChildStore, names: Names) -> None:
        self._store, self.names = store, names
        self._opener = ThreadPoolExecutor(1)
        self._memory: RemoteMemory | None = None

    @property
    def backend(self) -> Backend:
        return self._store.backend

    def memory(self) -> RemoteMemory:
        """Raises MemoryFault."""
        if self._memory is None:
            # The system ends a child with the thread that started it, and one that answers an agent soon ends.
            lasting = threading.current_thread() is threading.main_thread()
            self._memory = self._store.open() if lasting else self._opener.submit(self._store.open).result()
        return self._memory

    def drop(self) -> None:
        """Drops a store whose process has ended: the next call opens another one."""
        if self._memory is not None:
            self._memory.kill()
            self._memory = None

    def close(self) -> None:
        """Raises MemoryFault."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None


@contextmanager
def open_store(spec: Spec, folder: Path, deadlines: Deadlines = DEADLINES) -> Iterator[OpenStore]:
    """The memory in this folder, which is made if it is not there. Raises RegistryError, MemoryFault and StoreError."""
    entry = registry.find(spec)
    if entry.reference is None:
        raise registry.RegistryError(f"'{spec.adapter}' is a control that needs gold: it has no memory to offer")
    embedder = choose()
    with leftovers.make_temporary() as temporary:
        description = client.describe(
            entry.reference, temporary / "describe", deadlines, interpreters.make_launcher(spec), spec.settings
        )
        registry.check_settings(spec, description.settings, description.problem)
        backend = Backend(name=description.name, version=description.version, support=description.support)
        # a service brings a model of its own
        if backend.supports("extracts") and not description.secrets:
            raise StoreError(f"{spec.label} has a model inside, which nobody answers here: take a backend without one")
        if description.server is not None:
            raise StoreError(f"{spec.label} lives in a server, which only runs start: take a backend without one")
        if not backend.supports("persistent"):
            raise StoreError(f"{spec.label} keeps nothing: {backend.support['persistent'].note}")
        # only now, so that a refusal leaves no folder; before the lock, which lies in it
        _claim(folder)
        playable = Playable(
            entry, spec, backend, description.source, client.list_secrets(spec.settings, description.secrets)
        )
        try:
            with leftovers.claim(folder):
                _check_card(
                    folder, {"backend": spec.label, "version": description.version, "embedder": embedder.digest}
                )
                known = _read_names(folder / names.FILE)
                with (
                    closing(EmbeddingCache(None, embedder)) as cache,
                    Gateway(cache) as gateway,
                    Children.opened(gateway, temporary, deadlines, embedder.dims) as children,
                    children.lend(playable, 1, folder) as (store, _),
                ):
                    opened = OpenStore(store, known)
                    try:
                        yield opened
                        opened.close()
                    finally:
                        # still open only where something went wrong: nobody waits for it to close
                        opened.drop()
        except leftovers.InUse:
            raise StoreError(
                f"{folder}: another process has this memory open: end it, or name another --store"
            ) from None


def _claim(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _refuse(folder, error)


def _refuse(folder: Path, error: OSError) -> NoReturn:
    raise StoreError(f"{folder}: cannot be written: {shortage.tell(error)}; name another --store") from None


def _check_card(folder: Path, card: dict[str, str]) -> None:
    """Raises StoreError where something else wrote the store."""
    file, store = folder / CARD, folder / "store"
    if os.path.lexists(store) and (store.is_symlink() or not store.is_dir()):
        raise StoreError(f"{store}: is a link, or no folder: name another --store, which may be a link itself")
    if not os.path.lexists(file):
        if store.exists():
            raise StoreError(f"{folder}: holds a store without {CARD}: name another --store")
        try:
            files.write(file, json.dumps(card, indent=1) + "\n")
        except OSError as error:
            _refuse(folder, error)
        return
    try:
        known = documents.read_json(file)
    except DocumentError as error:
        raise StoreError(f"{file}: {error}: name another --store") from None
    if not isinstance(known, dict):
        raise StoreError(f"{file}: is none of ours: name another --store")
    for name, now in card.items():
        if (then := known.get(name)) != now:
            raise StoreError(f"{folder}: was written with {name} {then}, now it is {now}: name another --store")


def _read_names(file: Path) -> Names:
    try:
        return Names(file)
    except DocumentError as error:
        raise StoreError(f"{file}: {error}: mend it, or name another --store") from None
