"""What a child can reach: the cheats find nothing, although each of them would here, in a process without walls."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import paths
from harness.adapter import Scope, Space
from harness.backend import client
from harness.backend.client import Deadlines, RemoteMemory
from harness.backend.forkserver import ForkServers, Launcher, locate_work_tree, spawn
from harness.machine import containment, sandbox
from harness.selftest.planted import cheating, prying
from harness.selftest.planted.base import Planted
from harness.selftest.planted.cheating import Knowing
from tests.support.faulty_backends import lend

PATIENT = Deadlines(open=60, call=30, item=0, exit=5)
HELD = containment.find_degree() != "module path only"
CHEATS = [
    pytest.param(cheat, id=cheat.__name__, marks=[] if module is cheating or HELD else pytest.mark.skip("no Landlock"))
    for module in (cheating, prying)
    for cheat in vars(module).values()
    if isinstance(cheat, type) and issubclass(cheat, Planted) and issubclass(getattr(cheat, "Memory", object), Knowing)
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder as a run has it, with a log, a blob, and the store of another trial."""
    for name in ("logs/story.1.jsonl", "blobs/ab", "work/other/store/memories"):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text('{"text": "The storefront is deployed to the platform kestrelway"}')
    return tmp_path


@pytest.fixture(params=["spawned", "forked"])
def launch(request: pytest.FixtureRequest, run: Path) -> Iterator[Launcher]:
    with ForkServers(run / "work" / "forkservers") as fork_servers:
        yield fork_servers.launch if request.param == "forked" else spawn


@contextmanager
def opened(adapter: str, run: Path, launch: Launcher, gateway: str = "http://127.0.0.1:9/v1") -> Iterator[RemoteMemory]:
    own = run / "work" / "5f0c2a"
    (own / "store").mkdir(parents=True)
    space = Space(str(own / "store"), gateway, "5f0c2a", 384, 1)
    memory = client.open_memory(adapter, space, own / "home-1", PATIENT, launch)
    try:
        yield memory
    finally:
        memory.kill()


@pytest.mark.slow
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_finds_nothing(cheat: type[Planted], run: Path, launch: Launcher) -> None:
    with opened(f"{cheat.__module__}:{cheat.__name__}", run, launch) as memory:
        assert memory.recall("Where is the storefront deployed?", Scope(), 5, "") == []


@pytest.mark.parametrize("cheat", CHEATS)
def test_the_same_cheat_finds_the_answers_where_nothing_holds_it(
    cheat: type[Planted], run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would prove nothing that it found none."""
    monkeypatch.chdir(paths.ROOT)
    monkeypatch.setattr(prying.WalksTheDisk, "root", str(paths.ROOT))  # all of a disk would take too long
    memory = cheat.Memory.__new__(cheat.Memory)
    assert isinstance(memory, Knowing)
    memory.space = Space(str(run / "work" / "story-of-a-runbook" / "store"), "", "", 0, 0)
    assert any("kestrelway" in text for text in memory.gold)


PRIES = """
import os, socket
from pathlib import Path
from tests.support.faulty_backends import Sound, SoundMemory
from harness.adapter import Hit

def tried(what, *words):
    try:
        return f"{words}: {what(*words)}"
    except OSError as error:
        return f"{words}: refused {error.errno}"

def read(path): return Path(path).read_text()[:4]
def write(path): return Path(path).write_text("mine")
def connect(port): return socket.create_connection(("127.0.0.1", port), timeout=5).close()
def signal(pid): return os.kill(pid, 0)

SEEN = [tried(read, PLACE)]

class Memory(SoundMemory):
    def recall(self, query, scope, k, at):
        op, word = query.split(" ", 1)
        what = {"read": read, "write": write, "connect": lambda p: connect(int(p)), "signal": lambda p: signal(int(p))}
        return [Hit(str(n), each) for n, each in enumerate([*SEEN, tried(what[op], word)])]

class Pries(Sound):
    imports = ("json",)
    def open(self, space): return Memory(space)
"""


@pytest.fixture
def pries(run: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    """An adapter of a user's own, which tries what it is told; as it is imported, it reads a log."""
    place = tmp_path_factory.mktemp("own")
    lend(place)
    (place / "pries.py").write_text(PRIES.replace("PLACE", repr(str(run / "logs" / "story.1.jsonl"))))
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(place))
    return "pries:Pries"


