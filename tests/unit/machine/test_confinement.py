"""What a child tries beside files and TCP: each attempt would succeed in a process without walls."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.adapter import Scope, Space
from harness.backend import client, staging
from harness.backend.client import Deadlines, RemoteMemory
from harness.backend.forkserver import ForkServers, Launcher, spawn
from harness.backend.staging import Modules
from harness.machine import containment, crowds, leftovers, syscalls
from tests.support.faulty_backends import lend

PATIENT = Deadlines(open=60, call=30, item=0, exit=5)
FILTERED = bool(syscalls.compile_filter(datagrams=False, forks=False))
filtered = pytest.mark.skipif(not FILTERED, reason="no libseccomp")
separate = pytest.mark.skipif(not containment.has_namespaces(), reason="no namespaces")

ATTEMPTS = """
import ctypes, os, platform, resource, socket, time
C = ctypes.CDLL(None, use_errno=True)

def call(name, *words):
    done = getattr(C, name)(*words)
    if done == -1:
        raise OSError(ctypes.get_errno(), name)
    return done

def system(number, *words):
    return call("syscall", ctypes.c_long(number), *map(ctypes.c_long, words))

def add_key():
    done = C.syscall(248 if platform.machine() == "x86_64" else 217, b"user", b"answers", b"text", 4, -3)
    if done == -1:
        raise OSError(ctypes.get_errno(), "add_key")

def send_fast(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.sendto(b"text", 0x20000000, ("127.0.0.1", port))

def open_socket(*kind):
    socket.socket(*kind).close()

def reach(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)

def hide():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.execve("/bin/sh", ["sh", "-c", "exec 0<&- 1>&- 2>&-; sleep 600 # hidden"], {})
        os._exit(0)

ATTEMPTS = {
    "shared memory": lambda: call("shmget", 77, 64, 0o1666),
    "semaphores": lambda: call("semget", 77, 1, 0o1666),
    "messages": lambda: call("msgget", 77, 0o1666),
    "queue": lambda: call("mq_open", b"/answers", 66, 0o666, None),
    "keyring": add_key,
    "MPTCP": lambda: open_socket(socket.AF_INET, socket.SOCK_STREAM, 262),
    "SCTP": lambda: open_socket(socket.AF_INET, socket.SOCK_STREAM, 132),
    "UDP": lambda: open_socket(socket.AF_INET, socket.SOCK_DGRAM),
    "UDP over IPv6": lambda: open_socket(socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK),
    "raw": lambda: open_socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "packets": lambda: open_socket(socket.AF_PACKET, socket.SOCK_RAW, 3),
    "virtual sockets": lambda: open_socket(40, socket.SOCK_STREAM),
    "limit": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3)),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
    "priority of a group": lambda: os.setpriority(os.PRIO_PGRP, 0, 19),
    "priority of a user": lambda: os.setpriority(os.PRIO_USER, 0, 19),
    "scheduler": lambda: os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0)),
    "processors": lambda: os.sched_setaffinity(os.getppid(), {0}),
    "unshare": lambda: call("unshare", 0x20000),
    "user namespace": lambda: call("unshare", 0x10000000),
    "mount": lambda: call("mount", b"tmpfs", b"/mnt", b"tmpfs", 0, None),
    "host name": lambda: call("sethostname", b"other", 5),
    "bpf": lambda: system(321 if platform.machine() == "x86_64" else 280, 0, 0, 0),
    "perf": lambda: system(298 if platform.machine() == "x86_64" else 241, 0, 0, 0, 0, 0),
    "undumpable": lambda: call("prctl", 4, 0, 0, 0, 0),
    "uring": lambda: system(425, 1, 0),
    "own priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)),
    "own limit": lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    "threads": lambda: __import__("threading").Thread(target=int).start(),
    "own socket": lambda: socket.socketpair()[0].close(),
    "processes": lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
    "hide": hide,
}

def fork(most):
    for at in range(most):
        try:
            if os.fork() == 0:
                time.sleep(600)
        except BlockingIOError:
            return at
    return most

