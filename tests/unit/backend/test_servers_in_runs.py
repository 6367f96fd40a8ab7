"""Servers of a run: how an adapter describes its own, which trial has it, whose fault its death is, who outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.adapter import Item, Scope, Space
from harness.backend import client
from harness.backend.client import Deadlines, MemoryFault
from harness.backend.server_pool import Services
from harness.backend.servers import DEATHS, Service
from harness.backend.store import ChildStore
from harness.machine import leftovers
from harness.model.backend import Backend
from tests.support.nights import leave_to_night
from tests.support.store_server import LONG, STORE, ask, end_all, gone, running, server, started, state


@pytest.fixture(autouse=True)
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORE_URL", raising=False)


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """Where the programs write their ids; whatever a failed test leaves running is ended."""
    file = tmp_path / "pids"
    yield file
    end_all(file)


ADAPTER = """
    from adapters.none import Nothing
    from harness.adapter import Program, Server
    class Served(Nothing):
        def serve(self, gateway):
            programs = tuple(Program(**each) for each in {programs!r})
            return Server(programs, {url!r}, "STORE_URL", gateway, "make store")
    class Same(Served):
        pass
"""


@pytest.mark.slow
def test_a_run_has_one_server_an_adapter_and_lends_it_to_one_trial_at_a_time(
    pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = server(pids)
    code = textwrap.dedent(ADAPTER).format(programs=[vars(each) for each in told.programs], url=told.url)
    (tmp_path / "served.py").write_text(code)
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path))
    at_once: list[int] = []
    now = 0

    def trial(number: int) -> str:
        nonlocal now
        with services.lent("served:Served") as service:
            assert service is not None and service.key == "http://gateway/v1"
            now += 1
            at_once.append(now)
            url = service.fresh(tmp_path / f"trial-{number}")
            answer = ask(service, f"/write/{number}")
            now -= 1
        assert answer == str(number)
        return url

    with Services(tmp_path / "servers", "http://gateway/v1") as services:
        with services.lent("adapters.none:Nothing") as service:
            assert service is None
        with services.lent("served:Served") as one:
            pass
        with services.lent("served:Same") as same:
            assert same is one is not None
        assert not started(pids)
        with ThreadPoolExecutor(3) as pool:
            urls = list(pool.map(trial, range(3)))
    assert at_once == [1, 1, 1] and len(set(urls)) == 1
    assert {(tmp_path / f"trial-{at}" / "data" / "value").read_text() for at in range(3)} == {"0", "1", "2"}
    assert not running(pids)


@pytest.mark.slow
def test_a_server_that_lives_in_its_store_is_not_killed_with_the_trial(
    pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PostgreSQL does: its working folder is that of its data, below which whatever is left of a trial is killed."""
    told = server(pids, STORE.replace("    held = {}", "    os.chdir(folder)\n    held = {}"))
    code = textwrap.dedent(ADAPTER).format(programs=[vars(each) for each in told.programs], url=told.url)
    (tmp_path / "served.py").write_text(code)
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path))
    heard: list[str] = []
    with Services(tmp_path / "servers", "http://gateway/v1", heard.append) as services:
        for number in range(DEATHS + 1):
            place = tmp_path / f"trial-{number}"
            with services.lent("served:Served") as service:
                assert service is not None
                service.fresh(place)
                assert ask(service, "/value") == "pristine"
            assert leftovers.end_processes(place) == []
    assert not [each for each in heard if "killed" in each]


ASKING = """
    import urllib.request
    from adapters.none import Nothing, NothingMemory
    from harness.adapter import Ack, Program, Server
    class Asks(NothingMemory):
        def __init__(self, space):
            self.url = space.service
        def remember(self, items):
            for item in items:
                urllib.request.urlopen(self.url + item.text).close()
            return [Ack(()) for _ in items]
    class Asking(Nothing):
        def open(self, space):
            return Asks(space)
"""


