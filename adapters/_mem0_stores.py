"""The vector stores that Mem0 can keep its memories in: where each stands true to itself, and how it finds scopes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.chroma import Chroma
from harness.adapter import Layer, Space, Support, Unsupported

COLLECTION = "memories"


def not_ended(now: float) -> Mapping[str, Any]:
    """The filter for what has not ended at a time. Mem0 negates each part for Chroma, where a lacking key differs."""
    return {"NOT": [{"deprecated": True, "ends": {"lte": now}}]}


def no_compaction(space: Space) -> None:
    raise Unsupported("compact")


@dataclass(frozen=True)
class Store:
    """One of Mem0's vector stores.

    Attributes:
        package: What Mem0 needs installed for it.
        config: Its settings beside the collection.
        any_of: The filter for one of these values.
        still: The filter for what has not ended at a time, if it has one.
        reach: How many memories a search has to be asked for, so that k of the scope are among them.
        support: What is its own.
    """

    package: str
    config: Callable[[Space], dict[str, Any]]
    any_of: Callable[[Sequence[str]], Any]
    layers: Callable[[Space], list[Layer]]
    support: Mapping[str, Support]
    still: Callable[[float], Mapping[str, Any]] = not_ended
    reach: Callable[[Any, int], int] = lambda store, k: k
    close: Callable[[Any], None] = lambda store: None
    compact: Callable[[Space], None] = no_compaction


QDRANT = Store(
    package="qdrant-client>=1.12,<2",
    config=lambda space: {"path": str(Path(space.root, "qdrant")), "embedding_model_dims": space.dims},
    any_of=lambda values: {"in": list(values)},
    layers=lambda space: [Layer("vectors", f"qdrant/collection/{COLLECTION}/storage.sqlite", "sqlite")],
    support={
        "abstains": Support("native"),
        "compact": Support("unsupported", "no documented compaction"),
        "multi_process": Support("unsupported", "the embedded store is locked by one process"),
        "concurrent": Support("unsupported", "serial: threads that share the embedded store lose acknowledged writes"),
    },
    close=lambda store: store.client.close(),  # Memory.close() keeps the store's lock
)
CHROMA = Store(
    package=Chroma.packages[0],
    config=lambda space: {"path": str(Path(space.root, "chroma"))},
    any_of=lambda values: {"in": list(values)},
    layers=Chroma().storage,
    support={
        "abstains": Support("unsupported", "scores are at least 0.2, Mem0's threshold is 0.1: always the k nearest"),
        "compact": Support("emulated", "`chroma vacuum`; Mem0's own history has no compaction"),
        "multi_process": Support("unsupported", "the embedded client is for one process"),
        "concurrent": Support("native"),
    },
    close=lambda store: store.client.close(),
    compact=Chroma().compact,
)
FAISS = Store(
    package="faiss-cpu>=1.8,<2",
    config=lambda space: {
        "path": str(Path(space.root, "faiss")),
        "embedding_model_dims": space.dims,
        "distance_strategy": "cosine",
    },
    any_of=list,  # the one form that its own filter knows
    layers=lambda space: [Layer("vectors", "faiss", "file")],
    support={
        "abstains": Support("native"),
        "compact": Support("unsupported", "every write and deletion rewrites the whole index"),
        "multi_process": Support("unsupported", "each process holds the whole store and writes it whole"),
        **dict.fromkeys(
            ("deprecate", "filter_confidence"), Support("unsupported", "the store's filter knows equality only")
        ),
        "ranked": Support("native", "the store filters after its search, so that all memories are asked for"),
    },
    still=lambda now: {},
    reach=lambda store, k: max(k, store.index.ntotal),
)
STORES: Mapping[str, Store] = {"qdrant": QDRANT, "chroma": CHROMA, "faiss": FAISS}
