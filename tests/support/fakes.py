"""Stand-ins for what a unit test must not wait for."""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from harness.adapter import CAPABILITIES, FILTERS, Ack, BaseMemory, Hit, Item, Layer, Scope, Usage
from harness.backend.client import MemoryFault
from harness.gateway.embedder import Encoded
from harness.model.backend import Backend, Declared, Fault, FaultKind
from harness.play.store import InOnePage, InThisProcess


class FakeEmbedder:
    """Hashed words and character trigrams: deterministic across processes, no model. Sees 16 words of a text.

    `seen` counts how often each text was embedded. While `gate` is cleared, `encode` waits.
    """

    def __init__(self, dims: int = 384, digest: str = "fake") -> None:
        self.name = "fake-hashed-ngrams"
        self.dims = dims
        self.digest = digest
        self.seen: Counter[str] = Counter()
        self.entered = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def encode(self, texts: Sequence[str]) -> Encoded:
        if "" in texts:
            raise ValueError("an empty text has no embedding")
        self.seen.update(texts)
        self.entered.set()
        self.gate.wait(30)
        words = [text.split() for text in texts]
        vectors = np.stack([self._vector(kept[:16]) for kept in words])
        return Encoded(vectors, [min(len(kept), 16) for kept in words], [max(len(kept) - 16, 0) for kept in words])

    def _vector(self, words: list[str]) -> np.ndarray:
        vector = np.zeros(self.dims, np.float32)
        for word in words:
            padded = f" {word.casefold()} "
            for part in [padded, *(padded[at : at + 3] for at in range(len(padded) - 2))]:
                spot = zlib.crc32(part.encode("utf-8", "surrogatepass"))
                vector[spot % self.dims] += 1 if spot & 1 << 20 else -1
        return vector / max(float(np.linalg.norm(vector)), 1e-9)


class FakeMemory(InOnePage, BaseMemory):
    """A fake store in this process: whole items, ranked by shared words. Writes down all that it is handed.

    `faults` gives an operation the faults that its next calls end in; None among them is a good call.
    """

    took = 0.0

    def __init__(self, host: FakeHost) -> None:
        self._host = host
        self.killed = False

    def measure_work(self) -> float | None:
        """Nothing: it has no process of its own."""
        return None

    def _hears(self, op: str, *args: object) -> None:
        self._host.calls.append((op, args))
        waiting = self._host.faults.get(op)
        fault = waiting.pop(0) if waiting else None
        if fault is not None:
            kind, alive = fault
            raise MemoryFault(Fault(kind=kind, op=op, message="a fake fault"), alive=alive)

    def remember(self, items: Sequence[Item]) -> list[Ack]:
        self._hears("remember", *items)
        return [self._store(item) for item in items]

    def _store(self, item: Item) -> Ack:
        self._host.made += 1
        self._host.items[f"m{self._host.made}"] = item
        return Ack((f"m{self._host.made}",))

    def settle(self, seconds: float) -> bool:
        self._hears("settle")
        return True

    def recall(self, query: str, scope: Scope, k: int, at: str) -> list[Hit]:
        self._hears("recall", query, scope, k, at)
        asked, now = set(query.lower().split()), datetime.fromisoformat(at)
        live = {name: item for name, item in self._host.items.items() if self._host.ended.get(name) is None}
        live |= {name: self._host.items[name] for name, end in self._host.ended.items() if end > now}
        shared = {name: len(asked & set(item.text.lower().split())) for name, item in live.items()}
        return [self._hit(name) for name in sorted(shared, key=lambda name: -shared[name])[:k]]

    def _hit(self, name: str) -> Hit:
        item = self._host.items[name]
        return Hit(name, item.text, None, item.source, item.at, item.scope)

    def entries(self, scope: Scope) -> list[Hit]:
        self._hears("entries", scope)
        return [self._hit(name) for name, item in self._host.items.items() if item.scope == scope]

    def get(self, scope: Scope, memory_id: str) -> Hit | None:
        self._hears("get", scope, memory_id)
        return self._hit(memory_id) if memory_id in self._host.items else None

    def history(self, scope: Scope, memory_id: str) -> list[str]:
        self._hears("history", scope, memory_id)
        return []

    def update(self, scope: Scope, memory_id: str, item: Item) -> Ack:
        self._hears("update", scope, memory_id, item)
        known = memory_id in self._host.items
        self._host.items |= {memory_id: item} if known else {}
        return Ack((memory_id,) if known else ())

    def supersede(self, scope: Scope, memory_ids: Sequence[str], item: Item) -> Ack:
        self._hears("supersede", scope, tuple(memory_ids), item)
        for name in memory_ids:
            del self._host.items[name]
        return self._store(item)

    def deprecate(self, scope: Scope, memory_ids: Sequence[str], at: str) -> list[bool]:
        self._hears("deprecate", scope, tuple(memory_ids), at)
        self._host.ended |= {name: datetime.fromisoformat(at) for name in memory_ids if name in self._host.items}
        return [name in self._host.items for name in memory_ids]

    def forget(self, scope: Scope, memory_ids: Sequence[str]) -> list[bool]:
        self._hears("forget", scope, tuple(memory_ids))
        for name in memory_ids:
            self._host.ended.pop(name, None)
        return [self._host.items.pop(name, None) is not None for name in memory_ids]

    def usage(self) -> Usage | None:
        self._hears("usage")
        return Usage()

    def close(self) -> None:
        self._hears("close")

    def kill(self) -> None:
        self.killed = True


class FakeHost(InThisProcess):
    """Where a fake memory lives: what it holds outlasts every open."""

    def __init__(
        self,
        root: Path,
        *,
        lacks: Sequence[str] = (),
        extracts: bool = False,
        filters: Sequence[str] = (),
        memory: type[FakeMemory] = FakeMemory,
        faults: Mapping[str, Sequence[tuple[FaultKind, bool] | None]] | None = None,
    ) -> None:
        support = {
            word: Declared(level="unsupported", note=f"no {word}") if word in lacks else Declared(level="native")
            for word in CAPABILITIES
            if word not in ("extracts", "masks", "work_tree", *FILTERS) or word in filters
        }
        support["extracts"] = Declared(level="native" if extracts else "unsupported")
        self.backend = Backend(name="fake", version="1", support=support)
        self.root = root
        self.calls: list[tuple[str, tuple[object, ...]]] = []
        self.items: dict[str, Item] = {}
        self.ended: dict[str, datetime] = {}
        self.made = 0
        self.faults = {op: list(waiting) for op, waiting in (faults or {}).items()}
        self.opened: list[FakeMemory] = []
        self._memory = memory

    def open(self) -> FakeMemory:
        self.opened.append(self._memory(self))
        self.opened[-1]._hears("open")
        return self.opened[-1]

    @property
    def folder(self) -> Path:
        return self.root

    def flush(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "items.json").write_text(json.dumps([item.text for item in self.items.values()]))

    def layers(self) -> list[Layer]:
        self.calls.append(("layers", ()))
        return [Layer("file", "items.json", "file")]

    def asked(self, op: str) -> list[tuple[object, ...]]:
        """The arguments of every call of an operation."""
        return [args for name, args in self.calls if name == op]