def attempt(word, *words):
    try:
        done = (globals().get(word) or ATTEMPTS[word])(*words)
        return str(done) if word == "fork" else "done"
    except OSError as error:
        return f"refused {error.errno}"
"""
ADAPTER = """
from tests.support.faulty_backends import Sound, SoundMemory
from harness.adapter import Hit
from attempts import attempt

class Memory(SoundMemory):
    def recall(self, query, scope, k, at):
        word, _, rest = query.partition("=")
        words = [int(rest) if rest.isdigit() else rest] if rest else []
        return [Hit("1", attempt(word, *words))]

class Attempts(Sound):
    imports = ("json",)
    def open(self, space): return Memory(space)
"""
HELD = (
    "shared memory", "semaphores", "messages", "queue", "keyring", "MPTCP", "SCTP", "UDP", "UDP over IPv6", "raw",
    "packets", "virtual sockets", "limit", "priority", "priority of a group", "priority of a user", "scheduler",
    "processors", "unshare", "user namespace", "mount", "host name", "bpf", "perf", "uring",
)  # fmt: skip
OWN = ("own priority", "own limit", "threads", "own socket", "processes")


@pytest.fixture
def adapter(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    place = tmp_path_factory.mktemp("own")
    lend(place)
    (place / "attempts.py").write_text(ATTEMPTS)
    (place / "attempting.py").write_text(ADAPTER)
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(place))
    return "attempting:Attempts"


@pytest.fixture(params=["spawned", "forked"])
def memory(request: pytest.FixtureRequest, adapter: str, tmp_path: Path) -> Iterator[RemoteMemory]:
    with ForkServers(tmp_path / "work" / "forkservers") as fork_servers:
        launch: Launcher = fork_servers.launch if request.param == "forked" else spawn
        own = tmp_path / "work" / "5f0c2a"
        (own / "store").mkdir(parents=True)
        space = Space(str(own / "store"), "http://127.0.0.1:9/v1", "5f0c2a", 384, 1)
        opened = client.open_memory(adapter, space, own / "home-1", PATIENT, launch)
        try:
            yield opened
        finally:
            opened.kill()
            leftovers.end_processes(own)


def attempt(memory: RemoteMemory, query: str) -> str:
    return memory.recall(query, Scope(), 5, "")[0].text


@pytest.mark.slow
@filtered
def test_a_child_shares_no_channel_but_its_own(memory: RemoteMemory) -> None:
    told = {name: attempt(memory, name) for name in HELD}
    assert {name: text for name, text in told.items() if text != "refused 1"} == {}


@pytest.mark.slow
def test_a_child_can_do_what_backends_do(memory: RemoteMemory) -> None:
    assert {name: attempt(memory, name) for name in OWN} == dict.fromkeys(OWN, "done")


@pytest.mark.slow
@filtered
def test_a_connection_that_is_opened_by_sending_is_refused(memory: RemoteMemory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert attempt(memory, f"send_fast={server.getsockname()[1]}") == "refused 1"


@pytest.mark.slow
@separate
def test_sockets_of_other_programs_in_common_folders_are_not_there(memory: RemoteMemory, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        path = tmp_path / "program.sock"
        server.bind(str(path))
        server.listen()
        assert attempt(memory, f"reach={path}").startswith("refused")


@pytest.mark.slow
@separate
def test_a_process_that_hides_ends_with_its_trial(memory: RemoteMemory, tmp_path: Path) -> None:
    assert attempt(memory, "hide") == "done"
    while not list_hidden():
        time.sleep(0.01)
    memory.kill()
    assert list_hidden(), "it left its group, and has no home"
    leftovers.end_processes(tmp_path / "work" / "5f0c2a")
    deadline = time.monotonic() + 10
    while list_hidden() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not list_hidden()


@pytest.mark.slow
@pytest.mark.skipif(not containment.limits_processes(), reason="root without control groups")
def test_whoever_forks_without_end_comes_to_one_and_leaves_nothing(
    adapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "find_modules", partial(lend_fewer, staging.find_modules, tmp_path / "fewer"))
    own = tmp_path / "work" / "5f0c2a"
    (own / "store").mkdir(parents=True)
    before = set(Path("/proc").glob("[0-9]*"))
    memory = client.open_memory(adapter, Space(str(own / "store"), "", "5f0c2a", 384, 1), own / "home-1", PATIENT)
    assert 10 < int(attempt(memory, "fork=400")) < 200
    memory.kill()
    assert leftovers.end_processes(own) == []
    children = [each for each in set(Path("/proc").glob("[0-9]*")) - before if is_below(each, own)]
    assert not children
    assert not [*crowds.GROUPS.glob(f"**/{crowds.PREFIX}{memory._child.pid}")]


def lend_fewer(modules: Callable[..., Modules], place: Path, *words: Any) -> Modules:
    """What a child has of the harness, with a smaller number: thousands would slow all tests down."""
    found = modules(*words)
    shutil.copytree(found.path[0], place, symlinks=True)
    file = place / "harness" / "machine" / "crowds.py"
    text = file.read_text()
    file.unlink()
    file.write_text(text.replace("MOST = 4096", "MOST = 100"))
    return Modules((str(place), *found.path[1:]), (str(place), *found.reads))


def is_below(process: Path, folder: Path) -> bool:
    try:
        return str(folder) in str((process / "cwd").readlink())
    except OSError:
        return False


def test_a_group_in_which_somebody_is_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a kernel's tree a folder with files can be removed, of this one not: it stands for one that is lived in."""
    monkeypatch.setattr(crowds, "GROUPS", tmp_path)
    (tmp_path / "own").write_text("8:pids:/below\n0::/\n")
    monkeypatch.setattr(crowds, "OWN", tmp_path / "own")
    empty, other = tmp_path / "pids" / "below" / f"{crowds.PREFIX}1", tmp_path / f"{crowds.PREFIX}2"
    for each in (empty, other, tmp_path / "others"):
        each.mkdir(parents=True)
    (other / "cgroup.procs").write_text("7\n")
    crowds.sweep()
    assert not empty.exists() and other.exists() and (tmp_path / "others").exists()


