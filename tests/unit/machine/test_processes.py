"""What the system tells of a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.machine.processes import measure_work

BURN = "import time\nwhile time.process_time() < 0.1: pass\nprint(flush=True)\ninput()"
"""A tenth of a second of a processor, and then a wait."""
HELPED = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {BURN!r}], start_new_session=True)\n{BURN}"


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_the_work_of_a_process_is_also_that_of_what_it_has_started() -> None:
    command = [sys.executable, "-c", HELPED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"\n"] * 2
        assert (measure_work(process.pid) or 0.0) > 0.15  # four numbers in hundredths, rounded down
        process.stdin.close()
    assert measure_work(process.pid) is None
