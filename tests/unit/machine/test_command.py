"""A command of somebody else's has an end, whatever it does."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from harness.machine import command

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture(params=["told of its end", "looked at now and then"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every system tells when a process ends."""
    if request.param == "looked at now and then":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("this system does not tell")


def run(tmp_path: Path, code: str, seconds: float = 30) -> command.Finished:
    return command.run([*command.hold(), sys.executable, "-c", code], tmp_path, ENV, seconds)


def test_what_it_says_and_how_it_ends_are_told(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert done == (3, b"out\n", b"err\n")
    assert run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)").code == -9
    assert run(tmp_path, "import os; print(sorted(os.environ))").out.startswith(b"['LC_CTYPE', 'PATH']")


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    done = command.run([*command.hold(), "no-such-command"], tmp_path, ENV, 30)
    assert done.code == 127 and b"no-such-command: No such file" in done.err
    with pytest.raises(OSError, match="No such file"):
        command.run(["no-such-command"], tmp_path, ENV, 30)


@pytest.mark.slow
def test_time_and_output_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(tmp_path, "import time; time.sleep(60)", 0.3)[::2] == (command.LATE, b"no end within 0.3 s")
    monkeypatch.setattr(command, "MOST", 1000)
    for file in ("stdout", "stderr"):
        assert run(tmp_path, f"import sys\nwhile True: sys.{file}.write('x' * 99)").code == command.LOUD


def test_who_leaves_its_session_and_holds_the_output_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_AFTER", 0.2)
    code = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(5)'], start_new_session=True)\n"
        "print('left', flush=True)"
    )
    assert run(tmp_path, code)[:2] == (0, b"left\n")


def test_who_may_stop_a_command_ends_it(tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    words = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)"]
    done = command.run(words, tmp_path, ENV, 30, stop=stop)
    assert stop.is_set() and done.code == -signal.SIGKILL


def test_who_may_be_stopped_may_end_by_itself_or_be_late(tmp_path: Path) -> None:
    stop = threading.Event()
    assert command.run([sys.executable, "-c", "print(1)"], tmp_path, ENV, 30, stop=stop) == (0, b"1\n", b"")
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert command.run(words, tmp_path, ENV, 0.2, stop=stop).code == command.LATE
