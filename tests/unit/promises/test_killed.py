"""A backend's process that somebody else kills in the middle of a call: the machine's trouble, nothing is judged."""

from __future__ import annotations

import json
import os
import pickle
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness import conformance
from harness.adapter import Ack, Item
from harness.backend.client import RemoteMemory
from harness.cli import commands
from harness.model.backend import Fault
from harness.model.sequence import VERSION
from harness.play.store import Hindered
from tests.support.fakes import FakeEmbedder


@pytest.mark.slow
@pytest.mark.parametrize("words", [("promises", "--replay", "case.json"), ("conform", "--fresh", "notes")])
def test_it_is_no_fault_of_the_backend_nor_of_coldwarm(
    words: Sequence[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write = RemoteMemory.remember

    def kill_first(memory: RemoteMemory, items: Sequence[Item]) -> list[Ack]:
        os.kill(memory._child.pid, signal.SIGKILL)
        return write(memory, items)

    monkeypatch.setattr(conformance, "choose", FakeEmbedder)
    monkeypatch.setattr(RemoteMemory, "remember", kill_first)
    monkeypatch.setenv("COLDWARM_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    steps = [{"op": "remember", "scope": {"repo": "api"}}]
    Path("case.json").write_text(json.dumps({"version": VERSION, "backend": "notes", "steps": steps}))
    done = CliRunner().invoke(commands, words)
    assert done.exit_code == 3, done.output
    assert "BAD" not in done.output
    assert "coldwarm: notes: its process was killed by signal 9, not by coldwarm" in done.output.splitlines()[-1]


def test_it_is_told_the_same_from_another_process() -> None:
    fault = Fault(kind="machine", op="recall", message="its process was killed")
    copy = pickle.loads(pickle.dumps(Hindered(fault)))
    assert (copy.fault, str(copy)) == (fault, "its process was killed")