def said(memory: RemoteMemory, query: str) -> str:
    return memory.recall(query, Scope(), 5, "")[-1].text


@pytest.mark.skipif(not HELD, reason="no Landlock")
def test_a_child_reads_and_changes_what_is_its_own(pries: str, run: Path, launch: Launcher) -> None:
    beside = run / "beside.txt"
    beside.write_text("text")
    with opened(pries, run, launch) as memory:
        assert "refused" in memory.recall("read /etc/hostname", Scope(), 5, "")[0].text, "read as it was imported"
        assert "refused" in said(memory, f"read {beside}") and "refused" in said(memory, f"write {beside}")
        assert "refused" in said(memory, f"read /proc/{os.getpid()}/cmdline")
        assert "refused" in said(memory, f"write {run}/new.txt")
        assert "refused" in said(memory, f"write {Path(sandbox.__file__).with_name('new.txt')}")
        assert "refused" not in said(memory, f"write {run}/work/5f0c2a/store/new.txt")
        assert "refused" not in said(memory, "write file-in-its-home.txt")
        assert "refused" not in said(memory, "read /etc/passwd")
    assert beside.read_text() == "text"


@pytest.mark.skipif(not HELD, reason="no Landlock")
def test_a_child_reads_its_work_tree_and_changes_nothing_there(pries: str, run: Path, launch: Launcher) -> None:
    mine, other = (locate_work_tree(run / "work" / name) for name in ("5f0c2a", "other"))
    for tree in (mine, other):
        tree.mkdir()
    with opened(pries, run, launch) as memory:
        for tree in (mine, other):  # as a story goes on, when its children have long been started
            (tree / "README.md").write_text("text")
        assert said(memory, f"read {mine}/README.md").endswith(": text")
        assert "refused" in said(memory, f"write {mine}/README.md") and "refused" in said(memory, f"write {mine}/new")
        assert "refused" in said(memory, f"read {other}/README.md"), "the tree of another trial"


@pytest.mark.skipif(not HELD, reason="no Landlock")
def test_what_the_user_allows_can_be_read(pries: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = run / "models"
    allowed.mkdir()
    (allowed / "weights").write_text("text")
    monkeypatch.setenv("COLDWARM_ALLOW_READ", f"{allowed}{os.pathsep}{run / 'absent'}")
    with opened(pries, run, spawn) as memory:
        assert said(memory, f"read {allowed}/weights").endswith(": text")
        assert "refused" in said(memory, f"write {allowed}/weights")


@pytest.mark.skipif(containment.find_degree() != "files and network", reason="no ports in this Landlock")
def test_a_child_connects_to_its_gateway_and_to_nobody_else(pries: str, run: Path, launch: Launcher) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        gateway = f"http://127.0.0.1:{one.getsockname()[1]}/v1"
        with opened(pries, run, launch, gateway) as memory:
            assert "refused" not in said(memory, f"connect {one.getsockname()[1]}")
            assert "refused 13" in said(memory, f"connect {other.getsockname()[1]}")


@pytest.mark.skipif(sandbox.find_abi() < 6, reason="no signals in this Landlock")
def test_a_child_signals_nobody_outside(pries: str, run: Path, launch: Launcher) -> None:
    with opened(pries, run, launch) as memory:
        assert "refused" in said(memory, f"signal {os.getpid()}")


def test_what_lies_around_something_hidden_is_lent_without_it(tmp_path: Path) -> None:
    for name in ("a/b/hidden", "a/c", "d"):
        (tmp_path / name).mkdir(parents=True)
    hidden = [tmp_path / "a" / "b" / "hidden"]
    assert list(sandbox.list_beside(tmp_path, hidden)) == [tmp_path / "a" / "c", tmp_path / "d"]
    assert list(sandbox.list_beside(tmp_path / "d", hidden)) == [tmp_path / "d"]
    assert list(sandbox.list_beside(hidden[0], hidden)) == []


def test_it_is_said_how_far_a_child_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, degree in ((0, "module path only"), (1, "module path only"), (3, "files"), (7, "files and network")):
        monkeypatch.setattr(sandbox, "find_abi", lambda version=version: version)
        assert containment.find_degree() == degree
