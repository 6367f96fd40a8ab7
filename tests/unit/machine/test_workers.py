"""Processes that work side by side."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import active_children, forkserver
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.machine.processes import Killed
from harness.machine.workers import map_parts


def kill(victim: bool) -> bool:
    if victim:
        os.kill(os.getpid(), signal.SIGKILL)
    return victim


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_work_with_one_line() -> None:
    with pytest.raises(Killed, match="a process of coldwarm was killed from outside, perhaps for lack of memory"):
        list(map_parts(kill, [False, True, False], 2))


@pytest.mark.slow
def test_the_server_that_starts_processes_is_noticed_if_it_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stopped first, so that it has taken no request when it is killed."""
    read: Callable[[int], int] = forkserver.read_signed
    assert list(map_parts(kill, [False, False], 2)) == [False, False]
    server: int = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    os.kill(server, signal.SIGSTOP)

    def read_late(file: int) -> int:
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)
        return read(file)

    monkeypatch.setattr(forkserver, "read_signed", read_late)
    with pytest.raises(Killed, match="a process of coldwarm was killed from outside"):
        list(map_parts(kill, [False, False], 2))
    assert not active_children()


@pytest.mark.nightly
@pytest.mark.slow
def test_a_process_that_is_killed_while_others_are_started_is_not_waited_for() -> None:
    with pytest.raises(Killed):
        list(map_parts(kill, [True, *[False] * 39], 40))
    assert not active_children()


def send_half(victim: bool) -> bytes:
    if victim:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return bytes(2**28)


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_sends_is_not_waited_for() -> None:
    with pytest.raises(Killed):
        for made in map_parts(send_half, [True, *[False] * 3], 2):
            time.sleep(0.1 * len(made) / 2**28)


def fail(part: str) -> str:
    raise ConnectionError(part)


@pytest.mark.slow
def test_an_error_in_a_process_is_that_of_its_part_with_where_it_was() -> None:
    """Also one that a broken connection to the process would raise."""
    with pytest.raises(ConnectionError, match="a") as caught:
        list(map_parts(fail, ["a", "b"], 2))
    assert "in fail" in "".join(caught.value.__notes__)
    assert not active_children()


def leave_word(part: Path) -> None:
    atexit.register(part.write_text, "ended")


@pytest.mark.slow
def test_a_process_that_is_started_anew_ends_as_a_program_does(tmp_path: Path) -> None:
    files = [tmp_path / name for name in "abc"]
    assert list(map_parts(leave_word, files, 2, anew=True)) == [None] * 3
    assert [each.read_text() for each in files] == ["ended"] * 3


def wait_for(file: Path) -> bool:
    """The first waits for the last, which the others leave to it."""
    if file.name == "first":
        until = time.monotonic() + 20
        while not file.with_name("last").exists() and time.monotonic() < until:
            time.sleep(0.01)
    file.touch()
    return file.with_name("last").exists()


@pytest.mark.slow
def test_a_part_that_takes_long_stops_no_others_where_all_may_be_ahead(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("first", *map(str, range(8)), "last")]
    assert next(map_parts(wait_for, files, 2, ahead=len(files)))


def double(part: int) -> int:
    time.sleep(0.02 * (part % 3 == 0))
    return 2 * part


@pytest.mark.slow
@given(count=st.integers(0, 12), processes=st.integers(1, 4))
@settings(max_examples=10, deadline=None)
def test_results_come_in_the_order_of_the_parts(count: int, processes: int) -> None:
    assert list(map_parts(double, range(count), processes)) == [2 * each for each in range(count)]


@pytest.mark.slow
def test_a_folder_for_temporary_files_may_have_a_long_name(tmp_path: Path) -> None:
    """A name of which no path to a socket would be short enough for the system."""
    folder = tmp_path / ("long-" * 20)
    folder.mkdir()
    env = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", SEVERAL], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr
    assert not list(folder.iterdir())


SEVERAL = """
from tests.unit.machine.test_workers import kill
from harness.machine.workers import map_parts

if __name__ == "__main__":
    print(len(list(map_parts(kill, [False] * 4, 2))))
"""


GROUP = """
import signal, sys, time
from tests.unit.machine.test_workers import wait_long
from harness.machine.workers import map_parts

def stop(*_):
    raise SystemExit(3)

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    for part in map_parts(wait_long, ["x" * 200_000] * 50, 2):
        print("first", flush=True)
"""


def wait_long(part: str) -> str:
    time.sleep(0.5)
    return part


@pytest.mark.slow
def test_a_signal_to_all_processes_at_once_leaves_none_and_no_traceback() -> None:
    """As `timeout` and the job control of a CI send it: those at work are gone before this one has heard of it."""
    command = [sys.executable, "-c", GROUP]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"first\n"
            os.killpg(process.pid, signal.SIGTERM)
            _, said = process.communicate(timeout=30)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 3 and said == b""


ORPHANS = """
import sys
from tests.unit.machine.test_workers import name_yourself
from harness.machine.workers import map_parts

if __name__ == "__main__":
    for pid in map_parts(name_yourself, [""] * 50, 2):
        print(pid, flush=True)
        sys.stdin.read()
"""


def name_yourself(_: str) -> int:
    return os.getpid()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_workers_whose_parent_was_killed_end_by_themselves() -> None:
    """And so do the server that started them and the tracker of what they share."""
    session = f"S{os.getpid()}{time.monotonic_ns()}"
    command = [sys.executable, "-c", ORPHANS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "MARK": session}
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stdout.readline()
        assert len(_find_marked(session)) > 2
        process.kill()
    until = time.monotonic() + 30
    while (left := _find_marked(session)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def _find_marked(mark: str) -> list[int]:
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"MARK={mark}".encode() in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
    return found


def whose(part: str) -> tuple[str, int]:
    return part, os.getpid()


@pytest.mark.slow
def test_one_process_is_this_one_unless_it_is_to_be_apart() -> None:
    assert list(map_parts(whose, ["a", "b"], 1)) == [("a", os.getpid()), ("b", os.getpid())]
    (first, one), (second, other) = map_parts(whose, ["a", "b"], 1, apart=True)
    assert (first, second) == ("a", "b") and one == other != os.getpid()
    assert not [*map_parts(whose, [], 1, apart=True)]
    with pytest.raises(Killed, match="a process of coldwarm was killed"):
        list(map_parts(kill, [True], 1, apart=True))


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Short, as the path of a socket has to be."""
    with tempfile.TemporaryDirectory(prefix="c-") as folder:
        yield Path(folder)


@pytest.mark.slow
def test_a_killed_process_leaves_no_sockets_that_nobody_clears(tmp_path: Path, temporary: Path) -> None:
    script = tmp_path / "group.py"
    script.write_text(GROUP)
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None and process.stdout.readline() == b"first\n"
        process.kill()
    assert [each.name.split("-")[0] for each in temporary.iterdir()] == ["coldwarm"]
    swept = "from harness.machine.leftovers import process_folder; process_folder()"
    until = time.monotonic() + 60
    while list(temporary.iterdir()) and time.monotonic() < until:  # its workers end a moment after it
        subprocess.run([sys.executable, "-c", swept], env=environment, check=True)
    assert not list(temporary.iterdir())
