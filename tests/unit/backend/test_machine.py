"""Whose doing it was: the machine's, only where the machine is in the state that a failed call tells of."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.adapter import Hit, Scope, Space
from harness.backend import client
from harness.backend.client import Child, Deadlines, MemoryFault, RemoteMemory
from harness.backend.forkserver import ForkServers, Launcher, spawn
from harness.backend.store import ChildStore
from harness.machine import leftovers, shortage
from harness.machine.patience import Rivals
from harness.model.backend import Backend
from tests.support.limits import limited
from tests.support.nights import leave_to_night

HOME = Scope(repo="shop", org="lantern")
AT = "2025-04-01T10:00:00+00:00"
SHORT = Deadlines(open=60, call=1.0, item=0, exit=1.0)
LONG = Deadlines(open=60, call=30, item=0, exit=5)


@pytest.fixture(autouse=True)
def _heeded() -> Iterator[None]:
    """A child inherits which signals are ignored: under `nohup`, or behind a `&` of a shell, some are."""
    ignored = [each for each in shortage.KILLS if signal.getsignal(each) == signal.SIG_IGN]
    for each in ignored:
        signal.signal(each, signal.SIG_DFL)
    yield
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)


@pytest.fixture(params=["spawned", "forked"])
def launch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Launcher]:
    with ForkServers(tmp_path / "forkservers") as servers:
        yield servers.launch if request.param == "forked" else spawn


@contextmanager
def opened(name: str, place: Path, deadlines: Deadlines = LONG, launch: Launcher = spawn) -> Iterator[RemoteMemory]:
    (place / "store").mkdir(exist_ok=True)
    space = Space(str(place / "store"), "http://127.0.0.1:1/v1", "key", 384, 1)
    memory = client.open_memory(f"tests.support.short_machine:{name}", space, place / "home", deadlines, launch)
    try:
        yield memory
    finally:
        memory.kill()


def ask(memory: RemoteMemory) -> list[Hit]:
    return memory.recall("Where do deploys go?", HOME, 5, AT)


def fail(name: str, place: Path, deadlines: Deadlines = LONG, launch: Launcher = spawn) -> MemoryFault:
    with opened(name, place, deadlines, launch) as memory, pytest.raises(MemoryFault) as caught:
        ask(memory)
    return caught.value


@pytest.mark.parametrize("name", ["NoRoom", "FullSqlite", "LargeFile", "ManyFiles", "NoMemory", "NoThreads"])
def test_a_machine_that_lacks_nothing_excuses_nobody(tmp_path: Path, name: str) -> None:
    if name == "ManyFiles" and resource.getrlimit(resource.RLIMIT_NOFILE)[0] < shortage.FILES:
        pytest.skip("this machine gives fewer files than usual")
    caught = fail(name, tmp_path)
    assert (caught.fault.kind, caught.alive) == ("raised", True)


@pytest.mark.parametrize("name", ["NoRoom", "FullSqlite"])
def test_a_full_disk_is_the_machines_doing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(shortage, "ROOM", 2**80)
    caught = fail(name, tmp_path)
    assert (caught.fault.kind, caught.alive) == ("machine", False)
    assert "make room; it raised LookupError" in caught.fault.message and str(tmp_path) not in caught.fault.message


def test_an_error_that_names_no_shortage_is_the_backends_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortage, "ROOM", 2**80)
    assert fail("Odd", tmp_path).fault.kind == "raised"


@pytest.mark.slow
def test_a_limit_of_file_sizes_is_the_machines_doing_unless_the_backend_has_set_it(tmp_path: Path) -> None:
    with limited(resource.RLIMIT_FSIZE, 16 * 2**20):
        assert fail("Grows", tmp_path).fault.kind == "machine"
    (tmp_path / "own").mkdir()
    assert fail("LimitsItself", tmp_path / "own").fault.kind == "raised"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["HidesWhy", "Hangs"])
def test_a_store_at_the_limit_of_file_sizes_excuses_whoever_keeps_the_reason(tmp_path: Path, name: str) -> None:
    with limited(resource.RLIMIT_FSIZE, 16 * 2**20):
        caught = fail(name, tmp_path, SHORT)
    assert caught.fault.kind == "machine" and "ulimit -f" in caught.fault.message


@pytest.mark.slow
def test_a_low_limit_of_file_sizes_is_enough_as_a_database_takes_back_what_it_could_not_write(tmp_path: Path) -> None:
    with limited(resource.RLIMIT_FSIZE, 128 * 2**20):
        assert fail("LargeFile", tmp_path).fault.kind == "machine"
    (tmp_path / "usual").mkdir()
    with limited(resource.RLIMIT_FSIZE, 2 * shortage.FILE):
        assert fail("LargeFile", tmp_path / "usual").fault.kind == "raised"


@pytest.mark.slow
def test_a_temporary_folder_that_was_removed_is_the_machines_doing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    place = lru_cache(lambda: tmp_path / "gone")
    monkeypatch.setattr(leftovers, "process_folder", place)
    place()
    (tmp_path / "gone" / leftovers.LOCK).touch()
    assert fail("Odd", tmp_path).fault.kind == "raised"
    assert not shortage.explain_error(FileNotFoundError(2, "No such file", "x"))
    (tmp_path / "gone" / leftovers.LOCK).unlink()
    says = f"the temporary folder {place()} was removed during the run: set TMPDIR to one that nobody cleans"
    (tmp_path / "again").mkdir()
    caught = fail("Odd", tmp_path / "again")
    assert caught.fault.kind == "machine" and says in caught.fault.message
    assert shortage.explain_error(FileNotFoundError(2, "No such file", "x")) == says


@pytest.mark.parametrize(("left", "kind"), [(9, "machine"), (5000, "raised")])
def test_a_disk_that_takes_a_few_files_more_is_the_machines_doing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int, kind: str
) -> None:
    found = os.statvfs(tmp_path)
    facts = {name: getattr(found, name) for name in ("f_bavail", "f_frsize")}
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(**facts, f_files=9000, f_favail=left))
    caught = fail("NoRoom", tmp_path)
    assert caught.fault.kind == kind
    assert ("the disk takes 9 files more, of 9,000: make room" in caught.fault.message) == (kind == "machine")


def test_a_limit_of_processor_time_is_the_machines_doing_unless_the_backend_has_set_it(tmp_path: Path) -> None:
    assert fail("TimesItselfOut", tmp_path).fault.kind == "crashed"
    (tmp_path / "ours").mkdir()
    with limited(resource.RLIMIT_CPU, 3600):
        caught = fail("TimesItselfOut", tmp_path / "ours")
    assert caught.fault.kind == "machine" and "ulimit -t unlimited" in caught.fault.message


@pytest.mark.slow
def test_a_store_above_half_a_low_limit_of_file_sizes_excuses_whoever_keeps_the_reason(
    tmp_path: Path,
) -> None:
    with limited(resource.RLIMIT_FSIZE, 100 * 2**20):
        assert fail("HidesWhy", tmp_path).fault.kind == "machine"


@pytest.mark.slow
def test_a_store_below_the_limit_of_file_sizes_excuses_nobody(tmp_path: Path) -> None:
    with limited(resource.RLIMIT_FSIZE, 128 * 2**20):
        assert fail("HidesWhy", tmp_path).fault.kind == "raised"


@pytest.mark.slow
def test_who_leaks_files_is_excused_by_a_low_limit_only(tmp_path: Path) -> None:
    with limited(resource.RLIMIT_NOFILE, 300):
        caught = fail("Leaks", tmp_path)
    assert caught.fault.kind == "machine" and "ulimit -n" in caught.fault.message
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= shortage.FILES:
        (tmp_path / "own").mkdir()
        assert fail("Leaks", tmp_path / "own").fault.kind == "raised"


def test_a_low_limit_of_processes_is_the_machines_doing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with limited(resource.RLIMIT_NPROC, 500):
        monkeypatch.setattr("os.geteuid", lambda: 1000)  # the system holds no root to it
        caught = fail("NoThreads", tmp_path)
    assert caught.fault.kind == "machine" and "ulimit -u" in caught.fault.message


@pytest.mark.slow
@pytest.mark.parametrize(("free", "held", "kind"), [(2, 10, "machine"), (2, 60, "raised"), (50, 10, "raised")])
def test_memory_is_the_machines_unless_the_backend_holds_most_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, held: int, kind: str
) -> None:
    monkeypatch.setattr(shortage, "_read_memory", lambda: (100 * 2**40, free * 2**40))
    monkeypatch.setattr(Child, "_look", lambda child: setattr(child, "_held", held * 2**40))
    assert fail("NoMemory", tmp_path).fault.kind == kind


@pytest.mark.slow
@pytest.mark.parametrize("sent", leave_to_night(shortage.KILLS, 3))
def test_a_kill_from_outside_is_the_machines_doing(tmp_path: Path, launch: Launcher, sent: signal.Signals) -> None:
    with opened("Slow", tmp_path, launch=launch) as memory:
        threading.Timer(0.5, os.kill, (memory._child.pid, sent)).start()
        with pytest.raises(MemoryFault) as caught:
            ask(memory)
    assert (caught.value.fault.kind, caught.value.alive) == ("machine", False)
    assert f"killed by signal {sent.value}, not by coldwarm" in caught.value.fault.message


@pytest.mark.parametrize("name", ["KillsItself", "EndsItself", "HangsUpItself"])
def test_who_kills_itself_has_crashed(tmp_path: Path, launch: Launcher, name: str) -> None:
    assert fail(name, tmp_path, launch=launch).fault.kind == "crashed"


@pytest.mark.slow
def test_who_is_killed_as_it_filled_the_memory_has_crashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortage, "_read_memory", lambda: (2**20, 2**19))
    with opened("Slow", tmp_path) as memory:
        threading.Timer(1.0, os.kill, (memory._child.pid, signal.SIGKILL)).start()
        with pytest.raises(MemoryFault) as caught:
            ask(memory)
    assert caught.value.fault.kind == "crashed"


@pytest.mark.nightly
@pytest.mark.slow
def test_no_deadline_passes_while_a_child_is_stopped(tmp_path: Path, launch: Launcher) -> None:
    with opened("Slow", tmp_path, Deadlines(open=60, call=6.0, item=0, exit=1.0), launch) as memory:
        pid = memory._child.pid
        threading.Timer(0.3, os.kill, (pid, signal.SIGSTOP)).start()
        threading.Timer(8.0, os.kill, (pid, signal.SIGCONT)).start()
        began = time.monotonic()
        assert ask(memory) == [] and time.monotonic() - began > 7


@pytest.mark.slow
def test_who_is_stopped_for_good_is_the_machines_doing_unless_it_stopped_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.machine.patience.ALLOWANCE", 0.5)
    with opened("Slow", tmp_path, SHORT) as memory:
        os.kill(memory._child.pid, signal.SIGSTOP)
        with pytest.raises(MemoryFault) as caught:
            ask(memory)
    assert caught.value.fault.kind == "machine"
    (tmp_path / "own").mkdir()
    assert fail("StopsItself", tmp_path / "own", SHORT).fault.kind == "timed-out"


@pytest.mark.slow
def test_no_backend_is_late_while_others_have_the_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rivals, "keep", lambda _: True)
    with opened("Slow", tmp_path, SHORT) as memory:
        assert ask(memory) == []
    monkeypatch.setattr("harness.machine.patience.ALLOWANCE", 0.5)
    (tmp_path / "own").mkdir()
    caught = fail("Slow", tmp_path / "own", Deadlines(open=60, call=0.5, item=0, exit=1.0))
    assert caught.fault.kind == "machine" and "other programs had the processors" in caught.fault.message


def test_no_process_is_killed_by_the_id_of_one_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of processes later the system gives the id to another."""
    killed, kill = list[int](), os.killpg

    def note(pid: int, sent: int) -> None:
        killed.append(pid)
        kill(pid, sent)

    monkeypatch.setattr(os, "killpg", note)
    with opened("Slow", tmp_path, SHORT) as memory:
        memory.kill()
        memory.kill()
    assert killed == [memory._child.pid]


