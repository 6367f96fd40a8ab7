"""A deadline that passes once is a busy machine; one that passes again is the backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.model.backend import Backend, Fault, FaultKind
from harness.model.sequence import Answer, Difference
from harness.play import sequences
from harness.play.sequences import SequencePlayer
from harness.promises.hunt import Play


class FakeStore:
    """Nothing is played on it."""

    backend = Backend(name="fake", version="1", support={})

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def beside(self, name: str) -> FakeStore:
        return FakeStore(self.folder / name)

    def unanswered(self) -> int:
        return 0


def ended(kind: FaultKind | None, op: str = "recall") -> Play:
    if kind is None:
        return Play((), (Answer(value=[]),), None, 1)
    fault = Fault(kind=kind, op=op, message="30 s")
    return Play((), (Answer(fault=fault),), Difference(at=0, kind=kind, says=f"{op} {kind}"), 1)


def play(monkeypatch: pytest.MonkeyPatch, folder: Path, *plays: Play) -> tuple[Play, int]:
    """What the player tells, and how often it played."""
    waiting: Iterator[Play] = iter(plays)
    monkeypatch.setattr(sequences, "play", lambda *_: next(waiting))
    store: Any = FakeStore(folder)
    told = SequencePlayer(store)(())
    return told, len(plays) - len([*waiting])


@pytest.mark.parametrize(("kind", "op"), [("timed-out", "recall"), ("breach", "settle")])
def test_once_is_nobodys_broken_promise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: FaultKind, op: str
) -> None:
    told, played = play(monkeypatch, tmp_path, ended(kind, op), ended(None))
    assert told.differs is None and played == 2


def test_twice_is_the_backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told, played = play(monkeypatch, tmp_path, ended("timed-out"), ended("timed-out"), ended(None))
    assert told.differs is not None and told.differs.kind == "timed-out" and played == 2


def test_what_differs_otherwise_is_not_played_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told, played = play(monkeypatch, tmp_path, ended("crashed"), ended(None))
    assert told.differs is not None and played == 1
