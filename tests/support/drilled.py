"""Plays drills in tests: a real backend in real child processes, embeddings without a model."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from harness.adapter import Space
from harness.backend import client
from harness.backend.client import Deadlines
from harness.backend.store import ChildStore
from harness.gateway.cache import EmbeddingCache
from harness.gateway.gateway import Gateway
from harness.log.blobs import Blobs
from harness.log.lines import Writer
from harness.log.transcript import Transcript, read
from harness.metrics.trust.metric import TrustMetric
from harness.model.backend import Backend
from harness.model.drill import DrillTrial
from harness.model.trial import Measure
from harness.play import drills
from harness.play.drills.stage import Drill
from tests.support.fakes import FakeEmbedder


def drilled(folder: Path, drill: Drill, adapter: str, size: int, seed: int = 1, k: int = 5) -> Transcript:
    """The transcript of `drill` against `adapter`, given as `module:Class`."""
    said = client.describe(adapter, folder / "asked")
    backend = Backend(name=said.name, version=said.version, support=said.support)
    trial = DrillTrial(backend=said.name, drill=drill.name, size=size, seed=seed, k=k)
    blobs, path = Blobs(folder / "blobs"), folder / f"{trial.id}.1.jsonl"
    embedder = FakeEmbedder()
    with (
        Gateway(EmbeddingCache(folder / "cache.sqlite", embedder)) as gateway,
        Writer(path) as log,
        patch.object(drills, "ALL", {drill.name: drill}),
    ):
        gateway.register(trial.id)
        space = Space(str(folder / "trial/store"), gateway.url, trial.id, embedder.dims, seed)
        host = ChildStore(adapter, backend, folder / "trial/store", space, Deadlines())
        drills.play(trial, drill.plan(size, seed), host, blobs, log.append, gateway.vectors, {}, {})
    return read(path, blobs)


def measured(metrics: tuple[TrustMetric, ...], transcript: Transcript) -> dict[str, Measure]:
    return {each.definition.name: each.measure(transcript) for each in metrics}
