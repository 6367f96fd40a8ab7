"""Plays drills in tests: a real backend in real child processes, embeddings without a model."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from harness.backend import client
from harness.backend.registry import AdapterEntry
from harness.log.transcript import Transcript, read
from harness.metrics.trust.metric import TrustMetric
from harness.model.backend import Backend
from harness.model.drill import DrillTrial
from harness.model.trial import Measure, Spec
from harness.play import drills
from harness.play.backends import Playable
from harness.play.drills.stage import Drill
from harness.play.environment import Environment, Settings
from harness.play.trial import play_trial
from tests.support.fakes import FakeEmbedder


def drilled(
    folder: Path, drill: Drill, adapter: str, size: int, seed: int = 1, k: int = 5, older: str = ""
) -> Transcript:
    """The transcript of `drill` against `adapter`, given as `module:Class`.

    Args:
        older: The release that hands its store over, given in the same way.
    """
    playables = {"older": _describe(folder, "older", older)} if older else {}
    playable = _describe(folder, "", adapter)
    name = playable.backend.name
    trial = DrillTrial(backend=name, drill=drill.name, size=size, seed=seed, k=k, older="older" if older else "")
    settings = Settings(folder, {**playables, name: playable}, embedder=FakeEmbedder)
    with Environment(settings) as environment, patch.object(drills, "ALL", {drill.name: drill}):
        return read(play_trial(trial, environment), environment.blobs)


def _describe(folder: Path, name: str, adapter: str) -> Playable:
    said = client.describe(adapter, folder / "asked")
    name = name or said.name
    backend = Backend(name=name, version=said.version, support=said.support)
    return Playable(AdapterEntry(name, adapter, control=False), Spec(adapter=adapter), backend, said.source)


def measured(metrics: tuple[TrustMetric, ...], transcript: Transcript) -> dict[str, Measure]:
    return {each.definition.name: each.measure(transcript) for each in metrics}
