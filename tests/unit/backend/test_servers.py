"""Real processes: a server of two programs, one of which keeps a folder, started, copied, killed, and gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import paths
from harness.adapter import Item, Program, Scope, Server, Space
from harness.backend import client
from harness.backend.client import Deadlines, MemoryFault
from harness.backend.server_pool import Services
from harness.backend.servers import DEATHS, Service
from harness.backend.store import ChildStore
from harness.backend.supervised import ServiceError
from harness.machine import leftovers, ports
from harness.machine.patience import Rivals
from harness.model.backend import Backend

LONG = 30.0
"""Seconds that a process may take to come or go on a busy machine before a test gives up."""

STORE = """
    import http.server, os, pathlib, socketserver, subprocess, sys
    port, folder, pids = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    helper = subprocess.Popen(["sleep", "600"])
    held = {}
    with pids.open("a") as file:
        print(os.getpid(), helper.pid, file=file)
    print("serving", folder, os.environ.get("MODE"), flush=True)
    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/die":
                print("the disk is full", flush=True)
                os._exit(7)
            if self.path == "/sicken":
                os.environ["MODE"] = "ill"
            if self.path.startswith("/write/"):
                (folder / "value").write_text(self.path[7:])
            if self.path.startswith("/hold/"):
                held["value"] = self.path[6:]
            if self.path == "/flush":
                (folder / "value").write_text(held["value"])
            good = self.path != "/health" or os.environ.get("MODE") != "ill"
            self.send_response(200 if good else 503)
            self.end_headers()
            self.wfile.write((folder / "value").read_bytes())
        def log_message(self, *words):
            pass
    socketserver.TCPServer.allow_reuse_address = True  # HTTPServer would ask for this machine's name
    socketserver.TCPServer(("127.0.0.1", port), Answers).serve_forever()
"""
FRONT = """
    import http.server, os, pathlib, socketserver, sys, urllib.request
    port, behind, pids = int(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    with pids.open("a") as file:
        print(os.getpid(), file=file)
    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            try:
                urllib.request.urlopen("http://127.0.0.1:" + behind + "/value")
                self.send_response(200)
            except OSError:
                self.send_response(503)
            self.end_headers()
        def log_message(self, *words):
            pass
    socketserver.TCPServer.allow_reuse_address = True
    socketserver.TCPServer(("127.0.0.1", port), Answers).serve_forever()
"""
"""Is ill while the store behind it is gone."""
FLUSH = """
    import sys, urllib.request
    urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + "/flush")
"""
SETUP = """
    import pathlib, sys
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir()
    (folder / "value").write_text("pristine")