@pytest.mark.slow
def test_a_slow_backend_says_so_or_is_given_more_time(tmp_path: Path) -> None:
    caught = fail("Slow", tmp_path, SHORT)
    assert caught.fault.kind == "timed-out" and "--call-seconds" in caught.fault.message
    (tmp_path / "own").mkdir()
    with opened("Patient", tmp_path / "own", SHORT) as memory:
        assert ask(memory) == []


@pytest.mark.parametrize(
    ("name", "text"), [("Odd", "LookupError: the index"), ("Exiting", "LookupError: the index cannot be written")]
)
def test_an_error_that_cannot_be_looked_at_was_raised(tmp_path: Path, name: str, text: str) -> None:
    with opened(name, tmp_path) as memory:
        with pytest.raises(MemoryFault) as caught:
            ask(memory)
        assert (caught.value.fault.kind, caught.value.alive) == ("raised", True) and text in caught.value.fault.message
        assert memory.settle(1)


@pytest.mark.parametrize(("outage", "kind"), [("the chat model is away", "machine"), ("", "raised")])
def test_what_raises_as_its_chat_endpoint_failed_is_not_to_blame(tmp_path: Path, outage: str, kind: str) -> None:
    began, asked = time.monotonic(), list[float]()

    def endpoint(since: float) -> str:
        asked.append(since)
        return outage

    space = Space(str(tmp_path / "store"), "http://127.0.0.1:1/v1", "key", 384, 1)
    backend = Backend(name="faulty", version="1", support={})
    memory = ChildStore(
        "tests.support.short_machine:NoRoom", backend, tmp_path / "store", space, LONG, endpoint=endpoint
    ).open()
    try:
        with pytest.raises(MemoryFault) as caught:
            ask(memory)
    finally:
        memory.kill()
    assert caught.value.fault.kind == kind and outage in caught.value.fault.message
    assert [began < since < time.monotonic() for since in asked] == [True], "of this call alone"


