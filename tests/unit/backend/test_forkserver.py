"""The fork server: one import for many opens, a fresh process each time, and none where forking is not safe."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from harness.adapter import Item, Scope, Space
from harness.backend import client
from harness.backend.client import Deadlines, RemoteMemory
from harness.backend.forkserver import Forked, ForkServer, ForkServers, spawn
from tests.support.faulty_backends import lend

SHORT = Deadlines(open=60, call=20, item=0, exit=5)
CODE = """
import os, sys, threading
from tests.support.faulty_backends import Sound, SoundMemory
from harness.adapter import Hit
import slow_sdk

class Memory(SoundMemory):
    def recall(self, query, scope, k, at):
        said = [slow_sdk.PID, os.getpid(), os.getsid(0), os.environ["HOME"], os.getcwd(), os.environ["TMPDIR"]]
        return [Hit(str(i), str(each)) for i, each in enumerate(said)][:k]

class Thing(Sound):
    name = "thing"
    imports = ("slow_sdk",)
    def open(self, space):
        return Memory(space)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "thing.py").write_text(CODE)
    lend(tmp_path)
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path))
    return tmp_path


def told(fork_servers: ForkServers, place: Path, name: str) -> tuple[RemoteMemory, list[str]]:
    (place / name).mkdir()
    space = Space(str(place / name), "http://127.0.0.1:1/v1", "key", 384, 1)
    memory = client.open_memory("thing:Thing", space, place / f"home-{name}", SHORT, fork_servers.launch)
    return memory, [hit.text for hit in memory.recall("", Scope(), 9, "")]


@pytest.mark.slow
def test_the_sdk_is_imported_once_and_every_open_is_a_fresh_process(place: Path) -> None:
    (place / "slow_sdk.py").write_text("import os\nPID = os.getpid()\n")
    with ForkServers(place / "forkservers") as fork_servers:
        first, one = told(fork_servers, place, "a")
        second, two = told(fork_servers, place, "b")
        assert one[0] == two[0] != one[1]
        assert len({one[1], two[1], one[2], two[2]}) == 2
        assert one[1] == one[2] == str(first._child.pid)
        assert one[3:] == [str(place / "home-a"), str(place / "home-a"), str(place / "home-a" / "tmp")]
        assert two[3] == str(place / "home-b")
        first.close()
        item = Item("still there", Scope("shop"), "2025-01-01T00:00:00+00:00", "project")
        assert len(second.remember([item])) == 1
        second.close()


def test_a_forked_child_reports_how_it_ended(place: Path) -> None:
    (place / "slow_sdk.py").write_text("PID = 1\n")
    with ForkServers(place / "forkservers") as fork_servers:
        memory, _ = told(fork_servers, place, "a")
        running = memory._child._process
        assert isinstance(running, Forked) and running.poll() is None
        memory.kill()
        assert running.poll() == -9


@pytest.mark.slow
@pytest.mark.parametrize(
    "sdk",
    [
        "import threading, time\nPID = 0\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n",
        "import os\nPID = os.getpid()\nif 'forkservers' in os.environ['HOME']: raise RuntimeError('not here')\n",
    ],
)
def test_where_an_import_leaves_a_thread_or_fails_every_open_is_spawned(place: Path, sdk: str) -> None:
    (place / "slow_sdk.py").write_text(sdk)
    with ForkServers(place / "forkservers") as fork_servers:
        memory, said = told(fork_servers, place, "a")
        assert not isinstance(memory._child._process, Forked)
        assert said[0] in ("0", said[1])
        memory.close()


LEAVING = """
import atexit, ctypes, os, threading, time

class Memory(SoundMemory):
    def close(self):
        libc = ctypes.CDLL(None)
        libc.fopen.restype, libc.fputs.argtypes = ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_void_p)
        libc.fputs(b"written", libc.fopen(os.fsencode(self.root / "held-by-c"), b"w"))
        self.held = open(self.root / "held-back", "w")
        self.held.write("written")
        atexit.register(self.root.joinpath("at-exit").write_text, "written")
        threading.Thread(target=self.later).start()

    def later(self):
        time.sleep(0.3)
        self.root.joinpath("by-a-thread").write_text("written")

class Thing(Sound):
    name = "thing"
    def open(self, space):
        memory = Memory(space)
        memory.root = __import__("pathlib").Path(space.root)
        return memory
"""


@pytest.mark.slow
@pytest.mark.parametrize("forks", [True, False])
def test_a_child_that_leaves_keeps_what_an_interpreter_would(place: Path, forks: bool) -> None:
    """Exit functions and threads come to their end, and neither Python nor C holds anything back."""
    (place / "thing.py").write_text(CODE.partition("class")[0].replace("import slow_sdk", "") + LEAVING)
    with ForkServers(place / "forkservers") as fork_servers:
        (place / "a").mkdir()
        space = Space(str(place / "a"), "http://127.0.0.1:1/v1", "key", 384, 1)
        launch = fork_servers.launch if forks else spawn
        memory = client.open_memory("thing:Thing", space, place / "home-a", SHORT, launch)
        assert isinstance(memory._child._process, Forked) == forks
        memory.close()
        assert memory._child._process.poll() == 0
    for name in ("held-by-c", "held-back", "at-exit", "by-a-thread"):
        assert (place / "a" / name).read_text() == "written", name


def test_ending_the_fork_server_ends_its_children(place: Path) -> None:
    (place / "slow_sdk.py").write_text("PID = 1\n")
    with ForkServers(place / "forkservers") as fork_servers:
        memory, _ = told(fork_servers, place, "a")
        watch = os.pidfd_open(memory._child.pid)
    assert select.select([watch], [], [], 10)[0] == [watch]
    os.close(watch)
    memory.kill()


def test_a_late_answer_is_not_taken_for_that_of_the_next_request(tmp_path: Path) -> None:
    """A server that was stopped would answer when it goes on: by a second child on a descriptor that is in use."""
    (ours, theirs), place = socket.socketpair(), tmp_path / "output"
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process, theirs, place.open("wb") as output:
        server = ForkServer(process, ours, ())
        ours.settimeout(0.01)
        assert server.fork(output.fileno(), tmp_path / "home", output.fileno(), ()) is None
        assert process.wait(10) == -signal.SIGKILL
        assert b"env" in theirs.recv(100_000)
        theirs.sendall(b'{"pid": %d}' % os.getpid())
        assert server.fork(output.fileno(), tmp_path / "home", output.fileno(), ()) is None
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(1)
        server.end()


@pytest.mark.slow
def test_a_child_that_is_killed_as_it_begins_is_not_waited_for(place: Path) -> None:
    """Before it is in its own sandbox: here, as it has to change to a folder that is not there."""
    (place / "slow_sdk.py").write_text("PID = 1\n")
    with ForkServers(place / "forkservers") as fork_servers:
        memory, _ = told(fork_servers, place, "a")
        memory.kill()
        (server,) = filter(None, fork_servers._parents.values())
        server._link.settimeout(20)
        with (place / "output").open("wb") as output:
            assert server.fork(output.fileno(), place / "nowhere", output.fileno(), ()) is None
        again, _ = told(fork_servers, place, "b")
        assert isinstance(again._child._process, Forked), "it goes on forking"
        again.kill()
