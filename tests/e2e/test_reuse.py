"""The same run again plays nothing; after an edit of one adapter it plays the trials of that one."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.log.folder import Folder
from harness.model.drill import DrillTrial
from harness.model.trial import Trial
from harness.play import sources
from harness.play.reuse import Reuse
from tests.e2e.conftest import Cli

pytestmark = pytest.mark.slow

STORE = "from adapters.notes import Notes\n\n\nclass Own(Notes):\n    name = 'own'\n"
ASKED = (
    "-b", "own_store:Own", "-b", "notes", "-s", "forgotten-runbook", "-n", "0", "--write", "append",
    "-d", "poison", "--drill-size", "60",
)  # fmt: skip
OURS, ALL = 2, 8
"""Trials and drills of the one adapter, and of the run: cold, two with gold, two stores, and three drills."""


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder of adapters of one test stays on the module path of the next, where its store would hide another's."""
    monkeypatch.setattr(sys, "path", [each for each in sys.path if not Path(each, "own_store.py").exists()])
    monkeypatch.delenv("COLDWARM_ALLOW_READ", raising=False)
    sources.digest_installed.cache_clear()


class Runs:
    """Runs of one selection, each into a folder of its own, which share trials."""

    def __init__(self, cli: Cli, cache: Path, root: Path) -> None:
        self._cli, self._root, self._count = cli, root, 0
        self.store, self.trials = root / "own" / "own_store.py", root / "cache" / "trials"
        self.store.parent.mkdir()
        self.store.write_text(STORE)
        self.trials.parent.mkdir()
        if (cache / "embeddings.sqlite").exists():
            shutil.copy(cache / "embeddings.sqlite", self.trials.parent)

    def __call__(self, *more: str) -> tuple[str, dict[str, Any]]:
        self._count += 1
        out = self._root / str(self._count)
        env = {
            "COLDWARM_ADAPTER_PATH": str(self.store.parent), "COLDWARM_CACHE": str(self.trials.parent),
            "COLDWARM_FRESH": "0",
        }  # fmt: skip
        done = self._cli("run", *ASKED, *more, "--out", out, env=env)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        return done.stdout, json.loads((out / "latest" / "results.json").read_text())


def told(results: dict[str, Any]) -> dict[str, Any]:
    """Without what names the run."""
    run = {name: value for name, value in results["run"].items() if name not in ("id", "command", "reused")}
    return {**results, "run": run}


def test_what_was_finished_before_is_not_played_again(cli: Cli, cache: Path, tmp_path: Path) -> None:
    play = Runs(cli, cache, tmp_path)
    _, first = play()
    assert first["run"]["reused"] == {} and len([*play.trials.glob("??/*.trial")]) == ALL

    said, again = play()
    assert f"{ALL} of {ALL} trials reused from " in said and len(again["run"]["reused"]) == ALL
    assert told(again) == told(first)

    said, fresh = play("--fresh")
    assert "reused" not in said and fresh["run"]["reused"] == {}

    play.store.write_text(STORE + "    # edited\n")
    said, edited = play()
    assert f"{ALL - OURS} of {ALL} trials reused from " in said
    assert not [name for name in edited["run"]["reused"] if name.startswith("own")]

    for path in play.trials.glob("??/*.trial"):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    said, damaged = play()
    assert "reused" not in said and damaged["run"]["reused"] == {}


@pytest.mark.nightly
def test_a_stop_in_the_middle_leaves_no_reused_trial_without_its_mark(
    cli: Cli, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play, stop_after = Runs(cli, cache, tmp_path), 3
    _, first = play()
    assert len([*play.trials.rglob("*.trial")]) == ALL
    restore = Reuse.restore

    def stop(self: Reuse, trial: Trial | DrillTrial, folder: Folder) -> Path | None:
        if len([*folder.root.glob("logs/*")]) >= stop_after:
            raise KeyboardInterrupt
        return restore(self, trial, folder)

    monkeypatch.setattr(Reuse, "restore", stop)
    with pytest.raises(AssertionError):
        play()
    monkeypatch.undo()
    folder = Folder((tmp_path / "2" / "latest").resolve())
    logs, problems = folder.logs()
    assert not problems and len(logs) == stop_after and {*logs} <= {*folder.read().reused}

    env = {"COLDWARM_ADAPTER_PATH": str(play.store.parent), "COLDWARM_CACHE": str(play.trials.parent)}
    done = cli("run", "--resume", folder.root, env=env)  # which tests let play anew
    assert done.returncode == 0 and f"{ALL} trials, {stop_after} of them finished before" in done.stdout
    assert {*folder.read().reused} == {*logs}
    again = json.loads((folder.root / "results.json").read_text())
    assert [each["id"] for each in again["cells"]] == [each["id"] for each in first["cells"]]


def test_the_cache_is_shown_and_emptied(cli: Cli, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "trials" / "ab").mkdir(parents=True)
    (tmp_path / "trials" / "ab" / "abc.trial").write_bytes(b"x" * 100_000)
    env = {"COLDWARM_CACHE": str(tmp_path)}
    assert cli("cache", env=env).stdout.startswith("1 trial, 0.1 MB, in ")
    assert cli("cache", "--older", "1", "--size", "1", env=env).stdout.startswith("removed: 0\n")
    assert cli("cache", "--all", env=env).stdout.startswith("removed: 1\n0 trials")