def test_each_repository_has_a_work_tree_of_its_own(tmp_path: Path) -> None:
    space = Space(str(tmp_path / "store"), "http://127.0.0.1:1/v1", "key", 384, 1)
    store = ChildStore("fake:Fake", Backend(name="faulty", version="1", support={}), tmp_path / "store", space, LONG)
    shop, pier = store.lend_work_tree("line/shop"), store.lend_work_tree("pier")
    assert store.lend_work_tree("line/shop") == shop != pier and shop.is_dir() and pier.is_dir()
    assert store.space.work_trees == {"line/shop": str(shop), "pier": str(pier)}


@pytest.mark.parametrize(("lack", "kind"), [("the gateway is cut off", "machine"), ("", "crashed")])
def test_who_ends_as_nobody_could_reach_the_gateway_is_not_to_blame(tmp_path: Path, lack: str, kind: str) -> None:
    space = Space(str(tmp_path / "store"), "http://127.0.0.1:1/v1", "key", 384, 1)
    backend = Backend(name="faulty", version="1", support={})
    store = ChildStore("tests.support.faulty_backends:Exits", backend, tmp_path / "store", space, LONG)
    store.endpoint = lambda _: lack
    memory = store.open()
    try:
        with pytest.raises(MemoryFault) as caught:
            ask(memory)
    finally:
        memory.kill()
    assert caught.value.fault.kind == kind and lack in caught.value.fault.message
    store.adapter = "tests.support.faulty_backends:FailsToOpen"
    with pytest.raises(MemoryFault) as caught:
        store.open()
    assert (caught.value.fault.kind, caught.value.fault.op) == (kind if lack else "raised", "open")


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_a_store_that_is_no_folder_is_a_breach(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "trial" / "store"
    root.parent.mkdir()
    if kind == "file":
        root.write_text("all of it")
    else:
        root.symlink_to(tmp_path if kind == "link" else tmp_path / "nowhere")
    space = Space(str(root), "http://127.0.0.1:1/v1", "key", 384, 1)
    backend = Backend(name="faulty", version="1", support={})
    with pytest.raises(MemoryFault) as caught:
        ChildStore("tests.support.short_machine:Slow", backend, root, space, LONG).open()
    assert caught.value.fault.kind == "breach" and "in the place of its store" in caught.value.fault.message


def test_an_author_sees_file_and_line_below_the_folder_of_the_adapter(tmp_path: Path) -> None:
    found = fail("NoRoom", tmp_path).fault
    lines = (Path(__file__).parents[2] / "support" / "short_machine.py").read_text().splitlines()
    file, _, line = found.at.partition(":")
    assert file == "tests/support/short_machine.py" and "raise LookupError" in lines[int(line) - 1]
    assert found.line.startswith(f"{found.at}: LookupError")