def list_hidden() -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if b"# hidden" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("name", ["UDP", "MPTCP", "own socket", "processors"])
def test_the_same_attempt_succeeds_where_nothing_holds_it(name: str) -> None:
    """Else it would prove nothing that it was refused."""
    code = f"{ATTEMPTS}\nprint(attempt({name!r}))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "done\n"


@separate
def test_the_end_of_a_trial_ends_no_child_that_came_after_its_own(adapter: str, tmp_path: Path) -> None:
    """The system gives the number of an abandoned namespace to the next process, whoever has started that."""
    first, second = tmp_path / "work" / "first", tmp_path / "work" / "second"
    with ForkServers(tmp_path / "work" / "forkservers") as fork_servers:
        opened = []
        for own in (first, second):
            (own / "store").mkdir(parents=True)
            space = Space(str(own / "store"), "http://127.0.0.1:9/v1", own.name, 384, 1)
            opened.append(client.open_memory(adapter, space, own / "home-1", PATIENT, fork_servers.launch))
            opened[0].kill()
        assert {first, second} <= {each.folder for each in leftovers._MARKS.values()}, "two numbers"
        leftovers.end_processes(first)
        assert attempt(opened[1], "own socket") == "done"
        opened[1].kill()


@pytest.mark.slow
@separate
def test_few_namespaces_are_held(memory: RemoteMemory, tmp_path: Path) -> None:
    own = tmp_path / "work" / "5f0c2a"
    space = Space(str(own / "store"), "http://127.0.0.1:9/v1", "5f0c2a", 384, 1)
    for at in range(leftovers.KEPT + 2):
        memory_again = client.open_memory("tests.support.faulty_backends:Sound", space, own / f"home-{at + 2}", PATIENT)
        memory_again.kill()
    assert len(leftovers._MARKS) <= leftovers.KEPT  # other tests have left some, too
