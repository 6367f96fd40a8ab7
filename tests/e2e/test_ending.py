"""A signal that meets the program while it ends changes nothing and prints nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness import paths

LATE = """
import atexit, os, sys, threading, time
def linger():
    os.write(1, b"ending\\n")
    for _ in range(60):
        time.sleep(0.02)
atexit.register(linger)
from harness.cli import main
sys.argv = ["coldwarm", "--version"]
main()
"""
BETWEEN = """
import os, signal, sys
from harness import cli
def commands(standalone_mode):
    pass
cli.commands.main = commands
ignore = cli._ignore
def late(signals):
    if sys._getframe(1).f_code.co_name == "main":
        cli._ignore = ignore
        os.kill(os.getpid(), int(sys.argv[1]))
    ignore(signals)
cli._ignore = late
cli.main()
"""
EARLY = """
import os, runpy, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
runpy.run_module("harness", run_name="__main__")
"""
SWALLOWED = """
import os, signal, sys, time
from harness import cli
class Deaf:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))
def commands(standalone_mode):
    Deaf()
    time.sleep(60)
cli.commands.main = commands
cli.main()
"""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _heed() -> None:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_at_the_end_prints_nothing(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LATE], cwd=paths.ROOT, env={**os.environ, "COLDWARM_CACHE": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=_heed,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line == b"ending\n":
            break
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_after_the_command_leaves_its_exit_code(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BETWEEN, str(int(number))], cwd=paths.ROOT, capture_output=True, timeout=60,
        preexec_fn=_heed, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_where_nothing_can_be_raised_is_not_lost(number: signal.Signals) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED, str(int(number))], cwd=paths.ROOT, capture_output=True, timeout=50,
        preexec_fn=_heed, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, b"coldwarm: stopped\n")


def test_an_interrupt_of_the_first_imports_prints_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY], cwd=paths.ROOT, capture_output=True, timeout=60, preexec_fn=_heed, check=False
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")
