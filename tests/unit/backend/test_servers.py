"""Real processes: a server with a folder for each trial, started, copied, killed, named, and gone."""

from __future__ import annotations

import os
import shutil
import socket
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapter import Program, Server
from harness.backend.servers import DEATHS, Service
from harness.backend.supervised import PortTakenError, ServiceError
from harness.machine import ports
from harness.machine.patience import Rivals
from tests.support.store_server import STORE, ask, end_all, gone, python, running, server, started

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


@pytest.fixture(autouse=True)
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORE_URL", raising=False)


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """Where the programs write their ids; whatever a failed test leaves running is ended."""
    file = tmp_path / "pids"
    yield file
    end_all(file)


def test_a_server_answers_inside_the_block_and_is_gone_after_it(pids: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with Service(server(pids), tmp_path / "server", said.append) as service:
        assert ask(service, "/value") == "pristine"
        service.check()
        assert len(running(pids)) == 2
    assert not running(pids)
    assert said[0] == "daemon: preparing" and said[-1].startswith("daemon: ready after")
    assert "serving" in (tmp_path / "server" / "start-1" / "daemon.log").read_text()


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_command_that_is_late_is_ended_and_its_end_is_no_death(
    pids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store,) = server(pids).programs
    late = replace(server(pids), programs=(replace(store, flush=("sleep", "600")),))
    with Service(late, tmp_path / "server") as service:
        monkeypatch.setattr(service, "_seconds", 0.0)
        with pytest.raises(ServiceError, match="daemon-flush was not ready within 0 s"):
            service.flush()
        assert service._ask("codes") == {"daemon": None}


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


@pytest.mark.slow
def test_a_port_that_is_taken_between_two_trials_costs_none_of_them(pids: Path, tmp_path: Path) -> None:
    said: list[str] = []
    with Service(server(pids), tmp_path / "server", said.append) as service:
        service.fresh(tmp_path / "one")
        before = service.url
        service.release()
        with socket.create_server(("127.0.0.1", service.ports[0])):
            service.fresh(tmp_path / "two")
        assert service.url != before and ask(service, "/value") == "pristine"
    assert any("another program has taken port" in each and "on other ports" in each for each in said)


def test_a_taken_port_is_the_machines_doing() -> None:
    assert PortTakenError("daemon", 20000).kind == "machine"


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