"""


def python(code: str, *words: str) -> tuple[str, ...]:
    """Without the packages of this environment, which take longest to find."""
    return (sys.executable, "-S", "-c", textwrap.dedent(code), *words)


@pytest.fixture(autouse=True)
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORE_URL", raising=False)


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """Where the programs write their ids; whatever a failed test leaves running is ended."""
    file = tmp_path / "pids"
    yield file
    for pid in running(file):
        os.kill(pid, signal.SIGKILL)


def server(pids: Path, code: str = STORE, setup: str = SETUP, env: Mapping[str, str] | None = None) -> Server:
    store = Program(
        name="daemon",
        setup=(python(setup, "{store}/data"),),
        argv=python(code, "{daemon}", "{store}/data", str(pids)),
        env=env or {},
        health="/health",
        data="data",
        flush=python(FLUSH, "{daemon}"),
    )
    return Server((store,), "http://127.0.0.1:{daemon}", "STORE_URL", "key", "make store")


def ask(service: Service, path: str) -> str:
    with urllib.request.urlopen(service.url + path, timeout=LONG) as answer:
        return str(answer.read().decode())


def started(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


def running(file: Path) -> list[int]:
    """Those of the started processes that are neither gone nor zombies."""
    return [pid for pid in started(file) if _state(pid) not in ("", "Z", "X")]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def gone(file: Path, *pids: int) -> bool:
    """Whether they end, given time; without `pids`, all that were started."""
    deadline = time.monotonic() + LONG
    while set(running(file)) & set(pids or started(file)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_server_answers_inside_the_block_and_is_gone_after_it(pids: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with Service(server(pids), tmp_path / "server", said.append) as service:
        assert ask(service, "/value") == "pristine"
        service.check()
        assert len(running(pids)) == 2
    assert not running(pids)
    assert said[0] == "daemon: preparing" and said[-1].startswith("daemon: ready after")
    assert "serving" in (tmp_path / "server" / "start-1" / "daemon.log").read_text()


def test_every_trial_gets_a_store_of_its_own_below_its_folder(pids: Path, tmp_path: Path) -> None:
    with Service(server(pids), tmp_path / "server") as service:
        service.fresh(tmp_path / "one")
        url = service.url
        assert ask(service, "/write/first") == "first"
        service.fresh(tmp_path / "two")
        assert service.url == url and ask(service, "/value") == "pristine"
        assert (tmp_path / "one" / "data" / "value").read_text() == "first"
        assert ask(service, "/write/second") == "second"
    assert (tmp_path / "two" / "data" / "value").read_text() == "second"


def test_a_server_that_died_is_noticed_and_started_again_for_the_next_trial(pids: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with Service(server(pids), tmp_path / "server", said.append) as service:
        service.fresh(tmp_path / "one")
        with pytest.raises(OSError):
            ask(service, "/die")
        assert gone(pids, started(pids)[-2])
        with pytest.raises(ServiceError, match="daemon ended with 7; it last printed: the disk is full; its output is"):
            service.check()
        service.fresh(tmp_path / "two")
        assert ask(service, "/value") == "pristine"
        service.check()
    assert any("starting it again" in line for line in said)
    assert not running(pids)


def test_one_that_ended_in_good_order_with_the_folder_of_its_store_is_no_death(pids: Path, tmp_path: Path) -> None:
    said: list[str] = []
    leaving = STORE.replace("os._exit(7)", "os._exit(0)")
    assert leaving != STORE
    with Service(server(pids, leaving), tmp_path / "server", said.append) as service:
        for trial in range(DEATHS + 1):
            service.fresh(tmp_path / str(trial))
            with pytest.raises(OSError):
                ask(service, "/die")
            assert gone(pids, started(pids)[-2])
        service.fresh(tmp_path / "last")
        assert ask(service, "/value") == "pristine"
    assert not any("starting it again" in line for line in said)


def test_who_is_ill_without_its_store_gets_well_with_the_next_one(pids: Path, tmp_path: Path) -> None:
    said: list[str] = []
    behind = server(pids, STORE.replace("os._exit(7)", "os._exit(0)"))
    front = Program(name="front", argv=python(FRONT, "{front}", "{daemon}", str(pids)), health="/health")
    with Service(replace(behind, programs=(*behind.programs, front)), tmp_path / "server", said.append) as service:
        for trial in range(DEATHS + 1):
            service.fresh(tmp_path / str(trial))
            with pytest.raises(OSError):
                ask(service, "/die")
            assert gone(pids, started(pids)[-2])
        service.fresh(tmp_path / "last")
        assert ask(service, "/value") == "pristine"
    assert not any("starting it again" in line for line in said)


@pytest.mark.slow
def test_a_server_that_dies_again_and_again_is_given_up(pids: Path, tmp_path: Path) -> None:
    with Service(server(pids), tmp_path / "server") as service:
        for trial in range(DEATHS):
            service.fresh(tmp_path / str(trial))
            with pytest.raises(OSError):
                ask(service, "/die")
            assert gone(pids, started(pids)[-2])
        for _ in range(2):
            with pytest.raises(ServiceError, match=f"daemon ended with 7.*; it has died {DEATHS} times and is not"):
                service.fresh(tmp_path / "last")
    assert not running(pids)


def test_a_server_that_runs_but_answers_nobody_is_started_again_for_the_next_trial(pids: Path, tmp_path: Path) -> None:
    told = server(pids)
    front = replace(told.programs[0], name="front", setup=(), argv=python(STORE, "{front}", *told.programs[0].argv[5:]))
    told = Server((*told.programs, replace(front, data=None, flush=())), "http://127.0.0.1:{front}", "S", "k", "make")
    said: list[str] = []
    with Service(told, tmp_path / "server", said.append) as service:
        service.fresh(tmp_path / "one")
        assert ask(service, "/sicken") == "pristine"
        service.check()
        service.fresh(tmp_path / "two")
        assert ask(service, "/value") == "pristine"
    assert [line.partition(";")[0] for line in said if "again" in line] == ["front no longer answers"]
    assert not running(pids)


def pipes(folder: Path) -> None:
    os.mkfifo(folder / "a")
    os.mkfifo(folder / "b")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (shutil.rmtree, r"\[Errno 2\] No such file or directory: '[^']*'"),
        (pipes, r"`[^`]*` is a named pipe"),
    ],
)
def test_a_store_that_cannot_be_made_costs_one_trial(
    harm: Callable[[Path], object], said: str, pids: Path, tmp_path: Path
) -> None:
    with Service(server(pids), tmp_path / "server") as service:
        harm(tmp_path / "server" / "start-1" / "first" / "data")
        with pytest.raises(ServiceError, match=f"^daemon cannot get a fresh store: {said}$"):
            service.fresh(tmp_path / "one")
        assert not running(pids)
        service.fresh(tmp_path / "two")
        assert ask(service, "/value") == "pristine"


def test_memories_that_a_server_holds_back_are_in_its_files_when_they_are_looked_at(pids: Path, tmp_path: Path) -> None:
    with Service(server(pids), tmp_path / "server") as service:
        service.fresh(tmp_path / "one")
        ask(service, "/hold/news")
        assert (tmp_path / "one" / "data" / "value").read_text() == "pristine"
        service.flush()
        assert (tmp_path / "one" / "data" / "value").read_text() == "news"
        with pytest.raises(OSError):
            ask(service, "/die")
        assert gone(pids, started(pids)[-2])
        with pytest.raises(ServiceError, match="daemon ended with 7"):
            service.flush()


def test_what_a_server_printed_outlives_it_and_nothing_else_of_it(pids: Path, tmp_path: Path) -> None:
    with Service(server(pids), tmp_path / "server"):
        pass
    left = {each.name for each in (tmp_path / "server" / "start-1").iterdir()}
    assert left == {"daemon.log", "daemon-setup-1.log", "supervisor.log"}


def test_a_port_that_somebody_takes_meanwhile_is_not_mistaken_for_the_server(
    pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose, taken, said = ports.free, list[socket.socket](), list[str]()

    def late(names: Iterable[str]) -> Mapping[str, int] | None:
        found = choose(names)
        if found and not taken:
            taken.append(socket.create_server(("127.0.0.1", found["daemon"])))
        return found

    monkeypatch.setattr(ports, "free", late)
    with Service(server(pids), tmp_path / "server", said.append) as service:
        assert ask(service, "/value") == "pristine"
    (other,) = taken
    other.close()
    assert "another program has taken port" in said[1] and "trying once more" in said[1]


def test_a_program_that_ends_at_once_is_tried_once_more_and_not_for_every_trial(pids: Path, tmp_path: Path) -> None:
    code = "import sys; open(sys.argv[3], 'a').write('0 '); sys.exit('the port is taken')"
    service = Service(server(pids, code), tmp_path / "server")
    for _ in range(3):
        with pytest.raises(ServiceError, match="daemon ended with 1; it last printed: the port is taken"):
            service.fresh(tmp_path / "trial")
    assert started(pids) == [0, 0]


@pytest.mark.slow
def test_a_server_that_never_gets_healthy_is_given_up_and_ended(pids: Path, tmp_path: Path) -> None:
    ill = server(pids, env={"MODE": "ill"})
    with pytest.raises(ServiceError, match="daemon was not ready within 2 s; it last printed: serving"):
        Service(ill, tmp_path / "server", seconds=2).__enter__()
    assert started(pids) and not running(pids)


@pytest.mark.slow
def test_a_server_that_others_kept_from_running_is_not_to_blame(
    pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rivals, "keep", lambda _: True)
    monkeypatch.setattr("harness.machine.patience.ALLOWANCE", 1.0)
    with pytest.raises(ServiceError, match="other programs had the processors") as caught:
        Service(server(pids, env={"MODE": "ill"}), tmp_path / "server", seconds=1).__enter__()
    assert caught.value.kind == "machine" and not running(pids)


def test_a_setup_that_fails_is_told_with_its_last_words(pids: Path, tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="daemon-setup-1 ended with 1; it last printed: no room"):
        Service(server(pids, setup="import sys; sys.exit('no room')"), tmp_path / "server").__enter__()
    assert not started(pids)


def test_what_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    missing = Server(
        (Program("daemon", (str(tmp_path / "no-such-program"),)),), "http://x", "STORE_URL", "key", "make store"
    )
    with pytest.raises(
        ServiceError, match="daemon is not installed: make store installs it, or STORE_URL names a running server"
    ):
        Service(missing, tmp_path / "server").__enter__()


def test_a_named_server_is_used_and_left_running(pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(server(pids), tmp_path / "server") as own:
        monkeypatch.setenv("STORE_URL", own.url + "/")
        with Service(server(pids), tmp_path / "unused") as named:
            assert named.fresh(tmp_path / "one") == named.url == own.url
            named.check()
        assert ask(own, "/value") == "pristine"
        assert len(running(pids)) == 2 and not (tmp_path / "one").exists()


def test_a_named_server_that_goes_away_is_noticed(pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Service(server(pids), tmp_path / "server") as own:
        monkeypatch.setenv("STORE_URL", own.url)
        with Service(server(pids), tmp_path / "unused") as named:
            named.check()
            assert ask(own, "/sicken") == "pristine"
            with pytest.raises(ServiceError, match=r"STORE_URL names .*, where no healthy server answers"):
                named.check()


def test_a_named_server_that_does_not_answer_is_one_clear_line(
    pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_URL", "http://127.0.0.1:9")
    with pytest.raises(ServiceError, match="STORE_URL names http://127\\.0\\.0\\.1:9, where no healthy server answers"):
        Service(server(pids), tmp_path / "server").__enter__()


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
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV])
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


def test_nothing_outlives_a_parent_that_is_killed(owner: tuple[subprocess.Popen[str], int], pids: Path) -> None:
    parent, supervisor_process = owner
    assert len(running(pids)) == 2
    parent.kill()
    assert gone(pids)
    deadline = time.monotonic() + LONG
    while _state(supervisor_process) not in ("", "Z") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _state(supervisor_process) in ("", "Z")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_programs_end_with_a_supervisor_that_is_killed(owner: tuple[subprocess.Popen[str], int], pids: Path) -> None:
    _, supervisor_process = owner
    program = started(pids)[0]
    os.kill(supervisor_process, signal.SIGKILL)
    assert gone(pids, program)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give rights away")
def test_an_unprivileged_program_is_not_root_and_still_reaches_a_store_in_roots_own_folder(
    pids: Path, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    told = server(pids).programs[0]
    own = tmp_path / "own"
    own.touch()
    seen = f'print("user", os.geteuid(), os.access({str(own)!r}, os.R_OK)); print("serving"'
    code = textwrap.dedent(STORE).replace('print("serving"', seen)
    plain = replace(told, argv=(*python(code), *told.argv[4:]), unprivileged=True)
    with Service(replace(server(pids), programs=(plain,)), tmp_path / "server") as service:
        service.fresh(tmp_path / "one")
        assert ask(service, "/write/mine") == "mine"
    log = (tmp_path / "server" / "start-1" / "daemon.log").read_text()
    assert "user 65534 True" in log and "user 0" not in log


def test_an_adapter_describes_its_server_across_the_process_border(tmp_path: Path) -> None:
    told = client.serve("adapters.letta:Letta", "http://127.0.0.1:9/v1", tmp_path / "letta")
    assert told is not None
    assert [program.name for program in told.programs] == ["postgres", "letta"]
    assert told.programs[0].unprivileged and told.programs[0].data == "postgres"
    assert told.programs[1].env["OPENAI_BASE_URL"] == "http://127.0.0.1:9/v1"
    assert client.serve("adapters.bm25:Bm25", "http://127.0.0.1:9/v1", tmp_path / "bm25") is None
