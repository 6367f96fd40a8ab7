"""A run on Dask workers, real processes on loopback, is the run that it is here; a death loses no finished trial."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.log.folder import Folder
from harness.play import dask
from tests.e2e.conftest import PLAYED, SMALL, Cli, environment, one_line, only, resumable
from tests.e2e.test_kill import _gone, _heed

pytestmark = [PLAYED, pytest.mark.slow, pytest.mark.timeout(300)]

STORES = """import time

from adapters.notes import Notes, NotesMemory


class SlowMemory(NotesMemory):
    def recall(self, *asked):
        time.sleep(0.05)
        return super().recall(*asked)


class Own(Notes):
    name = "own"

    def open(self, space):
        return SlowMemory(self.path(space))


class Other(Own):
    name = "other"
"""
"""Two stores, a trial of which takes two seconds, so that something can happen in its middle."""
NEEDS = """import own_sdk

from adapters.notes import Notes


class Needs(Notes):
    name = "needs"

    def version(self):
        return own_sdk.VERSION
"""
"""A store over an SDK, which a machine may have in another version, or not at all."""
ASKED = ("-b", "own_store:Own", "-b", "own_store:Other", "-b", "none", *SMALL)
PORT = re.compile(r"tcp://127\.0\.0\.1:\d+")


class Cluster:
    """A scheduler and workers, each in a folder of its own, with a cache and adapters of its own."""

    def __init__(self, root: Path, cache: Path) -> None:
        self._root, self._cache = root, cache
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler",
            "scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--dashboard-address",
            "127.0.0.1:0",
            "--host",
            "127.0.0.1",
        )
        self.address = self.until(lambda: PORT.search(self.said("scheduler")))[0]

    def worker(
        self, name: str, stores: str = STORES, sdk: str = "1.0", *, threads: int = 1, nanny: bool = False, **env: str
    ) -> subprocess.Popen[bytes]:
        return self._start(
            name, "worker", self.address, "--name", name, "--nthreads", str(threads), "--no-dashboard",
            "--nanny" if nanny else "--no-nanny", "--host", "127.0.0.1", stores=stores, sdk=sdk, **env,
        )  # fmt: skip

    def ready(self, *names: str) -> None:
        for name in names:
            self.until(partial(self._registered, name))

    def _registered(self, name: str) -> bool:
        return "Registered to" in self.said(name)

    def said(self, name: str) -> str:
        log = self._root / f"{name}.log"
        return log.read_text() if log.exists() else ""

    def environments(self, name: str, pattern: str = "") -> list[Path]:
        """What a worker has open, or a file below that."""
        with suppress(FileNotFoundError):  # it is going just now
            return [*(self._root / name / "tmp").glob(f"coldwarm-*/*/run{pattern}")]
        return []

    def env(self, name: str, stores: str = STORES, sdk: str = "1.0", **more: str) -> dict[str, str]:
        """Of a process that shares no folder of data with another."""
        folder = self._root / name
        for each in ("tmp", "cache", "stores"):
            (folder / each).mkdir(parents=True, exist_ok=True)
        (folder / "stores" / "own_store.py").write_text(stores)
        (folder / "stores" / "own_needs.py").write_text(NEEDS)
        if sdk:
            (folder / "stores" / "own_sdk.py").write_text(f"VERSION = '{sdk}'\n")
        if (self._cache / "embeddings.sqlite").exists():
            shutil.copy(self._cache / "embeddings.sqlite", folder / "cache")
        own = {"TMPDIR": str(folder / "tmp"), "COLDWARM_ADAPTER_PATH": str(folder / "stores")}
        return environment(folder / "cache", {**own, **more})

    def end(self) -> None:
        for each in self.processes:
            each.kill()
            each.wait(10)

    def _start(self, name: str, *words: str, **env: str) -> subprocess.Popen[bytes]:
        given = self.env(name, **env)
        with (self._root / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words], cwd=self._root / name, env=given, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    def until(self, seen: Callable[[], Any], seconds: float = 90) -> Any:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if found := seen():
                return found
            time.sleep(0.05)
        raise AssertionError("it took too long")


@pytest.fixture
def cluster(tmp_path: Path, cache: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path / "cluster", cache)
    yield started
    started.end()


def _play(cluster: Cluster, *words: str, stores: str = STORES, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", "run", *words], cwd=paths.ROOT, env=cluster.env("client", stores, **env),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_heed,
    )  # fmt: skip


def _done(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    said, problems = process.communicate(timeout=240)
    return subprocess.CompletedProcess((), process.returncode, said, problems)


def _told(out: Path) -> Any:
    """results.json without what names the run, and without the digests of logs, which hold times."""
    text = (out / "latest" / "results.json").read_text()
    results = json.loads(re.sub(r'"(log|transcript)_sha256": *"\w+"', r'"\1_sha256": ""', text))
    return {**results, "run": {k: v for k, v in results["run"].items() if k not in ("id", "command", "logs", "reused")}}


def _count(out: Path) -> int:
    """Finished trials."""
    return sum(log.final for run in out.glob("2*/run.json") for log in Folder(run.parent).logs()[0].values())


def _until_played(out: Path, process: subprocess.Popen[str], trials: int) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if len([*out.glob("2*/logs/*.jsonl")]) >= trials:
            return
        time.sleep(0.02)
    raise AssertionError(f"too late, or ended: {process.communicate()}" if process.poll() is not None else "too late")


@pytest.mark.nightly
def test_a_worker_that_dies_in_the_middle_changes_no_result(cluster: Cluster, tmp_path: Path) -> None:
    cluster.worker("first")
    victim = cluster.worker("second")
    cluster.ready("first", "second")
    process = _play(cluster, *ASKED, "--dask", cluster.address, "--out", str(tmp_path / "there"))
    cluster.until(lambda: cluster.environments("second", "/logs/o[wt]*.jsonl"))
    victim.send_signal(signal.SIGKILL)
    done = _done(process)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "is gone; others play its trials" in done.stdout
    here = _done(_play(cluster, *ASKED, "--jobs", "2", "--out", str(tmp_path / "here")))
    assert (here.returncode, here.stderr) == (0, "")
    assert _told(tmp_path / "there") == _told(tmp_path / "here")
    found, problems = Folder(only(tmp_path / "there")).logs()
    assert not problems and len(found) == 6 and all(each.sealed for each in found.values())
    assert not cluster.environments("first"), "it was closed"


@pytest.mark.nightly
def test_a_client_or_a_scheduler_that_is_killed_loses_nothing_finished(cluster: Cluster, tmp_path: Path) -> None:
    cluster.worker("first")
    cluster.ready("first")
    out = tmp_path / "out"
    process = _play(cluster, *ASKED, "--dask", cluster.address, "--out", str(out))
    _until_played(out, process, 2)
    process.kill()
    process.communicate(timeout=30)
    finished = _count(out)
    assert finished >= 2
    cluster.until(lambda: not cluster.environments("first"))  # which the scheduler sees to

    process = _play(cluster, "--resume", str(only(out)), "--dask", cluster.address)
    _until_played(out, process, finished + 1)
    cluster.scheduler.kill()
    line = resumable(_done(process), only(out))
    assert "the Dask scheduler at" in line and "is gone" in line
    again = _count(out)
    assert again > finished

    done = _done(_play(cluster, "--resume", str(only(out))))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"6 trials, {again} of them finished before" in done.stdout


def test_an_interrupt_ends_what_is_played_there(cluster: Cluster, tmp_path: Path) -> None:
    worker = cluster.worker("first")
    cluster.ready("first")
    process = _play(cluster, *ASKED, "--dask", cluster.address, "--out", str(tmp_path / "out"))
    cluster.until(lambda: cluster.environments("first", "/logs/own*.jsonl"))
    process.send_signal(signal.SIGINT)
    done = _done(process)
    assert done.returncode == 3, done.stderr
    said, command = done.stderr.splitlines()
    assert "stopped; finished trials are kept" in said and "--resume" in command
    assert worker.poll() is None and not cluster.environments("first")
    assert not [each for each in _descendants(worker.pid) if not _gone(each)]


def _descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for each in (task / "children").read_text().split():
            found += [int(each), *_descendants(int(each))] if Path(f"/proc/{each}").exists() else []
    return [each for each in found if b"multiprocessing" not in Path(f"/proc/{each}/cmdline").read_bytes()]


@pytest.mark.nightly
def test_who_is_not_as_the_run_expects_is_refused_and_says_why(cluster: Cluster, tmp_path: Path) -> None:
    """Another version, another adapter, another SDK; what lacks an SDK plays the rest."""
    other = tmp_path / "other"
    for name in ("harness", "adapters", "tasks", "fixtures", "reports/templates"):
        shutil.copytree(paths.ROOT / name, other / name, ignore=shutil.ignore_patterns("__pycache__"))
    (other / "coldwarm-9.9.dist-info").mkdir()
    (other / "coldwarm-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: coldwarm\nVersion: 9.9\n")
    cluster.worker("another", PYTHONPATH=str(other))
    cluster.worker("edited", STORES + "# edited\n")
    cluster.worker("updated", sdk="2.0")
    cluster.ready("another", "edited", "updated")
    asked = ("-b", "own_store:Own", "-b", "own_needs:Needs", *SMALL, "--dask", cluster.address)
    out = ("--out", str(tmp_path / "out"))
    assert "no worker may play this run" in one_line(_done(_play(cluster, *asked, *out)), 3)

    cluster.worker("without", sdk="")
    cluster.ready("without")
    done = _done(_play(cluster, *asked, "--allow", "own_needs:Needs", *out))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    for told in (
        "is refused: its coldwarm is 9.9, that of this run",
        "is refused: its adapter of own_store:Own has other sources",
        "is refused: it has own_needs:Needs 2.0, this run 1.0",
    ):
        assert done.stdout.count(told) == 1
    results = _told(tmp_path / "out")
    assert [each["backend"] for each in results["run"]["unplayed"]] == ["own_needs:Needs"]
    played = Folder(only(tmp_path / "out")).logs()[0].values()
    assert {each.trial.backend for each in played} == {"own_store:Own", "oracle", "stale_oracle", None}


def test_two_processes_here(tmp_path: Path) -> None:
    with socket.socket() as taken:  # nobody is told that Dask's usual port for its pages is not free
        with suppress(OSError):
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        done = _run(tmp_path, "--dask", "local:2", "--out", str(tmp_path / "there"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert not list((tmp_path / "tmp").iterdir())
    assert _run(tmp_path, "--out", str(tmp_path / "here")).returncode == 0
    assert _told(tmp_path / "there") == _told(tmp_path / "here")


def _run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (root / "tmp").mkdir(exist_ok=True)
    env = {**environment(root / "cache"), "TMPDIR": str(root / "tmp")}
    return subprocess.run(
        [sys.executable, "-m", "harness", "run", "-b", "notes", "-b", "none", *SMALL, *words],
        cwd=paths.ROOT, env=env, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


def test_what_cannot_be_had_is_one_line(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("run", "-b", "none", *SMALL, "--out", tmp_path, "--dask")
    monkeypatch.setattr(dask, "ANSWER_SECONDS", 1)
    assert "no Dask scheduler answers there" in one_line(cli(*asked, "tcp://127.0.0.1:9"), 3)
    assert "no Dask scheduler answers there" in one_line(cli(*asked, "local:none"), 3)
    assert "--keep and --record" in one_line(cli(*asked, "local:1", "--keep"), 2)


def test_without_the_extra_a_line_says_what_to_install(program: Cli, tmp_path: Path) -> None:
    (tmp_path / "distributed.py").write_text("raise ModuleNotFoundError(name='distributed')\n")
    env = {"PYTHONPATH": str(tmp_path)}
    done = program("run", "-b", "none", *SMALL, "--out", tmp_path / "out", "--dask", "local:1", env=env)
    assert "needs distributed, which is not installed" in one_line(done, 3) and not (tmp_path / "out").exists()
