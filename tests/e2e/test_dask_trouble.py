"""Dask workers that come late, come back, are damaged, or have a server: real processes on loopback."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.log.folder import Folder
from tests.e2e.conftest import SMALL, only
from tests.e2e.test_dask import ASKED, Cluster, _done, _play, _until_played

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

DAMAGES = """import sys

if "worker" in sys.orig_argv:
    from harness.log import parcel

    pack, sent = parcel.pack, []

    def damage(key, played):
        data = pack(key, played)
        sent.append(key)
        return data if len(sent) > 1 else data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]

    parcel.pack = damage
"""
"""Read by Python when it starts: a worker whose first parcel has another bit than it packed."""


@pytest.fixture
def cluster(tmp_path: Path, cache: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path / "cluster", cache)
    yield started
    started.end()


def test_a_worker_that_joins_late_plays(cluster: Cluster, tmp_path: Path) -> None:
    cluster.worker("first")
    cluster.ready("first")
    asked = (*ASKED, *("-s", "rename"), *("-s", "refactor"))  # so many that some are left when it is there
    process = _play(cluster, *asked, "--dask", cluster.address, "--out", str(tmp_path / "out"))
    _until_played(tmp_path / "out", process, 1)
    cluster.worker("late")
    cluster.until(lambda: cluster.environments("late", "/logs/*.jsonl") or process.poll() is not None)
    assert process.poll() is None, f"it ended before: {process.communicate()}"
    done = _done(process)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found, problems = Folder(only(tmp_path / "out")).logs()
    assert not problems and len(found) > 20 and all(each.sealed for each in found.values())


def test_a_worker_that_its_nanny_starts_again_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    nanny = cluster.worker("only", nanny=True)
    cluster.ready("only")
    process = _play(cluster, *ASKED, "--dask", cluster.address, "--out", str(tmp_path / "out"))
    cluster.until(lambda: cluster.environments("only", "/logs/o[wt]*.jsonl"))
    os.kill(_find_worker(nanny.pid), signal.SIGKILL)
    done = _done(process)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "is gone; no other is left: the run waits for one" in done.stdout and nanny.poll() is None
    found, problems = Folder(only(tmp_path / "out")).logs()
    assert not problems and len(found) == 6


def _find_worker(nanny: int) -> int:
    """The process in which a nanny has its worker."""
    children = [
        each for task in Path(f"/proc/{nanny}/task").iterdir() for each in (task / "children").read_text().split()
    ]
    (found,) = (int(each) for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes())
    return found


def test_a_damaged_parcel_is_one_trial_that_is_played_again(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(DAMAGES)
    cluster.worker("first", PYTHONPATH=str(tmp_path))
    cluster.ready("first")
    asked = ("-b", "notes", "-b", "none", *SMALL)
    out = tmp_path / "out"
    done = _done(_play(cluster, *asked, "--dask", cluster.address, "--out", str(out)))
    assert done.returncode == 3 and done.stdout.count("is not believed") == 1, done.stdout
    found, problems = Folder(only(out)).logs()
    assert not problems and not [*(only(out) / "logs").glob("*.part")]
    done = _done(_play(cluster, "--resume", str(only(out)), "--dask", cluster.address))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(found) + 1} trials, {len(found)} of them finished before" in done.stdout
    assert _done(_play(cluster, *asked, "--out", str(tmp_path / "here"))).returncode == 0
    assert {*Folder(only(out)).logs()[0]} == {*Folder(only(tmp_path / "here")).logs()[0]}
