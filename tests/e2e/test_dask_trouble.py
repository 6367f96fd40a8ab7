"""Dask workers that come late, come back, are damaged, have a server or spend a budget: real processes on loopback."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import paths
from harness.log.folder import Folder
from tests.e2e import test_chat
from tests.e2e.conftest import PLAYED, SMALL, only, resumable
from tests.e2e.test_dask import ASKED, Cluster, _done, _play, _told, _until_played

pytestmark = [PLAYED, pytest.mark.slow, pytest.mark.timeout(400)]

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

SERVED = """import os
import sys
import urllib.request

from adapters.notes import Notes
from harness.adapter import Program, Server

LISTENS = '''
import http.server, sys
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
'''


class Served(Notes):
    name = "served"

    def serve(self, gateway):
        listens = Program(name="listens", argv=(sys.executable, "-c", LISTENS, "{listens}"), health="/")
        return Server((listens,), "http://127.0.0.1:{listens}", "SERVED_URL", "key", "make served")

    def open(self, space):
        with urllib.request.urlopen(space.service) as answer:
            assert answer.status == 200
        return super().open(space)
"""
"""Notes that cannot be opened while their server does not answer."""


@pytest.fixture
def cluster(tmp_path: Path, cache: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path / "cluster", cache)
    yield started
    started.end()


@pytest.mark.nightly
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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_a_backend_with_a_server_plays_there_as_it_does_here(cluster: Cluster, tmp_path: Path) -> None:
    cluster.worker("first", stores=SERVED, threads=2)
    cluster.worker("second", stores=SERVED, threads=2)
    cluster.ready("first", "second")
    asked = ("-b", "own_store:Served", "-b", "none", *SMALL, "--write", "curated", "-n", "5")
    there = _done(_play(cluster, *asked, "--dask", cluster.address, "--out", str(tmp_path / "there"), stores=SERVED))
    assert (there.returncode, there.stderr) == (0, ""), there.stdout
    here = _done(_play(cluster, *asked, "--out", str(tmp_path / "here"), stores=SERVED))
    assert (here.returncode, here.stderr) == (0, ""), here.stdout
    assert _told(tmp_path / "there") == _told(tmp_path / "here")
    played = [each for each in Folder(only(tmp_path / "there")).logs()[0].values() if each.trial.backend]
    assert sum(each.trial.backend == "own_store:Served" for each in played) == 3


@pytest.mark.nightly
def test_a_budget_is_the_whole_cluster_s_and_ends_the_run(cluster: Cluster, tmp_path: Path) -> None:
    root = str(paths.ROOT)  # for the store with a model inside
    cluster.worker("first", PYTHONPATH=root)
    cluster.worker("second", PYTHONPATH=root)
    cluster.ready("first", "second")
    asked = ("-b", test_chat.BACKEND, *SMALL, "--write", "curated", "--chat", "stand-in")
    words = (*asked, "--chat-budget", "300", "--dask", cluster.address, "--out", str(tmp_path / "out"))
    done = _done(_play(cluster, *words, PYTHONPATH=root))
    assert "chat calls have used up their budget: " in resumable(done, only(tmp_path / "out"))
    finished, problems = Folder(only(tmp_path / "out")).logs()
    assert not problems and not any(
        each.trial.backend == test_chat.BACKEND and each.sealed for each in finished.values()
    )
    done = _done(_play(cluster, "--resume", str(only(tmp_path / "out")), "--dask", cluster.address, PYTHONPATH=root))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert all(each.sealed for each in Folder(only(tmp_path / "out")).logs()[0].values())