@pytest.mark.slow
def test_a_server_that_dies_ends_its_trial_with_the_reason(
    pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asking.py").write_text(textwrap.dedent(ASKING))
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path))
    said = client.describe("asking:Asking", tmp_path / "describe")
    backend = Backend(name=said.name, version=said.version, support=said.support)

    def host(name: str) -> ChildStore:
        space = Space(str(tmp_path / name), "http://127.0.0.1:9/v1", "key", 64, 1)
        return ChildStore("asking:Asking", backend, tmp_path / name, space, Deadlines(), service=service)

    def tell(path: str) -> list[Item]:
        return [Item(path, Scope(), "2026-02-03T10:00:00+00:00", "project")]

    with Service(server(pids), tmp_path / "server") as service:
        memory = host("one").open()
        memory.remember(tell("/value"))
        with pytest.raises(MemoryFault, match="InvalidURL") as wrong:
            memory.remember(tell("nowhere"))
        assert wrong.value.alive
        with pytest.raises(MemoryFault) as dead:
            memory.remember(tell("/die"))
        if dead.value.alive:  # it had closed the connection, and had not ended yet
            assert gone(pids, started(pids)[0])
            with pytest.raises(MemoryFault) as dead:
                memory.remember(tell("/value"))
        assert not dead.value.alive
        assert "daemon ended with 7; it last printed: the disk is full" in str(dead.value)
        memory = host("two").open()
        memory.remember(tell("/value"))
        memory.close()


@pytest.mark.slow
@pytest.mark.parametrize("sent", leave_to_night([signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV], 3))
def test_what_the_machine_does_to_a_server_is_no_fault_of_the_backend(
    pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    (tmp_path / "asking.py").write_text(textwrap.dedent(ASKING))
    monkeypatch.setenv("COLDWARM_ADAPTER_PATH", str(tmp_path))
    said = client.describe("asking:Asking", tmp_path / "describe")
    backend = Backend(name=said.name, version=said.version, support=said.support)
    place = tmp_path / "one"
    space = Space(str(place), "http://127.0.0.1:9/v1", "key", 64, 1)
    with Service(server(pids), tmp_path / "server") as service:
        limits = Deadlines(call=3, item=0)
        memory = ChildStore("asking:Asking", backend, place, space, limits, service=service).open()
        os.kill(started(pids)[-2], sent)
        with pytest.raises(MemoryFault) as caught:
            memory.remember([Item("/value", Scope(), "2026-02-03T10:00:00+00:00", "project")])
    fault = caught.value.fault
    assert (fault.kind, caught.value.alive) == ("crashed" if sent == signal.SIGSEGV else "machine", False), fault


OWNER = """
    import json, sys, time
    from pathlib import Path
    from harness.adapter import Program, Server
    from harness.backend.servers import Service
    words = json.loads(sys.argv[1])
    programs = tuple(Program(**each) for each in words["programs"])
    with Service(Server(programs, words["url"], "STORE_URL", "key", "make store"), Path(sys.argv[2])) as service:
        print(service._supervisor.pid, flush=True)
        time.sleep(600)
"""


@pytest.fixture
def owner(pids: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that has a server, and the id of its supervisor."""
    wanted: dict[str, Any] = {"programs": [vars(each) for each in server(pids).programs], "url": server(pids).url}
    words = [sys.executable, "-c", textwrap.dedent(OWNER), json.dumps(wanted), str(tmp_path / "server")]
    env = {**os.environ, "PYTHONPATH": str(paths.ROOT)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env, cwd=tmp_path) as running_:
        assert running_.stdout is not None
        supervisor_process = int(running_.stdout.readline())
        yield running_, supervisor_process
        running_.kill()


@pytest.mark.slow
def test_nothing_outlives_a_parent_that_is_killed(owner: tuple[subprocess.Popen[str], int], pids: Path) -> None:
    parent, supervisor_process = owner
    assert len(running(pids)) == 2
    parent.kill()
    assert gone(pids)
    deadline = time.monotonic() + LONG
    while state(supervisor_process) not in ("", "Z") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert state(supervisor_process) in ("", "Z")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_programs_end_with_a_supervisor_that_is_killed(owner: tuple[subprocess.Popen[str], int], pids: Path) -> None:
    _, supervisor_process = owner
    program = started(pids)[0]
    os.kill(supervisor_process, signal.SIGKILL)
    assert gone(pids, program)


def test_an_adapter_describes_its_server_across_the_process_border(tmp_path: Path) -> None:
    told = client.serve("adapters.letta:Letta", "http://127.0.0.1:9/v1", tmp_path / "letta")
    assert told is not None
    assert [program.name for program in told.programs] == ["postgres", "letta"]
    assert told.programs[0].unprivileged and told.programs[0].data == "postgres"
    assert told.programs[1].env["OPENAI_BASE_URL"] == "http://127.0.0.1:9/v1"
    assert client.serve("adapters.bm25:Bm25", "http://127.0.0.1:9/v1", tmp_path / "bm25") is None
